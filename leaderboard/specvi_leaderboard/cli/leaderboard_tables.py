"""Write the ranking as LaTeX (booktabs), Markdown or CSV."""

from pathlib import Path
from typing import Annotated, Literal

import typer

app = typer.Typer()


@app.command()
def tables(
    sources: Annotated[
        list[Path], typer.Argument(help="Run folders over one split, or a folder with board.yaml.")
    ],
    layout: Annotated[
        Literal["full", "paper"], typer.Option(help="Ranks and intervals, or the paper's Table 1.")
    ] = "full",
    format_: Annotated[
        Literal["latex", "markdown", "csv"], typer.Option("--format", help="What to write.")
    ] = "markdown",
    out: Annotated[
        Path | None, typer.Option(help="Folder for one file a table. Default: print them.")
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(help="Only this system, by id or name, ranked among those shown. May be repeated."),
    ] = None,
    reported: Annotated[
        bool, typer.Option("--reported", help="Add the published figures, marked, to the paper's layout.")
    ] = False,
    rows_only: Annotated[
        bool,
        typer.Option(
            "--rows-only",
            help="LaTeX rows alone, with --system those of that system, to be put into such a table.",
        ),
    ] = False,
    split: Annotated[
        str | None, typer.Option(help="Where the runs' split lies now, if it has moved.")
    ] = None,
) -> None:
    """Write a table for each track. Caption: candidates, intervals, what ranks mean, the rule for non-answers."""
    from specvi_benchmark.errors import UserError
    from specvi_benchmark.files import write_text
    from specvi_leaderboard.gather import gather, pool
    from specvi_leaderboard.published import board_id
    from specvi_leaderboard.reported import reported as published
    from specvi_leaderboard.tables.csv_text import csv_text
    from specvi_leaderboard.tables.grid import Grid
    from specvi_leaderboard.tables.latex import latex
    from specvi_leaderboard.tables.layouts import grids
    from specvi_leaderboard.tables.markdown import markdown

    if rows_only and format_ != "latex":
        raise UserError("rows alone are for LaTeX", where="--rows-only", got=f"--format {format_}")
    if reported and layout != "paper":
        raise UserError(
            "published figures go with the paper's layout", where="--reported", got="--layout full"
        )

    def written(grid: Grid) -> str:
        if format_ == "latex":
            return latex(grid, rows_only=rows_only)
        return csv_text(grid) if format_ == "csv" else markdown(grid)

    ending = {"latex": "tex", "markdown": "md", "csv": "csv"}[format_]
    found = gather(sources, split)
    for whole, entries in zip(found.boards, found.entries, strict=True):
        board = pool(entries, whole, system or [])
        names = {s.name for s in board.systems if {s.name, s.about.id} & set(system or [])}
        for whole_grid in grids(board, layout, published() if reported else None):
            grid = whole_grid.only(names) if rows_only and names else whole_grid
            if out is None:
                typer.echo(written(grid))
                continue
            path = out / f"{board_id(board)}-{grid.label}.{ending}"
            write_text(path, written(grid))
            typer.echo(f"Wrote {path}")
