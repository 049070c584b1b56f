"""Draws a window of a spectrum: pixels, PNG bytes, and what exactly is shown."""

import hashlib
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from specvi_benchmark.kept import kept
from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.tasks.task import Frame
from specvi_benchmark.traces import ViewRecord
from specvi_benchmark.views import paint
from specvi_benchmark.views.drawing import prepare
from specvi_benchmark.views.palette import palette_of
from specvi_benchmark.views.png import encode
from specvi_benchmark.views.style import StyleName, ViewOptions

RENDERER_VERSION = 4
"""Raised whenever any pixel of any picture can change, or what is hashed of them. Stands in run.json."""


@dataclass(frozen=True, eq=False)
class View:
    """One picture of a window. Pixels, PNG and hash are made when first asked for, and kept.

    Attributes
    ----------
    indices
        ``(height, width + 1)`` uint8, read-only: column 0 is zero, the others index `palette`.
    palette
        ``(256, 3)`` uint8, read-only.
    window_AA
        First and last wavelength really shown, vacuum ångström in `frame`: the window asked for, clipped
        to the data.
    frame
        ``rest`` when a redshift was divided out, else ``observed``.
    n_points
        Good pixels of the spectrum in the window.
    n_masked
        Bad ones.
    flux_range
        Lowest and highest flux of those, in the survey's unit.
    shown_range
        Ends of the flux axis. Narrower than `flux_range` where lone spikes were cut off.
    n_beyond
        Good pixels that lie beyond the flux axis.
    markers
        Names of the lines that are marked, those of `ViewOptions.markers` inside the window.
    options
        How it was drawn.
    """

    indices: NDArray[np.uint8]
    palette: NDArray[np.uint8]
    window_AA: tuple[float, float]
    frame: Frame
    n_points: int
    n_masked: int
    flux_range: tuple[float, float]
    shown_range: tuple[float, float]
    n_beyond: int
    markers: tuple[str, ...]
    options: ViewOptions

    @property
    def style(self) -> StyleName:
        """Return the name of the style."""
        return self.options.style

    @property
    def size_px(self) -> tuple[int, int]:
        """Return width and height."""
        return self.indices.shape[1] - 1, self.indices.shape[0]

    @kept
    def pixels(self) -> NDArray[np.uint8]:
        """Return the ``(height, width, 3)`` uint8 colours, read-only."""
        pixels: NDArray[np.uint8] = paint.colours(self.indices, self.palette)
        pixels.setflags(write=False)
        return pixels

    @property
    def image(self) -> Image.Image:
        """Return the picture as a PIL image in RGB, for a local model."""
        return Image.fromarray(self.pixels)

    @kept
    def png(self) -> bytes:
        """Return the bytes of a PNG file that holds the same pixels."""
        return encode(self.indices, self.palette)

    @kept
    def pixel_sha256(self) -> str:
        """Return the SHA-256 of the pixels, which names the picture whatever the PNG encoder did.

        Of the palette and then every pixel's index, row by row, as a decoder of the PNG finds them: a third of
        the bytes of the colours.
        """
        digest = hashlib.sha256(self.palette.data)
        digest.update(np.ascontiguousarray(self.indices[:, 1:]).data)
        return digest.hexdigest()

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
    options: ViewOptions | None = None,
    *,
    style: StyleName | None = None,
    size_px: tuple[int, int] | None = None,
    redshift: float | None = None,
    marker_redshift: float | None = None,
) -> View:
    """Draw a window of a spectrum. Same input, same pixels, in any thread or process.

    Parameters
    ----------
    spectrum
        What is drawn. Masked pixels are gaps in the line.
    window_AA
        First and last wavelength, vacuum ångström, in the frame that is drawn; None for everything.
    options
        How to draw; None for the style ``clean`` with its defaults.
    style, size_px
        Instead of those of ``options``.
    redshift
        Divided out of the wavelengths; None or 0 draws the observed frame. Which one to use is the
        caller's choice (`specvi_benchmark.features.choose_shift`).
    marker_redshift
        Redshift at which ``options.markers`` stand; None: that of the frame drawn.

    Raises
    ------
    UserError
        The style, size or redshift can't be drawn, or the window is empty or holds no good pixel.
    """
    chosen = options or ViewOptions()
    if style is not None or size_px is not None:
        chosen = replace(chosen, style=style or chosen.style, size_px=size_px or chosen.size_px)
    drawing = prepare(spectrum, window_AA, chosen, redshift, marker_redshift)
    good = drawing.points.good
    indices = drawing.painted()
    indices.setflags(write=False)
    return View(
        indices=indices,
        palette=palette_of(chosen.style),
        window_AA=drawing.window_AA,
        frame=drawing.frame,
        n_points=int(np.count_nonzero(good)),
        n_masked=int(good.size - np.count_nonzero(good)),
        flux_range=drawing.flux_range,
        shown_range=drawing.limits,
        n_beyond=drawing.n_beyond,
        markers=drawing.markers,
        options=chosen,
    )
