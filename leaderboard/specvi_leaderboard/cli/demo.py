"""Score the built-in systems on SpecVI-Mini and write a leaderboard's site to open."""

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from specvi_benchmark.runs.record import SplitReference
    from specvi_benchmark.splits import Split
    from specvi_benchmark.vetting import AnyVetter

Mini = Literal["mini-small", "mini"]
RULES, SCRIPTED = "rules", "scripted"
VETTERS = ("always-yes", "always-no", "metadata-only", "inverted-weak", RULES, SCRIPTED)
MARK = ".specvi-demo"
"""Lies in a folder of a run or a probe that the demo made: only such a one is ever replaced."""

app = typer.Typer()


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the runs and the site.")] = Path("specvi-demo"),
    split: Annotated[
        Mini, typer.Option(help="mini-small, or mini: five times the candidates, minutes longer.")
    ] = "mini-small",
) -> None:
    """Run the built-in systems over SpecVI-Mini, score them, and write a site to OUT/site.

    They are four trivial ones, rules and scripted; OUT/trace.html shows what scripted looked at once. Members are shown
    to rules a second time, with the deciding features hidden: what do its answers rest on?

    No network and no data needed: SpecVI-Mini is simulated, and built on first use.
    """
    from rich.console import Console

    from specvi_benchmark.cli.split import building
    from specvi_benchmark.runs.record import choose_split
    from specvi_benchmark.splits.named import named_folder
    from specvi_leaderboard.gather import gather
    from specvi_leaderboard.site.write import write_site
    from specvi_leaderboard.terminal import print_board

    console = Console(highlight=False)
    with building(console) as report:
        named_folder(split, report=report)
    chosen, reference = choose_split(split, "test", track="all")
    runs = out / "runs"
    _run_all(chosen, reference, runs, console)
    _probe(chosen, reference, runs / RULES)
    found = gather([runs / name for name in VETTERS])
    page = write_site(found, out / "site")
    print_board(found.boards[0], console)
    _show_one(chosen, runs / RULES, out / "candidate.png")
    shown = _write_trace(chosen, runs / SCRIPTED, out / "trace.html")
    typer.echo(f"\nWrote {page}\nOpen: {page.resolve().as_uri()}")
    typer.echo(
        f"What {SCRIPTED} looked at in that candidate: {(out / 'trace.html').resolve().as_uri()}\n\nNext:"
    )
    program = shlex.quote(_program())
    typer.echo("  # a spectrum of your own: verdict, evidence, picture")
    typer.echo(f"  {program} inspect FILE --task cv")
    typer.echo("  # an inspection, turn by turn; --html PAGE writes it with its pictures")
    typer.echo(f"  {program} trace {shlex.quote(str(runs / SCRIPTED))} {shlex.quote(shown)}")
    typer.echo("  # every count of one run")
    typer.echo(f"  {program} score {shlex.quote(str(runs / RULES))}")
    typer.echo("  # the site again, with runs of your own")
    site = shlex.quote(str(out / "site"))
    typer.echo(f"  {program} leaderboard build {shlex.quote(str(runs))}/* --out {site}")


def _run_all(split: "Split", reference: "SplitReference", runs: Path, console: "Console") -> None:
    """Run every vetter; what an earlier call finished is kept, unless another version made it."""
    from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn
    from rich.progress import Progress as Bar

    from specvi_benchmark.errors import UserError
    from specvi_benchmark.runs.runner import Progress, run

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        lines = {name: bar.add_task(name, total=len(split.candidates)) for name in VETTERS}
        for name, line in lines.items():

            def report(progress: Progress, line: TaskID = line) -> None:
                bar.update(line, completed=progress.done)

            folder = runs / name
            _mark(folder)
            try:
                spec, vetter = _ready(name, reference.path, folder)
                run(vetter, spec, split, reference, folder, report=report)
            except UserError as error:
                if not (folder / MARK).exists() or "another process" in error.what:
                    raise
                said = f"{name}: run afresh, the earlier run is of another version ({error.what})"
                console.print(said, markup=False, soft_wrap=True)
                shutil.rmtree(folder)
                _mark(folder)
                spec, vetter = _ready(name, reference.path, folder)
                run(vetter, spec, split, reference, folder, report=report)


def _ready(name: str, split: str, folder: Path) -> tuple[str, "AnyVetter"]:
    """Return spec and vetter: metadata-only is trained first, inverted-weak told the split."""
    from specvi_benchmark.runs.fitting import fit, load_system
    from specvi_benchmark.runs.record import MODEL_FOLDER

    spec = name
    if name == "metadata-only":
        spec = fit(name, split, folder / MODEL_FOLDER)
    elif name == "inverted-weak":
        spec = f"{name}:{split}"
    return spec, load_system(spec)


def _mark(folder: Path) -> None:
    """Make the run folder and mark it as the demo's own; a folder that holds something stays as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    if not any(folder.iterdir()):
        (folder / MARK).touch()


def _probe(split: "Split", reference: "SplitReference", run_folder: Path) -> None:
    """Lay into a run's folder how its YES to members move when the features that decide are hidden.

    A probe that lies there and is not the demo's own stays.
    """
    from dataclasses import replace

    from specvi_benchmark.errors import UserError
    from specvi_benchmark.files import write_json
    from specvi_benchmark.probes import choose_probes
    from specvi_benchmark.probes.probe import PLAIN
    from specvi_benchmark.probes.report import REPORT_FILE, make_report
    from specvi_benchmark.probes.series import System, answers_of, ask_steps, plan
    from specvi_leaderboard.probed import PROBES_FOLDER

    folder = run_folder / PROBES_FOLDER
    _mark(folder)
    if not (folder / MARK).exists():
        return
    system = System(run_folder.name, {})
    members = replace(split, candidates=tuple(c for c in split.candidates if c.truth == "YES"))
    steps, left_out = plan(choose_probes(["masked"]), members, seed=0)
    try:
        ask_steps(system, steps, reference, folder, seed=0)
    except UserError:  # of another version, as in _run_all
        shutil.rmtree(folder)
        _mark(folder)
        ask_steps(system, steps, reference, folder, seed=0)
    answers = {step.probe.name: answers_of(folder / step.probe.name) for step in steps}
    answers[PLAIN] = answers_of(run_folder)
    report = make_report(system.spec, {}, reference, members, steps, left_out, answers, seed=0)
    write_json(folder / REPORT_FILE, report.model_dump(mode="json"))


def _show_one(split: "Split", run_folder: Path, picture: Path) -> None:
    """Draw the first positive candidate in the frame of its task, and say what `rules` made of it."""
    from specvi_benchmark.files import write_bytes
    from specvi_benchmark.runs.record import TRACES_FILE
    from specvi_benchmark.splits.pictures import full_view
    from specvi_benchmark.traces import read_traces

    candidate = next(c for c in split.candidates if c.truth == "YES")
    task = candidate.task
    write_bytes(picture, full_view(candidate))
    evidence = read_traces(run_folder / TRACES_FILE)[task.key, candidate.id, 0].turns[-1].text
    typer.echo(f"\nOne simulated candidate ({picture}): {task.question} Truth: {candidate.truth}.")
    typer.echo(f"{RULES}: {evidence}")


def _write_trace(split: "Split", run_folder: Path, page: Path) -> str:
    """Write the inspection of the candidate of `_show_one` as a page; return its id."""
    from dataclasses import replace

    from specvi_benchmark.files import write_text
    from specvi_benchmark.trace_page import RecordedRun, render_page

    candidate = next(c for c in split.candidates if c.truth == "YES")
    recorded = RecordedRun(run_folder).find(candidate.id, candidate.task.key)
    write_text(page, render_page(replace(recorded, truth=candidate.truth)))
    return candidate.id


def _program() -> str:
    """Return how to call this program from here: by name where the shell finds it, else as it was typed."""
    typed = Path(sys.argv[0])
    return "specvi" if shutil.which("specvi") or typed.name != "specvi" else str(typed)
