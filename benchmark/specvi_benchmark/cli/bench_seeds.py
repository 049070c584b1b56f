"""Show mean and spread over the seeds of a training, never the best of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from specvi_benchmark.runs.seeds import Seeds

app = typer.Typer(add_completion=False)


@app.command()
def bench_seeds(
    runs: Annotated[list[Path], typer.Argument(help="Finished run folders, several seeds of each vetter.")],
    json_: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Score RUNS anew; one line for each vetter, track and task: mean, standard deviation, least and most F1.

    The runs have to be over the same candidates.
    """
    import json

    from rich.console import Console

    from specvi_benchmark.cli.printing import print_whole
    from specvi_benchmark.runs.seeds import over_seeds

    found = over_seeds(runs)
    if json_:
        typer.echo(json.dumps([row.model_dump(mode="json") for row in found], indent=2))
        return
    console = Console(highlight=False)
    by_track: dict[str, list[Seeds]] = {}
    for row in found:
        by_track.setdefault(row.track, []).append(row)
    for track, rows in by_track.items():
        print_whole(console, _table(track, rows))
    print_whole(
        console,
        "± is the standard deviation over seeds. Brackets: 95 % interval by objects, its ends averaged over seeds; "
        "it holds the luck of the candidates, ± that of the training.",
    )


def _table(track: str, rows: Sequence["Seeds"]) -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title=f"F1 over seeds, {track} track", title_justify="left")
    for header in ("vetter", "seeds", "task"):
        table.add_column(header, no_wrap=True)
    for header in ("mean ± sd", "least–most", "95 %"):
        table.add_column(header, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(row.vetter, str(len(row.seeds)), row.task, *_numbers(row.f1))
    return table


def _numbers(f1: Mapping[str, float | None]) -> tuple[str, str, str]:
    values = {name: "–" if value is None else f"{value:.3f}" for name, value in f1.items()}
    return (
        f"{values['mean']} ± {values['sd']}",
        f"{values['least']}–{values['most']}",
        f"[{values['low']}–{values['high']}]",
    )
