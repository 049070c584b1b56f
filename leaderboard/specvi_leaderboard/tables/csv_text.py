"""CSV for programs and spreadsheets: full digits, and no cell that a spreadsheet would take for a formula."""

import csv
import io

from specvi_leaderboard.tables.grid import Cell, Grid, Number

_PARTS = ("low", "high", "mark")
_STARTS = ("=", "+", "-", "@", "\t", "\r")


def csv_text(grid: Grid) -> str:
    """Return one line a row: the facts first, numbers with all their digits.

    Intervals are in columns ``…_low`` and ``…_high``, marks in ``…_mark``, where a column has any.
    """
    rows = [row for section in grid.sections for row in section.rows]
    parts = {
        key: tuple(part for part in _PARTS if any(_part(row[k], part) not in {None, ""} for row in rows))
        for k, key in enumerate(grid.keys)
    }
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [name for key, more in parts.items() for name in (key, *(f"{key}_{part}" for part in more))]
    writer.writerow([*grid.facts, *names])
    for row in rows:
        cells: list[object] = [harmless(fact) for fact in grid.facts.values()]
        for cell, more in zip(row, parts.values(), strict=True):
            cells.append(cell.value if isinstance(cell, Number) else harmless(cell))
            cells += [_part(cell, part) for part in more]
        writer.writerow(cells)
    return text.getvalue()


def harmless(text: str) -> str:
    """Return a cell that no spreadsheet takes for a formula: one that begins as such gets an apostrophe."""
    return f"'{text}" if text.lstrip(" ").startswith(_STARTS) else text


def _part(cell: Cell, name: str) -> object:
    return getattr(cell, name) if isinstance(cell, Number) else None
