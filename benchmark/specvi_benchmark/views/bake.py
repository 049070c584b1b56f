"""Bakes the atlas of letters: ``python -m specvi_benchmark.views.bake OUT.npz``.

Only for whoever changes the fonts: the result is shipped, and a change of it is a change of pixels
(`specvi_benchmark.views.view.RENDERER_VERSION`).
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import get_data_path
from numpy.typing import NDArray
from PIL import ImageFont

from specvi_benchmark.views.glyphs import CHARACTERS, FONTS, LEVELS


def bake() -> dict[str, NDArray[Any]]:
    """Draw every character in every font and return the arrays of the atlas.

    DejaVu Sans as matplotlib ships it (its licence, derived from Bitstream Vera's, allows any use), drawn
    by FreeType with the font's own hints, one pen position: at whole pixels the strokes are crispest.
    """
    table, levels, advance = [], [], []
    start = 0
    for name, size in FONTS.values():
        font = _open(name, size)
        for character in CHARACTERS:
            mask, (left, top) = font.getmask2(character, mode="L", anchor="ls")
            width, height = mask.size
            grey = np.array(mask, dtype=np.uint8).reshape(height, width)
            bitmap = np.floor(grey.astype(np.float64) * (LEVELS - 1) / 255 + 0.5).astype(np.uint8)
            table.append((start, width, height, left, -top))
            levels.append(bitmap.ravel())
            advance.append(round(font.getlength(character)))
            start += bitmap.size
    return {
        "table": np.array(table, dtype=np.int32),
        "levels": np.concatenate(levels),
        "advance": np.array(advance, dtype=np.int32),
    }


def _open(name: str, size: float) -> ImageFont.FreeTypeFont:
    path = Path(get_data_path()) / "fonts" / "ttf" / name
    return ImageFont.truetype(str(path), size, layout_engine=ImageFont.Layout.BASIC)


if __name__ == "__main__":
    baked = bake()
    np.savez_compressed(sys.argv[1], table=baked["table"], levels=baked["levels"], advance=baked["advance"])
