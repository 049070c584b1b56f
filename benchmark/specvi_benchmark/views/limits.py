"""What is in a window, smoothing, and where the flux axis ends."""

import math
from dataclasses import dataclass

import numpy as np

from specvi_benchmark.compiled import compiled
from specvi_benchmark.spectrum import BoolArray, FloatArray

HEADROOM = {"clean": 0.06, "spec-o3": 0.05}
"""Space above and below the data, as a share of the range: 0.05 is matplotlib's, as released."""

_SAME = 1e-12  # a relative range below this is a constant: ticks could not tell its ends apart
_LARGEST = 1e300
SMALLEST = 1e-290
"""Flux no further from zero than this counts as zero: its power of ten could not be divided by."""


@dataclass(frozen=True, slots=True)
class FluxRange:
    """Lowest and highest flux, both without spikes of one or two pixels, and how far one may stand beyond."""

    low: float
    high: float
    steady_low: float
    steady_high: float
    leeway: float


@compiled
def _ranges(flux: FloatArray) -> tuple[float, float, float, float]:
    low = high = flux[0]
    for value in flux:
        low, high = min(low, value), max(high, value)
    if flux.size < 5:
        return low, high, low, high
    steady_low, steady_high = np.inf, -np.inf
    last = flux.size - 1
    for middle in range(
        flux.size
    ):  # the median of five: the middle of (a, b), (c, d) sorted and joined, and e
        a, b = flux[max(middle - 2, 0)], flux[max(middle - 1, 0)]
        c, d = flux[min(middle + 1, last)], flux[min(middle + 2, last)]
        e = flux[middle]
        larger_low = max(min(a, b), min(c, d))
        smaller_high = min(max(a, b), max(c, d))
        small, large = min(larger_low, smaller_high), max(larger_low, smaller_high)
        median = max(small, min(e, large))
        steady_low, steady_high = min(steady_low, median), max(steady_high, median)
    return low, high, steady_low, steady_high


def flux_range(flux: FloatArray) -> FluxRange:
    """Return the range of good flux, ``(n,)`` with n ≥ 1.

    The leeway is the steady range, or four times the median step between neighbours (3.8σ of pure noise) where
    that is more: in a window of few pixels a median over five leaves little of the noise.
    """
    low, high, steady_low, steady_high = _ranges(flux)
    leeway = steady_high - steady_low
    if low < steady_low - leeway or high > steady_high + leeway:
        leeway = max(leeway, 4 * float(np.median(np.abs(np.diff(flux)))))
    return FluxRange(low, high, steady_low, steady_high, leeway)


def held(flux: FloatArray) -> FloatArray:
    """Return the flux cut at ±1e300, so that no difference of two values overflows."""
    return np.clip(flux, -_LARGEST, _LARGEST)


def axis_limits(found: FluxRange, *, robust: bool, headroom: float) -> tuple[float, float]:
    """Return the ends of the flux axis.

    ``robust``: a median over five pixels takes out spikes of one or two (a resolved line is wider); an extreme
    within the leeway beyond the remaining range stays whole. Constant flux stands in the middle.
    """
    low, high = found.low, found.high
    if robust:
        low, high = found.steady_low, found.steady_high
        if found.steady_low - found.leeway <= found.low:
            low = found.low
        if found.high <= found.steady_high + found.leeway:
            high = found.high
    size = max(abs(low), abs(high))
    if size <= SMALLEST:
        return -1.0, 1.0
    if high / 2 - low / 2 <= _SAME * size:
        return low - 0.1 * size, high + 0.1 * size
    room = headroom * (high - low)
    return low - room, high + room


def exponent(limits: tuple[float, float]) -> int:
    """Return the power of ten that is taken out of the flux axis: 0 for sizes that read well as they are."""
    power = math.floor(math.log10(max(abs(limit) for limit in limits)))
    return 0 if -2 <= power <= 4 else power


@compiled
def smooth(flux: FloatArray, shown: BoolArray, pixels: int) -> FloatArray:
    """Return the mean of the good pixels among ``pixels`` (odd) around each one; gaps stay gaps."""
    out = np.zeros(flux.size)
    half = pixels // 2
    for middle in range(flux.size):
        total, count = 0.0, 0
        for near in range(max(middle - half, 0), min(middle + half + 1, flux.size)):
            if shown[near]:
                total += flux[near]
                count += 1
        out[middle] = total / count if shown[middle] else 0.0
    return out
