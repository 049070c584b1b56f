"""Measure what the site of a large leaderboard costs: seconds to build, bytes of the first page."""

from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def bench_site(
    systems: Annotated[int, typer.Option(min=2, help="Made-up systems, on twelve tasks.")] = 200,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON instead of words.")] = False,
) -> None:
    """Build the site of made-up systems from kept scores, without pages of single candidates."""
    import json
    from dataclasses import asdict

    from specvi_leaderboard.site.cost import measure_cost

    cost = measure_cost(systems)
    if json_:
        typer.echo(json.dumps(asdict(cost)))
        return
    typer.echo(
        f"{cost.systems} systems × {cost.tasks} tasks: built in {cost.build_s:.1f} s ({cost.build_cpu_s:.1f} s of "
        f"processor time); the first page loads {cost.first_page_B / 1000:.0f} kB"
    )
