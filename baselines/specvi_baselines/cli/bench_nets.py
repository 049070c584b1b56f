"""Measure how many spectra a second the networks vet and train on, and their memory."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from specvi_benchmark.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from specvi_baselines.networks.cost import NetworkCost

app = typer.Typer(add_completion=False)


@app.command()
def bench_nets(
    networks: Annotated[list[str] | None, typer.Argument(help="Networks. Default: all four.")] = None,
    setting: Annotated[
        Literal["test", "small", "full"], typer.Option(help="Setting of the networks.")
    ] = "small",
    rounds: Annotated[int, typer.Option(min=1, help="Timed turns.")] = 3,
    spectra: Annotated[int, typer.Option(min=1, help="LAMOST spectra in a turn.")] = 256,
    threads: Annotated[int, typer.Option(min=1, help="Threads of the network.")] = 2,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Time fresh networks on LAMOST spectra, from spectrum to P(YES), each in a process of its own."""
    import json
    from dataclasses import asdict

    from rich.console import Console

    from specvi_baselines.networks.cost import measure
    from specvi_baselines.networks.settings import NAMES

    if strange := [name for name in networks or () if name not in NAMES]:
        raise UserError(
            "no such network", where="NETWORKS", expected=", ".join(NAMES), got=", ".join(strange)
        )
    costs = measure(networks or NAMES, setting, rounds, spectra, threads)
    if json_:
        typer.echo(json.dumps([asdict(cost) for cost in costs], indent=2))
        return
    Console().print(_table(costs))


def _table(costs: "Sequence[NetworkCost]") -> "Table":
    from rich.table import Table

    from specvi_baselines.networks.cost import AIM

    first = costs[0]
    aims = ", ".join(f"{aim} for {name} on two cores" for name, aim in AIM.items())
    caption = (
        f"{first.spectra} spectra a turn, {first.threads} threads, from spectrum to P(YES); the aim: {aims} a second "
        "by the clock of an idle machine. Training: a step, from tensors on."
    )
    table = Table(title=f"Networks, setting {first.setting}", caption=caption)
    columns = (
        "network",
        "parameters",
        "spectra a second",
        "a core second",
        "trained a core second",
        "peak MB",
        "own MB",
    )
    for column in columns:
        table.add_column(column, justify="left" if column == "network" else "right")
    for cost in costs:
        table.add_row(
            cost.name,
            f"{cost.parameters:,}",
            f"{cost.per_second:,.0f}",
            f"{cost.per_core_second:,.0f}",
            f"{cost.trained_per_core_second:,.0f}",
            f"{cost.peak_mb:,.0f}",
            f"{cost.peak_mb - cost.started_mb:,.0f}",
        )
    return table
