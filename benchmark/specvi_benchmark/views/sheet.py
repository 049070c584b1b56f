"""A contact sheet: the same windows by matplotlib and by the fast painter, side by side."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from matplotlib import get_data_path
from PIL import Image, ImageDraw, ImageFont

from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.views import paint
from specvi_benchmark.views.drawing import prepare
from specvi_benchmark.views.palette import palette_of
from specvi_benchmark.views.reference import agg_pixels
from specvi_benchmark.views.style import ViewOptions

GAP_PX, CAPTION_PX = 10, 18

ROWS: Sequence[tuple[str, int, tuple[float, float] | None, ViewOptions]] = (
    ("clean, full view", 0, None, ViewOptions()),
    ("clean, 120 Å", 0, (6500, 6620), ViewOptions()),
    (
        "clean, error band and markers",
        1,
        (4000, 5000),
        ViewOptions(error_band=True, markers=("Hβ", "Hγ", "Hδ", "He II 4687")),
    ),
    ("clean, mean of 9 pixels, 640 × 320", 2, None, ViewOptions(smooth_px=9, size_px=(640, 320))),
    ("spec-o3, full view", 3, None, ViewOptions(style="spec-o3")),
    ("spec-o3, 900 Å, title of the figure", 3, (4000, 4900), ViewOptions(style="spec-o3", title="figure")),
    ("spec-o3, 120 Å", 4, (5100, 5220), ViewOptions(style="spec-o3")),
)
"""Caption, which spectrum, window, options."""


def contact_sheet(spectra: Sequence[Spectrum]) -> Image.Image:
    """Return the sheet: matplotlib on the left, ours on the right, one row of `ROWS` under the other."""
    rows = list(_pictures(spectra))
    width = max(left.width + right.width for _, left, right in rows) + 3 * GAP_PX
    height = sum(left.height + CAPTION_PX + GAP_PX for _, left, _ in rows) + GAP_PX
    sheet = Image.new("RGB", (width, height), (200, 200, 200))
    pen, top = ImageDraw.Draw(sheet), GAP_PX
    pen.font = ImageFont.truetype(str(Path(get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"), 13)
    for caption, left, right in rows:
        pen.text((GAP_PX, top), f"{caption}: matplotlib", fill=(0, 0, 0))
        pen.text((2 * GAP_PX + left.width, top), f"{caption}: specvi", fill=(0, 0, 0))
        sheet.paste(left, (GAP_PX, top + CAPTION_PX))
        sheet.paste(right, (2 * GAP_PX + left.width, top + CAPTION_PX))
        top += left.height + CAPTION_PX + GAP_PX
    return sheet.quantize(256)


def _pictures(spectra: Sequence[Spectrum]) -> Iterator[tuple[str, Image.Image, Image.Image]]:
    for caption, number, window, options in ROWS:
        drawing = prepare(spectra[number % len(spectra)], window, options, None, None)
        ours = paint.colours(drawing.painted(), palette_of(options.style))
        yield caption, Image.fromarray(agg_pixels(drawing)), Image.fromarray(ours)
