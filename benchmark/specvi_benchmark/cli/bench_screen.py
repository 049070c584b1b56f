"""Measure what screening an archive costs, and what a whole survey would take."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from specvi_benchmark.archive.cost import ScreenCost, SimulatedCost

app = typer.Typer(add_completion=False)


@app.command()
def bench_screen(
    sizes: Annotated[
        list[int] | None, typer.Argument(min=500, help="Spectra. Default: 10000 50000 200000.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(help="Where the archive is made (30 kB a spectrum). Default: a temporary folder."),
    ] = None,
    processes: Annotated[
        int | None, typer.Option(min=1, help="That simulate the archive; screening is timed on one core.")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Simulate an archive, screen its first spectra in processes of their own, print rates and memory."""
    import json
    import tempfile
    from dataclasses import asdict

    from rich.console import Console

    from specvi_benchmark.archive.cost import make_archive, measure_screening
    from specvi_benchmark.splits.workers import processors

    wanted = sorted(sizes or (10_000, 50_000, 200_000))
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        archive = Path(scratch) / "archive"
        made = make_archive(archive, wanted[-1], processes or processors())
        costs = measure_screening(archive, wanted)
    if json_:
        typer.echo(json.dumps({"archive": asdict(made), "costs": [asdict(cost) for cost in costs]}, indent=2))
        return
    Console().print(_table(made, costs))


def _table(made: "SimulatedCost", costs: "list[ScreenCost]") -> "Table":
    from rich.table import Table

    from specvi_benchmark.archive.cost import SURVEY

    last = costs[-1]
    hours = SURVEY / last.per_second / 3600
    stored = made.bytes / made.spectra
    caption = (
        f"simulated and ingested: {made.spectra:,} spectra in {made.seconds:,.0f} s, {stored / 1e3:.1f} kB each; "
        f"{SURVEY:,} spectra would take {hours:.1f} core hours and {SURVEY * stored / 1e9:,.0f} GB"
    )
    if len(costs) > 1:
        first = costs[0]
        growth = (last.peak_mb - first.peak_mb) / (last.spectra - first.spectra) * 1e6
        peak = (last.peak_mb + growth * (SURVEY - last.spectra) / 1e6) / 1e3
        caption += f"; memory grows by {growth:,.0f} MB a million spectra, to {peak:.1f} GB"
    table = Table(title="Screening from parquet, on one core: processor time", caption=caption)
    for column in ("spectra", "features s", "scores s", "a second and core", "peak MB"):
        table.add_column(column, justify="right")
    for cost in costs:
        table.add_row(
            f"{cost.spectra:,}",
            f"{cost.features_s:.1f}",
            f"{cost.scores_s:.1f}",
            f"{cost.per_second:,.0f}",
            f"{cost.peak_mb:,.0f}",
        )
    return table
