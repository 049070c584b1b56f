"""The 256 colours of a style: every ground under every coverage of the line, letters and frame."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from specvi_benchmark.views.paint import ACCENT, BAND, BOX, GRID, INK, LEVELS, MARKER, MINOR_GRID, PAPER
from specvi_benchmark.views.style import LOOKS, StyleName

WHITE, BLACK = (255, 255, 255), (0, 0, 0)
BAND_COLOUR = (203, 217, 240)
MARKER_COLOUR = (224, 122, 48)
ACCENT_COLOUR = (168, 66, 0)

BOX_ALPHA = 0.8
"""Of the statistics box's white, as released: a fifth of the line shows through."""


@cache
def palette_of(style: StyleName) -> NDArray[np.uint8]:
    """Return the ``(256, 3)`` uint8 palette of a style, read-only."""
    look = LOOKS[style]
    palette = np.full((256, 3), 255, dtype=np.uint8)
    grounds = {
        PAPER: WHITE,
        MINOR_GRID: look.minor_grid_colour or WHITE,
        GRID: look.grid_colour,
        BAND: BAND_COLOUR,
        MARKER: MARKER_COLOUR,
    }
    for block, ground in grounds.items():
        palette[block : block + LEVELS] = _ramp(ground, look.line_colour, look.line_alpha)
    palette[BOX : BOX + LEVELS] = _ramp(WHITE, look.line_colour, look.line_alpha * (1 - BOX_ALPHA))
    palette[INK : INK + LEVELS] = _ramp(WHITE, BLACK, 1.0)
    palette[ACCENT : ACCENT + LEVELS] = _ramp(WHITE, ACCENT_COLOUR, 1.0)
    palette.setflags(write=False)
    return palette


def _ramp(ground: tuple[int, int, int], colour: tuple[int, int, int], alpha: float) -> NDArray[np.uint8]:
    """Return the colours from ``ground`` to ``colour`` at ``alpha``, in equal steps of coverage."""
    share = np.arange(LEVELS)[:, None] / (LEVELS - 1) * alpha
    mixed: NDArray[np.uint8] = np.floor(
        np.array(ground) * (1 - share) + np.array(colour) * share + 0.5
    ).astype(np.uint8)
    return mixed
