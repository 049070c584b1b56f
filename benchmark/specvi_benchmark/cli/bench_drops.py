"""Show what systems lose from one survey to another on the same objects, averaged over tasks."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specvi_benchmark.errors import UserError

if TYPE_CHECKING:
    from rich.table import Table

    from specvi_benchmark.runs.drops import MacroDrop

app = typer.Typer(add_completion=False)


@app.command()
def bench_drops(
    runs: Annotated[
        list[Path], typer.Argument(help="Finished run folders over the cross-survey track, or all.")
    ],
    json_: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Score RUNS anew; one line for each system and survey: mean F1 there and here, and the paired drop."""
    import json

    from rich.console import Console

    from specvi_benchmark.cli.printing import print_whole
    from specvi_benchmark.runs.drops import macro_drops

    found = macro_drops(runs)
    if not found:
        raise UserError(
            "no run shows an object in two surveys",
            where=", ".join(map(str, runs)),
            fix="specvi run --track cross-survey",
        )
    if json_:
        typer.echo(json.dumps([row.model_dump(mode="json") for row in found], indent=2))
        return
    print_whole(Console(highlight=False), _table(found))


def _table(found: Sequence["MacroDrop"]) -> "Table":
    from rich import box
    from rich.table import Table

    title = "Mean F1 over tasks on the same objects, and what is lost; 95 % interval"
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left")
    for header in ("system", "from", "to", "tasks"):
        table.add_column(header, no_wrap=True)
    for header in ("objects", "F1 from", "F1 to", "drop"):
        table.add_column(header, justify="right", no_wrap=True)
    for row in found:
        table.add_row(
            row.system,
            row.reference_survey,
            row.other_survey,
            ", ".join(row.tasks),
            str(row.objects),
            f"{row.reference:.3f}",
            f"{row.other:.3f}",
            f"{row.drop:+.3f} [{row.low:+.3f}, {row.high:+.3f}]",
        )
    return table
