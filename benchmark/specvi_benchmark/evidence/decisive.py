"""Which features decide each task: what a YES must rest on, after the primary indicators of the task files."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from specvi_benchmark.evidence.claims import Kind
from specvi_benchmark.evidence.features import FAMILIES, get_feature, members_of


@dataclass(frozen=True, slots=True)
class Decisive:
    """A species whose presence decides, and the kinds that do (``band`` for molecules)."""

    species: str
    kinds: tuple[Kind, ...]


_EMISSION: tuple[Kind, ...] = ("emission",)
_ABSORPTION: tuple[Kind, ...] = ("absorption",)
_BAND: tuple[Kind, ...] = ("band",)

DECISIVE: Mapping[str, tuple[Decisive, ...]] = {
    "cv": (
        Decisive("Balmer", _EMISSION),
        Decisive("He II", _EMISSION),
        Decisive("He I", _EMISSION),
        Decisive("Bowen", _EMISSION),
    ),
    "cs": (Decisive("C2", _BAND), Decisive("CN", _BAND)),
    "ss": (Decisive("ZrO", _BAND), Decisive("LaO", _BAND), Decisive("YO", _BAND)),
    "mg": (Decisive("TiO", _BAND),),
    "wd": (
        Decisive("Balmer", _ABSORPTION),
        Decisive("He I", _ABSORPTION),
        Decisive("He II", _ABSORPTION),
        Decisive("Ca II H&K", _ABSORPTION),
        Decisive("C2", _BAND),
    ),
    "o": (Decisive("He II", _ABSORPTION),),
    "b": (Decisive("He I", _ABSORPTION),),
    "a": (Decisive("Balmer", _ABSORPTION), Decisive("Ca II H&K", _ABSORPTION)),
    "qso": tuple(
        Decisive(name, _EMISSION)
        for name in ("Lyα", "C IV 1549", "C III] 1909", "Mg II 2799", "Balmer", "[O III]", "[O II]")
    ),
}
"""Task → what decides. A claim of one of these kinds, or of no kind, on the species or one of its lines counts."""


@cache
def decisive_names(task: str) -> Mapping[str, tuple[Kind, ...]]:
    """Return feature name → kinds that decide a task: each species, its family and every member."""
    names: dict[str, tuple[Kind, ...]] = {}
    for item in DECISIVE[task]:
        members = [name for name, _, _ in members_of(item.species)]
        more = ["H8", "H9", "Hε"] if item.species == "Balmer" else []
        for name in (item.species, *FAMILIES.get(item.species, ()), *members, *more):
            names[get_feature(name).name] = item.kinds
    return names
