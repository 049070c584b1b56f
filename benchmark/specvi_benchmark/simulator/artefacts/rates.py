"""The dials of all artefacts, and the search for the modules that define them."""

import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType

from specvi_benchmark.errors import UserError
from specvi_benchmark.simulator import artefacts
from specvi_benchmark.simulator.artefacts.artefact import STAGES, Artefact


@cache
def all_artefacts() -> Mapping[str, Artefact]:
    """Return every artefact by name, in the order in which they happen.

    Raises
    ------
    UserError
        Two artefacts have one name.
    """
    modules = (
        import_module(f"{artefacts.__name__}.{info.name}")
        for info in pkgutil.iter_modules(artefacts.__path__)
    )
    found: list[Artefact] = [one for module in modules for one in getattr(module, "ARTEFACTS", ())]
    found.sort(key=lambda one: (STAGES.index(one.stage), one.name))
    by_name = {one.name: one for one in found}
    if len(by_name) < len(found):
        raise UserError("two artefacts have one name", where="simulator", got=[one.name for one in found])
    return MappingProxyType(by_name)


class Rates(Mapping[str, float]):
    """The setting of every artefact's dial: ``Rates(cosmic_rays=2)`` changes one, ``Rates.none()`` turns all off.

    Raises
    ------
    UserError
        No artefact has that name, or a dial is negative.
    """

    __slots__ = ("_dials",)

    def __init__(self, **dials: float) -> None:
        known = all_artefacts()
        for name, value in dials.items():
            if name not in known:
                raise UserError("no such artefact", where="simulator", expected=", ".join(known), got=name)
            if not 0 <= value < float("inf"):
                raise UserError(
                    "a dial is at least 0", where=f"artefact {name}", expected=known[name].meaning, got=value
                )
        self._dials = {name: float(dials.get(name, one.default)) for name, one in known.items()}

    @classmethod
    def none(cls, **dials: float) -> "Rates":
        """Return dials at 0, but for those given."""
        return cls(**(dict.fromkeys(all_artefacts(), 0.0) | dials))

    def __getitem__(self, name: str) -> float:
        return self._dials[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._dials)

    def __len__(self) -> int:
        return len(self._dials)

    def __repr__(self) -> str:
        return f"Rates({', '.join(f'{name}={value:g}' for name, value in self._dials.items())})"
