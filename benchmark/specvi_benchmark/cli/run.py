"""Run a vetter over a split, resumably; the folder can be scored."""

import shlex
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import typer

from specvi_benchmark.cli.printing import kept_for_answers
from specvi_benchmark.errors import UserError
from specvi_benchmark.splits import Part
from specvi_benchmark.tasks.task import AskedTrack

if TYPE_CHECKING:
    from rich.console import Console

    from specvi_benchmark.runs.runner import Progress

EXIT_INTERRUPTED = 130  # 128 + SIGINT, as shells count
EXIT_UNFINISHED = 3
ASK_ABOVE_USD = 1.0
ASK_ABOVE_QUESTIONS = 100  # where no price is known

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
    max_usd: Annotated[
        float | None,
        typer.Option(min=0, help="Ask nothing more once the run might cost more, earlier calls included."),
    ] = None,
    max_minutes: Annotated[
        float | None, typer.Option(min=0, help="Ask nothing more after so many minutes of this call.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before a run that costs much.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print run.json instead of sentences.")] = False,
) -> None:
    """Run VETTER over SPLIT. The same command goes on where a stopped run ended."""
    from rich.console import Console

    from specvi_benchmark.runs.budget import Limits
    from specvi_benchmark.runs.fitting import fit, load_system
    from specvi_benchmark.runs.record import MODEL_FOLDER, choose_split
    from specvi_benchmark.runs.runner import finished, unanswered
    from specvi_benchmark.runs.runner import run as run_vetter
    from specvi_benchmark.tasks import get_task

    given = options(option or [])
    with kept_for_answers():
        system = load_system(vetter, given) if train is None else None
    chosen, reference = choose_split(split, part, get_task(task).key if task else None, track)
    folder = out or Path("runs") / f"{chosen.name}-{vetter}".replace(":", "-").replace("/", "-")
    if train is not None:
        system = load_system(fit(vetter, train, folder / MODEL_FOLDER, options=given, seed=seed), given)
    assert system is not None
    console = Console(stderr=True)
    if not yes and max_usd is None:
        confirm(len(unanswered(chosen, finished(folder))), getattr(system, "expected_usd", 0.0), console)
    with kept_for_answers(), RunBar(vetter, len(chosen.candidates), console) as bar:
        try:
            record = run_vetter(
                system,
                vetter,
                chosen,
                reference,
                folder,
                seed=seed,
                limits=Limits(max_usd, max_minutes),
                report=bar.show,
            )
        except KeyboardInterrupt:
            console.print("Interrupted. The same command goes on where it stopped.")
            raise typer.Exit(EXIT_INTERRUPTED) from None
    if json_:
        typer.echo(record.model_dump_json(indent=2))
    elif record.ended is not None:
        _tell_end(
            vetter,
            f"{chosen.name} ({part}, {', '.join(chosen.tracks)})",
            record.counts or {},
            folder,
            bar.last,
        )
    if record.ended is None and (last := bar.last):
        typer.echo(
            f"Stopped: {last.stopped_by}. {last.done} of {last.total} questions have a verdict in {folder}{_cost(last)}.",
            err=json_,
        )
        typer.echo("The same command with a higher limit goes on.", err=json_)
        raise typer.Exit(EXIT_UNFINISHED)


class RunBar:
    """The progress bar: questions, rate, cost, time left. ``last`` is the last report."""

    def __init__(self, vetter: str, total: int, console: "Console") -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        words = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
        self._bar = Bar(
            *words, TextColumn("{task.fields[more]}"), TimeRemainingColumn(), console=console, transient=True
        )
        self._line = self._bar.add_task(vetter, total=total, more="")
        self._began, self._done_before = time.monotonic(), -1
        self.last: Progress | None = None

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show(self, progress: "Progress") -> None:
        """Show a report."""
        if self._done_before < 0:
            self._done_before = progress.done
        seconds = time.monotonic() - self._began
        rate = (progress.done - self._done_before) / seconds if seconds > 1 else 0.0
        pace = f"{rate:.1f}/s" if rate >= 1 else f"{60 * rate:.1f}/min" if rate else ""
        self._bar.update(self._line, completed=progress.done, more=f"{pace}{_cost(progress)}")
        self.last = progress


def _cost(progress: "Progress") -> str:
    """Return what was spent, to stand behind other words; nothing where nothing is paid for."""
    if progress.spent_usd is None:
        return ", price not known"
    return f", {progress.spent_usd:.2f} USD" if progress.spent_usd else ""


def confirm(questions: int, each_usd: float | None, console: "Console") -> None:
    """Ask before a run that may cost much; where nobody can be asked, refuse."""
    if each_usd is None and questions > ASK_ABOVE_QUESTIONS:
        estimate = f"{questions} questions to a model whose price is not known"
    elif each_usd is not None and questions * each_usd > ASK_ABOVE_USD:
        estimate = f"{questions} questions, about {questions * each_usd:.2f} USD (a guess before the first)"
    else:
        return
    if sys.stdin.isatty():
        console.print(f"This run asks {estimate}.")
        typer.confirm("Go on?", abort=True, err=True)
        return
    raise UserError(
        "a large run needs a word of consent",
        got=estimate,
        fix="add --yes" if each_usd is None else "add --yes, or a limit with --max-usd",
    )


def _tell_end(
    vetter: str, split: str, counts: Mapping[str, int], folder: Path, last: "Progress | None"
) -> None:
    told = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
    typer.echo(f"{vetter} over {split}: {told}{_cost(last) if last else ''}")
    if counts.get("error"):
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
