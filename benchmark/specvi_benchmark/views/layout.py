"""Where everything stands in a picture: axes, ticks, grid, labels, markers, statistics box."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from specvi_benchmark.views.glyphs import LINE_GAP, Text, em_px, extent_px, width_px
from specvi_benchmark.views.paint import ACCENT, GRID, INK, MARKER, MINOR_GRID
from specvi_benchmark.views.style import LOOKS, POINT_PX, Look, StyleName
from specvi_benchmark.views.ticks import (
    TickLabels,
    label_ticks,
    minor_ticks,
    multiples,
    nice_ticks,
    released_steps,
)

Rectangle = tuple[int, int, int, int, int]

SMALLEST_AXES_PX = 16
MARKER_FONT, STATISTICS_FONT, TITLE_FONT = "regular 12px", "regular 9pt@80", "bold 14pt@80"
MARKER_ROW_PX, MOST_MARKER_ROWS = 15, 3
DASH_PX = 4
RIGHT_PX = 20
"""Room beside the axes in ``clean``, as long as the last wavelength label needs no more."""

# Released: tight_layout leaves 12 pixels, of which the tight bounding box keeps 8; then label, 4 pt, tick
# labels, 3.5 pt, axes. The title stands 20 pt above.
_EDGE_PX, _LABEL_PAD_PX, _TICK_PAD_PX, _TITLE_PAD_PX = 8.0, 4 * POINT_PX, 3.5 * POINT_PX, 20 * POINT_PX
_OFFSET_PAD_PX = 3 * POINT_PX


@dataclass(frozen=True, slots=True)
class Content:
    """What a picture says, in the units of its axes.

    Attributes
    ----------
    x_limits, y_limits
        Ends of the axes: ångström, and flux divided by the power of ten that the label names.
    width_AA
        Last minus first wavelength shown, by which ``spec-o3`` chooses its ticks.
    x_label, y_label, title
        Texts; an empty title takes no room in ``clean``.
    statistics
        Lines of the statistics box, and the corner it stands in (horizontally and vertically 0 or 1, from the
        lower left); no lines, no box.
    markers
        Name and wavelength of the lines to mark, all of them inside the axis.
    """

    x_limits: tuple[float, float]
    y_limits: tuple[float, float]
    width_AA: float
    x_label: str
    y_label: str
    title: str = ""
    statistics: tuple[str, ...] = ()
    corner: tuple[int, int] = (0, 0)
    markers: Sequence[tuple[str, float]] = ()


@dataclass(slots=True)
class Layout:
    """Rectangles and letters, and the axes in pixels (left, top, right, bottom; y downward)."""

    axes: tuple[float, float, float, float]
    x_ticks: list[float]
    y_ticks: list[float]
    x_labels: TickLabels
    y_labels: TickLabels
    below: list[Rectangle] = field(default_factory=list)
    above: list[Rectangle] = field(default_factory=list)
    box: tuple[int, int, int, int] | None = None
    text: Text = field(default_factory=Text)


def arrange(style: StyleName, size_px: tuple[int, int], content: Content) -> Layout:
    """Place everything but the line and the error band."""
    look = LOOKS[style]
    layout = _axes(style, look, size_px, content)
    _grid_and_ticks(layout, look, content, style)
    _labels(layout, look, content)
    _frame(layout, look)
    if content.markers:
        _markers(layout, content)
    if content.statistics:
        _statistics(layout, content)
    return layout


def _axes(style: StyleName, look: Look, size_px: tuple[int, int], content: Content) -> Layout:
    """Choose ticks, whose labels decide how wide the left margin is, and the axes' place."""
    width, height = size_px
    if style == "spec-o3":
        top = _EDGE_PX + (_TITLE_PAD_PX + extent_px(content.title, TITLE_FONT)[0] if content.title else 0.0)
        bottom = height - _EDGE_PX - _below_px(look, content)
        intervals = min(max(int((bottom - top) / (2 * em_px(look.tick_font))), 1), 9)
        x_ticks = multiples(*content.x_limits, released_steps(content.width_AA)[0])
    else:
        top = 14.0 + MARKER_ROW_PX * _marker_rows(content, width)
        bottom = height - _EDGE_PX - _below_px(look, content)
        intervals = max(2, height // 60)
        x_ticks = nice_ticks(*content.x_limits, max(2, width // 90))
    y_ticks = nice_ticks(*content.y_limits, intervals)
    x_labels = label_ticks(x_ticks, *content.x_limits, may_split=style == "spec-o3")
    y_labels = label_ticks(y_ticks, *content.y_limits, may_split=style == "spec-o3")
    widest = max((width_px(text, look.tick_font) for text in y_labels.texts), default=0)
    left = _EDGE_PX + sum(extent_px(content.y_label, look.label_font)) + _LABEL_PAD_PX + widest + _TICK_PAD_PX
    right = width - _EDGE_PX
    if style == "spec-o3":
        right -= _overhang(x_ticks, x_labels, content.x_limits, (left, right), look)
    else:  # whole pixels, and one place for all but long labels
        left, right = float(max(72, round(left) + look.tick_px)), float(width - RIGHT_PX)
        overhang = _overhang(x_ticks, x_labels, content.x_limits, (left, right), look)
        right -= max(0, math.ceil(overhang) + 2 - RIGHT_PX)
        bottom = float(round(bottom))
    left = min(left, right - SMALLEST_AXES_PX)
    bottom = max(bottom, top + SMALLEST_AXES_PX)
    return Layout((left, top, right, bottom), x_ticks, y_ticks, x_labels, y_labels)


def _below_px(look: Look, content: Content) -> float:
    """Return the room below the axes for tick labels and the label."""
    ticks = 0 if look.ticks_point_in else look.tick_px
    return (
        ticks
        + _TICK_PAD_PX
        + em_px(look.tick_font)
        + _LABEL_PAD_PX
        + sum(extent_px(content.x_label, look.label_font))
    )


def _overhang(
    ticks: Sequence[float],
    labels: TickLabels,
    limits: tuple[float, float],
    sides: tuple[float, float],
    look: Look,
) -> float:
    """Return by how much the last wavelength label would stand out beyond the axes."""
    scale = (sides[1] - sides[0]) / (limits[1] - limits[0])
    ends = [
        (tick - limits[1]) * scale + width_px(text, look.tick_font) / 2
        for tick, text in zip(ticks, labels.texts, strict=True)
    ]
    return max(0.0, *ends) if ends else 0.0


def x_pixel(layout: Layout, content: Content, value: float) -> float:
    """Return the place of a wavelength, in pixels from the left."""
    left, _, right, _ = layout.axes
    low, high = content.x_limits
    return left + (value - low) * ((right - left) / (high - low))


def y_pixel(layout: Layout, content: Content, value: float) -> float:
    """Return the place of a flux, in pixels from the top."""
    _, top, _, bottom = layout.axes
    low, high = content.y_limits
    return bottom - (value - low) * ((bottom - top) / (high - low))


def snap(place: float) -> int:
    """Return the pixel in which a thin line at ``place`` stands (Agg's rule)."""
    return int(place + 0.5)


def _grid_and_ticks(layout: Layout, look: Look, content: Content, style: StyleName) -> None:
    left, top, right, bottom = (snap(side) for side in layout.axes)
    x_minor = (
        [
            tick
            for tick in multiples(*content.x_limits, released_steps(content.width_AA)[1])
            if min((abs(tick - major) for major in layout.x_ticks), default=1.0) > 1e-9 * abs(tick)
        ]
        if style == "spec-o3"
        else minor_ticks(layout.x_ticks, *content.x_limits)
    )
    y_minor = minor_ticks(layout.y_ticks, *content.y_limits)
    kinds = (
        (
            x_minor,
            y_minor,
            MINOR_GRID if look.minor_grid_colour else None,
            look.minor_tick_px,
            look.minor_tick_level,
        ),
        (layout.x_ticks, layout.y_ticks, GRID, look.tick_px, look.frame_level),
    )
    for x_values, y_values, ground, length, level in kinds:
        inward, outward = (length, 0) if look.ticks_point_in else (0, length)
        for value in _inside(x_values, content.x_limits):
            x = snap(x_pixel(layout, content, value))
            if ground is not None:
                layout.below.append((x, top, x + 1, bottom, ground))
            layout.above.append((x, bottom - inward, x + 1, bottom + 1 + outward, INK + level))
        for value in _inside(y_values, content.y_limits):
            y = snap(y_pixel(layout, content, value))
            if ground is not None:
                layout.below.append((left, y, right, y + 1, ground))
            layout.above.append((left - outward, y, left + 1 + inward, y + 1, INK + level))


def _inside(values: Sequence[float], limits: tuple[float, float]) -> list[float]:
    return [value for value in values if limits[0] <= value <= limits[1]]


def _frame(layout: Layout, look: Look) -> None:
    left, top, right, bottom = (snap(side) for side in layout.axes)
    ink = INK + look.frame_level
    layout.above += [
        (left, top, right + 1, top + 1, ink),
        (left, bottom, right + 1, bottom + 1, ink),
        (left, top, left + 1, bottom + 1, ink),
        (right, top, right + 1, bottom + 1, ink),
    ]


def _labels(layout: Layout, look: Look, content: Content) -> None:
    left, top, right, bottom = layout.axes
    text, font = layout.text, look.tick_font
    outward = 0 if look.ticks_point_in else look.tick_px
    ascent = extent_px("0", font)[0]
    x_baseline = bottom + outward + _TICK_PAD_PX + ascent
    for value, label in zip(layout.x_ticks, layout.x_labels.texts, strict=True):
        if content.x_limits[0] <= value <= content.x_limits[1]:
            text.add(label, font, x_pixel(layout, content, value), x_baseline, "centre", INK)
    widest = 0
    for value, label in zip(layout.y_ticks, layout.y_labels.texts, strict=True):
        widest = max(widest, width_px(label, font))
        if content.y_limits[0] <= value <= content.y_limits[1]:
            y = y_pixel(layout, content, value) + ascent / 2
            text.add(label, font, left - outward - _TICK_PAD_PX, y, "right", INK)
    if layout.y_labels.common:
        text.add(layout.y_labels.common, font, left, top - _OFFSET_PAD_PX, "left", INK)
    label_ascent, label_descent = extent_px(content.x_label, look.label_font)
    baseline = bottom + outward + _TICK_PAD_PX + em_px(font) + _LABEL_PAD_PX + label_ascent
    text.add(content.x_label, look.label_font, (left + right) / 2, baseline, "centre", INK)
    if layout.x_labels.common:
        text.add(layout.x_labels.common, font, right, baseline, "right", INK)
    label_descent = extent_px(content.y_label, look.label_font)[1]
    column = left - outward - _TICK_PAD_PX - widest - _LABEL_PAD_PX - label_descent
    text.add_upward(content.y_label, look.label_font, column, (top + bottom) / 2, INK)
    if content.title:
        text.add(content.title, TITLE_FONT, (left + right) / 2, top - _TITLE_PAD_PX, "centre", INK)


def _marker_rows(content: Content, width: int) -> int:
    """Return how many rows the names of the markers take; an estimate of the axes' width is enough."""
    if not content.markers:
        return 0
    low, high = content.x_limits
    places = [(name, 72 + (value - low) / (high - low) * (width - 92)) for name, value in content.markers]
    return max((row + 1 for _, _, row in _name_rows(places, width) if row is not None), default=1)


def _name_rows(places: Sequence[tuple[str, float]], width: int) -> list[tuple[str, float, int | None]]:
    """Give each name, centred on its place, the lowest row in which it is free; None where all are taken."""
    ends = [-1.0] * MOST_MARKER_ROWS
    rows: list[tuple[str, float, int | None]] = []
    for name, x in sorted(places, key=lambda place: place[1]):
        half = width_px(name, MARKER_FONT) / 2
        centre = min(max(x, half + 2), width - half - 2)
        row = next((row for row, end in enumerate(ends) if centre - half > end), None)
        if row is not None:
            ends[row] = centre + half + 6
        rows.append((name, centre, row))
    return rows


def _markers(layout: Layout, content: Content) -> None:
    """Draw dashed lines, and their names above the axes; a name that finds no room is left out."""
    _, top, right, bottom = (snap(side) for side in layout.axes)
    places = [(name, x_pixel(layout, content, value)) for name, value in content.markers]
    for _, x in places:
        column = snap(x)
        layout.below += [
            (column, y, column + 1, min(y + DASH_PX, bottom), MARKER) for y in range(top, bottom, 2 * DASH_PX)
        ]
    for name, centre, row in _name_rows(places, right + 20):
        if row is not None:
            layout.text.add(name, MARKER_FONT, centre, top - 4 - MARKER_ROW_PX * row, "centre", ACCENT)


def _statistics(layout: Layout, content: Content) -> None:
    """Write the statistics into a box in their corner, 2 % of the axes from its sides."""
    left, top, right, bottom = layout.axes
    em = em_px(STATISTICS_FONT)
    extents = [extent_px(line, STATISTICS_FONT) for line in content.statistics]
    width = max(width_px(line, STATISTICS_FONT) for line in content.statistics)
    height = sum(up + down + LINE_GAP * em for up, down in extents)
    across, upward = content.corner
    x = left + 0.02 * (right - left) if across == 0 else right - 0.02 * (right - left) - width
    y = bottom - 0.02 * (bottom - top) - height if upward == 0 else top + 0.02 * (bottom - top)
    pad = 0.3 * em
    sides = (x - pad, y - pad, x + width + pad, y + height + pad)
    first, above, last, below = (math.floor(side) for side in sides)
    layout.box = (first, above, last + 1, below + 1)
    for row, level in (*_soft(sides[1]), *_soft(sides[3])):
        layout.above.append((first + 3, row, last - 2, row + 1, INK + level))
    for column, level in (*_soft(sides[0]), *_soft(sides[2])):
        layout.above.append((column, above + 3, column + 1, below - 2, INK + level))
    for i, j in ((1, 2), (2, 1)):  # round corners
        layout.above += [
            (column, row, column + 1, row + 1, INK + 20)
            for column in (first + i, last - i)
            for row in (above + j, below - j)
        ]
    for line, (up, down) in zip(content.statistics, extents, strict=True):
        y += LINE_GAP * em / 2 + up
        layout.text.add(line, STATISTICS_FONT, x + across * width, y, "right" if across else "left", INK)
        y += down + LINE_GAP * em / 2


def _soft(centre: float) -> list[tuple[int, int]]:
    """Return the pixels that a border of 1 pt at alpha 0.8 covers, and the level of each: it is not snapped."""
    low, high = centre - POINT_PX / 2, centre + POINT_PX / 2
    pixels = range(math.floor(low), math.ceil(high))
    return [
        (pixel, round(25 * (min(high, pixel + 1) - max(low, pixel)) / min(1, high - low))) for pixel in pixels
    ]
