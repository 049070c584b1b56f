"""From a spectrum, a window and options to what stands where, and from there to palette indices."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specvi_benchmark.errors import UserError
from specvi_benchmark.lines import get_line
from specvi_benchmark.spectrum import BoolArray, FloatArray, Spectrum
from specvi_benchmark.tasks.task import Frame
from specvi_benchmark.views import paint
from specvi_benchmark.views.glyphs import atlas
from specvi_benchmark.views.layout import Content, Layout, arrange
from specvi_benchmark.views.limits import HEADROOM, axis_limits, exponent, flux_range, held, smooth
from specvi_benchmark.views.style import CLEAN_SIZE_PX, LOOKS, ViewOptions, released_size_px

DOT_PX = 2.0
"""Radius of the dot that a good pixel between two masked ones becomes."""

NARROWEST, ROOM_AA = 1e-7, 1.0
"""A window narrower than this share of its wavelength (0.0007 Å at Hα) is one place: it stands in the middle of
an axis with this much room on either side, since ticks could not tell its ends apart."""

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """The pixels of a window: wavelength in the frame drawn, flux, inverse variance, and which are good.

    ``drawn`` is the flux as it is drawn: smoothed, where that is asked for.
    """

    wavelength_AA: FloatArray
    flux: FloatArray
    ivar: FloatArray
    good: BoolArray
    drawn: FloatArray

    @property
    def extent_AA(self) -> tuple[float, float]:
        """Return the first and last wavelength with a good pixel."""
        used = self.wavelength_AA[self.good]
        return float(used[0]), float(used[-1])


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """Everything that is known of a picture before the first pixel is set.

    Attributes
    ----------
    points, options, window_AA, frame
        What is drawn, how, and where.
    flux_range, limits
        Lowest and highest good flux; ends of the flux axis. In the survey's unit.
    power
        Of ten, taken out of the flux axis.
    markers
        Names of the lines that are marked.
    content, layout, size_px
        What the picture says, where it stands, width and height.
    """

    points: Points
    options: ViewOptions
    window_AA: tuple[float, float]
    frame: Frame
    flux_range: tuple[float, float]
    limits: tuple[float, float]
    power: int
    markers: tuple[str, ...]
    content: Content
    layout: Layout
    size_px: tuple[int, int]

    @property
    def n_beyond(self) -> int:
        """Return how many good pixels lie beyond the flux axis."""
        drawn = self.points.drawn
        beyond = (drawn < self.limits[0]) | (drawn > self.limits[1])
        return int(np.count_nonzero(beyond & self.points.good))

    @property
    def inside_px(self) -> tuple[int, int, int, int]:
        """Return the pixels that the axes cover: left, top, right and bottom, the last two excluded."""
        left, top, right, bottom = self.layout.axes
        return math.floor(left), math.floor(top), math.ceil(right), math.ceil(bottom)

    def columns(self) -> FloatArray:
        """Return where the points stand, in pixels from the left."""
        left, _, right, _ = self.layout.axes
        low, high = self.content.x_limits
        return left + (self.points.wavelength_AA - low) * ((right - left) / (high - low))

    def rows(self, flux: FloatArray) -> FloatArray:
        """Return where flux (in the survey's unit) stands, in pixels from the top."""
        _, top, _, bottom = self.layout.axes
        low, high = self.content.y_limits
        scale = 10.0**self.power
        with np.errstate(over="ignore"):  # infinitely far is as good as far: the painter moves it
            rows: FloatArray = bottom - (flux / scale - low) * ((bottom - top) / (high - low))
        return rows

    def painted(self) -> NDArray[np.uint8]:
        """Return the finished picture: ``(height, width + 1)`` palette indices, column 0 zero."""
        width, height = self.size_px
        picture = np.zeros((height, width + 1), dtype=np.uint8)
        x, good, look = self.columns(), self.points.good, LOOKS[self.options.style]
        flux = np.where(good, self.points.drawn, 0.0)
        if self.options.error_band:
            known = good & (self.points.ivar > 0)
            sigma = 1 / np.sqrt(np.where(known, self.points.ivar, 1.0))
            band = self.rows(flux - sigma), self.rows(flux + sigma)
            paint.band(picture, x, *band, known, *self.inside_px)
        paint.fill(picture, np.array(self.layout.below, dtype=np.int32).reshape(-1, 5))
        paint.stroke(picture, x, self.rows(flux), good, look.line_px / 2, DOT_PX, *self.inside_px)
        if self.layout.box:
            paint.fade(picture, *self.layout.box)
        paint.fill(picture, np.array(self.layout.above, dtype=np.int32).reshape(-1, 5))
        paint.write(picture, self.layout.text.array(), atlas().table, atlas().levels)
        return picture


def prepare(
    spectrum: Spectrum,
    window_AA: tuple[float, float] | None,
    options: ViewOptions,
    redshift: float | None,
    marker_redshift: float | None,
) -> Drawing:
    """Decide everything about a picture; see `specvi_benchmark.views.view.render`."""
    stretch = stretch_of(redshift)
    frame: Frame = "rest" if redshift else "observed"
    low, high = spectrum.range_AA
    shown_AA = clip_window(window_AA, (low / stretch, high / stretch))
    points = _points(spectrum, stretch, shown_AA, options.smooth_px)
    found = flux_range(points.flux[points.good])
    seen = found if options.smooth_px == 1 else flux_range(points.drawn[points.good])
    limits = axis_limits(seen, robust=options.is_robust, headroom=HEADROOM[options.style])
    power = exponent(limits) if options.style == "clean" else 0
    shift = stretch_of(redshift if marker_redshift is None else marker_redshift) / stretch
    lines = [(name, get_line(name).vacuum_AA * shift) for name in options.markers]
    markers = [(name, value) for name, value in lines if shown_AA[0] <= value <= shown_AA[1]]
    flux_ends = (found.low, found.high)
    if options.style == "spec-o3":
        content = _released_content(points, limits, flux_ends, options.title_of(spectrum.name))
    else:
        content = _clean_content(shown_AA, limits, power, frame, options.smooth_px, markers)
    size = options.size_px or _default_size(points, options, is_whole=window_AA is None)
    return Drawing(
        points=points,
        options=options,
        window_AA=shown_AA,
        frame=frame,
        flux_range=flux_ends,
        limits=limits,
        power=power,
        markers=tuple(name for name, _ in markers),
        content=content,
        layout=arrange(options.style, size, content),
        size_px=size,
    )


def clip_window(window_AA: tuple[float, float] | None, data_AA: tuple[float, float]) -> tuple[float, float]:
    """Return the part of a window that lies within the data; None is everything.

    Raises
    ------
    UserError
        The window is no pair of finite increasing wavelengths, or lies outside the data.
    """
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


def stretch_of(redshift: float | None) -> float:
    """Return by how much a redshift stretches wavelengths; 1 for None.

    Raises
    ------
    UserError
        It is not finite or not above −1.
    """
    stretch = 1 + (redshift or 0.0)
    if not (math.isfinite(stretch) and stretch > 0):
        raise UserError("no such redshift", where="redshift", expected="finite, above −1", got=redshift)
    return stretch


def cut_window(
    spectrum: Spectrum, stretch: float, window_AA: tuple[float, float]
) -> tuple[FloatArray, slice]:
    """Return every wavelength in the frame drawn, and which pixels are in the window, both ends included.

    The one place where pixels are chosen: multiplying a window into the observed frame instead can round the
    other way, and take or lose the pixel at its end.
    """
    wavelength = spectrum.wavelength_AA / stretch
    first = int(np.searchsorted(wavelength, window_AA[0], side="left"))
    last = int(np.searchsorted(wavelength, window_AA[1], side="right"))
    return wavelength, slice(first, max(first, last))


def _points(spectrum: Spectrum, stretch: float, window_AA: tuple[float, float], smooth_px: int) -> Points:
    """Cut the window out of the spectrum."""
    wavelength, cut = cut_window(spectrum, stretch, window_AA)
    good, flux = spectrum.good, held(spectrum.flux)
    if not good[cut].any():
        pixels = cut.stop - cut.start
        raise UserError(
            "no good pixel in the window",
            where=f"{window_AA[0]:.1f} to {window_AA[1]:.1f} Å",
            got=f"{pixels} pixels, all masked" if pixels else "no pixel",
            fix="choose another window; the spectrum has a gap here",
        )
    drawn = flux if smooth_px == 1 else smooth(flux, good, smooth_px)  # neighbours outside the window count
    return Points(wavelength[cut], flux[cut], spectrum.ivar[cut], good[cut], drawn[cut])


def _default_size(points: Points, options: ViewOptions, *, is_whole: bool) -> tuple[int, int]:
    """Return the size of a picture whose options name none."""
    if options.style == "clean":
        return CLEAN_SIZE_PX
    first, last = points.extent_AA
    return released_size_px(last - first, int(np.count_nonzero(points.good)), is_whole=is_whole)


def _clean_content(
    window_AA: tuple[float, float],
    limits: tuple[float, float],
    power: int,
    frame: Frame,
    smooth_px: int,
    markers: list[tuple[str, float]],
) -> Content:
    scale = 10.0**power
    unit = f" (×10{str(power).translate(_SUPERSCRIPTS)})" if power else ""
    smoothed = f", mean of {smooth_px} pixels" if smooth_px > 1 else ""
    low, high = window_AA
    if high - low < NARROWEST * high:
        low, high = low - ROOM_AA, high + ROOM_AA
    return Content(
        x_limits=(low, high),
        y_limits=(limits[0] / scale, limits[1] / scale),
        width_AA=high - low,
        x_label=f"{frame.capitalize()} wavelength (Å, vacuum)",
        y_label=f"Flux{unit}{smoothed}",
        markers=markers,
    )


def _released_content(
    points: Points, limits: tuple[float, float], flux_ends: tuple[float, float], title: str
) -> Content:
    """Return what the released tool prints: margins of 5 %, statistics in the quarter with fewest points."""
    first, last = points.extent_AA
    low, high = flux_ends
    room = 0.05 * (last - first) if last - first >= NARROWEST * last else ROOM_AA
    return Content(
        x_limits=(first - room, last + room),
        y_limits=limits,
        width_AA=last - first,
        x_label="Wavelength (Å)",
        y_label="Flux",
        title=title,
        statistics=(
            f"Data points: {np.count_nonzero(points.good)}",
            f"λ range: {first:.1f} - {last:.1f} Å",
            f"Flux range: {low:.2e} - {high:.2e}",
        ),
        corner=_emptiest_corner(points, (first + last) / 2, low / 2 + high / 2),
    )


def _emptiest_corner(points: Points, middle_AA: float, middle_flux: float) -> tuple[int, int]:
    """Return the quarter with the fewest points; upper before lower, left before right."""
    flux, wavelength = points.flux[points.good], points.wavelength_AA[points.good]
    sides = (wavelength <= middle_AA, wavelength >= middle_AA)
    halves = (flux <= middle_flux, flux >= middle_flux)
    corners = ((0, 1), (1, 1), (0, 0), (1, 0))
    return min(corners, key=lambda corner: np.count_nonzero(sides[corner[0]] & halves[corner[1]]))
