"""Read recorded inspections: one as text or as a page; or a run again, with the present parser or renderer."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from specvi_benchmark.errors import UserError

if TYPE_CHECKING:
    from specvi_benchmark.trace_page import Recorded, RecordedRun

LISTED = 20
"""So many inspections, and so many changes, are listed by name."""

EXIT_CHANGED = 1

app = typer.Typer(add_completion=False)


@app.command()
def trace(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    id_: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Id of a question, or how it begins. None: a list.")
    ] = None,
    task: Annotated[str | None, typer.Option(help="Task, where one id stands in several.")] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write one self-contained page here, pictures included.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Print long prompts in full.")] = False,
    truth: Annotated[bool, typer.Option("--truth", help="Say what the split says, too.")] = False,
    replay: Annotated[
        bool, typer.Option("--replay", help="Read every inspection again with the present parser.")
    ] = False,
    audit: Annotated[
        bool, typer.Option("--audit", help="Draw every view again and compare the pixels.")
    ] = False,
    split: Annotated[
        str | None, typer.Option(help="Where the split lies now, for --truth and --audit.")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON instead of sentences.")] = False,
) -> None:
    """Show what the run RUN holds on ID: every turn, call, answer and picture. Nothing is asked again.

    --replay and --audit go over the whole run, without a model, and exit with 1 if anything differs.
    """
    from specvi_benchmark.trace_page import RecordedRun

    recorded = RecordedRun(run)
    if replay or audit:
        if id_ is not None or html is not None or (replay and audit):
            raise UserError(
                "--replay and --audit go over a whole run, one of them at a time",
                where="specvi trace",
                fix="leave ID and --html out",
            )
        _replay(recorded, json_=json_) if replay else _audit(recorded, split, json_=json_)
        return
    if id_ is None:
        if html is not None or truth:
            raise UserError("of which question?", where="specvi trace", expected="an ID", fix="name one")
        _list(recorded, task, json_=json_)
        return
    found = recorded.find(id_, task)
    _show(_with_truth(found, split) if truth else found, html, full=full, json_=json_)


def _show(found: "Recorded", html: Path | None, *, full: bool, json_: bool) -> None:
    from specvi_benchmark.files import write_text
    from specvi_benchmark.trace_page import render_page, render_text

    if html is not None:
        write_text(html, render_page(found))
    faults = [shown.fault for shown in found.pictures.values() if shown.fault]
    if json_:
        _print_json(
            {
                "task": found.task,
                "id": found.id,
                "truth": found.truth,
                "prediction": found.prediction and found.prediction.model_dump(mode="json"),
                "samples": [sample.model_dump(mode="json") for sample in found.samples],
                "faults": faults,
            }
        )
    elif html is None:
        typer.echo(render_text(found, full=full))
    else:
        for fault in faults:
            typer.echo(f"Not shown: {fault}")
        typer.echo(f"Wrote {html}\nOpen: {html.resolve().as_uri()}")


def _list(run: "RecordedRun", task: str | None, *, json_: bool) -> None:
    """List the inspections of a run."""
    from specvi_benchmark.tasks import get_task
    from specvi_benchmark.trace_page.text import visible

    wanted = None if task is None else get_task(task).key
    rows: list[dict[str, Any]] = [
        {
            "task": key[0],
            "id": key[1],
            "outcome": said.outcome.value if (said := run.predictions.get(key)) else None,
            "answer": said.answer if said else None,
            "samples": len(samples),
            "views": sum(len(turn.views) for sample in samples for turn in sample.turns),
        }
        for key, samples in run.traces.items()
        if wanted in (None, key[0])
    ]
    if json_:
        _print_json(rows)
        return
    for row in rows[:LISTED]:
        views = f"{row['views']} views" if row["views"] else "a statement"
        typer.echo(f"{row['task']:4} {visible(row['id'])}  {row['answer'] or row['outcome'] or '–'}  {views}")
    if len(rows) > LISTED:
        typer.echo(f"… and {len(rows) - LISTED} more (--json lists them all)")
    if not rows:
        typer.echo("No inspection is recorded here.")
        return
    typer.echo(f"Next: specvi trace {shlex.quote(str(run.folder))} {shlex.quote(rows[0]['id'])}")


def _replay(run: "RecordedRun", *, json_: bool) -> None:
    from dataclasses import asdict

    from specvi_agents.parsing import PARSER_VERSION
    from specvi_agents.replay import replay_run
    from specvi_benchmark.trace_page.text import visible

    result = replay_run(run)
    if json_:
        _print_json({"parser_version": PARSER_VERSION, **asdict(result)})
    else:
        typer.echo(
            f"Read again with parser version {PARSER_VERSION}: {result.same} verdicts stay, "
            f"{len(result.changed)} change."
        )
        if result.unread:
            typer.echo(f"{result.unread} were not read by the parser: statements, or ends without a reason.")
        if result.missing:
            typer.echo(f"{result.missing} have no trace of every sample.")
        for change in result.changed[:LISTED]:
            typer.echo(f"{change.task} {visible(change.id)}: {change.was} → {change.now}")
        if len(result.changed) > LISTED:
            typer.echo(f"… and {len(result.changed) - LISTED} more (--json lists them all)")
    if result.changed:
        raise typer.Exit(EXIT_CHANGED)


def _audit(run: "RecordedRun", split: str | None, *, json_: bool) -> None:
    from dataclasses import asdict

    from specvi_benchmark.runs.record import load_split
    from specvi_benchmark.trace_page import audit
    from specvi_benchmark.trace_page.text import visible
    from specvi_benchmark.views import RENDERER_VERSION

    result = audit(run, load_split(run.record.split, split))
    if json_:
        _print_json({"renderer_version": RENDERER_VERSION, **asdict(result)})
    else:
        typer.echo(
            f"Drawn again with renderer version {RENDERER_VERSION}: {result.same} views have the same pixels, "
            f"{len(result.changed)} others; {len(result.faulty)} pictures on disk are missing or damaged."
        )
        named = [*(f"other pixels: {one}" for one in result.changed), *result.faulty]
        for one in named[:LISTED]:
            typer.echo(visible(one))
        if len(named) > LISTED:
            typer.echo(f"… and {len(named) - LISTED} more (--json lists them all)")
    if result.changed or result.faulty:
        raise typer.Exit(EXIT_CHANGED)


def _with_truth(found: "Recorded", split: str | None) -> "Recorded":
    from dataclasses import replace

    from specvi_benchmark.runs.record import load_split

    candidates = load_split(found.run.split, split).candidates
    truths = {(candidate.task.key, candidate.id): candidate.truth for candidate in candidates}
    return replace(found, truth=truths.get((found.task, found.id)))


def _print_json(value: Any) -> None:
    import json

    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))
