"""Run a vetter over a split, resumably; the folder can be scored."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from specvi_benchmark.errors import UserError
from specvi_benchmark.splits import Part
from specvi_benchmark.tasks.task import AskedTrack

EXIT_INTERRUPTED = 130  # 128 + SIGINT, as shells count

app = typer.Typer(add_completion=False)


@app.command()
def run(
    vetter: Annotated[str, typer.Option(help="Vetter as name or name:argument, for example rules.")],
    split: Annotated[str, typer.Option(help="Split folder, official parquet file, or `mini`.")] = "mini",
    out: Annotated[Path | None, typer.Option(help="Run folder. Default: runs/SPLIT-VETTER.")] = None,
    part: Annotated[Part, typer.Option(help="Part of the split.")] = "test",
    task: Annotated[str | None, typer.Option(help="Only this task.")] = None,
    track: Annotated[
        AskedTrack | None,
        typer.Option(help="Track of the split, or all. Default: main where there are several."),
    ] = None,
    train: Annotated[
        str | None,
        typer.Option(help="Split to train the vetter on first, into OUT/model, for one that learns."),
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="A vetter option, KEY=VALUE. May be repeated.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed for vetters that draw random numbers.")] = 0,
    json_: Annotated[bool, typer.Option("--json", help="Print run.json instead of sentences.")] = False,
) -> None:
    """Run VETTER over SPLIT. The same command goes on where a stopped run ended."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    from specvi_benchmark.runs.fitting import fit, load_system
    from specvi_benchmark.runs.record import MODEL_FOLDER, choose_split
    from specvi_benchmark.runs.runner import Progress
    from specvi_benchmark.runs.runner import run as run_vetter
    from specvi_benchmark.tasks import get_task

    given = options(option or [])
    system = load_system(vetter, given) if train is None else None
    chosen, reference = choose_split(split, part, get_task(task).key if task else None, track)
    folder = out or Path("runs") / f"{chosen.name}-{vetter}".replace(":", "-").replace("/", "-")
    if train is not None:
        system = load_system(fit(vetter, train, folder / MODEL_FOLDER, options=given, seed=seed), given)
    assert system is not None
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        line = bar.add_task(vetter, total=len(chosen.candidates))

        def report(progress: Progress) -> None:
            bar.update(line, completed=progress.done)

        try:
            record = run_vetter(system, vetter, chosen, reference, folder, seed=seed, report=report)
        except KeyboardInterrupt:
            console.print("Interrupted. The same command goes on where it stopped.")
            raise typer.Exit(EXIT_INTERRUPTED) from None
    if json_:
        typer.echo(record.model_dump_json(indent=2))
        return
    counts = ", ".join(f"{count} {outcome}" for outcome, count in (record.counts or {}).items() if count)
    tracks = ", ".join(chosen.tracks)
    typer.echo(f"{vetter} over {chosen.name} ({part}, {tracks}): {counts}")
    if record.counts and record.counts["error"]:
        typer.echo(f"An error, for example: {_first_error(folder)}")
    typer.echo(f"Wrote {folder}")
    typer.echo(f"Next: specvi score {shlex.quote(str(folder))}")


def _first_error(folder: Path) -> str:
    """Return the reason of one question that ended as `error`."""
    from specvi_benchmark.runs.record import TRACES_FILE
    from specvi_benchmark.traces import read_traces

    ends = ((trace, trace.turns[-1]) for trace in read_traces(folder / TRACES_FILE).values() if trace.turns)
    return next(
        (f"{trace.id}: {end.text}" for trace, end in ends if end.role == "error"), "no reason was given"
    )


def options(pairs: list[str]) -> dict[str, str]:
    """Read KEY=VALUE pairs."""
    broken = [pair for pair in pairs if "=" not in pair]
    if broken:
        raise UserError("a vetter option has no value", where=f"--option {broken[0]}", expected="KEY=VALUE")
    return dict(pair.split("=", 1) for pair in pairs)
