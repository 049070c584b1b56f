"""Flux ratios of windows: the classical spectral indices, and colours."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from specvi_benchmark.features.prepared import Prepared, Window
from specvi_benchmark.lines import Index

COVERAGE = 0.7
"""Share of good pixels without which a window has no mean."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A value with its standard error from the noise."""

    value: float
    error: float


def window_mean(prepared: Prepared, window: Window) -> Measurement | None:
    """Return the mean flux in a window, weighted by pixel width; None where it is not covered."""
    if prepared.coverage(window) < COVERAGE:
        return None
    part = prepared.slice(window)
    width = prepared.width_AA[part]
    total = float(width.sum())
    value = float(np.sum(prepared.flux[part] * width)) / total
    return Measurement(value, float(np.sqrt(np.sum((prepared.sigma[part] * width) ** 2))) / total)


def flux_ratio(
    prepared: Prepared, numerator: Sequence[Window], denominator: Sequence[Window]
) -> Measurement | None:
    """Return the mean flux of the numerator windows over that of the denominator windows.

    Several windows on one side are averaged with equal weight, as in CaH1 (Reid et al. 1995).

    Returns
    -------
    None where a window is not covered or the denominator is not positive by three standard errors.
    """
    above, below = _average(prepared, numerator), _average(prepared, denominator)
    if above is None or below is None or below.value <= 3 * below.error:
        return None
    value = above.value / below.value
    return Measurement(value, math.hypot(above.error, value * below.error) / below.value)


def measure_index(prepared: Prepared, index: Index) -> Measurement | None:
    """Measure an index of the list in `specvi_benchmark.lines`; None as in `flux_ratio`."""
    return flux_ratio(prepared, index.numerator_AA, index.denominator_AA)


def _average(prepared: Prepared, windows: Sequence[Window]) -> Measurement | None:
    means = [window_mean(prepared, window) for window in windows]
    known = [mean for mean in means if mean is not None]
    if not known or len(known) < len(means):
        return None
    return Measurement(
        sum(mean.value for mean in known) / len(known),
        math.hypot(*(mean.error for mean in known)) / len(known),
    )
