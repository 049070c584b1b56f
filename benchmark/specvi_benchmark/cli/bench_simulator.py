"""Measure what simulating a spectrum costs, kind by kind."""

from typing import TYPE_CHECKING, Annotated

import typer

from specvi_benchmark.errors import UserError

if TYPE_CHECKING:
    from rich.table import Table

    from specvi_benchmark.simulator.cost import SimulatorCost

app = typer.Typer(add_completion=False)


@app.command()
def bench_simulator(
    kinds: Annotated[list[str] | None, typer.Argument(help="Kinds of object. Default: all.")] = None,
    instrument: Annotated[str, typer.Option(help="lamost, sdss or desi.")] = "lamost",
    rounds: Annotated[int, typer.Option(min=1, help="Timed turns of each kind.")] = 5,
    per_round: Annotated[int, typer.Option(min=1, help="Spectra in a turn.")] = 20,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Draw and observe objects of each kind in turns, on one core, and print spectra a second and memory."""
    import json
    from dataclasses import asdict

    from rich.console import Console

    from specvi_benchmark.simulator.cost import all_kinds, measure

    known = all_kinds()
    for kind in kinds or ():
        if kind not in known:
            raise UserError("no such kind of object", where="KINDS", expected=", ".join(known), got=kind)
    cost = measure(kinds or known, rounds, per_round, instrument)
    if json_:
        typer.echo(json.dumps(asdict(cost), indent=2))
        return
    Console().print(_table(cost))


def _table(cost: "SimulatorCost") -> "Table":
    from rich.table import Table

    from specvi_benchmark.simulator.cost import LEAST_RATE

    caption = (
        f"all kinds alike: {cost.per_second:,.0f} spectra a second and core (the aim for LAMOST: {LEAST_RATE:,}); "
        f"{cost.spectra:,} timed; first of every kind, with compiling: {cost.first_s:.1f} s; "
        f"memory: {cost.resident_mb:,.0f} MB, {cost.growth_mb:+,.1f} MB while timed"
    )
    table = Table(title=f"Simulating for {cost.instrument}: processor time", caption=caption)
    for column in ("kind", "source ms", "observe ms", "a second and core"):
        table.add_column(column, justify="left" if column == "kind" else "right")
    for kind in cost.kinds:
        table.add_row(kind.kind, f"{kind.source_ms:.2f}", f"{kind.observe_ms:.2f}", f"{kind.per_second:,.0f}")
    return table
