"""Rank runs in one table, and write it as a page."""

from pathlib import Path
from typing import Annotated

import typer

from specvi_benchmark.errors import UserError

app = typer.Typer(no_args_is_help=True)


@app.callback()
def leaderboard() -> None:
    """Rank runs in one table, and write it as a page."""


@app.command()
def build(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, all over the same split.")],
    out: Annotated[Path, typer.Option(help="Folder to write.")] = Path("site"),
    split: Annotated[
        str | None, typer.Option(help="Where the runs' split lies now, if it has moved.")
    ] = None,
    date: Annotated[str | None, typer.Option(help="Date to print on the page, YYYY-MM-DD.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print results.json instead of a table.")] = False,
) -> None:
    """Score RUNS anew from their predictions and write OUT/index.html, results.json and table.csv."""
    from rich.console import Console

    from specvi_leaderboard.board import build_board
    from specvi_leaderboard.site.write import write_site
    from specvi_leaderboard.systems import lacking, read_systems
    from specvi_leaderboard.terminal import print_board

    _check_date(date)
    entries = read_systems(runs, split)
    board = build_board(entries, date, lacking=lacking(entries, runs[0], split))
    page = write_site(board, out)
    if json_:
        typer.echo(board.model_dump_json(indent=2))
        return
    print_board(board, Console(highlight=False))
    typer.echo(f"Wrote {page}, with results.json and table.csv beside it")
    typer.echo(f"Open: {page.resolve().as_uri()}")
    typer.echo("Next, another system for the table: specvi run --vetter NAME --split SPLIT")


def _check_date(date: str | None) -> None:
    from datetime import date as Date  # noqa: N812

    if date is None:
        return
    try:
        strict = Date.fromisoformat(date).isoformat() == date  # 20260301 and 2026-W09-7 are ISO dates too
    except ValueError:
        strict = False
    if not strict:
        raise UserError("not a date", where="--date", expected="YYYY-MM-DD", got=date)
