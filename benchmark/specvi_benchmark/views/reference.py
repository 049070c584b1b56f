"""The same pictures by matplotlib: what the fast painter is held to, and what it is timed against.

Nothing else needs matplotlib to draw: only `specvi bench view` and the tests call this module.
"""

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specvi_benchmark.spectrum import FloatArray, Spectrum
from specvi_benchmark.views.drawing import Drawing, clip_window
from specvi_benchmark.views.glyphs import em_px
from specvi_benchmark.views.palette import ACCENT_COLOUR, BAND_COLOUR, BOX_ALPHA, MARKER_COLOUR
from specvi_benchmark.views.style import LOOKS, POINT_PX, RELEASED_TITLE, Look, released_size_px
from specvi_benchmark.views.ticks import released_steps

FONT = "DejaVu Sans"
DPI = 72
"""A point is a pixel, so that the measures of a `Look` can be given as they are."""


def released_png(spectrum: Spectrum, window_AA: tuple[float, float] | None) -> bytes:
    """Return the PNG of a view, drawn the way the released tool draws: one pyplot figure a call.

    New figure at 80 dpi, plot, labels, grid, ticks by width, ``tight_layout``, statistics box,
    ``savefig(bbox_inches="tight")``. Not safe in threads: pyplot keeps its figures in one global list.
    """
    from matplotlib import pyplot as plt  # noqa: PLC0415  # pyplot is never imported by the suite's own drawing

    good = spectrum.good
    low, high = clip_window(window_AA, spectrum.range_AA)
    good = good & (spectrum.wavelength_AA >= low) & (spectrum.wavelength_AA <= high)
    wavelength, flux = spectrum.wavelength_AA[good], spectrum.flux[good]
    width_AA = float(wavelength[-1] - wavelength[0])
    width, height = released_size_px(width_AA, wavelength.size, is_whole=window_AA is None)
    figure, axes = plt.subplots(figsize=((width + 8) / 80, (height + 8) / 80), dpi=80)
    axes.plot(wavelength, flux, color="blue", linewidth=1.0, alpha=0.8)
    axes.set_xlabel("Wavelength (Å)", fontsize=12, fontweight="bold")
    axes.set_ylabel("Flux", fontsize=12, fontweight="bold")
    axes.set_title(RELEASED_TITLE, fontsize=14, fontweight="bold", pad=20)
    axes.grid(visible=True, alpha=0.3, linestyle="-", linewidth=0.5)
    axes.grid(visible=True, which="minor", alpha=0.1, linestyle="-", linewidth=0.3)
    axes.tick_params(axis="both", which="major", labelsize=10, direction="in")
    axes.tick_params(axis="both", which="minor", direction="in")
    _locate_released(axes, width_AA)
    figure.tight_layout()
    _statistics(axes, _released_statistics(wavelength, flux), _released_corner(wavelength, flux), 9.0)
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=80, bbox_inches="tight")
    plt.close(figure)
    return stream.getvalue()


def _released_statistics(wavelength: FloatArray, flux: FloatArray) -> str:
    return (
        f"Data points: {wavelength.size}\nλ range: {wavelength.min():.1f} - {wavelength.max():.1f} Å\n"
        f"Flux range: {flux.min():.2e} - {flux.max():.2e}"
    )


def _released_corner(wavelength: FloatArray, flux: FloatArray) -> tuple[int, int]:
    """Return the quarter (from the lower left) with the fewest points."""
    x = (wavelength - wavelength.min()) / np.ptp(wavelength)
    y = (flux - flux.min()) / (np.ptp(flux) or 1.0)
    counts = {
        (0, 1): np.sum((x <= 0.5) & (y >= 0.5)),
        (1, 1): np.sum((x >= 0.5) & (y >= 0.5)),
        (0, 0): np.sum((x <= 0.5) & (y <= 0.5)),
        (1, 0): np.sum((x >= 0.5) & (y <= 0.5)),
    }
    return min(counts, key=lambda corner: counts[corner])


def _locate_released(axes: Any, width_AA: float) -> None:
    from matplotlib.ticker import AutoMinorLocator, MultipleLocator  # noqa: PLC0415  # slow to import

    major, minor = released_steps(width_AA)
    axes.xaxis.set_major_locator(MultipleLocator(major))
    axes.xaxis.set_minor_locator(MultipleLocator(minor))
    axes.yaxis.set_minor_locator(AutoMinorLocator())


def _statistics(axes: Any, text: str, corner: tuple[int, int], size: float) -> None:
    across, upward = corner
    axes.text(
        0.98 if across else 0.02,
        0.98 if upward else 0.02,
        text,
        transform=axes.transAxes,
        verticalalignment="top" if upward else "bottom",
        horizontalalignment="right" if across else "left",
        fontsize=size,
        bbox={"boxstyle": "round", "facecolor": "white", "alpha": BOX_ALPHA, "linewidth": size / 9},
    )


def agg_pixels(drawing: Drawing, *, line_only: bool = False) -> NDArray[np.uint8]:
    """Return the ``(height, width, 3)`` pixels of the same axes, drawn by matplotlib's Agg.

    Ticks and labels are matplotlib's own choice (`MaxNLocator`, `ScalarFormatter` and so on). ``line_only``
    draws the axes white and the line alone.
    """
    figure, axes = figure_of(drawing)
    if line_only:
        axes.axis("off")
        for artist in [*axes.texts, *axes.lines[1:]]:
            artist.remove()
        axes.set_title("")
    figure.canvas.draw()
    return np.array(np.asarray(figure.canvas.buffer_rgba())[:, :, :3])


def figure_of(drawing: Drawing) -> tuple[Any, Any]:
    """Return the figure and its axes, object-oriented: no pyplot, no global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415  # slow to import
    from matplotlib.figure import Figure  # noqa: PLC0415

    (width, height), look = drawing.size_px, LOOKS[drawing.options.style]
    left, top, right, bottom = drawing.layout.axes
    figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI, facecolor="white")
    FigureCanvasAgg(figure)
    box = (left / width, 1 - bottom / height, (right - left) / width, (bottom - top) / height)
    axes: Any = figure.add_axes(box)
    points = drawing.points
    flux = np.where(points.good, points.drawn, np.nan) / 10.0**drawing.power
    axes.plot(
        points.wavelength_AA,
        flux,
        color=_rgb(look.line_colour),
        linewidth=look.line_px,
        alpha=look.line_alpha,
    )
    if drawing.options.error_band:
        _band(axes, drawing)
    axes.set_xlim(drawing.content.x_limits)
    axes.set_ylim(drawing.content.y_limits)
    _dress(axes, drawing, look)
    return figure, axes


def _rgb(colour: tuple[int, int, int]) -> tuple[float, float, float]:
    return colour[0] / 255, colour[1] / 255, colour[2] / 255


def _band(axes: Any, drawing: Drawing) -> None:
    points = drawing.points
    known = points.good & (points.ivar > 0)
    sigma = 1 / np.sqrt(np.where(known, points.ivar, 1.0))
    scale = 10.0**drawing.power
    edges = ((points.drawn - sigma) / scale, (points.drawn + sigma) / scale)
    axes.fill_between(
        points.wavelength_AA, *edges, where=known, color=_rgb(BAND_COLOUR), linewidth=0, zorder=0.4
    )


def _dress(axes: Any, drawing: Drawing, look: Look) -> None:
    """Give the axes ticks, grid, labels, title, box and markers, by matplotlib's own means."""
    from matplotlib.ticker import AutoMinorLocator, MaxNLocator, ScalarFormatter  # noqa: PLC0415

    content, released = drawing.content, drawing.options.style == "spec-o3"
    unit = POINT_PX if released else 1.0
    weight = "bold" if look.label_font.startswith("bold") else "normal"
    font = {"family": FONT, "fontsize": em_px(look.label_font), "fontweight": weight}
    axes.set_xlabel(content.x_label, labelpad=4 * POINT_PX, **font)
    axes.set_ylabel(content.y_label, labelpad=4 * POINT_PX, **font)
    if content.title:
        title = {"family": FONT, "fontsize": 14 * POINT_PX, "fontweight": "bold"}
        axes.set_title(content.title, pad=20 * POINT_PX, **title)
    if released:
        _locate_released(axes, content.width_AA)
        axes.grid(visible=True, color="#b0b0b0", alpha=0.3, linewidth=0.5 * unit)
        axes.grid(visible=True, which="minor", color="#b0b0b0", alpha=0.1, linewidth=0.3 * unit)
    else:
        width, height = drawing.size_px
        for axis, intervals in ((axes.xaxis, width // 90), (axes.yaxis, height // 60)):
            axis.set_major_locator(MaxNLocator(nbins=max(2, intervals), steps=[1, 2, 2.5, 5, 10]))
            axis.set_minor_locator(AutoMinorLocator())
            axis.set_major_formatter(ScalarFormatter(useOffset=False))
            axis.get_major_formatter().set_scientific(False)
        axes.grid(visible=True, color=_rgb(look.grid_colour), linewidth=1)
        axes.set_axisbelow(True)
    direction = "in" if look.ticks_point_in else "out"
    size, pad = em_px(look.tick_font), 3.5 * POINT_PX
    lengths = (3.5 * unit, 2.0 * unit) if released else (look.tick_px + 0.5, look.minor_tick_px + 0.5)
    widths = (0.8 * unit, 0.6 * unit) if released else (1.0, 0.8)
    for which, length, thickness in zip(("major", "minor"), lengths, widths, strict=True):
        axes.tick_params(which=which, length=length, width=thickness, direction=direction, pad=pad)
    axes.tick_params(labelsize=size, labelfontfamily=FONT)
    axes.yaxis.get_offset_text().set(fontsize=size, fontfamily=FONT)
    axes.yaxis.OFFSETTEXTPAD = 3 * POINT_PX
    for spine in axes.spines.values():
        spine.set_linewidth(widths[0])
    if content.statistics:
        _statistics(axes, "\n".join(content.statistics), content.corner, 9 * POINT_PX)
        axes.texts[0].set_fontfamily(FONT)
    for name, value in content.markers:
        axes.axvline(value, color=_rgb(MARKER_COLOUR), linewidth=1, linestyle=(0, (4, 4)), zorder=1)
        place = (value, 1.01)
        axes.text(
            *place,
            name,
            transform=axes.get_xaxis_transform(),
            ha="center",
            color=_rgb(ACCENT_COLOUR),
            fontsize=12,
        )
