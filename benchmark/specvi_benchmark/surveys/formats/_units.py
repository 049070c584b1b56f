"""Units as people write them: wavelengths to Å, flux densities to 1e-17 erg/s/cm²/Å.

The second is the unit of SDSS and DESI. Only units that are understood are converted; what is not
understood is for the caller to refuse. (astropy takes ``A`` for ampere and knows neither ``flam`` nor
``10-17 erg/s/cm2/Ang``, which files are full of; the tests hold this reader to it where both agree.)
"""

import re
from dataclasses import dataclass
from math import isfinite
from typing import Literal

import numpy as np

from specvi_benchmark.spectrum import FloatArray

LIGHT_AA_PER_S = 2.99792458e18
FLUX_UNIT = 1e-17  # erg/s/cm²/Å
AB_ZERO_MAG = -48.60  # of F_ν in erg/s/cm²/Hz; Oke & Gunn 1983, ApJ 266, 713
ST_ZERO_MAG = -21.10  # of F_λ in erg/s/cm²/Å; Koornneef et al. 1986, Highlights of Astronomy 7, 833
RELATIVE_AT_AA = 5500.0  # a relative F_ν keeps its number at this wavelength

_WAVELENGTHS_AA = {
    "a": 1.0,
    "aa": 1.0,
    "å": 1.0,
    "ang": 1.0,
    "angstrom": 1.0,
    "angstroms": 1.0,
    "ångström": 1.0,
    "ångstrom": 1.0,
    "nm": 10.0,
    "nanometer": 10.0,
    "nanometers": 10.0,
    "nanometre": 10.0,
    "nanometres": 10.0,
    "um": 1e4,
    "\u03bcm": 1e4,  # the Greek letter, as every spelling of it reads after `_plain`
    "micron": 1e4,
    "microns": 1e4,
    "micrometer": 1e4,
    "micrometers": 1e4,
    "micrometre": 1e4,
    "micrometres": 1e4,
    "mm": 1e7,
    "cm": 1e8,
    "m": 1e10,
}
_TENTH_NM = re.compile(r"\b0\.1 ?nm\b")  # how CDS and the Virtual Observatory write Å
_LOGARITHM = re.compile(r"^(?:log10|log|lg|dex)\s*[\[(]?\s*(.*?)\s*[\])]?$")

# Name → exponents of (mass, length, time) and size in g, cm, s.
_Dimension = tuple[int, int, int]
_PER_WAVELENGTH: _Dimension = (1, -1, -3)
_PER_FREQUENCY: _Dimension = (1, 0, -2)
_WORDS: dict[str, tuple[_Dimension, float]] = {
    "erg": ((1, 2, -2), 1.0),
    "ergs": ((1, 2, -2), 1.0),
    "j": ((1, 2, -2), 1e7),
    "w": ((1, 2, -3), 1e7),
    "watt": ((1, 2, -3), 1e7),
    "g": ((1, 0, 0), 1.0),
    "kg": ((1, 0, 0), 1e3),
    "s": ((0, 0, 1), 1.0),
    "sec": ((0, 0, 1), 1.0),
    "second": ((0, 0, 1), 1.0),
    "hz": ((0, 0, -1), 1.0),
    **{name: ((0, 1, 0), size * 1e-8) for name, size in _WAVELENGTHS_AA.items() if name.isalpha()},
    "flam": (_PER_WAVELENGTH, 1e8),
    "fnu": (_PER_FREQUENCY, 1.0),
    "jy": (_PER_FREQUENCY, 1e-23),
    "jansky": (_PER_FREQUENCY, 1e-23),
}
_JANSKY_PREFIXES = {"m": 1e-3, "u": 1e-6, "\u03bc": 1e-6, "n": 1e-9, "M": 1e6, "k": 1e3}

_SCALE = re.compile(
    r"^\(?\s*10\s*(?:\*\*|\^)?\s*\{?\(?\s*([+-]\d+)\s*\)?\}?|^\(?\s*([0-9.]+(?:[eE][+-]?\d+)?)"
)
_WORD = re.compile(r"([A-Za-z\u03bcÅåöÖ]+)\s*(?:\*\*|\^)?\s*(?:[{(]\s*([+-]?\d+)\s*[)}]|([+-]?\d+))?")

Kind = Literal["per wavelength", "per frequency", "AB mag", "ST mag", "relative", "counts"]


@dataclass(frozen=True, slots=True)
class FluxUnit:
    """What a flux column holds. ``factor`` brings its numbers to erg/s/cm²/Å or erg/s/cm²/Hz."""

    kind: Kind
    factor: float = 1.0

    def convert(self, values: FloatArray, vacuum_AA: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return flux per unit wavelength, and its derivative by ``values``, which scales errors.

        Parameters
        ----------
        values
            ``(n,)``, in this unit (magnitudes for the magnitude kinds).
        vacuum_AA
            ``(n,)``, wavelengths in vacuum.

        Returns
        -------
        ``(n,)`` each, in 1e-17 erg/s/cm²/Å; relative fluxes and counts keep their numbers.
        """
        with np.errstate(all="ignore"):  # what overflows is not finite and becomes a bad pixel
            per_wavelength = LIGHT_AA_PER_S / vacuum_AA**2  # of F_ν, by |dν/dλ|
            if self.kind == "AB mag":
                flux = 10 ** (-0.4 * (values - AB_ZERO_MAG)) * per_wavelength / FLUX_UNIT
                return flux, -0.4 * np.log(10) * flux
            if self.kind == "ST mag":
                flux = 10 ** (-0.4 * (values - ST_ZERO_MAG)) / FLUX_UNIT
                return flux, -0.4 * np.log(10) * flux
            slope = np.ones_like(vacuum_AA)
            if self.kind == "per wavelength":
                slope = slope * (self.factor / FLUX_UNIT)
            elif self.kind == "per frequency":
                slope = per_wavelength * (self.factor / FLUX_UNIT)
            return values * slope, slope


RELATIVE = FluxUnit("relative")
RELATIVE_PER_FREQUENCY = FluxUnit("per frequency", FLUX_UNIT * RELATIVE_AT_AA**2 / LIGHT_AA_PER_S)
COUNTS = FluxUnit("counts")
AB_MAG = FluxUnit("AB mag")
ST_MAG = FluxUnit("ST mag")

# Without blanks, points and underscores, in lower case.
_NAMED = {
    **dict.fromkeys(
        ("none", "-", "--", "---", "1", "dimensionless", "unitless", "unity", "scaled"), RELATIVE
    ),
    **dict.fromkeys(("relative", "relativeflux", "normalized", "normalised", "normalizedflux"), RELATIVE),
    **dict.fromkeys(
        ("normalisedflux", "arbitrary", "arb", "arbunit", "arbunits", "arbitraryunits"), RELATIVE
    ),
    **dict.fromkeys(("count", "counts", "ct", "cts", "adu", "dn", "e-", "electron", "electrons"), COUNTS),
    **dict.fromkeys(("abmag", "magab", "mag(ab)", "ab"), AB_MAG),
    **dict.fromkeys(("stmag", "magst", "mag(st)", "st"), ST_MAG),
}


def wavelength_unit(text: str) -> tuple[float, bool] | None:
    """Return Å in one unit and whether the numbers are logarithms (base 10); None if not understood."""
    word = _plain(text).casefold()
    if word in _WAVELENGTHS_AA:
        return _WAVELENGTHS_AA[word], False
    logarithm = _LOGARITHM.match(word)
    if logarithm is not None:
        inner = logarithm[1] or "angstrom"
        return (_WAVELENGTHS_AA[inner], True) if inner in _WAVELENGTHS_AA else None
    return None


def flux_unit(text: str) -> FluxUnit | None:
    """Return what a flux unit means, None if it is not understood."""
    word = _plain(text)
    named = _NAMED.get(re.sub(r"[\s._]", "", word).casefold())
    parsed = _dimension(word) if named is None else None
    if parsed is None:
        return named
    dimension, factor = parsed
    if dimension == _PER_WAVELENGTH:
        return FluxUnit("per wavelength", factor * 1e-8)  # erg/s/cm³ to erg/s/cm²/Å
    return FluxUnit("per frequency", factor) if dimension == _PER_FREQUENCY else None


def inverse_variance_unit(text: str) -> FluxUnit | None:
    """Return the flux unit whose inverse square this unit is, None if it is not understood."""
    parsed = _dimension(_plain(text))
    if parsed is None:
        return None
    dimension, factor = parsed
    if dimension == tuple(-2 * power for power in _PER_WAVELENGTH):
        return FluxUnit("per wavelength", factor**-0.5 * 1e-8)
    if dimension == tuple(-2 * power for power in _PER_FREQUENCY):
        return FluxUnit("per frequency", factor**-0.5)
    return None


def _plain(text: str) -> str:
    """Return a unit with one letter for Å and one for µ, without brackets around it, 0.1nm as Å."""
    text = _TENTH_NM.sub("Angstrom", text)
    return text.replace("\u212b", "Å").replace("A\u030a", "Å").replace("µ", "\u03bc").strip(" \t[]")


def _dimension(text: str) -> tuple[_Dimension, float] | None:
    """Return exponents of (mass, length, time) and the size in g, cm and s."""
    if len(text) > 80:
        return None
    factor = 1.0
    scale = _SCALE.match(text)
    if scale is not None:
        try:
            factor = 10.0 ** int(scale[1]) if scale[1] else float(scale[2])
        except (ValueError, OverflowError):
            return None
        text = text[scale.end() :]
    total = [0, 0, 0]
    sign, group = 1, 1
    position = 0
    while position < len(text):
        mark = text[position]
        if mark in " \t*.·×)":
            group = 1 if mark == ")" else group
            position += 1
        elif mark == "/":
            sign, position = -1, position + 1
        elif mark == "(":
            group, sign, position = sign * group, 1, position + 1
        else:
            word = _WORD.match(text, position)
            known = _word(word[1]) if word is not None else None
            if word is None or known is None:
                return None
            power = sign * group * int(word[2] or word[3] or 1)
            if abs(power) > 12:
                return None
            dimension, size = known
            total = [have + power * one for have, one in zip(total, dimension, strict=True)]
            factor *= size**power
            sign, position = 1, word.end()
    return ((total[0], total[1], total[2]), factor) if isfinite(factor) and factor > 0 else None


def _word(name: str) -> tuple[_Dimension, float] | None:
    if name[1:].casefold() == "jy" and name[0] in _JANSKY_PREFIXES:
        return _PER_FREQUENCY, 1e-23 * _JANSKY_PREFIXES[name[0]]
    return _WORDS.get(name.casefold())
