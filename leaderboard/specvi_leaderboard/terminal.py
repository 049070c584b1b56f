"""The ranking as it is printed in a terminal."""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from specvi_leaderboard.board import Board, TrackTable
from specvi_leaderboard.site.page import number, of_selector_family, rank_text, span

NAME_WIDTH = 12
"""Characters below which the column of names is never squeezed; longer names are folded."""

UNLIMITED = 10_000
"""A width in characters at which every table has room."""


def print_board(board: Board, console: Console) -> None:
    """Print a table for each track, and the rule that ranks it."""
    for table in board.tracks:
        grid = _table(board, table, table.tasks)
        wide = console.options.update(width=UNLIMITED)
        fits = Measurement.get(console, wide, grid).minimum <= console.width
        console.print(grid if fits else _table(board, table, ()))
        if not fits:
            console.print(
                Text("The scores by task need a wider terminal; table.csv holds them.", style="dim")
            )
        for reason in dict.fromkeys(row.reason for row in table.unranked):
            names = ", ".join(row.system for row in table.unranked if row.reason == reason)
            console.print(Text(f"Not ranked: {names}; {reason}"))
    for reason in board.lacking:
        console.print(Text(f"Not in the table: {reason}"))
    console.print(Text(f"Rule: {board.rule}", style="dim"))
    console.print(
        Text(
            "Ranks are 95 % confidence sets from paired comparisons on the same candidates, all of them right at once.",
            style="dim",
        )
    )


def _named(board: Board, name: str) -> Text:
    return Text(f"{name} (selector-family)" if of_selector_family(board.system(name).config) else name)


def _table(board: Board, table: TrackTable, tasks: Sequence[str]) -> Table:
    kind = "SIMULATED spectra, " if board.simulated else ""
    title = f"{board.split.name} {board.split.version} ({kind}{table.track} track)"
    grid = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        title=Text(title, style="bold"),
        title_justify="left",
    )
    grid.add_column("rank", justify="right", no_wrap=True)
    grid.add_column("system", overflow="fold", min_width=NAME_WIDTH)
    for header in ("macro-F1", "95 %", *(key.upper() for key in tasks)):
        grid.add_column(header, justify="right", no_wrap=True)
    ranks = {standing.system: rank_text(standing) for standing in table.ranked}
    for name in table.order:
        f1 = board.macro(table.track, name).ranked.f1
        by_task = (number(board.task(table.track, key, name).ranked.f1.value) for key in tasks)
        grid.add_row(ranks.get(name, "–"), _named(board, name), number(f1.value), span(f1), *by_task)
    return grid
