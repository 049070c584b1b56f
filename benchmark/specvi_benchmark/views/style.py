"""How a view is drawn: the options a caller chooses, and the measures of the two styles."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from specvi_benchmark.errors import UserError
from specvi_benchmark.lines import get_line

StyleName = Literal["clean", "spec-o3"]
Title = Literal["none", "released", "figure"]
Limits = Literal["robust", "full"]

STYLES: tuple[StyleName, ...] = get_args(StyleName)

CLEAN_SIZE_PX = (896, 448)
"""Multiples of 28 and of 32, the patches of Qwen2.5-VL and Qwen3-VL: neither processor resamples it."""

SMALLEST_PX, LARGEST_PX = 120, 4096
WIDEST_SMOOTHING_PX = 101

RELEASED_TITLE = "Supernova Spectrum"
"""What the released tool prints where it is given no title, and the official rows give none
(github.com/Maxwell-Jia/spec-o3)."""


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """Everything about a view that does not come from the spectrum or the window.

    Attributes
    ----------
    style
        ``clean``, or ``spec-o3``: what the released checkpoints were trained on.
    size_px
        Width and height, each from 120 to 4096. None: 896 × 448 in ``clean``; by the width of the window in
        ``spec-o3``, as released.
    title
        ``none``, ``released`` (what the released configuration prints) or ``figure`` (the file name, as in
        the published figure; it can give the label away). None: ``none`` in ``clean``, which allows no
        other, and ``released`` in ``spec-o3``.
    limits
        ``full``: the flux axis holds every good pixel. ``robust``: spikes of one or two pixels are cut off
        where they would flatten the rest. None: ``robust`` in ``clean``, ``full`` in ``spec-o3``.
    smooth_px
        Odd number of pixels averaged around each one; 1 draws the flux as it is. The flux axis says so.
        ``clean`` only.
    error_band
        Shade the flux ± 1σ where the spectrum has errors. ``clean`` only.
    markers
        Lines to mark, by their names in `specvi_benchmark.lines`. ``clean`` only.
    """

    style: StyleName = "clean"
    size_px: tuple[int, int] | None = None
    title: Title | None = None
    limits: Limits | None = None
    smooth_px: int = 1
    error_band: bool = False
    markers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.style not in STYLES:
            raise UserError(
                "no such style", where="style", expected=f"one of {', '.join(STYLES)}", got=self.style
            )
        self._check_choices()
        self._check_size()
        for name in self.markers:
            get_line(name)

    def _check_choices(self) -> None:
        for name, value, known in (
            ("title", self.title, get_args(Title)),
            ("limits", self.limits, get_args(Limits)),
        ):
            if value is not None and value not in known:
                raise UserError(f"no such {name}", where=name, expected=" or ".join(known), got=value)
        whole = isinstance(self.smooth_px, int)
        if not (whole and 1 <= self.smooth_px <= WIDEST_SMOOTHING_PX and self.smooth_px % 2):
            raise UserError(
                "smoothing needs an odd number of pixels",
                where="smooth_px",
                expected=f"1 to {WIDEST_SMOOTHING_PX}, odd",
                got=self.smooth_px,
            )
        if self.style == "clean" and self.title not in (None, "none"):
            raise UserError(
                "style clean has no title: a name can give the label away", where="title", got=self.title
            )
        if self.style == "spec-o3" and (self.smooth_px > 1 or self.error_band or self.markers):
            raise UserError(
                "style spec-o3 draws the flux alone, as the checkpoints were trained",
                where="smooth_px, error_band, markers",
                fix="use style clean",
            )

    def _check_size(self) -> None:
        if self.size_px is None:
            return
        sides = tuple(self.size_px)
        if len(sides) != 2 or not all(isinstance(side, int) for side in sides):
            raise UserError(
                "a size is two whole numbers", where="size_px", expected="width and height", got=self.size_px
            )
        if not all(SMALLEST_PX <= side <= LARGEST_PX for side in sides):
            raise UserError(
                "the size of a picture is out of range",
                where="size_px",
                expected=f"width and height from {SMALLEST_PX} to {LARGEST_PX}",
                got=f"{sides[0]} × {sides[1]}",
            )

    @property
    def is_robust(self) -> bool:
        """Return whether lone spikes are cut off."""
        return (self.limits or LOOKS[self.style].limits) == "robust"

    def title_of(self, name: str) -> str:
        """Return the title of a picture of the spectrum of this name."""
        title = self.title or LOOKS[self.style].title
        return {"none": "", "released": RELEASED_TITLE, "figure": name}[title]

    @property
    def config(self) -> Mapping[str, Any]:
        """Return every choice, defaults filled in, for run.json."""
        look = LOOKS[self.style]
        filled = {
            "size_px": list(self.size_px or CLEAN_SIZE_PX)
            if self.size_px or self.style == "clean"
            else "by width",
            "title": self.title or look.title,
            "limits": self.limits or look.limits,
            "markers": list(self.markers),
        }
        return asdict(self) | filled


@dataclass(frozen=True, slots=True)
class Look:
    """The measures of a style. Lengths in pixels, colours as (red, green, blue)."""

    title: Title
    limits: Limits
    tick_font: str
    label_font: str
    line_px: float
    line_colour: tuple[int, int, int]
    line_alpha: float
    grid_colour: tuple[int, int, int]
    minor_grid_colour: tuple[int, int, int] | None
    tick_px: int
    minor_tick_px: int
    ticks_point_in: bool
    frame_level: int
    minor_tick_level: int


POINT_PX = 80 / 72
"""Pixels of a typographic point in the released pictures (80 dpi)."""

LOOKS: Mapping[StyleName, Look] = {
    # Line 1 pt, alpha 0.8; grid #b0b0b0, 0.5 pt at alpha 0.3 and 0.3 pt at alpha 0.1; spines and major ticks
    # 0.8 pt, minor ticks 0.6 pt: widths below a pixel are lighter pixels. Levels are of 31.
    "spec-o3": Look(
        title="released",
        limits="full",
        tick_font="regular 10pt@80",
        label_font="bold 12pt@80",
        line_px=POINT_PX,
        line_colour=(0, 0, 255),
        line_alpha=0.8,
        grid_colour=(242, 242, 242),
        minor_grid_colour=(252, 252, 252),
        tick_px=4,
        minor_tick_px=2,
        ticks_point_in=True,
        frame_level=28,
        minor_tick_level=21,
    ),
    "clean": Look(
        title="none",
        limits="robust",
        tick_font="regular 13px",
        label_font="regular 14px",
        line_px=1.25,
        line_colour=(31, 78, 156),
        line_alpha=1.0,
        grid_colour=(217, 217, 217),
        minor_grid_colour=None,
        tick_px=5,
        minor_tick_px=3,
        ticks_point_in=False,
        frame_level=31,
        minor_tick_level=24,
    ),
}


def released_size_px(width_AA: float, n_points: int, *, is_whole: bool) -> tuple[int, int]:
    """Return the size of the released tool's picture, by width of the window.

    Parameters
    ----------
    width_AA
        Last minus first wavelength with a point.
    n_points
        Points shown: 5 % wider above 10,000, 5 % narrower below 50.
    is_whole
        The whole spectrum, not a window of it.

    Returns
    -------
    Figure inches (10 × 6, 9 × 5.5, 8 × 5, 7 × 4.5 or 6 × 4) times 80 dpi, less 4 pixels on every side, which
    the tight bounding box takes off.
    """
    steps = (
        ((3000, 10.0, 6.0), (1000, 8.0, 5.0), (200, 7.0, 4.5))
        if is_whole
        else ((1000, 9.0, 5.5), (200, 8.0, 5.0), (50, 7.0, 4.5))
    )
    width, height = next(
        ((w, h) for edge, w, h in steps if (width_AA > edge if is_whole else width_AA >= edge)), (6.0, 4.0)
    )
    stretch = 1.05 if n_points > 10_000 else 0.95 if n_points < 50 else 1.0
    return round(width * stretch * 80) - 8, round(height * 80) - 8
