"""Draws a window of a spectrum: pixels, PNG bytes, and what exactly is shown."""

import hashlib
import io
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.ticker import AutoMinorLocator, MaxNLocator, ScalarFormatter
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import median_filter

from specvi_benchmark.errors import UserError
from specvi_benchmark.spectrum import BoolArray, FloatArray, Spectrum
from specvi_benchmark.tasks.task import Frame
from specvi_benchmark.traces import ViewRecord

RENDERER_VERSION = 1
"""Raised whenever any pixel of any picture can change. Stands in run.json."""

STYLES = ("clean",)
"""Names of the styles that can be drawn."""

DEFAULT_SIZE_PX = (1000, 500)
SMALLEST_PX, LARGEST_PX = 120, 4096

DPI = 100
MARGINS_PX = (84, 14, 24, 56)
"""Left, right, top and bottom of the axes: room for the labels, and none for a title."""

FONT = "DejaVu Sans"
"""Shipped with matplotlib, so that every machine draws the same glyphs."""

SPIKE_FILTER_PIXELS = 5
"""A median over so many pixels takes out spikes of one or two; the rest sets the limits of the flux axis."""

HEADROOM = 0.06
"""Space above and below, as a share of the range shown."""


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """One picture of a window.

    Attributes
    ----------
    pixels
        ``(height, width, 3)`` uint8, read-only.
    png
        The same pixels as the bytes of a PNG file.
    window_AA
        First and last wavelength really shown, vacuum ångström in `frame`: the window asked for, clipped
        to the data.
    frame
        ``rest`` when a redshift was divided out, else ``observed``.
    n_points
        Good pixels of the spectrum in the window.
    flux_range
        Lowest and highest flux of those, in the survey's unit.
    shown_range
        Ends of the flux axis. Narrower than `flux_range` where lone spikes were cut off.
    style, size_px
        How it was drawn; width and height.
    pixel_sha256
        SHA-256 of the pixels, which names the picture whatever the PNG encoder did.
    """

    pixels: NDArray[np.uint8]
    png: bytes
    window_AA: tuple[float, float]
    frame: Frame
    n_points: int
    flux_range: tuple[float, float]
    shown_range: tuple[float, float]
    style: str
    size_px: tuple[int, int]
    pixel_sha256: str

    @property
    def record(self) -> ViewRecord:
        """Return the entry of a trace; ``views/<png_sha256>.png`` holds the bytes."""
        return ViewRecord(
            png_sha256=hashlib.sha256(self.png).hexdigest(),
            pixel_sha256=self.pixel_sha256,
            window_AA=self.window_AA,
            frame=self.frame,
            style=self.style,
            size_px=self.size_px,
        )


def render(
    spectrum: Spectrum,
    window_AA: tuple[float, float] | None = None,
    *,
    style: str = "clean",
    size_px: tuple[int, int] = DEFAULT_SIZE_PX,
    redshift: float | None = None,
) -> View:
    """Draw a window of a spectrum. Same input, same pixels, in any thread or process.

    Parameters
    ----------
    spectrum
        What is drawn. Masked pixels are gaps in the line.
    window_AA
        First and last wavelength, vacuum ångström, in the frame that is drawn; None for everything.
    style
        One of `STYLES`. ``clean`` has no title: a name could give the label away.
    size_px
        Width and height, each from 120 to 4096.
    redshift
        Divided out of the wavelengths; None or 0 draws the observed frame. Which one to use is the
        caller's choice (`specvi_benchmark.features.choose_shift`).

    Raises
    ------
    UserError
        The style or size is not offered, or the window is empty or holds no good pixel.
    """
    _check(style, size_px)
    stretch = 1 + (redshift or 0.0)
    wavelength = spectrum.wavelength_AA / stretch
    shown = _clip(window_AA, tuple(edge / stretch for edge in spectrum.range_AA))
    inside = (wavelength >= shown[0]) & (wavelength <= shown[1])
    good = inside & spectrum.good
    if not good.any():
        raise UserError(
            "no good pixel in the window",
            where=f"{shown[0]:.1f} to {shown[1]:.1f} Å",
            got=f"{int(inside.sum())} pixels, all masked",
            fix="choose another window; the spectrum has a gap here",
        )
    used = spectrum.flux[good]
    limits = _flux_limits(used)
    frame: Frame = "rest" if redshift else "observed"
    pixels = _draw(wavelength[inside], spectrum.flux[inside], good[inside], shown, limits, frame, size_px)
    pixels.setflags(write=False)
    return View(
        pixels=pixels,
        png=_encode(pixels),
        window_AA=shown,
        frame=frame,
        n_points=int(good.sum()),
        flux_range=(float(used.min()), float(used.max())),
        shown_range=limits,
        style=style,
        size_px=size_px,
        pixel_sha256=hashlib.sha256(pixels.tobytes()).hexdigest(),
    )


def _check(style: str, size_px: tuple[int, int]) -> None:
    if style not in STYLES:
        raise UserError("no such style", where="style", expected=f"one of {', '.join(STYLES)}", got=style)
    if not all(SMALLEST_PX <= side <= LARGEST_PX for side in size_px):
        raise UserError(
            "the size of a picture is out of range",
            where="size_px",
            expected=f"width and height from {SMALLEST_PX} to {LARGEST_PX}",
            got=f"{size_px[0]} × {size_px[1]}",
        )


def _clip(window_AA: tuple[float, float] | None, data_AA: tuple[float, ...]) -> tuple[float, float]:
    low, high = data_AA
    if window_AA is None:
        return low, high
    first, last = window_AA
    if not (math.isfinite(first) and math.isfinite(last) and first < last):
        raise UserError(
            "a window needs two finite wavelengths, the smaller first",
            where="window",
            got=f"[{first}, {last}]",
        )
    if last < low or first > high:
        raise UserError(
            "the window lies outside the spectrum",
            where=f"window [{first:g}, {last:g}] Å",
            expected=f"an overlap with {low:.1f} to {high:.1f} Å",
        )
    return max(first, low), min(last, high)


def _flux_limits(flux: FloatArray) -> tuple[float, float]:
    """Return the ends of the flux axis: all but spikes of one or two pixels, with some headroom."""
    steady = median_filter(flux, size=min(SPIKE_FILTER_PIXELS, flux.size), mode="nearest")
    low, high = float(steady.min()), float(steady.max())
    spread = high - low
    for value in (float(flux.min()), float(flux.max())):  # what is no spike stays whole
        if low - spread / 2 <= value <= high + spread / 2:
            low, high = min(low, value), max(high, value)
    room = HEADROOM * (high - low) or 0.1 * abs(high) or 1.0
    return low - room, high + room


def _draw(
    wavelength: FloatArray,
    flux: FloatArray,
    good: BoolArray,
    window: tuple[float, float],
    limits: tuple[float, float],
    frame: Frame,
    size_px: tuple[int, int],
) -> NDArray[np.uint8]:
    width, height = size_px
    left, right, top, bottom = MARGINS_PX
    figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI, facecolor="white")
    canvas: Any = FigureCanvasAgg(figure)  # its methods carry no types
    box = (left / width, bottom / height, (width - left - right) / width, (height - top - bottom) / height)
    axes = figure.add_axes(box, facecolor="white")
    scale = _exponent(limits)
    line = np.where(good, flux, np.nan) / scale
    marker = "o" if good.sum() < 3 else ""
    axes.plot(
        wavelength, line, color="#1f4e9c", linewidth=0.9, marker=marker, markersize=3, solid_joinstyle="round"
    )
    axes.set_xlim(window if window[0] < window[1] else (window[0] - 1, window[1] + 1))
    axes.set_ylim(limits[0] / scale, limits[1] / scale)
    _label(axes, frame, scale, size_px)
    canvas.draw()
    return np.array(np.asarray(canvas.buffer_rgba())[:, :, :3])


def _exponent(limits: tuple[float, float]) -> float:
    """Return the power of ten that is taken out of the flux axis: 1 for sizes that read well as they are."""
    largest = max(abs(limit) for limit in limits)
    power = math.floor(math.log10(largest)) if largest > 0 else 0
    return 1.0 if -2 <= power <= 4 else float(f"1e{power}")


def _label(axes: Axes, frame: Frame, scale: float, size_px: tuple[int, int]) -> None:
    font = FontProperties(family=FONT, size=9)
    axes.set_xlabel(f"{frame.capitalize()} wavelength (Å, vacuum)", fontproperties=font)
    unit = "" if scale == 1 else f" (× {scale:.0e})"
    axes.set_ylabel(f"Flux{unit}", fontproperties=font)
    for axis, pixels, spacing_px in ((axes.xaxis, size_px[0], 90), (axes.yaxis, size_px[1], 60)):
        axis.set_major_locator(MaxNLocator(nbins=max(2, pixels // spacing_px), steps=[1, 2, 2.5, 5, 10]))
        axis.set_minor_locator(AutoMinorLocator(5))
        axis.set_major_formatter(ScalarFormatter(useOffset=False, useMathText=False))
    axes.tick_params(which="major", length=4, width=0.8, color="black", labelcolor="black", direction="out")
    axes.tick_params(which="minor", length=2, width=0.6, color="black", direction="out")
    for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        label.set_fontproperties(FontProperties(family=FONT, size=8))
    axes.grid(visible=True, which="major", color="#d9d9d9", linewidth=0.6, linestyle="-")
    axes.set_axisbelow(True)
    for spine in axes.spines.values():
        spine.set(color="black", linewidth=0.8)


def _encode(pixels: NDArray[np.uint8]) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels, mode="RGB").save(stream, format="PNG", compress_level=6)
    return stream.getvalue()
