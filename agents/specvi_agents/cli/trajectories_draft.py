"""Have a teacher inspect train candidates, and screen what comes of it; resumable."""

import shlex
import time
from pathlib import Path
from typing import Annotated

import typer

from specvi_benchmark.errors import UserError
from specvi_benchmark.tasks.task import AskedTrack

app = typer.Typer(add_completion=False)


@app.command()
def draft(
    teacher: Annotated[str, typer.Option(help="A vetter that inspects: scripted, openai:NAME, …")],
    out: Annotated[Path, typer.Option(help="Trajectory folder; the same command goes on in it.")],
    split: Annotated[str, typer.Option(help="Split whose train part is inspected.")] = "mini",
    task: Annotated[str | None, typer.Option(help="Only this task.")] = None,
    track: Annotated[AskedTrack | None, typer.Option(help="Track of the split, or all.")] = None,
    per_task: Annotated[
        int | None, typer.Option(min=1, help="So many candidates of each task. Default: all.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="An option of the teacher, KEY=VALUE. May be repeated.")
    ] = None,
    tell_answer: Annotated[
        bool, typer.Option("--tell-answer", help="Tell the teacher's model the answer (never recorded).")
    ] = False,
    tell_guideline: Annotated[
        bool,
        typer.Option("--tell-guideline", help="Tell it the task's guideline, beside a short prompt."),
    ] = False,
    seeds: Annotated[
        Path | None, typer.Option(help="Trajectory folder with experts' examples to show it, three a task.")
    ] = None,
    max_usd: Annotated[
        float | None, typer.Option(min=0, help="Ask nothing more once it might cost more.")
    ] = None,
    max_minutes: Annotated[float | None, typer.Option(min=0, help="Ask nothing more after so long.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before a run that costs much.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print the funnel as JSON.")] = False,
) -> None:
    """Let TEACHER inspect train candidates, keep every inspection in OUT, screen them, and print the funnel."""
    from rich.console import Console

    from specvi_agents.cli.trajectories import screen_and_tell
    from specvi_agents.trajectories.drafting import choose
    from specvi_agents.trajectories.drafting import draft as draft_all
    from specvi_agents.trajectories.guidance import Guidance, guided
    from specvi_agents.trajectories.store import RECORDS_FILE, Store, read
    from specvi_benchmark.cli.printing import kept_for_answers
    from specvi_benchmark.cli.run import EXIT_INTERRUPTED, EXIT_UNFINISHED, RunBar, confirm, options
    from specvi_benchmark.runs.budget import Limits
    from specvi_benchmark.runs.fitting import load_system
    from specvi_benchmark.runs.record import choose_split
    from specvi_benchmark.splits.duplicates import plain_name
    from specvi_benchmark.tasks import get_task

    known = tuple(item for item in read(seeds) if item.state != "rejected") if seeds else ()
    if seeds and not known:
        raise UserError("there are no seed examples", where=seeds, fix="name a folder with some")
    with kept_for_answers():
        system = load_system(teacher, options(option or []))
    chosen, reference = choose_split(split, "train", get_task(task).key if task else None, track)
    seen = {seed.record.object_id for seed in known} | {plain_name(seed.record.source_name) for seed in known}
    candidates = [
        candidate
        for candidate in choose(chosen, per_task)
        if candidate.object_id not in seen and plain_name(candidate.spectrum.name) not in seen
    ]
    if not candidates:
        raise UserError(
            "the split has no train candidates", where=split, fix="choose a task and track it has"
        )
    truths = {candidate.id: candidate.truth for candidate in candidates}
    system = guided(system, teacher, Guidance(tell_answer, tell_guideline, known), truths)
    console = Console(stderr=True)
    drafted = len(Store(out).records()) if (out / RECORDS_FILE).exists() else 0
    if not yes and max_usd is None:
        confirm(max(0, len(candidates) - drafted), getattr(system, "expected_usd", 0.0), console)
    began = time.monotonic()
    with kept_for_answers(), RunBar(teacher, len(candidates), console) as bar:
        try:
            last = draft_all(
                system, teacher, candidates, reference, out,
                limits=Limits(max_usd, max_minutes), report=bar.show,
            )  # fmt: skip
        except KeyboardInterrupt:
            console.print("Interrupted. The same command goes on where it stopped.")
            raise typer.Exit(EXIT_INTERRUPTED) from None
    made, seconds = last.done - drafted, time.monotonic() - began
    if made and not json_:
        typer.echo(f"{made} inspected in {seconds:.0f} s, {made / seconds:.1f} a second")
    screen_and_tell(Store(out), {c.id: c.question for c in candidates}, json_=json_)
    if broken := last.counts.get("error", 0):
        typer.echo(
            f"{broken} broke off without an answer and are not kept; the same command tries them again.",
            err=True,
        )
    if last.stopped_by:
        typer.echo(f"Stopped: {last.stopped_by}. {last.done} of {last.total} are drafted.", err=True)
    if last.done < last.total:
        raise typer.Exit(EXIT_UNFINISHED)
    if not json_:
        typer.echo(f"Wrote {out}\nNext: specvi trajectories review {shlex.quote(str(out))}")
