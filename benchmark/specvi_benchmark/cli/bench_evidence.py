"""Measure how often claims are tested wrongly in flux, on simulated objects whose features are known."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from specvi_benchmark.evidence.validation import Rate

app = typer.Typer(add_completion=False)


@app.command()
def bench_evidence(
    objects: Annotated[int, typer.Option(min=2, help="Objects a kind and signal to noise.")] = 100,
    seed: Annotated[int, typer.Option(help="Of the simulated objects.")] = 0,
    quick: Annotated[
        bool, typer.Option("--quick", help="10 objects at two S/N: seconds, not minutes.")
    ] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Look for features where the simulator has put them and where it has not: missed and false-found rates."""
    import json
    from dataclasses import asdict

    from rich.console import Console
    from rich.progress import Progress

    from specvi_benchmark.evidence.validation import CASES, SNRS, validate

    snrs = (5.0, 20.0) if quick else SNRS
    rates = []
    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("Features", total=len(CASES) * len(snrs))
        for rate in validate(10 if quick else objects, snrs, seed):
            rates.append(rate)
            progress.advance(bar)
    if json_:
        typer.echo(json.dumps([asdict(rate) | {"share": rate.share} for rate in rates], indent=2))
        return
    console = Console(highlight=False)
    console.print(_table(rates, snrs, is_there=True))
    console.print(_table(rates, snrs, is_there=False))


def _table(rates: "list[Rate]", snrs: tuple[float, ...], *, is_there: bool) -> "Table":
    from rich import box
    from rich.table import Table

    from specvi_benchmark.evidence.validation import pooled

    title = (
        "Share found of features that are there (the rest is missed)"
        if is_there
        else "Share found of features that are not there"
    )
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left")
    table.add_column("object", no_wrap=True)
    table.add_column("feature", no_wrap=True)
    for snr in snrs:
        table.add_column(f"S/N {snr:g}", justify="right")
    wanted = [rate for rate in rates if rate.case.is_there == is_there]
    for case in dict.fromkeys(rate.case for rate in wanted):
        kind = "" if case.looked_for == "band" else f" {case.looked_for}"
        cells = {rate.snr: f"{rate.share:.2f}" if rate.n else "–" for rate in wanted if rate.case == case}
        table.add_row(case.kind, case.feature + kind, *(cells[snr] for snr in snrs))
    table.add_section()
    sums = [pooled([rate for rate in wanted if rate.snr == snr]) for snr in snrs]
    totals = [f"{found / n:.3f} \\[{low:.3f}–{high:.3f}]" for found, n, low, high in sums]
    table.add_row("all", "", *totals, style="bold")
    return table
