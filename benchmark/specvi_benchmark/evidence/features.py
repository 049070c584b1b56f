"""What a text can name: a line or band head of the lists, or a family of them such as the Balmer lines."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from specvi_benchmark.lines import all_bands, all_lines, get_band, get_line


@dataclass(frozen=True, slots=True)
class Place:
    """One wavelength where a feature shows itself.

    Attributes
    ----------
    vacuum_AA
        Rest wavelength: of a line its centre, of a band its head, of a broad band its middle.
    edge
        Sharp side of a band head, ``blue`` or ``red``; None for a line or a broad band.
    is_testable
        Whether a source states what the flux does there: false for a head of unknown direction.
    """

    name: str
    vacuum_AA: float
    edge: str | None = None
    is_testable: bool = True


@dataclass(frozen=True, slots=True)
class Feature:
    """A named feature: its places, and whether it is a molecular band."""

    name: str
    places: tuple[Place, ...]
    is_band: bool


FAMILIES: Mapping[str, tuple[str, ...]] = {
    "Balmer": ("Hα", "Hβ", "Hγ", "Hδ"),
    "He I": ("He I 4027", "He I 4473", "He I 4923", "He I 5017", "He I 5877", "He I 6680", "He I 7067"),
    "He II": ("He II 4201", "He II 4543", "He II 4687", "He II 5413"),
    "Bowen": ("N III 4642", "C III 4649"),
    "Ca II": ("Ca II K", "Ca II H", "Ca II 8500", "Ca II 8544", "Ca II 8665"),
    "Ca II H&K": ("Ca II K", "Ca II H"),
    "Ca II triplet": ("Ca II 8500", "Ca II 8544", "Ca II 8665"),
    "Ca I": ("Ca I 4228", "Ca I 6164"),
    "Mg b": ("Mg b1", "Mg b2", "Mg b4"),
    "Na D": ("Na D2", "Na D1"),
    "Na I 8190": ("Na I 8186", "Na I 8197"),
    "K I": ("K I 7667", "K I 7701"),
    "Ba II": ("Ba II 4555", "Ba II 4935", "Ba II 6143", "Ba II 6499"),
    "Sr II": ("Sr II 4079", "Sr II 4217"),
    "[O III]": ("[O III] 4960", "[O III] 5008"),
    "[N II]": ("[N II] 6550", "[N II] 6585"),
    "[S II]": ("[S II] 6718", "[S II] 6733"),
    "[O I]": ("[O I] 5579", "[O I] 6302", "[O I] 6366"),
    "[O II]": ("[O II] 3728",),
    "C2": ("C2 4737", "C2 5165", "C2 5636"),
    "CN": ("CN 7065", "CN 7259", "CN 7820", "CN 7876", "CN 8060"),
    "TiO": ("TiO 4954", "TiO 5167", "TiO 5448", "TiO 6651", "TiO 7054", "TiO 7126"),
    "VO": ("VO 7334", "VO 7851"),
    "CaH": ("CaH 6382",),
    "MgH": ("MgH 4780", "MgH 5211"),
    "ZrO": ("ZrO 5552", "ZrO 5718", "ZrO 6345", "ZrO 6474"),
    "LaO": ("LaO 7404", "LaO 7910"),
    "YO": ("YO 5972", "YO 6132"),
    "SiC2": ("SiC2 4640", "SiC2 4867", "SiC2 4977"),
}
"""Where a family is looked for when a text names it without a wavelength: its strongest members."""

_NOT_ABSORBING_AS_A_WHOLE = ("CaH 6750",)  # the telluric B band lies inside


@cache
def get_feature(name: str) -> Feature:
    """Return a line, a band or a family by its exact name.

    Raises
    ------
    UserError
        Nothing has that name.
    """
    if (members := FAMILIES.get(name)) is not None:
        places = tuple(place for member in members for place in get_feature(member).places)
        return Feature(name, places, members[0] in band_names())
    if name in band_names():
        return Feature(name, (_band_place(name),), is_band=True)
    line = get_line(name)
    return Feature(line.name, (Place(line.name, line.vacuum_AA),), is_band=False)


@cache
def band_names() -> frozenset[str]:
    """Return the names of all bands."""
    return frozenset(band.name for band in all_bands())


@cache
def members_of(species: str) -> tuple[tuple[str, float, float], ...]:
    """Return (name, air Å, vacuum Å) of every line or band of a species, those outside its family too."""
    listed = [
        (line.name, line.air_AA or line.vacuum_AA, line.vacuum_AA)
        for line in all_lines()
        if line.name in FAMILIES.get(species, ()) or species in (line.ion, line.name)
    ]
    bands = [(band.name, band.air_AA, band.vacuum_AA) for band in all_bands() if band.species == species]
    return (*listed, *bands)


def _band_place(name: str) -> Place:
    band = get_band(name)
    if band.sharp_edge is not None:
        return Place(name, band.vacuum_AA, band.sharp_edge)
    if band.end_AA is not None and name not in _NOT_ABSORBING_AS_A_WHOLE:
        return Place(name, (band.vacuum_AA + band.end_AA) / 2)
    return Place(name, band.vacuum_AA, is_testable=name == "CH 4300")
