"""The fine wavelengths on which light is made: one lattice in log λ, on which a redshift is a shift.

Sample k of the lattice stands at 10^(5·10⁻⁵ k) Å (steps of 34.5 km/s, half a LAMOST pixel). Stars move by a few
samples, so all stars share one window of it. A distant object is made on a window further to the blue, whose
light arrives, shifted by a whole number of samples and a fraction, where an instrument looks. What does not
change from object to object (the shape of a band, of a set of lines, of the dust's law) is computed once for
the whole lattice: see `remembered`.
"""

import math
from collections.abc import Callable
from functools import cache, update_wrapper
from typing import TypeVarTuple

import numpy as np

from specvi_benchmark.spectrum import FloatArray

STEP_DEX = 5e-5
SAMPLES = 8800
FAR_REDSHIFT = 5.0

_FIRST = 71086  # 3583 Å: the blue end of DESI less the line spread and 350 km/s; the window ends at 9868 Å
_BLUEST = int(np.log10(1 + FAR_REDSHIFT) / STEP_DEX) + 1
_NEAR = 13  # samples: 350 km/s are 10.2

Key = TypeVarTuple("Key")


def whole_shift(redshift: float) -> int:
    """Return by how many samples a window lies blueward of the stars' for that redshift; 0 for any star."""
    shift = round(float(np.log10(1 + redshift)) / STEP_DEX)
    return 0 if abs(shift) <= _NEAR else shift


def rest_window(redshift: float = 0.0) -> FloatArray:
    """Return the ``(8800,)`` rest-frame wavelengths (vacuum Å) on which an object of that redshift is made.

    The redshift is from 0 (stars: −0.0015) to 5. For every star it is the same array, object and all.
    """
    shift = whole_shift(redshift)
    return star_grid() if shift == 0 else _lattice()[_BLUEST - shift : _BLUEST - shift + SAMPLES]


@cache
def star_grid() -> FloatArray:
    """Return the window of stars; read-only."""
    return _lattice()[_BLUEST : _BLUEST + SAMPLES]


def positions(wavelength_AA: FloatArray) -> FloatArray:
    """Return where wavelengths lie on the stars' window, in samples from its first."""
    found: FloatArray = np.log10(wavelength_AA) / STEP_DEX - _FIRST
    return found


def remainder(redshift: float) -> float:
    """Return by how many samples light of that redshift is shifted beyond `whole_shift`."""
    return float(np.log10(1 + redshift)) / STEP_DEX - whole_shift(redshift)


def remembered(
    function: Callable[[FloatArray, *Key], FloatArray],
) -> Callable[[FloatArray, *Key], FloatArray]:
    """Make a function of (wavelength, key…) compute each result for the whole lattice once, and keep it.

    Windows of the lattice get a read-only view of it; on any other wavelengths the function is called as it
    stands. A sample of its result may depend on wavelengths nearby, not on where the array begins and ends.
    Keys must be few: each is kept (200 kB) for as long as the process lives.
    """
    known: dict[tuple[*Key], FloatArray] = {}

    def on(wavelength_AA: FloatArray, *key: *Key) -> FloatArray:
        if wavelength_AA.base is not _lattice() or wavelength_AA.strides != (8,):
            return function(wavelength_AA, *key)
        if key not in known:
            known[key] = function(_lattice(), *key)
            known[key].setflags(write=False)
        first = round(math.log10(wavelength_AA[0]) / STEP_DEX) - (_FIRST - _BLUEST)
        return known[key][first : first + wavelength_AA.size]

    update_wrapper(on, function)
    return on


@cache
def _lattice() -> FloatArray:
    samples = np.arange(_FIRST - _BLUEST, _FIRST + SAMPLES)
    grid: FloatArray = np.power(10.0, STEP_DEX * samples)
    grid.setflags(write=False)
    return grid
