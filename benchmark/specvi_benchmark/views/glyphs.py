"""Letters: a small atlas of DejaVu Sans, baked once and shipped, and text laid out from it.

The atlas stands in the package (``dejavu.npz``, made by `specvi_benchmark.views.bake`), so that pixels do not
depend on which matplotlib, FreeType or fonts a machine has, and no font is opened when a picture is drawn.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal

import numpy as np
from numpy.typing import NDArray

FONTS: Mapping[str, tuple[str, float]] = {
    "regular 9pt@80": ("DejaVuSans.ttf", 9 * 80 / 72),
    "regular 10pt@80": ("DejaVuSans.ttf", 10 * 80 / 72),
    "bold 12pt@80": ("DejaVuSans-Bold.ttf", 12 * 80 / 72),
    "bold 14pt@80": ("DejaVuSans-Bold.ttf", 14 * 80 / 72),
    "regular 12px": ("DejaVuSans.ttf", 12.0),
    "regular 13px": ("DejaVuSans.ttf", 13.0),
    "regular 14px": ("DejaVuSans.ttf", 14.0),
}
"""File of the font, as matplotlib ships it, and pixels of an em."""

CHARACTERS = (
    "".join(map(chr, range(32, 127))) + "°±²³¹·×Å" + "ΓΔΘΛΣΦΨΩαβγδεζηθικλμνξοπρςστυφχψω" + "–—…−☉⁰⁴⁵⁶⁷⁸⁹⁺⁻"
)
UNKNOWN = "?"
LEVELS = 32
"""Steps from paper (0) to ink (31) in the atlas, and of a line's coverage in a picture."""

_REMEMBERED = 4096  # texts whose measures are kept: most tick labels come again and again

ASCENT, DESCENT, LINE_GAP = 1556 / 2048, 492 / 2048, 410 / 2048
"""Of DejaVu Sans (its OS/2 table), in ems. Matplotlib gives every line at least this much."""

Anchor = Literal["left", "centre", "right"]
_SHARE: Mapping[Anchor, float] = {"left": 0.0, "centre": 0.5, "right": 1.0}


@dataclass(frozen=True, slots=True, eq=False)
class Atlas:
    """Every letter of every font. A glyph is font index × number of characters + index of the character.

    Attributes
    ----------
    levels
        Flat uint8, 0 to 31: the rows of all bitmaps, one after the other.
    table
        ``(glyphs, 5)`` int32: start in `levels`, width, height, pixels from the pen to the left edge, pixels
        from the baseline up to the top edge.
    advance
        ``(glyphs,)`` int: pixels to the next pen position.
    index
        Character → its index.
    """

    levels: NDArray[np.uint8]
    table: NDArray[np.int32]
    advance: tuple[int, ...]
    index: Mapping[str, int]


@cache
def atlas() -> Atlas:
    """Read the shipped atlas, once a process."""
    with (files("specvi_benchmark.views") / "dejavu.npz").open("rb") as stream:
        stored = np.load(stream)
        table, levels, advance = (stored[name] for name in ("table", "levels", "advance"))
    for array in (table, levels):
        array.setflags(write=False)
    index = {character: number for number, character in enumerate(CHARACTERS)}
    return Atlas(levels, table, tuple(int(a) for a in advance), index)


@cache
def _first_glyph(font: str) -> int:
    return list(FONTS).index(font) * len(CHARACTERS)


def em_px(font: str) -> float:
    """Return the size of a font in pixels."""
    return FONTS[font][1]


@lru_cache(maxsize=_REMEMBERED)
def glyphs_of(text: str, font: str) -> tuple[int, ...]:
    """Return the glyphs of a text; characters outside the atlas become a question mark."""
    index, start = atlas().index, _first_glyph(font)
    return tuple(start + index.get(character, index[UNKNOWN]) for character in text)


@lru_cache(maxsize=_REMEMBERED)
def width_px(text: str, font: str) -> int:
    """Return how far the pen moves for a text."""
    advance = atlas().advance
    return sum(advance[glyph] for glyph in glyphs_of(text, font))


@lru_cache(maxsize=_REMEMBERED)
def extent_px(text: str, font: str) -> tuple[float, float]:
    """Return how far a line reaches above and below its baseline: at least the font's ascent and descent."""
    table = atlas().table
    glyphs = glyphs_of(text, font)
    top = max((int(table[glyph, 4]) for glyph in glyphs), default=0)
    bottom = max((int(table[glyph, 2] - table[glyph, 4]) for glyph in glyphs), default=0)
    return max(top, ASCENT * em_px(font)), max(bottom, DESCENT * em_px(font))


class Text:
    """The letters of a picture, collected for one pass of the painter: (glyph, x, y, upright, colour)."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, int, int, int, int]] = []

    def add(self, text: str, font: str, x: float, baseline: float, anchor: Anchor, colour: int) -> None:
        """Write a line of text. The pen stands on whole pixels, which keeps the letters crisp."""
        pen = math.floor(x - _SHARE[anchor] * width_px(text, font) + 0.5)
        row = math.floor(baseline + 0.5)
        for glyph in glyphs_of(text, font):
            self.rows.append((glyph, pen, row, 0, colour))
            pen += atlas().advance[glyph]

    def add_upward(self, text: str, font: str, baseline: float, y_centre: float, colour: int) -> None:
        """Write a line of text that reads upward, centred on ``y_centre``, its baseline a column."""
        pen = math.floor(y_centre + width_px(text, font) / 2 + 0.5)
        column = math.floor(baseline + 0.5)
        for glyph in glyphs_of(text, font):
            self.rows.append((glyph, column, pen, 1, colour))
            pen -= atlas().advance[glyph]

    def array(self) -> NDArray[np.int32]:
        """Return ``(letters, 5)`` int32."""
        return np.array(self.rows, dtype=np.int32).reshape(-1, 5)
