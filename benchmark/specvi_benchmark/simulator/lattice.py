"""The fine wavelengths on which light is made: one lattice in log λ, on which a redshift is a shift.

Sample k of the lattice stands at 10^(5·10⁻⁵ k) Å (steps of 34.5 km/s, half a LAMOST pixel). Stars move by a few
samples, so all stars share one window of it, and what does not change from star to star (the shape of a band,
of a set of lines, of the dust's law) is computed once: see `remembered`. A distant object is made on a window
further to the blue, whose light arrives, shifted by a whole number of samples and a fraction, where an
instrument looks.
"""

from collections.abc import Callable
from functools import cache
from typing import Concatenate, ParamSpec

import numpy as np

from specvi_benchmark.spectrum import FloatArray

STEP_DEX = 5e-5
SAMPLES = 8800
FAR_REDSHIFT = 5.0

_FIRST = 71086  # 3583 Å: the blue end of DESI less the line spread and 350 km/s; the window ends at 9868 Å
_BLUEST = int(np.log10(1 + FAR_REDSHIFT) / STEP_DEX) + 1
_NEAR = 13  # samples: 350 km/s are 10.2

Arguments = ParamSpec("Arguments")


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
    return np.log10(wavelength_AA) / STEP_DEX - _FIRST


def remainder(redshift: float) -> float:
    """Return by how many samples light of that redshift is shifted beyond `whole_shift`."""
    return float(np.log10(1 + redshift)) / STEP_DEX - whole_shift(redshift)


def remembered(
    function: Callable[Concatenate[FloatArray, Arguments], FloatArray],
) -> Callable[Concatenate[FloatArray, Arguments], FloatArray]:
    """Make a function of (wavelength, hashable arguments…) compute each result for `star_grid` once.

    On any other wavelengths it is computed as it stands. A remembered array is read-only.
    """

    @cache
    def for_stars(*arguments: Arguments.args, **named: Arguments.kwargs) -> FloatArray:
        result = function(star_grid(), *arguments, **named)
        result.setflags(write=False)
        return result

    def either(
        wavelength_AA: FloatArray, *arguments: Arguments.args, **named: Arguments.kwargs
    ) -> FloatArray:
        if wavelength_AA is star_grid():
            return for_stars(*arguments, **named)
        return function(wavelength_AA, *arguments, **named)

    either.__doc__ = function.__doc__
    return either


@cache
def _lattice() -> FloatArray:
    samples = np.arange(_FIRST - _BLUEST, _FIRST + SAMPLES)
    grid: FloatArray = 10 ** (STEP_DEX * samples)
    grid.setflags(write=False)
    return grid
