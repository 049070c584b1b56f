"""Cosmic rays, sky residues and dead pixels: sharper than any light that came through the instrument."""

import math
from dataclasses import replace

import numpy as np
from scipy import special
from scipy.ndimage import maximum_filter, median_filter

from specvi_benchmark.features import Prepared
from specvi_benchmark.features.line import SIGMA_FWHM, SPIKE_PIXELS
from specvi_benchmark.features.resolution import LIGHT_KMS
from specvi_benchmark.spectrum import BoolArray, FloatArray

MIN_SIGMA, MIN_HEIGHT = 8.0, 0.5
"""A spike departs by so many sigma, and by so much of the continuum; what is smaller is left to each rule's own test."""

DROPPED_SIGMA = 4.0
"""Of a spike's three pixels those are dropped that depart by so much."""

REACH = 2
"""Pixels on either side of the three in which a real line would go on."""

AROUND, WIDE = 4, 25
"""A spike stands out from the median of so many pixels beyond that on either side (the floor of a trough it may lie
in), and from the running median of so many (the slope or step it may lie on)."""

SLACK, SIDE_SLACK = 0.5, 0.1
"""A spike has less than this share of what the instrument's profile puts beside its three pixels: on both sides
together, or, since another spike may stand on one side, on the emptier side alone. There a real line that falls between
two pixels has 0.2 to 0.4 at a FWHM of 2 to 2.4 pixels."""

PASSES = 4
"""Spikes that lie close together come off one after the other, the highest first."""


def without_spikes(prepared: Prepared) -> tuple[Prepared, int]:
    """Drop the pixels of spikes; return the rest, and how many were dropped.

    A spike is up to three neighbouring pixels, up or down, beside which less is left than the instrument's own
    profile would put there, at two sigma. A line that came through the instrument is never that sharp.
    """
    kept = np.arange(prepared.flux.size)
    spread = _instrument_pixels(prepared)
    for _ in range(PASSES):
        found = _spikes(prepared.flux[kept], prepared.sigma[kept], spread[kept])
        if not found.any():
            break
        kept = kept[~found]
    dropped = prepared.flux.size - kept.size
    if not dropped:
        return prepared, 0
    rest = replace(
        prepared,
        wavelength_AA=prepared.wavelength_AA[kept],
        width_AA=prepared.width_AA[kept],
        flux=prepared.flux[kept],
        sigma=prepared.sigma[kept],
        instrument_kms=prepared.instrument_kms[kept],
    )
    return rest, dropped


def _instrument_pixels(prepared: Prepared) -> FloatArray:
    """Return the standard deviation of the instrument's profile in pixels."""
    pixel_kms = LIGHT_KMS * prepared.width_AA / prepared.wavelength_AA
    spread: FloatArray = prepared.instrument_kms / SIGMA_FWHM / pixel_kms
    return spread


def _spikes(flux: FloatArray, sigma: FloatArray, spread: FloatArray) -> BoolArray:
    """Return ``(n,)`` True at pixels of spikes."""
    found = np.zeros(flux.size, dtype=np.bool_)
    if flux.size < WIDE:
        return found
    ring = np.ones(SPIKE_PIXELS + 2 * (REACH + AROUND), dtype=np.bool_)
    ring[AROUND:-AROUND] = False
    levels = median_filter(flux, WIDE, mode="nearest"), median_filter(flux, footprint=ring, mode="nearest")
    inner, outer = SPIKE_PIXELS / 2, SPIKE_PIXELS / 2 + REACH
    core, whole = (special.erf(half / (spread * math.sqrt(2))) for half in (inner, outer))
    expected = 1 - core / whole
    for sign in (1.0, -1.0):
        spike = np.ones(flux.size, dtype=np.bool_)
        for level in levels:
            excess = sign * (flux - level)
            high = excess > np.maximum(MIN_SIGMA * sigma, MIN_HEIGHT * np.abs(level))
            centre = _is_sharp(excess, sigma, expected) & (_three(high) > 0)
            spike &= (_three(centre) > 0) & (excess > DROPPED_SIGMA * sigma)
        found |= spike
    return found


def _is_sharp(excess: FloatArray, sigma: FloatArray, expected: FloatArray) -> BoolArray:
    """Return where the three pixels are a peak, and less is beside them than a line would have.

    ``expected`` is the share of a line, within its reach, that the instrument puts beside them.
    """
    three, left, right = _three(excess), _side(excess, -1), _side(excess, 1)
    error = 2 * np.sqrt(_side(sigma**2, -1) + _side(sigma**2, 1))
    peak = three >= maximum_filter(three, SPIKE_PIXELS + 2 * REACH, mode="nearest")  # no flank of a line
    sharp = np.zeros(excess.size, dtype=np.bool_)
    for slack, beside in ((SLACK, left + right), (SIDE_SLACK, 2 * np.minimum(left, right))):
        sharp |= beside + error < slack * expected * (three + np.maximum(beside, 0.0))
    return peak & sharp


def _three(values: FloatArray | BoolArray) -> FloatArray:
    """Return the sum of each pixel and its two neighbours."""
    total: FloatArray = np.convolve(values, np.ones(SPIKE_PIXELS), mode="same")
    return total


def _side(values: FloatArray, side: int) -> FloatArray:
    """Return the sum over `REACH` pixels beyond the three, on the left (-1) or right (1); nothing beyond the ends."""
    half = SPIKE_PIXELS // 2
    padded = np.pad(values, half + REACH)
    size = values.size
    steps = [padded[half + REACH + side * (half + step) :][:size] for step in range(1, REACH + 1)]
    total: FloatArray = np.sum(steps, axis=0)
    return total
