"""What commands print with: tables that are never cut, and a standard output kept for what was asked for."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_ENDLESS = 1_000_000  # characters: a measure that the terminal does not cut short


def print_whole(console: "Console", item: "Table | str") -> None:
    """Print a table or a sentence; a table is made wider than the terminal before a word or number is cut.

    Cells break at blanks first. A number of which half is missing is worse than a line that the terminal wraps.
    """
    if isinstance(item, str):
        console.print(item)
        return
    before = console.width
    console.width = _fit(console, item)
    try:
        console.print(item)
    finally:
        console.width = before


@contextmanager
def kept_for_answers() -> Iterator[None]:
    """Send to standard error what others print within: a vetter's chatter would spoil ``--json``."""
    with redirect_stdout(sys.stderr):
        yield


def _fit(console: "Console", table: "Table") -> int:
    """Choose columns of a table that is too wide, and return the width it needs.

    Every column gets the width of its longest word, or of its longest cell where that must not wrap; what is left
    goes to the columns of text.
    """
    from rich.measure import Measurement

    _, right, _, left = table.padding
    endless = console.options.update(max_width=_ENDLESS)
    sizes = [
        [Measurement.get(console, endless, cell) for cell in (column.header, *column.cells)]
        for column in table.columns
    ]
    widest = [max(cell.maximum for cell in cells) for cells in sizes]
    longest = [max(cell.minimum for cell in cells) for cells in sizes]
    between = len(sizes) * (left + right + 1) + 1  # blanks and rules
    if sum(widest) + between <= console.width:
        return console.width
    least = [
        whole if column.no_wrap else word
        for column, whole, word in zip(table.columns, widest, longest, strict=True)
    ]
    room = max(0, console.width - between - sum(least))
    for column, word, whole in zip(table.columns, least, widest, strict=True):
        grown = min(room, whole - word) if column.justify == "left" else 0
        column.width = word + grown
        room -= grown
    return max(console.width, between + sum(least))
