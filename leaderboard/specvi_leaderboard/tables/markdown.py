"""Markdown, as GitHub and the Hub show it."""

from collections.abc import Iterable

from specvi_benchmark.hub.results_card import shielded
from specvi_leaderboard.tables.grid import Cell, Grid, Number


def markdown(grid: Grid) -> str:
    """Return caption and table; headings of sections stand in bold in the first column."""
    head = grid.head
    if grid.groups:
        names = [text for text, width in grid.groups for _ in range(width)]
        head = tuple(f"{name} {title}".strip() for name, title in zip(names, grid.head, strict=True))
    lines = [
        shielded(grid.caption),
        "",
        _line(shielded(title) for title in head),
        _line(":--" if k in grid.text_columns else "--:" for k in range(len(head))),
    ]
    for section in grid.sections:
        if section.heading:
            lines.append(_line([f"**{shielded(section.heading)}**", *[""] * (len(head) - 1)]))
        lines += [_line(_cell(cell) for cell in row) for row in section.rows]
    lines += ["", *(f"{mark} {shielded(meaning)}." for mark, meaning in grid.marks.items())]
    return "\n".join(lines).rstrip() + "\n"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: Cell) -> str:
    if not isinstance(cell, Number):
        return shielded(cell)
    text = f"**{cell.text}**" if cell.strong else cell.text
    return f"{text}{cell.mark}" + (f" ({cell.interval})" if cell.interval else "")
