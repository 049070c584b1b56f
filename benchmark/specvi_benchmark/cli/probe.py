"""Ask a vetter about changed spectra (features hidden, noise, names, redshifts): what its answers rest on."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specvi_benchmark.cli.run import EXIT_INTERRUPTED, EXIT_UNFINISHED, RunBar, confirm, options
from specvi_benchmark.errors import UserError
from specvi_benchmark.splits import Part

if TYPE_CHECKING:
    from rich.table import Table

    from specvi_benchmark.probes.moves import Move, Shift
    from specvi_benchmark.probes.report import ProbeReport
    from specvi_benchmark.probes.series import Answers, Series, Step, System
    from specvi_benchmark.runs.record import SplitReference
    from specvi_benchmark.splits import Split

app = typer.Typer(add_completion=False)


@app.command()
def probe(
    target: Annotated[
        str | None,
        typer.Argument(help="Run folder, or vetter as name or name:argument.", metavar="RUN|VETTER"),
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="Split folder, official parquet file, or `mini`, the default.")
    ] = None,
    part: Annotated[Part | None, typer.Option(help="Part of the split. Default: test.")] = None,
    task: Annotated[str | None, typer.Option(help="Only this task.")] = None,
    only: Annotated[
        list[str] | None, typer.Option("--probe", help="Only this probe. May be repeated.")
    ] = None,
    members: Annotated[bool, typer.Option("--members", help="Only candidates whose truth is YES.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder. Default: probes/SPLIT-VETTER.")] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="A vetter option, KEY=VALUE; those of the run. May be repeated.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of noise and redshifts.")] = 0,
    max_usd: Annotated[
        float | None, typer.Option(min=0, help="Stop before all probes together might cost more.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before probes that cost much.")] = False,
    by_task: Annotated[bool, typer.Option("--by-task", help="A table for each task, too.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="Say what each probe does, and ask nothing.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print probe.json instead of tables.")] = False,
) -> None:
    """Ask the same candidates again, changed in one way each time. The same command goes on where it stopped."""
    from rich.console import Console

    from specvi_benchmark.cli.printing import kept_for_answers, print_whole
    from specvi_benchmark.files import write_json
    from specvi_benchmark.probes import choose_probes
    from specvi_benchmark.probes.report import REPORT_FILE, make_report
    from specvi_benchmark.probes.series import AS_IS, plan

    console = Console(highlight=False)
    chosen = choose_probes(only or [])
    if list_:
        print_whole(console, _list())
        return
    if target is None:
        raise UserError("of what?", where="specvi probe", expected="RUN or VETTER", fix="name one of them")
    with kept_for_answers():
        system, candidates, reference, plain = _open(target, split, part, task, options(option or []))
        if members:
            candidates = _members(candidates)
        folder = out or Path("probes") / f"{reference.name}-{system.spec}".replace(":", "-").replace("/", "-")
        steps, left_out = plan([*([] if plain else [AS_IS]), *chosen], candidates, seed)
        series = _ask(system, steps, reference, folder, seed=seed, max_usd=max_usd, yes=yes)
        report = make_report(
            system.spec,
            system.options,
            reference,
            candidates,
            series.answered,
            [*left_out, *series.left_out],
            _answers(series.answered, folder, plain),
            seed,
        )
    write_json(folder / REPORT_FILE, report.model_dump(mode="json"))
    if json_:
        typer.echo(report.model_dump_json(indent=2))
        return
    for item in _told(report, by_task=by_task):
        print_whole(console, item)
    typer.echo(f"Wrote {folder / REPORT_FILE}")


def _open(
    target: str, place: str | None, part: Part | None, task: str | None, given: dict[str, str]
) -> tuple["System", "Split", "SplitReference", Path | None]:
    """Return system, candidates, their reference, and the folder of answers that are there already."""
    from specvi_benchmark.probes.series import System
    from specvi_benchmark.runs.record import RUN_FILE, choose_split, load_split, read_run_record
    from specvi_benchmark.tasks import get_task

    folder = Path(target)
    if not folder.is_dir():
        chosen, reference = choose_split(
            place or "mini", part or "test", get_task(task).key if task else None
        )
        return System(target, given), chosen, reference, None
    record = read_run_record(folder)
    if part is not None:
        raise UserError("a run folder names its own part", got=f"--part {part}", fix="leave it out")
    if record.ended is None:
        raise UserError("the run is not finished", where=folder / RUN_FILE, fix="type its command again")
    system = System(record.vetter, given)
    _refuse_other_options(system, record.config, folder)
    chosen = load_split(record.split, place)
    if task is not None:
        chosen = chosen.select(task=get_task(task).key)
    return system, chosen, record.split, folder


def _refuse_other_options(system: "System", config: object, folder: Path) -> None:
    """Raise unless the vetter as it would be made now is the one of the run."""
    from specvi_benchmark.files import canonical_json

    now = dict(system.load().config)
    if canonical_json(now) != canonical_json(config):
        raise UserError(
            "the vetter as it would be made now is not that of the run",
            where=folder,
            expected="the same config",
            fix="give the options of the run again with --option, or name the vetter in place of the run",
        )


def _members(split: "Split") -> "Split":
    from specvi_benchmark.splits import Split

    kept = tuple(candidate for candidate in split.candidates if candidate.truth == "YES")
    return Split(split.name, split.version, kept, split.recipe)


def _ask(
    system: "System",
    steps: list["Step"],
    reference: "SplitReference",
    folder: Path,
    *,
    seed: int,
    max_usd: float | None,
    yes: bool,
) -> "Series":
    """Ask every step, with a bar for each; leave with an exit code where it stopped early."""
    from rich.console import Console

    from specvi_benchmark.probes.series import ask_steps
    from specvi_benchmark.runs.budget import Limits
    from specvi_benchmark.runs.runner import Progress, finished, unanswered

    console = Console(stderr=True)
    if not yes and max_usd is None:
        waiting = sum(len(unanswered(step.split, finished(folder / step.probe.name))) for step in steps)
        confirm(waiting, getattr(system.load(), "expected_usd", 0.0), console)
    with ExitStack() as stack:
        bars: dict[str, RunBar] = {}

        def show(step: "Step", progress: Progress) -> None:
            if step.probe.name not in bars:
                stack.close()
                bars[step.probe.name] = stack.enter_context(
                    RunBar(step.probe.name, len(step.split.candidates), console)
                )
            bars[step.probe.name].show(progress)

        try:
            series = ask_steps(
                system, steps, reference, folder, seed=seed, limits=Limits(max_usd), report=show
            )
        except KeyboardInterrupt:
            console.print("Interrupted. The same command goes on where it stopped.")
            raise typer.Exit(EXIT_INTERRUPTED) from None
    if series.stopped_by is not None:
        console.print(f"Stopped: {series.stopped_by}. The same command with a higher limit goes on.")
        raise typer.Exit(EXIT_UNFINISHED)
    return series


def _answers(steps: list["Step"], folder: Path, plain: Path | None) -> dict[str, "Answers"]:
    from specvi_benchmark.probes.probe import PLAIN
    from specvi_benchmark.probes.series import answers_of

    asked = {step.probe.name: answers_of(folder / step.probe.name) for step in steps}
    return asked if plain is None else {PLAIN: answers_of(plain), **asked}


def _list() -> "Table":
    from rich.table import Table

    from specvi_benchmark.probes import all_probes

    table = Table(title="Probes")
    for name in ("probe", "what is changed", "what an honest system does"):
        table.add_column(name)
    for one in all_probes():
        table.add_row(one.name, one.summary, one.honest or f"(compared with by {_users(one.name)})")
    return table


def _users(name: str) -> str:
    from specvi_benchmark.probes import all_probes

    return ", ".join(one.name for one in all_probes() if name in one.against)


def _told(report: "ProbeReport", *, by_task: bool) -> Iterator["Table | str"]:
    """Yield what is printed, in order."""
    from rich.markup import escape

    from specvi_benchmark.probes.moves import ALL_TASKS
    from specvi_benchmark.probes.report import sentences

    yield f"\n[bold]{escape(report.vetter)}[/] over {escape(report.split.name)}: {report.candidates:,} candidates"
    tasks = [ALL_TASKS, *dict.fromkeys(m.task for m in report.moves if m.task != ALL_TASKS)]
    for task in tasks if by_task else tasks[:1]:
        yield _table(report, task)
    yield (
        "YES: answers before → after, on the same candidates. change: of the share of YES, in points, with its 95 % "
        "interval over objects. p: McNemar's exact test. honest: what a system does that looks at the right thing. A "
        "probe is compared with the questions as they are, unless `against` names another."
    )
    for one in report.not_asked:
        yield f"Not asked: {one.name}, {one.reason}."
    yield from sentences(report)


def _table(report: "ProbeReport", task: str) -> "Table":
    from rich.table import Table

    moves = [m for m in report.moves if m.task == task]
    with_p_yes = any(m.p_yes for m in moves)
    table = Table(title="all tasks" if task == "all" else task)
    table.add_column("probe", no_wrap=True)
    table.add_column("against", no_wrap=True)
    for who in ("members", "others"):
        for name in (who, "YES", "change", "p"):
            table.add_column(name, justify="right", no_wrap=True)
        if with_p_yes:
            table.add_column("P(YES)", justify="right", no_wrap=True)
    table.add_column("honest", no_wrap=True)
    honest = {one.name: one.honest for one in report.asked}
    for name, against in dict.fromkeys((m.probe, m.against) for m in moves):
        cells: list[str] = []
        for truth in ("YES", "NO"):
            cells += _cells(report.of(name, against, truth, task), with_p_yes=with_p_yes)
        expected = "fewer YES" if against == "control" else honest[name] or ""
        table.add_row(name, "" if against == "plain" else against, *cells, expected)
    return table


def _cells(move: "Move | None", *, with_p_yes: bool) -> list[str]:
    if move is None:
        return ["–"] * (5 if with_p_yes else 4)
    cells = [
        f"{move.candidates:,}",
        f"{move.yes_before:,} → {move.yes_after:,}",
        _points(move.yes),
        "–" if move.p is None else f"{move.p:.2g}",
    ]
    return [*cells, _points(move.p_yes)] if with_p_yes else cells


def _points(shift: "Shift | None") -> str:
    if shift is None:
        return "–"
    value, low, high = (round(100 * number) for number in (shift.value, shift.low, shift.high))
    return f"{value:+d} [{low:+d}, {high:+d}]"
