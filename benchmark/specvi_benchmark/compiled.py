"""Compiles a function with numba, and keeps the machine code where it can."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile on first call, let go of the interpreter's lock while it runs, and cache the machine code.

    Numba keeps it in ``$NUMBA_CACHE_DIR``, else beside the module, else (a read-only installation) in the
    user's cache folder; where none of these can be written, each process compiles anew. Floating point
    stays strict (no ``fastmath``): sums keep their order and results do not depend on the processor.
    """
    try:
        return cast("Function", njit(cache=True, nogil=True)(function))
    except RuntimeError:  # numba: "no locator available": there is no folder to cache in
        return cast("Function", njit(nogil=True)(function))
