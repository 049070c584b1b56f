"""The ranking as it is printed in a terminal."""

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from specvi_leaderboard.board import Board, TrackTable
from specvi_leaderboard.site.page import number, rank_text, span


def print_board(board: Board, console: Console) -> None:
    """Print a table for each track, and the rule that ranks it."""
    for table in board.tracks:
        console.print(_table(board, table))
        for row in table.unranked:
            console.print(Text(f"Not ranked: {row.system}, {row.reason}"))
    console.print(Text(f"Rule: {board.rule}", style="dim"))
    console.print(
        Text(
            "Ranks are 95 % confidence sets from paired comparisons on the same candidates, all of them right at once.",
            style="dim",
        )
    )


def _table(board: Board, table: TrackTable) -> Table:
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
    grid.add_column("system", overflow="fold")
    for header in ("macro-F1", "95 %", *(key.upper() for key in table.tasks)):
        grid.add_column(header, justify="right", no_wrap=True)
    ranks = {standing.system: rank_text(standing) for standing in table.ranked}
    for name in table.order:
        f1 = board.macro(table.track, name).ranked.f1
        by_task = (number(board.task(table.track, key, name).ranked.f1.value) for key in table.tasks)
        grid.add_row(ranks.get(name, "–"), Text(name), number(f1.value), span(f1), *by_task)
    return grid
