"""Make a run folder of a log of inspect_ai, to be scored as any run."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from specvi_benchmark.splits import Part

app = typer.Typer(add_completion=False)


@app.command()
def import_inspect(
    log: Annotated[Path, typer.Argument(help="A .eval or .json log.")],
    out: Annotated[Path | None, typer.Option(help="Run folder. Default: runs/LOG.")] = None,
    split: Annotated[
        str | None, typer.Option(help="The split, for a log that names none, or where it lies now.")
    ] = None,
    part: Annotated[Part, typer.Option(help="Part of that split, for a log that names none.")] = "test",
    task: Annotated[str | None, typer.Option(help="Only this task, for a log that names no split.")] = None,
) -> None:
    """Read LOG: each sample becomes a prediction and a trace; epochs become votes."""
    from specvi_agents.inspect_log import import_log
    from specvi_benchmark.tasks import get_task

    folder = out or Path("runs") / log.stem
    key = None if task is None else get_task(task).key
    record = import_log(log, folder, place=split, part=part, task=key)
    if record.counts is None:
        typer.echo("The log does not answer every candidate of the split.")
    else:
        typer.echo(", ".join(f"{count} {outcome}" for outcome, count in record.counts.items() if count))
    typer.echo(f"Wrote {folder}")
    more = "" if record.counts else " --allow-partial"
    typer.echo(f"Next: specvi score {shlex.quote(str(folder))}{more}")
