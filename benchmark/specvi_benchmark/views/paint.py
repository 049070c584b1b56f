"""The painter: compiled loops that fill a picture of palette indices.

A picture is a ``(height, width + 1)`` uint8 array; column 0 belongs to the PNG encoder (its filter byte), so
every column here is one more than the pixel's. An index is ``ground × 32 + coverage``: what lies under the
line, and how much of the pixel the line covers. Two further blocks of 32 hold letters and frame
(`INK`) and the names of markers (`ACCENT`), from paper to full ink.
"""

import math

import numpy as np
from numpy.typing import NDArray

from specvi_benchmark.compiled import compiled
from specvi_benchmark.spectrum import BoolArray, FloatArray

Indices = NDArray[np.uint8]

LEVELS = 32
PAPER, MINOR_GRID, GRID, BAND, MARKER, BOX, INK, ACCENT = (32 * block for block in range(8))

SUB = 4
"""Slices of a pixel column in which the line's reach is taken."""

_UNIT = 64  # coverage is summed in whole numbers, 64 to a slice: exact in any order
_FARTHEST_PX = 1e7  # points beyond are moved here, off every picture


@compiled
def fill(picture: Indices, rectangles: NDArray[np.int32]) -> None:
    """Fill rectangles, rows of (left, top, right, bottom, index); right and bottom are excluded."""
    height, width = picture.shape
    for number in range(rectangles.shape[0]):
        left, top, right, bottom, index = rectangles[number]
        for row in range(max(top, 0), min(bottom, height)):
            for column in range(max(left, 0) + 1, min(right + 1, width)):
                picture[row, column] = index


@compiled
def fade(picture: Indices, left: int, top: int, right: int, bottom: int) -> None:
    """Lay the statistics box over what is drawn: the line shows through faintly."""
    height, width = picture.shape
    for row in range(max(top, 0), min(bottom, height)):
        for column in range(max(left, 0) + 1, min(right + 1, width)):
            if picture[row, column] < INK:
                picture[row, column] = BOX + picture[row, column] % LEVELS


@compiled
def write(
    picture: Indices, letters: NDArray[np.int32], table: NDArray[np.int32], levels: NDArray[np.uint8]
) -> None:
    """Write letters, rows of (glyph, pen column, baseline row, 1 if it reads upward, block of the colour)."""
    height, width = picture.shape
    for number in range(letters.shape[0]):
        glyph, x, y, upward, block = letters[number]
        start, columns, rows, left, top = table[glyph]
        for v in range(rows):
            for u in range(columns):
                level = levels[start + v * columns + u]
                if level == 0:
                    continue
                along, down = left + u, v - top
                column = x + down if upward else x + along
                row = y - along - 1 if upward else y + down
                if 0 <= row < height and 0 <= column < width - 1:
                    picture[row, column + 1] = block + level


def band(
    picture: Indices,
    x: FloatArray,
    y_low: FloatArray,
    y_high: FloatArray,
    shown: BoolArray,
    left: int,
    top: int,
    right: int,
    bottom: int,
) -> None:
    """Shade between two curves (pixels, downward), pixel by pixel, broken where ``shown`` is False."""
    reach = (np.full(right - left, np.inf), np.full(right - left, -np.inf))
    _band(picture, x, y_low, y_high, shown, left, top, right, bottom, *reach)


@compiled
def _band(
    picture: Indices,
    x: FloatArray,
    y_low: FloatArray,
    y_high: FloatArray,
    shown: BoolArray,
    left: int,
    top: int,
    right: int,
    bottom: int,
    reach_top: FloatArray,
    reach_bottom: FloatArray,
) -> None:
    """Widen the reach of each column by the stretches between points, then fill it."""
    for point in range(x.size - 1):
        if not (shown[point] and shown[point + 1]):
            continue
        run = x[point + 1] - x[point]
        first = max(math.floor(x[point]), left)
        last = min(math.floor(x[point + 1]), right - 1)
        for column in range(first, last + 1):
            for edge in (max(x[point], float(column)), min(x[point + 1], float(column + 1))):
                share = (edge - x[point]) / run if run > 0 else 0.0
                above = y_high[point] + share * (y_high[point + 1] - y_high[point])
                below = y_low[point] + share * (y_low[point + 1] - y_low[point])
                reach_top[column - left] = min(reach_top[column - left], above)
                reach_bottom[column - left] = max(reach_bottom[column - left], below)
    for column in range(left, right):
        if reach_top[column - left] > reach_bottom[column - left]:
            continue
        first = max(math.floor(max(reach_top[column - left], float(top)) + 0.5), top)
        last = min(math.floor(min(reach_bottom[column - left], float(bottom)) + 0.5), bottom)
        for row in range(first, max(last, min(first + 1, bottom))):
            picture[row, column + 1] = BAND


def stroke(
    picture: Indices,
    x: FloatArray,
    y: FloatArray,
    shown: BoolArray,
    radius: float,
    dot_radius: float,
    left: int,
    top: int,
    right: int,
    bottom: int,
) -> None:
    """Draw a line of round pen through the points that are shown; a point alone is a dot.

    The curve is a function of x, so the reach of the pen at one x is a single interval: the highest and
    lowest point of the discs that touch that x. It is exact; only the mean over a pixel column is taken
    from `SUB` slices. Coverage is summed in whole numbers.

    Parameters
    ----------
    picture
        Indices with ground in place, raised by the coverage (0 to 31).
    x, y
        Pixels, x increasing, y downward; finite where ``shown``.
    shown
        False breaks the line.
    radius, dot_radius
        Half the width of the line; radius of the dot.
    left, top, right, bottom
        Pixels of the axes; nothing is drawn outside.
    """
    columns, rows = right - left, bottom - top
    reach = (np.full(columns * SUB, np.inf), np.full(columns * SUB, -np.inf))
    change = np.zeros((columns, rows + 2), dtype=np.int32)
    touched = (np.full(columns, rows, dtype=np.int32), np.full(columns, -1, dtype=np.int32))
    _stroke(picture, x, y, shown, radius, dot_radius, left, top, right, bottom, *reach, change, *touched)


@compiled
def _stroke(
    picture: Indices,
    x: FloatArray,
    y: FloatArray,
    shown: BoolArray,
    radius: float,
    dot_radius: float,
    left: int,
    top: int,
    right: int,
    bottom: int,
    low: FloatArray,
    high: FloatArray,
    change: NDArray[np.int32],
    highest: NDArray[np.int32],
    lowest: NDArray[np.int32],
) -> None:
    """Go through the runs of shown points: widen the reach in each slice, then settle it as coverage.

    ``low`` and ``high`` are the reach (infinite: none), ``change`` the coverage as changes from row to row,
    ``highest`` and ``lowest`` the rows that change in each column.
    """
    slices = (right - left) * SUB
    point = 0
    while point < x.size:
        if not shown[point]:
            point += 1
            continue
        end = point
        while end + 1 < x.size and shown[end + 1]:
            end += 1
        if end == point:
            first = max(math.floor((x[point] - dot_radius - left) * SUB), 0)
            last = min(math.ceil((x[point] + dot_radius - left) * SUB), slices - 1)
            _segment(low, high, x[point], y[point], x[point], y[point], dot_radius, left, False)
            _settle(change, highest, lowest, low, high, first, last, top, bottom)
        start = point
        while start < end:  # one strand: up to where the curve turns back
            stop = start + 1
            while stop < end and not _turns_back(x, y, stop, radius):
                stop += 1
            first = max(math.floor((x[start] - radius - left) * SUB), 0)
            last = min(math.ceil((x[stop] + radius - left) * SUB), slices - 1)
            for number in range(start, stop):
                cut = number == start and start > point
                _segment(low, high, x[number], y[number], x[number + 1], y[number + 1], radius, left, cut)
            _settle(change, highest, lowest, low, high, first, last, top, bottom)
            start = stop
        point = end + 1
    for column in range(right - left):
        total = 0
        for row in range(highest[column], min(lowest[column] + 1, bottom - top)):
            total += change[column, row]
            covered = min(total, SUB * _UNIT)
            level = (covered * (LEVELS - 1) * 2 + SUB * _UNIT) // (2 * SUB * _UNIT)
            picture[row + top, left + column + 1] += level


@compiled
def _turns_back(x: FloatArray, y: FloatArray, point: int, pen: float) -> bool:
    """Tell whether the curve turns so sharply at a point that Agg counts both arms where they overlap.

    Agg mitres the inner side of a corner, so that it is covered once, unless the mitre, ``pen / cos(turn/2)``,
    is longer than the shorter arm. Below a right angle the difference is negligible.
    """
    run0, rise0 = x[point] - x[point - 1], y[point] - y[point - 1]
    run1, rise1 = x[point + 1] - x[point], y[point + 1] - y[point]
    along = run0 * run1 + rise0 * rise1
    if along >= 0:
        return False
    length0 = math.sqrt(run0 * run0 + rise0 * rise0)
    length1 = math.sqrt(run1 * run1 + rise1 * rise1)
    longest = max(1.01, min(length0, length1) / pen)
    return bool((1 + along / (length0 * length1)) / 2 * longest * longest < 1)


@compiled
def _segment(
    low: FloatArray,
    high: FloatArray,
    x0: float,
    y0: float,
    x1: float,
    y1: float,
    pen: float,
    left: int,
    cut: bool,
) -> None:
    """Widen the reach in each slice by a straight stroke with round ends; ``cut``: it starts square."""
    y0 = min(max(y0, -_FARTHEST_PX), _FARTHEST_PX)
    y1 = min(max(y1, -_FARTHEST_PX), _FARTHEST_PX)
    run, rise = x1 - x0, y1 - y0
    length = math.sqrt(run * run + rise * rise)
    lean = pen * rise / length if length > 0 else 0.0  # from the slice to where the pen touches furthest
    slope = rise / run if run > 0 else 0.0
    first = max(math.ceil((x0 - pen - left) * SUB - 0.5), 0)
    last = min(math.floor((x1 + pen - left) * SUB - 0.5), low.size - 1)
    for number in range(first, last + 1):
        at = left + (number + 0.5) / SUB
        foot = min(max(at + lean, x0), x1)
        reach = math.sqrt(max(pen * pen - (at - foot) * (at - foot), 0.0))
        level = y0 + (foot - x0) * slope if run > 0 else max(y0, y1)
        lower = level + reach
        foot = min(max(at - lean, x0), x1)
        reach = math.sqrt(max(pen * pen - (at - foot) * (at - foot), 0.0))
        level = y0 + (foot - x0) * slope if run > 0 else min(y0, y1)
        upper = level - reach
        if cut and length > 0:
            edge = -(at - x0) * run
            if rise > 0:
                upper = max(upper, y0 + edge / rise)
            elif rise < 0:
                lower = min(lower, y0 + edge / rise)
            elif at < x0:
                continue
        if lower > upper:
            high[number] = max(high[number], lower)
            low[number] = min(low[number], upper)


@compiled
def _settle(
    change: NDArray[np.int32],
    highest: NDArray[np.int32],
    lowest: NDArray[np.int32],
    low: FloatArray,
    high: FloatArray,
    first: int,
    last: int,
    top: int,
    bottom: int,
) -> None:
    """Turn the reach in slices into coverage, kept as changes from row to row, and clear the slices."""
    tallest = float(bottom - top)
    for number in range(first, last + 1):
        above = min(max(low[number] - top, 0.0), tallest)
        below = min(max(high[number] - top, 0.0), tallest)
        low[number] = np.inf
        high[number] = -np.inf
        if above >= below:
            continue
        column = number // SUB
        start = math.floor(above * _UNIT + 0.5)
        end = math.floor(below * _UNIT + 0.5)
        row, part = start // _UNIT, start % _UNIT
        change[column, row] += _UNIT - part
        change[column, row + 1] += part
        highest[column] = min(highest[column], row)
        row, part = end // _UNIT, end % _UNIT
        change[column, row] -= _UNIT - part
        change[column, row + 1] -= part
        lowest[column] = max(lowest[column], row)


@compiled
def colours(picture: Indices, palette: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the ``(height, width, 3)`` colours of a picture's indices."""
    height, width = picture.shape
    pixels = np.empty((height, width - 1, 3), dtype=np.uint8)
    for row in range(height):
        for column in range(width - 1):
            index = picture[row, column + 1]
            for channel in range(3):
                pixels[row, column, channel] = palette[index, channel]
    return pixels
