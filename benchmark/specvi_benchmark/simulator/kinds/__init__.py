"""Every kind of object the simulator knows. Each module here that defines ``KINDS`` is found by itself."""

import pkgutil
from importlib import import_module

from specvi_benchmark.errors import UserError
from specvi_benchmark.simulator.kinds.kind import Kind


def find_kinds() -> dict[str, Kind]:
    """Return every kind by name, from all modules of this package, in the order of the modules' names.

    Raises
    ------
    UserError
        Two kinds have one name.
    """
    modules = (import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__))
    found: dict[str, Kind] = {}
    for module in modules:
        for kind in getattr(module, "KINDS", ()):
            if kind.name in found:
                raise UserError("two kinds of object have one name", where=module.__file__, got=kind.name)
            found[kind.name] = kind
    return found


KINDS: dict[str, Kind] = find_kinds()

__all__ = ["KINDS", "Kind", "find_kinds"]
