"""Measure what ingesting LAMOST and SDSS files costs, against a plain astropy loop."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from specvi_benchmark.archive.cost import IngestCost

app = typer.Typer(add_completion=False)


@app.command()
def bench_ingest(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="Files of LAMOST or SDSS. Default: some of each layout, made up."),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Timed turns.")] = 5,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Read, pack and write files, and read the same in an astropy loop, in turns, in one and in two processes."""
    import json
    from dataclasses import asdict

    from rich.console import Console

    from specvi_benchmark.archive.cost import measure_ingest

    costs = measure_ingest(paths, rounds)
    if json_:
        typer.echo(json.dumps([asdict(cost) for cost in costs], indent=2))
        return
    Console().print(_table(costs))


def _table(costs: "list[IngestCost]") -> "Table":
    from rich.table import Table

    from specvi_benchmark.archive.cost import SURVEY

    slowest = max(cost.ours_ms for cost in costs)
    table = Table(
        title="Ingesting files, beside a plain astropy loop",
        caption=f"{SURVEY:,} files: {SURVEY * slowest / 3.6e6:.1f} core hours; several processes share the work. "
        "CPU: processor time, one process each; two: by the clock, two of ours against one and two loops",
    )
    for column in (
        "format",
        "files",
        "CPU ms a file",
        "astropy",
        "times as fast",
        "two: ms",
        "against 1",
        "against 2",
    ):
        table.add_column(column, justify="left" if column == "format" else "right")
    for cost in costs:
        table.add_row(
            cost.format,
            str(cost.files),
            f"{cost.ours_ms:.2f}",
            f"{cost.astropy_ms:.2f}",
            f"{cost.ratio:.1f}",
            f"{cost.ours_two_ms:.2f}",
            f"{cost.against_one:.1f}",
            f"{cost.against_two:.1f}",
        )
    return table
