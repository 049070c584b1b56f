"""A table before it is written as LaTeX, Markdown or CSV: caption, heads, rows of text and numbers."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from specvi_benchmark.scoring.measure import Measure


@dataclass(frozen=True, slots=True)
class Number:
    """A value with its interval, written as ``scale`` × value with ``decimals``; ``mark`` stands behind it.

    ``low`` and ``high`` None: no interval is shown. ``strong``: one of the first, as far as can be told.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    scale: float = 1.0
    decimals: int = 3
    mark: str = ""
    strong: bool = False

    @property
    def text(self) -> str:
        """Return the value as text; a dash where it is undefined."""
        return "–" if self.value is None else f"{self.scale * self.value:.{self.decimals}f}"

    @property
    def interval(self) -> str | None:
        """Return ``0.681–0.742``, or None."""
        if self.low is None or self.high is None:
            return None
        return f"{self.scale * self.low:.{self.decimals}f}–{self.scale * self.high:.{self.decimals}f}"


Cell = str | Number


@dataclass(frozen=True, slots=True)
class Section:
    """Rows under a heading of their own; no heading: None."""

    heading: str | None
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table. ``groups`` are heads over several columns, (text, columns) from left to right; empty for none.

    ``keys`` name the columns for programs, one of them ``system``; ``facts`` are what holds for every row, for a format
    that has no caption. ``label`` is its name in LaTeX and in file names.
    """

    label: str
    caption: str
    groups: tuple[tuple[str, int], ...]
    head: tuple[str, ...]
    keys: tuple[str, ...]
    text_columns: frozenset[int]
    sections: tuple[Section, ...]
    marks: Mapping[str, str]
    facts: Mapping[str, str]

    def only(self, systems: Collection[str]) -> "Grid":
        """Return the same table with the rows of some systems, without headings."""
        column = self.keys.index("system")
        rows = tuple(row for section in self.sections for row in section.rows if row[column] in systems)
        return replace(self, sections=(Section(None, rows),))


def number_of(measure: Measure, *, interval: bool = True, **more: object) -> Number:
    """Return the number of a measure, with its interval or without."""
    low, high = (measure.low, measure.high) if interval else (None, None)
    return Number(measure.value, low, high, **more)  # type: ignore[arg-type]  # fields of Number, by name
