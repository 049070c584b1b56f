"""Finds the redshift at which several emission lines fit at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from specvi_benchmark.features.continuum import Binned
from specvi_benchmark.spectrum import BoolArray, FloatArray

CONTINUUM_ERROR = 0.03
"""Error of the running median as a share of it: keeps the ripple of a bright star from counting."""

SEEN_SIGMA = 5.0
"""A line counts as seen from this significance on."""

SCORE_RANGE = (-2.0, 10.0)
"""One line adds no more than this to the score, so that a single bright line decides nothing; one that
is missing takes this much away."""

MIDDLE = 0.01
"""Weight of significance beyond that limit."""


@dataclass(frozen=True, slots=True)
class RedshiftFit:
    """How well lines fit at one redshift: summed score, lines in range, lines seen with their sigma."""

    redshift: float
    score: float
    covered: tuple[str, ...]
    seen: Mapping[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class LineScan:
    """Significance of a bump at every bin, ready to be asked at any redshift."""

    start: float
    step: float
    significance: FloatArray
    covered: BoolArray

    def at(self, lines: Mapping[str, float], redshift: float) -> RedshiftFit:
        """Return the fit of ``lines`` (name → rest wavelength in Å) at one redshift, one bin to either side."""
        found: dict[str, float] = {}
        for name, rest_AA in lines.items():
            index = int(np.floor((np.log(rest_AA * (1 + redshift)) - self.start) / self.step))
            if 0 <= index < self.significance.size and self.covered[index]:
                found[name] = float(self.significance[max(0, index - 1) : index + 2].max())
        score = float(_score(np.array(list(found.values()))).sum())
        seen = {name: value for name, value in found.items() if value >= SEEN_SIGMA}
        return RedshiftFit(redshift, score, tuple(found), seen)

    def best(self, lines: Mapping[str, float], low: float, high: float) -> RedshiftFit:
        """Return the fit with the largest score for ``low <= z <= high``, in steps of one bin."""
        steps = np.arange(np.log1p(low), np.log1p(high), self.step)
        score = np.zeros(steps.size)
        for rest_AA in lines.values():
            index = np.floor((np.log(rest_AA) + steps - self.start) / self.step).astype(np.intp)
            inside = (index >= 0) & (index < self.significance.size)
            index = np.clip(index, 0, self.significance.size - 1)
            score += np.where(inside & self.covered[index], _score(self.significance[index]), 0.0)
        return self.at(lines, float(np.expm1(steps[int(np.argmax(score))])))


def scan_lines(binned: Binned, boxes: Sequence[int]) -> LineScan:
    """Compare every stretch with the running median around it; the best of several widths counts.

    Parameters
    ----------
    binned
        The spectrum.
    boxes
        Widths to try, in bins: the usual FWHM of the lines sought.
    """
    excess = np.where(binned.covered, binned.flux - binned.continuum, 0.0)
    variance = np.where(binned.covered, binned.sigma, 0.0) ** 2
    best = np.full(excess.size, -np.inf)
    for size in boxes:
        level = _box_sum(np.abs(binned.continuum), size)
        error = np.sqrt(_box_sum(variance, size) + (CONTINUUM_ERROR * level) ** 2)
        signal = _box_sum(excess, size)
        best = np.maximum(best, np.divide(signal, error, out=np.zeros_like(signal), where=error > 0))
    return LineScan(
        start=float(np.log(binned.wavelength_AA[0])) - binned.step / 2,
        step=binned.step,
        significance=best,
        covered=binned.covered,
    )


def _box_sum(values: FloatArray, size: int) -> FloatArray:
    """Sum over ``size`` neighbours, nothing beyond the ends."""
    first = (size - 1) // 2
    total: FloatArray = np.convolve(values, np.ones(size))[first : first + values.size]
    return total


def _score(significance: FloatArray) -> FloatArray:
    """Return what one line adds: limited, and beyond the limit just enough to prefer its middle."""
    limited: FloatArray = np.clip(significance, *SCORE_RANGE) + MIDDLE * np.clip(
        significance, 0.0, 1 / MIDDLE
    )
    return limited
