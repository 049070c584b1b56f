"""Near-duplicates: spectra in different parts that are almost equal, whatever their object ids say."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specvi_benchmark.features.compiled_means import window_means
from specvi_benchmark.splits.split import Candidate, Split

RANGE_AA = (3900.0, 8900.0)
BINS = 1000
"""Bins of equal width in ln λ (0.08 %, three LAMOST pixels)."""

SMOOTH = 51
"""Bins of the running mean that takes out the continuum, so that a new flux calibration hides nothing."""

CLIP = 4.0
"""Median absolute deviations at which the fine structure is cut: a few strong lines, which many objects of a class
share, must not outweigh the noise, which only spectra of one exposure share."""

ALIKE = 0.995
"""Correlation above which two spectra are near-duplicates: noise and lines are the same ones. Two visits of one
star correlate so only at high signal to noise, and are a leak as well."""

_BLOCK = 512


@dataclass(frozen=True, slots=True)
class Pair:
    """Two candidates of different parts whose spectra are almost equal."""

    first: Candidate
    second: Candidate
    correlation: float


def near_duplicates(split: Split) -> list[Pair]:
    """Return the pairs of different parts that are alike, most alike first."""
    candidates = split.candidates
    fine = _fine_structure(candidates)
    parts = np.array([candidate.part for candidate in candidates])
    pairs = []
    for first in range(0, len(candidates), _BLOCK):
        rows = slice(first, first + _BLOCK)
        alike = fine[rows] @ fine[first:].T
        apart = parts[rows, None] != parts[None, first:]
        for row, column in np.argwhere((alike >= ALIKE) & apart):
            if row < column:
                pair = Pair(candidates[first + row], candidates[first + column], float(alike[row, column]))
                pairs.append(pair)
    return sorted(pairs, key=lambda pair: -pair.correlation)


def _fine_structure(candidates: tuple[Candidate, ...]) -> NDArray[np.float32]:
    """Return ``(n, BINS)`` rows of unit length: flux over its running mean, clipped; 0 where not covered."""
    edges = RANGE_AA[0] * (RANGE_AA[1] / RANGE_AA[0]) ** (np.arange(BINS + 1) / BINS)
    windows = np.stack([edges[:-1], edges[1:]], axis=1)
    rows = np.empty((len(candidates), BINS), dtype=np.float32)
    level = np.empty(BINS)
    for number, candidate in enumerate(candidates):
        spectrum = candidate.spectrum
        window_means(spectrum.wavelength_AA, spectrum.flux, spectrum.good, windows, 1.0, 0.5, level)
        rows[number] = _normalised(level)
    return rows


def _normalised(level: NDArray[np.float64]) -> NDArray[np.float64]:
    seen = np.isfinite(level)
    box = np.ones(SMOOTH)
    weight = np.convolve(seen, box, "same")
    mean = np.convolve(np.where(seen, level, 0.0), box, "same") / np.maximum(weight, 1)
    usable = seen & (mean > 0)
    fine = np.where(usable, level / np.where(usable, mean, 1.0) - 1, 0.0)
    if usable.any():
        middle = np.median(fine[usable])
        limit = CLIP * np.median(np.abs(fine[usable] - middle))
        fine = np.where(usable, np.clip(fine - middle, -limit, limit), 0.0)
        fine = np.where(usable, fine - fine[usable].mean(), 0.0)
    length = float(np.linalg.norm(fine))
    return fine / length if length > 0 else fine
