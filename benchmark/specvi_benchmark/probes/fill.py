"""Puts continuum and noise where a feature was, so that nothing tells that it was there."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from specvi_benchmark.features.noise import scatter_sigma
from specvi_benchmark.probes.stretches import Range
from specvi_benchmark.spectrum import BoolArray, FloatArray, Spectrum

SIDE_PIXELS = 25
"""Good pixels on either side whose median is the level there: its error is a quarter of a pixel's noise."""

SIDE_REACH = 1.0
"""They are looked for no farther away than this many widths of the stretch."""


def fill(spectrum: Spectrum, stretches_AA: Sequence[Range], rng: np.random.Generator) -> Spectrum | None:
    """Replace the flux of good pixels in some stretches; ivar and mask stay as they are.

    The level is the straight line between the medians on both sides of a stretch; where one side has no pixels, as
    at the end of the data, it is the median of the other. To it comes Gaussian noise as the pixel's ivar states it,
    or, without errors, as the scatter of neighbouring pixels shows it.

    Parameters
    ----------
    stretches_AA
        Observed frame. Those that overlap are filled as one.
    rng
        One number a pixel of the whole spectrum is drawn.

    Returns
    -------
    None where a stretch has no good pixels beside it.
    """
    wavelength = spectrum.wavelength_AA
    merged = _merged(stretches_AA)
    hidden = np.zeros(wavelength.size, dtype=np.bool_)
    for low, high in merged:
        hidden[spectrum.window(low, high)] = True
    flux = spectrum.flux.copy()
    noise = pixel_sigma(spectrum) * rng.standard_normal(wavelength.size)
    for low, high in merged:
        level = _level(spectrum, hidden, (low, high))
        if level is None:
            return None
        part = spectrum.window(low, high)
        flux[part] = np.where(spectrum.good[part], level + noise[part], flux[part])
    return replace(spectrum, flux=flux)


def pixel_sigma(spectrum: Spectrum) -> FloatArray:
    """Return ``(n,)`` standard deviations: from ivar, or without errors from scatter; 0 in bad pixels."""
    sigma = np.zeros(spectrum.flux.size)
    if spectrum.has_errors:
        known = spectrum.good & (spectrum.ivar > 0)
        sigma[known] = 1 / np.sqrt(spectrum.ivar[known])
    else:
        sigma[spectrum.good] = scatter_sigma(spectrum.flux[spectrum.good])
    return sigma


def _level(spectrum: Spectrum, hidden: BoolArray, stretch_AA: Range) -> FloatArray | None:
    """Return the continuum at the pixels of a stretch."""
    low, high = stretch_AA
    reach = SIDE_REACH * (high - low)
    wavelength = spectrum.wavelength_AA
    free = spectrum.good & ~hidden
    below = np.flatnonzero(free & (wavelength >= low - reach) & (wavelength < low))[-SIDE_PIXELS:]
    above = np.flatnonzero(free & (wavelength > high) & (wavelength <= high + reach))[:SIDE_PIXELS]
    sides = [side for side in (below, above) if side.size]
    if not sides:
        return None
    places = [float(wavelength[side].mean()) for side in sides]
    levels = [float(np.median(spectrum.flux[side])) for side in sides]
    found: FloatArray = np.interp(wavelength[spectrum.window(low, high)], places, levels)
    return found


def _merged(stretches_AA: Sequence[Range]) -> list[Range]:
    """Return the stretches in order, those that overlap as one."""
    merged: list[Range] = []
    for low, high in sorted(stretches_AA):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged
