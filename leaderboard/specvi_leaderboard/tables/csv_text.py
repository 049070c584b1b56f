"""CSV for programs and spreadsheets: full digits, and no cell that a spreadsheet would take for a formula."""

import csv
import io

from specvi_leaderboard.tables.grid import Grid, Number

_STARTS = ("=", "+", "-", "@", "\t", "\r")


def csv_text(grid: Grid) -> str:
    """Return one line a row: numbers with all their digits, intervals in columns ``…_low`` and ``…_high``."""
    rows = [row for section in grid.sections for row in section.rows]
    wide = [k for k in range(len(grid.keys)) if any(_has_interval(row[k]) for row in rows)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        name
        for k, key in enumerate(grid.keys)
        for name in ((key, f"{key}_low", f"{key}_high") if k in wide else (key,))
    )
    for row in rows:
        cells: list[object] = []
        for k, cell in enumerate(row):
            if isinstance(cell, Number):
                cells += [cell.value, cell.low, cell.high] if k in wide else [cell.value]
            else:
                cells.append(harmless(cell))
        writer.writerow(cells)
    return text.getvalue()


def harmless(text: str) -> str:
    """Return a cell that no spreadsheet takes for a formula: one that begins as such gets an apostrophe."""
    return f"'{text}" if text.lstrip(" ").startswith(_STARTS) else text


def _has_interval(cell: object) -> bool:
    return isinstance(cell, Number) and cell.low is not None
