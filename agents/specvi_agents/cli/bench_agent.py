"""Measure what an inspection through an API costs, against inspect_ai on the same local echo server."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from specvi_agents.bench.compare import Comparison

app = typer.Typer(add_completion=False)


@app.command()
def bench_agent(
    inspect_python: Annotated[
        Path | None,
        typer.Option(
            help="Python of an environment with inspect_ai. Default: only the own side.", show_default=False
        ),
    ] = None,
    conversations: Annotated[
        int, typer.Option(min=10, help="Own conversations a round; inspect_ai holds a quarter of them.")
    ] = 400,
    in_flight: Annotated[int, typer.Option(min=1, help="Conversations at a time, on both sides.")] = 64,
    rounds: Annotated[int, typer.Option(min=1, help="Turns of both sides.")] = 3,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Hold conversations of three model calls with three pictures; ours are drawn, logged and kept as in a run."""
    import json
    from dataclasses import asdict

    from specvi_agents.bench.compare import compare

    found = compare(inspect_python, conversations, in_flight, rounds)
    if json_:
        typer.echo(json.dumps(asdict(found), indent=2))
    else:
        _print(found)


def _print(found: "Comparison") -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Conversations of three calls with pictures, one row a round")
    for name in ("side", "a second", "CPU ms each", "peak MB", "MB written"):
        table.add_column(name, justify="left" if name == "side" else "right")
    for one in found.rounds:
        for name, side in (("own", one.own), ("inspect_ai", one.inspect)):
            if side is not None:
                table.add_row(
                    name,
                    f"{side['conversations'] / side['seconds']:.1f}",
                    f"{1e3 * side['cpu_seconds'] / side['conversations']:.1f}",
                    f"{side['peak_MB']:.0f}",
                    f"{side['bytes_written'] / 1e6:.1f}",
                )
    console = Console(highlight=False)
    console.print(table)
    whole = found.median(lambda one: 1e3 * one.own["cpu_seconds"] / one.own["conversations"])
    assert whole is not None
    if (ratio := found.median(lambda one: one.ratio)) is not None:
        cpu = found.median(lambda one: one.cpu_ratio)
        assert cpu is not None
        drawn = cpu * whole / (whole - found.stages_ms["drawing"])
        console.print(
            f"Own conversations for one of inspect_ai (medians): {ratio:.1f} by the clock, {cpu:.1f} by CPU, "
            f"{drawn:.1f} by CPU without the drawing, which only our side does"
        )
    parts = [f"{name} {100 * ms / whole:.0f} % ({ms:.1f} ms)" for name, ms in found.stages_ms.items()]
    rest = 1 - sum(found.stages_ms.values()) / whole
    console.print(
        f"Share of the own CPU, each stage measured alone: {', '.join(parts)}, the rest {100 * rest:.0f} %"
    )
    memory = found.rounds[-1].own["resident_MB"]
    console.print(
        f"Own memory at each tenth of the conversations: {', '.join(f'{value:.0f}' for value in memory)} MB"
    )
