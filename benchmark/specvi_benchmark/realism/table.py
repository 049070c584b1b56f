"""What the judge measures: shape, fine structure, lines and bands, by numbers that surveys agree about.

Shape and fine structure are logarithms of ratios of mean fluxes; lines, bands and indices are the selection
features of the suite (`specvi_benchmark.features.selection`). No unit or scale matters.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.ndimage import gaussian_filter1d

from specvi_benchmark.features.selection import selection_columns, selection_features
from specvi_benchmark.simulator import wavelengths
from specvi_benchmark.spectrum import BoolArray, FloatArray, Spectrum

_BIN_LN = 1 / 300  # 1000 km/s, 14 pixels: wider than the velocities of stars
_FIRST_AA, _LAST_AA = 3900.0, 8850.0  # both ends of a spectrum are badly calibrated
_CONTINUUM_BINS = 12.0  # σ of the continuum, 12,000 km/s
_SHAPE_NODES = 9
_SHARES = (0, 1, 5, 95, 99, 100)
_FLOOR = 0.02  # of the local continuum: no depth is measured below it
_HIGHEST_RATIO = 2.0

RANGES_AA: dict[str, tuple[float, float]] = {"whole": (_FIRST_AA, _LAST_AA), "blue": (_FIRST_AA, 7380.0)}
"""Ranges for which a judge is trained. MILES ends at 7409 Å."""
_LEAST_OF_RANGE = 0.9  # of a range's bins, so that its judge may be asked


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Features of many spectra: ``values`` ``(n, features)``, NaN where not measured."""

    values: FloatArray
    names: tuple[str, ...]


def measure(flux: FloatArray, bad: BoolArray, high_AA: float = _LAST_AA) -> Table:
    """Measure spectra on LAMOST's pixels, from 3900 Å up to ``high_AA``.

    Parameters
    ----------
    flux, bad
        ``(n, 3909)``.
    """
    known = ~bad & (wavelengths() <= high_AA)
    flux = np.where(known, flux, 0.0)
    centres, matrix = _bins()
    width = known @ matrix
    covered = width >= 0.5 * matrix.sum(axis=0)
    binned = flux @ matrix / np.where(width > 0, width, 1)
    scale = np.nanmedian(np.where(covered, binned, np.nan), axis=1, keepdims=True)
    binned = binned / np.abs(np.where(scale == 0, 1, scale))
    weight = gaussian_filter1d(covered.astype(float), _CONTINUUM_BINS, axis=1, mode="constant")
    smooth = gaussian_filter1d(np.where(covered, binned, 0.0), _CONTINUUM_BINS, axis=1, mode="constant")
    level = np.maximum(smooth / np.maximum(weight, 1e-3), _FLOOR)
    inside = centres <= high_AA
    fine = np.where(covered, np.log(np.maximum(binned / level, _FLOOR)), np.nan)[:, inside]
    nodes = np.linspace(0, np.flatnonzero(inside)[-1], _SHAPE_NODES).astype(int)
    shape = np.log(level[:, nodes])
    shape -= shape.mean(axis=1, keepdims=True)
    names, ratios = _selection(flux, known)
    return Table(
        np.hstack([shape, fine, _extremes(fine), ratios]),
        (
            *(f"shape {centres[node]:.0f}" for node in nodes),
            *(f"bin {centre:.0f}" for centre in centres[inside]),
            *(f"bins {share} %" for share in _SHARES),
            "bins of the peak",
            *names,
        ),
    )


def range_of(bad: BoolArray) -> str | None:
    """Return the widest range of `RANGES_AA` that a spectrum ``(3909,)`` covers; None where none."""
    wavelength = wavelengths()
    for name, (low, high) in RANGES_AA.items():
        inside = (wavelength >= low) & (wavelength <= high)
        tail = inside & (wavelength > high - 200)
        if (~bad[inside]).mean() >= _LEAST_OF_RANGE and (~bad[tail]).mean() > 0:
            return name
    return None


def _extremes(fine: FloatArray) -> FloatArray:
    """Return percentiles of the fine structure, and how many bins the highest peak is wide at half height.

    They tell of strong lines wherever a redshift has put them, and broad ones from narrow.
    """
    filled = np.where(np.isfinite(fine), fine, 0.0)
    percentiles = np.percentile(filled, _SHARES, axis=1).T
    peak = filled.argmax(axis=1)
    high = filled >= 0.5 * filled.max(axis=1, keepdims=True)
    wide = np.zeros((len(filled), 1))
    for row, (place, above) in enumerate(zip(peak, high, strict=True)):
        below = np.flatnonzero(~above)
        left, right = below[below < place], below[below > place]
        first = left[-1] if left.size else -1
        last = right[0] if right.size else above.size
        wide[row] = last - first - 1
    return np.hstack([percentiles, np.log(np.maximum(wide, 1))])


def _selection(flux: FloatArray, known: BoolArray) -> tuple[tuple[str, ...], FloatArray]:
    """Return names and values of the suite's selection features that are no levels, each 0 where nothing is.

    Equivalent widths go through asinh (Å), since an emission line may be a hundred times a metal line.
    """
    grid = wavelengths()
    spectra = [Spectrum(grid, row, np.zeros(grid.size), ~good) for row, good in zip(flux, known, strict=True)]
    columns = selection_columns()
    values = selection_features(spectra).astype(np.float64)
    for number, column in enumerate(columns):
        if column.rule == "ratio":
            values[:, number] = np.clip(values[:, number] - 1, -1, _HIGHEST_RATIO)
        elif column.rule == "line":
            values[:, number] = np.arcsinh(values[:, number])
    kept = [number for number, column in enumerate(columns) if column.rule != "level"]
    return tuple(columns[number].name for number in kept), values[:, kept]


@cache
def _bins() -> tuple[FloatArray, FloatArray]:
    count = int(np.log(_LAST_AA / _FIRST_AA) / _BIN_LN)
    edges = _FIRST_AA * np.exp(_BIN_LN * np.arange(count + 1))
    which = np.searchsorted(edges, wavelengths(), side="right") - 1
    matrix = (which[:, None] == np.arange(count)).astype(float) * wavelengths()[:, None] / 1e4
    return np.sqrt(edges[1:] * edges[:-1]), matrix
