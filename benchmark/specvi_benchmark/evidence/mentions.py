"""Which features a sentence mentions, and at which wavelengths: names in any usual spelling, numbers in air or vacuum."""

import re
from dataclasses import dataclass, replace

from specvi_benchmark.evidence.features import FAMILIES, members_of
from specvi_benchmark.lines import all_bands

LINE_TOLERANCE_AA = 12.0
"""A wavelength written so near to a line is that line's: rounding, air for vacuum, a star's motion."""

BAND_TOLERANCE_AA = 40.0
"""A band may be named by a place inside it."""

UNNAMED_TOLERANCE_AA = 4.0
"""A wavelength without a name is taken for a line of the short list only when so near."""

_UNNAMED = ("Hα", "Hβ", "Hγ", "Hδ", "He I", "He II", "Ca II K")
_BANDS = frozenset(band.species for band in all_bands())

_SPECIES: tuple[tuple[str, str], ...] = (
    ("Hα", r"\bH[\s_-]?(?:α|alpha)|\bHa\b"),
    ("Hβ", r"\bH[\s_-]?(?:β|beta)|\bHb\b"),
    ("Hγ", r"\bH[\s_-]?(?:γ|gamma)"),
    ("Hδ", r"\bH[\s_-]?(?:δ|delta)"),
    ("Hε", r"\bH[\s_-]?(?:ε|epsilon)"),
    ("H8", r"\bH8\b|\bHζ"),
    ("H9", r"\bH9\b|\bHη"),
    ("Balmer", r"\b[Bb]almer\b(?!\s(?:jump|decrement|break|discontinuity|limit|maximum|line(?:s)? position))|\b[Hh]ydrogen\b"),
    ("He II", r"\bHe\s?II\b|\b[Ii]oni[sz]ed [Hh]elium\b"),
    ("He I", r"\bHe\s?I\b|\b[Nn]eutral [Hh]elium\b|\b[Hh]elium\b"),
    ("CaH", r"\bCaH\b"),
    ("Ca II triplet", r"\bCa\s?II\s?(?:\(?(?:N?IR|[Nn]ear-infrared|[Ii]nfrared)\)?\s)?triplet|\b[Cc]alcium(?: infrared)? triplet|\bCaT\b"),
    ("Ca II H&K", r"\bCa\s?(?:II\s?)?H\s?(?:&|\+|and|/)\s?(?:Ca\s?(?:II\s?)?)?K\b"),
    ("Ca II K", r"\bCa\s?(?:II\s?)?K\b"),
    ("Ca II H", r"\bCa\s?(?:II\s?)?H\b"),
    ("Ca II", r"\bCa\s?II\b"),
    ("Ca I", r"\bCa\s?I\b"),
    ("Na D", r"\bNa\s?(?:I\s?)?D[12]?\b|\b[Ss]odium D\b"),
    ("Na I", r"\bNa\s?I\b|\b[Ss]odium\b(?= (?:lines|doublet))"),
    ("Mg b", r"\bMg\s?(?:I\s?)?b\d?\b|\bMg(?: I)? triplet"),
    ("Mg II", r"\bMg\s?II\b"),
    ("K I", r"\bK\s?I\b"),
    ("Li I", r"\bLi\s?I\b|\b[Ll]ithium\b"),
    ("Ba II", r"\bBa\s?II\b"),
    ("Sr II", r"\bSr\s?II\b"),
    ("[O III]", r"\[O\s?III\]|\bO\s?III\b"),
    ("[O II]", r"\[O\s?II\]"),
    ("[O I]", r"\[O\s?I\]"),
    ("[N II]", r"\[N\s?II\]"),
    ("[S II]", r"\[S\s?II\]"),
    ("Bowen", r"\bBowen\b"),
    ("N III", r"\bN\s?III\b"),
    ("N V", r"\bN\s?V\b"),
    ("C IV", r"\bC\s?IV\b"),
    ("C III]", r"\bC\s?III\]"),
    ("C III", r"\bC\s?III\b(?!\])"),
    ("C II", r"\bC\s?II\b"),
    ("Si IV", r"\bSi\s?IV\b"),
    ("Si III", r"\bSi\s?III\b"),
    ("Si II", r"\bSi\s?II\b"),
    ("Lyα", r"\bLy(?:man)?[\s-]?(?:α|alpha)"),
    ("C2", r"\bC2\b(?:\sSwan\b)?|\bSwan\b(?:\s(?:bands?|system)(?:\sof\sC2)?)?"),
    ("CN", r"\bCN\b"),
    ("CH", r"\bG[ -]band(?: of CH)?|\bCH\b(?:\sG[ -]band)?"),
    ("TiO", r"\bTiO\b|\b[Tt]itanium oxide"),
    ("VO", r"\bVO\b"),
    ("MgH", r"\bMgH\b"),
    ("ZrO", r"\bZrO\b|\b[Zz]irconium oxide"),
    ("LaO", r"\bLaO\b"),
    ("YO", r"\bYO\b"),
    ("SiC2", r"\bSiC2\b"),
)  # fmt: skip
_PATTERN = re.compile("|".join(f"(?P<s{number}>{pattern})" for number, (_, pattern) in enumerate(_SPECIES)))

_ALONE = {
    "Na I": "Na I 8190", "Mg II": "Mg II 4482", "Li I": "Li I 6710", "N III": "N III 4642", "N V": "N V 1240",
    "C IV": "C IV 1549", "C III]": "C III] 1909", "C III": "C III 4649", "C II": "C II 4268", "Si IV": "Si IV 4090",
    "Si III": "Si III 4554", "Si II": "Si II 4129", "CH": "CH 4300",
}  # fmt: skip
"""What a species without a wavelength stands for, where it has no family."""

_IN_QUASARS = {
    "Mg II": "Mg II 2799", "C III": "C III] 1909", "Si IV": "Si IV/O IV] 1400", "[O II]": "[O II] 3728",
}  # fmt: skip

_NUMBER = re.compile(
    r"(?<![\d.])(?<!(?<!\d{4}),)(\d{4,5}(?:\.\d+)?)(?!\d)(?!\s*(?:km|K\b|σ|px|pixels|%|(?:Å\s*)?(?:-|–|to)\s*\d{4}))"
)
_NO_WAVELENGTH = re.compile(
    r"(?:FWHM|EW|width|\d\s*(?:-|–)|\bto|\bfrom|\bbetween|\bbelow|\babove|\bbeyond|\bredward of|(?<!just )\bblueward of)"
    r"[^\d]{0,6}$",
    re.IGNORECASE,
)
_BESIDE = re.compile(
    r"^[\s(,:~≈λ]*(?:(?:lines?|bands?|head|emission|absorption|is|are|in|at|near|around|about|of|the|broad|strong|weak"
    r"|clear(?:ly)?|seen|visible|present|located|centred|centered|appears)[\s(~≈λ]*){0,6}$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Mention:
    """One feature in a sentence.

    Attributes
    ----------
    start, end
        Where its name stands in the sentence.
    features
        The names meant: one, or several heads of one species.
    written_AA
        The wavelength written with it; None without.
    is_misplaced
        The wavelength written belongs to no line or band of that species.
    """

    start: int
    end: int
    features: tuple[str, ...]
    written_AA: float | None = None
    is_misplaced: bool = False


@dataclass(slots=True)
class _Named:
    start: int
    end: int
    species: str
    members: list[tuple[str, float]]
    stray_AA: float | None = None


def find_mentions(sentence: str, *, quasar: bool = False) -> list[Mention]:
    """Return what a plain sentence mentions, in order.

    A number belongs to the nearest species before it, else after it, one of whose members lies there; a number
    right beside a species that has none there is that species at a wrong wavelength (in the ``quasar`` task:
    at an observed one).
    """
    named = [
        _Named(found.start(), found.end(), _SPECIES[int(found.lastgroup[1:])][0], [])
        for found in _PATTERN.finditer(sentence)
        if found.lastgroup
    ]
    alone: list[Mention] = []
    for found in _NUMBER.finditer(sentence):
        _assign(sentence, found, named, alone, quasar=quasar)
    mentions = [_mention(item, quasar=quasar) for item in named]
    return sorted([*mentions, *alone], key=lambda mention: mention.start)


def _assign(
    sentence: str, found: re.Match[str], named: list[_Named], alone: list[Mention], *, quasar: bool
) -> None:
    """Give a number to a species, or make it a mention of its own."""
    value = float(found[1])
    before = [item for item in reversed(named) if item.end <= found.start()]
    after = [item for item in named if item.start >= found.end()]
    for item in (*before, *after):
        if member := _member(item.species, value):
            item.members.append((member, value))
            return
    if _NO_WAVELENGTH.search(sentence[: found.start()]):
        return
    near = [item for item in before[:1] if _BESIDE.match(sentence[item.end : found.start()])]
    near += [item for item in after[:1] if re.fullmatch(r"\s*Å?\s*", sentence[found.end() : item.start])]
    if near:
        near[0].stray_AA = value
    elif not quasar:
        for species in _UNNAMED:
            for name, air, vacuum in members_of(species):
                if min(abs(value - air), abs(value - vacuum)) <= UNNAMED_TOLERANCE_AA:
                    alone.append(Mention(found.start(), found.end(), (name,), value))
                    return


def _member(species: str, value: float) -> str | None:
    """Return the member of a species at a wavelength, the nearest; None where there is none."""
    tolerance = BAND_TOLERANCE_AA if species in _BANDS else LINE_TOLERANCE_AA
    distances = [
        (min(abs(value - air), abs(value - vacuum)), name) for name, air, vacuum in members_of(species)
    ]
    distance, name = min(distances, default=(tolerance + 1, ""))
    if species == "Na I" and abs(value - 8190) <= 2:
        return "Na I 8190"
    return name if distance <= tolerance else None


def _mention(item: _Named, *, quasar: bool) -> Mention:
    meant = _IN_QUASARS.get(item.species) if quasar else None
    default = meant or (item.species if item.species in FAMILIES else _ALONE.get(item.species, item.species))
    plain = Mention(item.start, item.end, (default,))
    if item.members and item.species != "Bowen":  # the blend has one name
        names = tuple(dict.fromkeys(name for name, _ in item.members))
        return replace(plain, features=names, written_AA=item.members[0][1])
    if item.stray_AA is None:
        return plain
    return replace(plain, written_AA=item.stray_AA, is_misplaced=not quasar)
