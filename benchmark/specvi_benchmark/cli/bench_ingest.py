"""Measure what ingesting gzipped LAMOST files costs, against a plain astropy loop."""

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
        typer.Argument(help="LAMOST files. Default: some of each layout, made up and gzipped."),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Timed turns.")] = 5,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Read, pack and write files, and read the same in an astropy loop (arrays, header values), in turns."""
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
        title="Ingesting gzipped files: processor time, one core",
        caption=f"{SURVEY:,} files: {SURVEY * slowest / 3.6e6:.1f} core hours; several processes share the work",
    )
    for column in ("format", "files", "ms a file", "astropy ms", "times as fast", "on two cores"):
        table.add_column(column, justify="left" if column == "format" else "right")
    for cost in costs:
        table.add_row(
            cost.format,
            str(cost.files),
            f"{cost.ours_ms:.2f}",
            f"{cost.astropy_ms:.2f}",
            f"{cost.ratio:.1f}",
            f"{2 * cost.ratio:.1f}",
        )
    return table
