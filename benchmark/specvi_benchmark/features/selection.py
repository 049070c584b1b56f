"""Selection features: what the weak classifier that screens an archive sees, thousands of spectra a second.

A feature is made of mean fluxes in fixed windows, so one pass over the pixels gives all of them, on any
grid. `selection_columns` describes every column; docs/selection-features.md lists them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from specvi_benchmark.features.compiled_means import window_means
from specvi_benchmark.features.frame import MAX_STELLAR_REDSHIFT
from specvi_benchmark.features.prepared import Window
from specvi_benchmark.lines import all_bands, all_indices, get_line
from specvi_benchmark.spectrum import FloatArray, Spectrum

SELECTION_VERSION = 1
"""Raised by every change that changes a column or a number."""

Rule = Literal["level", "ratio", "step", "line"]
Features = NDArray[np.float32]

BANDS = 48
BANDS_RANGE_AA = (3850.0, 8950.0)
"""Levels of the continuum: bands of equal width in ln λ (1.8 %) over the range that every survey covers."""

STEP_WIDTH_AA = 30.0
STEP_GAP_AA = 4.0
"""A band head is a step between two stretches of this width, this far from the head."""

LINES: tuple[tuple[str, float], ...] = (
    *((name, half) for name in ("Hα", "Hβ", "Hγ", "Hδ") for half in (8.0, 40.0)),
    *(
        (name, 8.0)
        for name in (
            "H8", "H9", "Ca II K", "Ca II H", "He I 4027", "He I 4473", "He I 4923", "He I 5877", "He I 6680",
            "He I 7067", "He II 4543", "He II 4687", "He II 5413", "N III 4642", "Mg II 4482", "C II 4268",
            "Si III 4554", "Ba II 4555", "Sr II 4079", "Ca I 4228", "Mg b2", "Na D2", "Li I 6710", "K I 7701",
            "O I 7776", "Na I 8197", "Ca II 8500", "Ca II 8544", "Ca II 8665",
        )
    ),
)  # fmt: skip
"""Lines and half the width of the window in Å: ±8 Å holds a line of LAMOST's resolution moving at 300 km/s;
±40 Å holds the wings of a white dwarf and the lines of a disc."""

LINE_GAP_AA = 4.0
LINE_SIDE_AA = 30.0
"""The continuum of a line: two stretches of this width, this far beyond the window's ends."""

COVERAGE = 0.5
"""Share of good pixels below which a window has no mean, and the columns made of it are missing (NaN)."""


@dataclass(frozen=True, slots=True)
class Column:
    """One feature.

    Attributes
    ----------
    name
        Unique name.
    rule
        How it follows from the windows: ``level``: mean over the median of all levels; ``ratio``: mean of
        the numerators over mean of the denominators; ``step``: (red − blue) / (red + blue); ``line``:
        equivalent width in Å against the mean of both sides, positive in absorption.
    above, below
        Windows in vacuum Å: numerators and denominators; the red and the blue side of a step; a line and
        its sides. ``below`` is empty for a level.
    """

    name: str
    rule: Rule
    above: tuple[Window, ...]
    below: tuple[Window, ...] = ()


@cache
def selection_columns() -> tuple[Column, ...]:
    """Return every column, in the order of the features."""
    return (*_levels(), *_ratios(), *_steps(), *_lines())


def selection_features(spectra: Sequence[Spectrum]) -> Features:
    """Measure spectra of any survey and grid.

    A star's claimed redshift (|z| < 0.005) shifts the windows; any other is ignored, as in
    `choose_shift`. Pixels that are not `Spectrum.usable` carry no weight.
    Features do not change when flux is multiplied by a positive number, and hold nothing but light.

    Returns
    -------
    ``(n, columns)`` float32; NaN where a window is not covered, a denominator is not positive, or single precision
    can't hold the number.
    """
    layout = _layout()
    means = np.empty((len(spectra), len(layout.windows)))
    for row, spectrum in enumerate(spectra):
        stretch = 1 + _stellar(spectrum.claims.redshift)
        window_means(
            spectrum.wavelength_AA,
            spectrum.flux,
            spectrum.usable,
            layout.windows,
            stretch,
            COVERAGE,
            means[row],
        )
    return _from_means(_near_one(means))


def _near_one(means: FloatArray) -> FloatArray:
    """Return the means of each spectrum times a power of two, which costs no digit: single precision ends at 3e38."""
    largest = np.max(np.abs(means), axis=1, where=np.isfinite(means), initial=0.0)
    scaled: FloatArray = np.ldexp(means, -np.frexp(largest)[1][:, np.newaxis])
    return scaled


def _stellar(redshift: float | None) -> float:
    return redshift if redshift is not None and abs(redshift) < MAX_STELLAR_REDSHIFT else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class _Layout:
    """Windows without repeats, and where each column finds its own among them."""

    windows: FloatArray
    above: tuple[tuple[int, ...], ...]
    below: tuple[tuple[int, ...], ...]


@cache
def _layout() -> _Layout:
    columns = selection_columns()
    windows = sorted({window for column in columns for window in (*column.above, *column.below)})
    place = {window: number for number, window in enumerate(windows)}
    return _Layout(
        windows=np.array(windows),
        above=tuple(tuple(place[window] for window in column.above) for column in columns),
        below=tuple(tuple(place[window] for window in column.below) for column in columns),
    )


@np.errstate(invalid="ignore", divide="ignore", over="ignore")
def _from_means(means: FloatArray) -> Features:
    """Return the features of mean fluxes ``(n, windows)``."""
    layout, columns = _layout(), selection_columns()
    out = np.empty((len(means), len(columns)), dtype=np.float32)
    for number, column in enumerate(columns):
        above = _mean(means, layout.above[number])
        if column.rule == "level":
            out[:, number] = above
            continue
        below = _mean(means, layout.below[number])
        if column.rule == "step":
            total = above + below
            out[:, number] = np.where(total > 0, (above - below) / total, np.nan)
            continue
        ratio = np.where(below > 0, above / below, np.nan)
        low, high = column.above[0]
        out[:, number] = (1 - ratio) * (high - low) if column.rule == "line" else ratio
    levels = [number for number, column in enumerate(columns) if column.rule == "level"]
    out[:, levels] = _scaled(out[:, levels].astype(np.float64))
    out[np.isinf(out)] = np.nan
    return out


def _mean(means: FloatArray, places: Sequence[int]) -> FloatArray:
    """Return the mean of several windows, with equal weight."""
    total = means[:, places[0]].copy()
    for place in places[1:]:
        total += means[:, place]
    return total / len(places)


def _scaled(levels: FloatArray) -> FloatArray:
    """Divide levels by their median; NaN where that is not positive."""
    seen = np.isfinite(levels)
    order = np.sort(np.where(seen, levels, np.inf), axis=1)
    number = seen.sum(axis=1)
    rows = np.arange(len(levels))
    low, high = order[rows, np.maximum(number - 1, 0) // 2], order[rows, np.minimum(number // 2, BANDS - 1)]
    with np.errstate(invalid="ignore", divide="ignore"):
        middle = np.where(number > 0, (low + high) / 2, np.nan)
        return np.where(middle[:, None] > 0, levels / middle[:, None], np.nan)


def _levels() -> Iterable[Column]:
    first, last = BANDS_RANGE_AA
    edges = [first * (last / first) ** (number / BANDS) for number in range(BANDS + 1)]
    for number in range(BANDS):
        window = (round(edges[number], 1), round(edges[number + 1], 1))
        yield Column(f"level {window[0]:.0f}–{window[1]:.0f}", "level", (window,))


def _ratios() -> Iterable[Column]:
    for index in all_indices():
        yield Column(f"index {index.name}", "ratio", tuple(index.numerator_AA), tuple(index.denominator_AA))


def _steps() -> Iterable[Column]:
    for band in all_bands():
        head = band.vacuum_AA
        blue = (head - STEP_GAP_AA - STEP_WIDTH_AA, head - STEP_GAP_AA)
        red = (head + STEP_GAP_AA, head + STEP_GAP_AA + STEP_WIDTH_AA)
        yield Column(f"step {band.name}", "step", (red,), (blue,))


def _lines() -> Iterable[Column]:
    for name, half in LINES:
        centre = get_line(name).vacuum_AA
        low, high = centre - half, centre + half
        sides = (
            (low - LINE_GAP_AA - LINE_SIDE_AA, low - LINE_GAP_AA),
            (high + LINE_GAP_AA, high + LINE_GAP_AA + LINE_SIDE_AA),
        )
        yield Column(f"line {name} ±{half:.0f}", "line", ((low, high),), sides)
