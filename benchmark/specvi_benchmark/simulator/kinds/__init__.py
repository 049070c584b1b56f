"""Every kind of object the simulator knows. Each module here that defines ``KINDS`` is found by itself."""

import pkgutil
from importlib import import_module

from specvi_benchmark.simulator.kinds.kind import Kind


def find_kinds() -> dict[str, Kind]:
    """Return every kind by name, from all modules of this package, in the order of the modules' names."""
    modules = (import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__))
    return {kind.name: kind for module in modules for kind in getattr(module, "KINDS", ())}


KINDS: dict[str, Kind] = find_kinds()

__all__ = ["KINDS", "Kind", "find_kinds"]
