"""The contact sheet: real spectra, each beside the simulated one of its class that is most like it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib import get_data_path
from PIL import Image, ImageDraw, ImageFont

from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.views import ViewOptions, render

PANEL_PX = (420, 190)
GAP_PX, CAPTION_PX = 8, 18
_SMOOTH_PX = 7


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """A real spectrum and its simulated neighbour, with a caption for each."""

    caption: str
    real: Spectrum
    neighbour_caption: str
    neighbour: Spectrum


def contact_sheet(pairs: Sequence[Pair], columns: int = 2) -> Image.Image:
    """Return the sheet, real | simulated, ``columns`` pairs in a row, in the order given.

    Pairs of one row have one window, that of the real spectrum, and are drawn by the painter of the
    suite, smoothed over seven pixels.
    """
    width, height = PANEL_PX
    cell = 2 * width + 2 * GAP_PX, height + CAPTION_PX + GAP_PX
    rows = -(-len(pairs) // columns)
    sheet = Image.new("RGB", (columns * cell[0] + GAP_PX, rows * cell[1] + GAP_PX), (205, 205, 205))
    pen = ImageDraw.Draw(sheet)
    pen.font = ImageFont.truetype(str(Path(get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"), 12)
    options = ViewOptions(size_px=PANEL_PX, smooth_px=_SMOOTH_PX)
    for number, pair in enumerate(pairs):
        top = number // columns * cell[1] + GAP_PX
        left = number % columns * cell[0] + GAP_PX
        for place, (caption, spectrum) in enumerate(
            ((pair.caption, pair.real), (pair.neighbour_caption, pair.neighbour))
        ):
            x = left + place * (width + GAP_PX)
            pen.text((x, top), caption, fill=(0, 0, 0))
            sheet.paste(render(spectrum, pair.real.range_AA, options).image, (x, top + CAPTION_PX))
    return sheet.quantize(64)
