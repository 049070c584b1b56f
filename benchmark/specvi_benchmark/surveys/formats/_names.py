"""Column names as people write them: what a column holds, its unit, air or vacuum."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from specvi_benchmark.surveys.formats._medium import medium_word
from specvi_benchmark.surveys.source import Medium

# All without blanks, underscores and case. The first of each list that a table has is taken.
WAVELENGTH = (
    *(
        "wavelength",
        "wavelengths",
        "wave",
        "waves",
        "wav",
        "wl",
        "wvl",
        "wlen",
        "wvlen",
        "lambda",
        "lam",
        "λ",
    ),
    *("wavelengthobs", "obswavelength", "observedwavelength", "waveobs", "obswave", "lambdaobs", "lamobs"),
    *("spectralaxis", "wavelengthgrid", "wavegrid"),
)
FLUX = (
    *("flux", "fluxdensity", "fluxd", "flambda", "flam", "fluxlambda", "fluxlam", "fluxcal", "calflux"),
    *("meanflux", "medianflux", "fλ", "f", "fl", "fnu", "fluxnu", "fν", "abmag", "magab", "abnu", "stmag"),
    *("magst", "mag", "magnitude", "intensity", "counts", "signal"),
)
IVAR = ("ivar", "fluxivar", "ivarflux", "invvar", "inversevariance", "fluxinvvar", "fluxinversevariance")
_SIGMAS = ("err", "error", "errors", "sigma", "sig", "unc", "uncertainty", "noise", "stdev", "stddev")
SIGMA = (
    *_SIGMAS,
    *("properr", "staterror", "staterr", "errstat", "meanerr", "medianerr", "magerr", "errmag"),
    *(f"{flux}{word}" for flux in FLUX for word in _SIGMAS),
    *(f"{word}{flux}" for flux in FLUX for word in (*_SIGMAS, "e", "d")),
)
VARIANCE = ("variance", "var", "fluxvariance", "fluxvar", "varflux", "varianceflux")
BAD = ("mask", "andmask", "badmask", "maskbad", "bad", "isbad", "badpix", "badpixel", "badpixels", "fluxmask")
GOOD = ("good", "isgood", "goodpix", "goodpixel", "goodpixels", "goodmask", "valid")
UNSURE = ("flag", "flags", "quality", "qual", "dq", "dataqual", "dataquality", "status", "qf")
AT_REST = tuple(
    word for name in ("wavelength", "wave", "lambda", "lam", "wl") for word in (f"rest{name}", f"{name}rest")
)
NOT_WAVELENGTH = ("frequency", "freq", "wavenumber", "energy", "velocity", "pixel", "channel")

_FREQUENCY_FLUX = frozenset({"fnu", "fluxnu", "fν"})
_UNIT_WORDS = frozenset(
    (
        *("a", "aa", "å", "ang", "angstrom", "angstroms", "nm", "um", "\u03bcm", "micron", "microns"),
        *("jy", "mjy", "ujy", "\u03bcjy", "flam", "fnu", "abmag", "stmag"),
    )
)
_LOGARITHM = re.compile(r"^(?:log10|log|lg)[\s_(\[]*(?:wavelength|wave|lambda|lam|wl)[\s)\]]*$")
_SLASH = re.compile(rf"^({'|'.join((*WAVELENGTH, *FLUX))})\s*/\s*(.+)$", re.IGNORECASE)
_BRACKET = re.compile(r"^(.+?)\s*[(\[]\s*([^()\[\]]*(?:\([^()]*\)[^()\[\]]*)*)\s*[)\]]\s*$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ColumnName:
    """What the name of a column tells.

    Attributes
    ----------
    word
        What is left without unit and medium, in lower case and without blanks.
    unit
        As written, empty where the name has none.
    medium
        Air or vacuum, where the name says it.
    logarithm
        Whether it is the logarithm of a wavelength.
    """

    word: str
    unit: str
    medium: Medium | None
    logarithm: bool

    @property
    def per_frequency(self) -> bool:
        """Return whether this is a flux per unit frequency by its name."""
        return self.word in _FREQUENCY_FLUX


def parse_name(name: str) -> ColumnName:
    """Take a column name apart: ``Wavelength (air, nm)``, ``wave_vac_AA``, ``LogLam``, ``flux_Jy``."""
    text = name.strip().strip("\"'")
    if _LOGARITHM.match(text.casefold()):
        return ColumnName("wavelength", "", None, logarithm=True)
    unit, medium = "", None
    bracket = _BRACKET.match(text) or _SLASH.match(text)
    if bracket is not None and bracket[1].casefold() in _SIGMAS and bracket[2].casefold() in FLUX:
        text = f"{bracket[1]}{bracket[2]}"
    elif bracket is not None:
        text = bracket[1]
        inside = [part.strip() for part in re.split(r"[,;]", bracket[2])]
        media = [found for part in inside if (found := medium_word(part)) is not None]
        medium = media[0] if media else None
        unit = ", ".join(part for part in inside if medium_word(part) is None)
    words = [word for word in re.split(r"[\s_\-.:]+", text) if word]
    while len(words) > 1:
        last = words[-1]
        if medium_word(last) is not None:
            medium = medium_word(words.pop())
        elif last.casefold().replace("µ", "\u03bc") in _UNIT_WORDS and not unit:
            unit = words.pop().casefold()
        else:
            break
    if len(words) > 1 and medium_word(words[0]) is not None:
        medium = medium_word(words.pop(0))
    word = "".join(words).casefold()
    logarithm = _LOGARITHM.match(word) is not None
    return ColumnName("wavelength" if logarithm else word, unit, medium, logarithm)


def find(names: Sequence[ColumnName], wanted: Iterable[str]) -> int | None:
    """Return the index of the first of the wanted words that a column has, None where there is none."""
    by_word: dict[str, int] = {}
    for index, name in enumerate(names):
        by_word.setdefault(name.word, index)
    return next((by_word[word] for word in wanted if word in by_word), None)


def pair(names: Sequence[str]) -> tuple[int, int] | None:
    """Return wavelength and flux columns that share an ending: ``wave_STAR``, ``flux_STAR``.

    None where there is no such pair, or more than one.
    """
    waves, fluxes = (_endings(names, words) for words in (WAVELENGTH, FLUX))
    shared = [ending for ending in waves if ending in fluxes]
    return (waves[shared[0]], fluxes[shared[0]]) if len(shared) == 1 else None


def _endings(names: Sequence[str], words: Iterable[str]) -> dict[str, int]:
    known = frozenset(words)
    parts = [name.split("_", 1) for name in names]
    return {
        part[1]: index for index, part in enumerate(parts) if len(part) == 2 and part[0].casefold() in known
    }
