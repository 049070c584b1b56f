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
    sources: Annotated[
        list[Path], typer.Argument(help="Run folders over one split, or a folder with board.yaml.")
    ],
    out: Annotated[Path, typer.Option(help="Folder to write.")] = Path("site"),
    split: Annotated[
        str | None, typer.Option(help="Where the runs' split lies now, if it has moved.")
    ] = None,
    date: Annotated[str | None, typer.Option(help="Date to print on the page, YYYY-MM-DD.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Score SOURCES anew from their answers and write OUT/index.html, leaderboard.json and what belongs to them."""
    from rich.console import Console

    from specvi_leaderboard.gather import gather
    from specvi_leaderboard.published import publish, write_published
    from specvi_leaderboard.site.index import write_boards
    from specvi_leaderboard.terminal import print_board

    check_date(date)
    found = gather(sources, split, date)
    page = write_boards(found.boards, found.title, out)
    written = write_published(publish(found.boards, found.title, found.withdrawn), found.boards, out)
    if json_:
        one = len(found.boards) == 1
        typer.echo(found.boards[0].model_dump_json(indent=2) if one else written.read_text(encoding="utf-8"))
        return
    for board in found.boards:
        print_board(board, Console(highlight=False))
    for gone in found.withdrawn:
        typer.echo(f"Withdrawn: {gone.id}, {gone.date}: {gone.reason}")
    beside = ", with results.json and table.csv beside it," if len(found.boards) == 1 else ""
    typer.echo(f"Wrote {page}{beside} and {written.name}")
    typer.echo(f"Open: {page.resolve().as_uri()}")
    typer.echo("Next, another system for the table: specvi run --vetter NAME --split SPLIT")


def check_date(date: str | None) -> None:
    """Raise unless it is a date, or none."""
    from datetime import date as Date  # noqa: N812

    if date is None:
        return
    try:
        strict = Date.fromisoformat(date).isoformat() == date  # 20260301 and 2026-W09-7 are ISO dates too
    except ValueError:
        strict = False
    if not strict:
        raise UserError("not a date", where="--date", expected="YYYY-MM-DD", got=date)
