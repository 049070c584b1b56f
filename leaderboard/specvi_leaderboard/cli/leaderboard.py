"""Rank runs in one table, and write it as a site."""

from pathlib import Path
from typing import Annotated

import typer

from specvi_benchmark.errors import UserError

app = typer.Typer(no_args_is_help=True)


@app.callback()
def leaderboard() -> None:
    """Rank runs in one table, and write it as a site."""


@app.command()
def build(
    sources: Annotated[
        list[Path], typer.Argument(help="Run folders over one split, or a folder with board.yaml.")
    ],
    out: Annotated[Path, typer.Option(help="Folder to write.")] = Path("site"),
    split: Annotated[
        str | None, typer.Option(help="Where the runs' split lies now, if it has moved.")
    ] = None,
    probes: Annotated[
        list[Path] | None,
        typer.Option(
            "--probes", help="Probe of a run: folder or probe.json. May be repeated; RUN/probes is found."
        ),
    ] = None,
    date: Annotated[str | None, typer.Option(help="Date to print on the page, YYYY-MM-DD.")] = None,
    candidates: Annotated[
        bool,
        typer.Option(
            "--candidates/--no-candidates",
            help="Whether spectra, truths and answers of candidates go into it.",
        ),
    ] = True,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Score SOURCES anew from their answers and write OUT/index.html, leaderboard.json and what belongs to them."""
    from rich.console import Console

    from specvi_leaderboard.gather import gather
    from specvi_leaderboard.published import PUBLISHED_FILE
    from specvi_leaderboard.site.write import write_site
    from specvi_leaderboard.terminal import print_board

    check_date(date)
    found = gather(sources, split, date, probes or ())
    page = write_site(found, out, with_candidates=candidates)
    if json_:
        one = len(found.boards) == 1
        text = (out / PUBLISHED_FILE).read_text(encoding="utf-8")
        typer.echo(found.boards[0].model_dump_json(indent=2) if one else text)
        return
    for board in found.boards:
        print_board(board, Console(highlight=False))
    for gone in found.withdrawn:
        typer.echo(f"Withdrawn: {gone.id}, {gone.date}: {gone.reason}")
    typer.echo(f"Wrote {page}, with the site's other pages, table.csv and {PUBLISHED_FILE} beside it")
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
