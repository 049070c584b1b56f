"""Molecular band heads with the side of their sharp edge, and the index windows that measure them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from specvi_benchmark.files import Model, StrictModel, parse_yaml, validate
from specvi_benchmark.lines.lines import fold, unknown_feature
from specvi_benchmark.lines.wavelengths import air_to_vacuum

Edge = Literal["blue", "red"]
Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Band:
    """One band head, or one broad band.

    Attributes
    ----------
    name
        Species and rounded *air* wavelength (``C2 4737``, ``ZrO 6474``): the name bands have in the
        literature, which is older than vacuum surveys.
    species, system
        As in ``TiO``; the band system, empty where it is not needed to tell bands apart.
    air_AA, vacuum_AA
        The head, or where a broad band begins, in ångström.
    end_AA
        Where a broad band ends (vacuum); None for a head.
    sharp_edge
        The side on which the band starts abruptly: ``blue`` (flux falls at the head going redward and
        recovers slowly, as TiO), ``red`` (flux is low blueward of the head and jumps up at it, as C2),
        None where the band is broad or the direction is not stated in a source.
    transition
        Vibrational quantum numbers (v′, v″), or empty.
    note
        What to know before relying on it.
    """

    name: str
    species: str
    system: str
    air_AA: float
    vacuum_AA: float
    end_AA: float | None
    sharp_edge: Edge | None
    transition: str
    note: str


@dataclass(frozen=True, slots=True)
class Index:
    """A band or line index: mean flux in the numerator windows over that in the denominator windows.

    Of several windows on one side, the mean over windows of the mean flux in each is meant. All
    windows are vacuum ångström; an index published in air was converted.
    """

    name: str
    numerator_AA: tuple[Range, ...]
    denominator_AA: tuple[Range, ...]
    source: str


class _Head(StrictModel):
    air_AA: float
    vacuum_AA: float
    end_air_AA: float | None = None
    transition: str = ""
    note: str = ""


class _BandGroup(StrictModel):
    species: str
    system: str = ""
    sharp_edge: Edge | None
    note: str = ""
    heads: tuple[_Head, ...]


class _BandList(StrictModel):
    bands: tuple[_BandGroup, ...]


class _IndexRecord(StrictModel):
    name: str
    numerator: tuple[Range, ...]
    denominator: tuple[Range, ...]


class _Scheme(StrictModel):
    name: str
    medium: Literal["air", "vacuum"]
    source: str
    indices: tuple[_IndexRecord, ...]


class _IndexList(StrictModel):
    schemes: tuple[_Scheme, ...]


@cache
def all_bands() -> tuple[Band, ...]:
    """Return every band, by increasing vacuum wavelength."""
    bands = [_band(group, head) for group in _read("bands.yaml", _BandList).bands for head in group.heads]
    return tuple(sorted(bands, key=lambda band: band.vacuum_AA))


def get_band(spelling: str) -> Band:
    """Return the band of this name; case, blanks and brackets do not matter, the number is that of air.

    Raises
    ------
    UserError
        No band is spelled so.
    """
    if (band := _bands_by_spelling().get(fold(spelling))) is None:
        raise unknown_feature("band", spelling, list(map(_name, all_bands())))
    return band


@cache
def all_indices() -> tuple[Index, ...]:
    """Return every index, scheme by scheme: ``PyHammer TiO5`` and ``PMSU TiO5`` are two."""
    return tuple(
        Index(
            name=f"{scheme.name} {record.name}",
            numerator_AA=_vacuum(record.numerator, scheme.medium),
            denominator_AA=_vacuum(record.denominator, scheme.medium),
            source=scheme.source,
        )
        for scheme in _read("indices.yaml", _IndexList).schemes
        for record in scheme.indices
    )


def get_index(spelling: str) -> Index:
    """Return the index of this name with its scheme, as ``PMSU TiO5``.

    Raises
    ------
    UserError
        No index is spelled so.
    """
    if (index := _indices_by_spelling().get(fold(spelling))) is None:
        raise unknown_feature("index", spelling, list(map(_name, all_indices())))
    return index


@cache
def _bands_by_spelling() -> dict[str, Band]:
    return {fold(band.name): band for band in all_bands()}


@cache
def _indices_by_spelling() -> dict[str, Index]:
    return {fold(index.name): index for index in all_indices()}


def _band(group: _BandGroup, head: _Head) -> Band:
    return Band(
        name=f"{group.species} {head.air_AA:.0f}",
        species=group.species,
        system=group.system,
        air_AA=head.air_AA,
        vacuum_AA=head.vacuum_AA,
        end_AA=None if head.end_air_AA is None else air_to_vacuum(head.end_air_AA),
        sharp_edge=group.sharp_edge,
        transition=head.transition,
        note=" ".join(filter(None, (group.note, head.note))),
    )


def _vacuum(windows: Sequence[Range], medium: str) -> tuple[Range, ...]:
    if medium == "vacuum":
        return tuple(windows)
    return tuple((air_to_vacuum(low), air_to_vacuum(high)) for low, high in windows)


def _name(feature: Band | Index) -> str:
    return feature.name


def _read(name: str, model: type[Model]) -> Model:
    source = files("specvi_benchmark.lines") / name
    return validate(model, parse_yaml(source.read_text(encoding="utf-8"), source), source)
