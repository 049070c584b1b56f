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
            help="Python of an environment with inspect_ai and this suite. Default: only the own side.",
            show_default=False,
        ),
    ] = None,
    conversations: Annotated[
        int, typer.Option(min=10, help="Own conversations a round; inspect_ai holds a quarter of them.")
    ] = 400,
    in_flight: Annotated[int, typer.Option(min=1, help="Conversations at a time, on both sides.")] = 64,
    rounds: Annotated[int, typer.Option(min=1, help="Turns of both sides.")] = 3,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Hold conversations of three model calls with three pictures, all on record.

    Each round is held twice: both sides draw the pictures with the same renderer, or both have them beforehand.
    """
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

    from specvi_agents.bench.questions import DRAWINGS

    table = Table(title="Conversations of three calls with pictures, one row a round")
    for name in ("drawing", "side", "a second", "CPU ms each", "peak MB", "MB written"):
        table.add_column(name, justify="left" if name in {"drawing", "side"} else "right")
    for one in found.rounds:
        for name, side in (("own", one.own), ("inspect_ai", one.inspect)):
            if side is not None:
                table.add_row(
                    one.drawing,
                    name,
                    f"{side['conversations'] / side['seconds']:.1f}",
                    f"{1e3 * side['cpu_seconds'] / side['conversations']:.1f}",
                    f"{side['peak_MB']:.0f}",
                    f"{side['bytes_written'] / 1e6:.1f}",
                )
    console = Console(highlight=False)
    console.print(table)
    for drawing in DRAWINGS:
        words = "both draw with the same renderer" if drawing == "both" else "pictures drawn beforehand"
        clock = found.median(lambda one: one.ratio, drawing)
        cpu = found.median(lambda one: one.cpu_ratio, drawing)
        if clock is not None and cpu is not None:
            console.print(
                f"Own conversations for one of inspect_ai, {words} (medians): "
                f"{clock:.1f} by the clock, {cpu:.1f} by CPU"
            )
    whole = found.median(lambda one: 1e3 * one.own["cpu_seconds"] / one.own["conversations"])
    assert whole is not None
    parts = [f"{name} {100 * ms / whole:.0f} % ({ms:.1f} ms)" for name, ms in found.stages_ms.items()]
    rest = 1 - sum(found.stages_ms.values()) / whole
    console.print(
        f"Share of the own CPU, each stage measured alone: {', '.join(parts)}, the rest {100 * rest:.0f} %"
    )
    memory = next(one for one in reversed(found.rounds) if one.drawing == "both").own["resident_MB"]
    console.print(
        f"Own memory at each tenth of the conversations: {', '.join(f'{value:.0f}' for value in memory)} MB"
    )
