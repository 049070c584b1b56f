"""A trajectory for a person to read: as text with what happened to it, or as one page with its pictures."""

from collections.abc import Iterator

from specvi_agents.rereading import reread
from specvi_agents.trajectories.records import Change, Trajectory
from specvi_benchmark.errors import UserError
from specvi_benchmark.runs.predictions import prediction_of
from specvi_benchmark.runs.record import RUN_FILE, read_run_record
from specvi_benchmark.trace_page import Recorded, Shown, render_page
from specvi_benchmark.trace_page.text import question_of, visible

PROMPT_CHARACTERS = 400
"""Of what the inspector was told so much is shown, unless all is asked for."""


def render_words(item: Trajectory, *, full: bool = False) -> str:
    """Return a trajectory as text; turns are numbered as a revision names them."""
    record = item.record
    lines = [
        f"{record.task} {visible(item.id)}: {question_of(record.task)}",
        f"{visible(record.source_name)}, true is {record.truth}; by {visible(record.teacher)}; {item.state}",
    ]
    names = iter(record.imported.images) if record.imported else iter(())
    for number, turn in enumerate(item.trace.turns, start=1):
        lines += ["", f"── {number} {turn.role} ──"]
        lines += [f"[picture {view.png_sha256[:12]}: {view.window_AA[0]:.1f} to {view.window_AA[1]:.1f} Å]" for view in turn.views]  # fmt: skip
        if not turn.views:
            lines += [f"[picture {visible(name)}]" for _, name in zip(range(turn.text.count("<image>")), names, strict=False)]  # fmt: skip
        text = visible(turn.text)
        is_long = turn.role in {"system", "user"} and len(text) > PROMPT_CHARACTERS and not full
        lines.append(f"{text[:PROMPT_CHARACTERS]}… (--full shows all)" if is_long else text)
        lines += [f"[calls {visible(call.name)} {visible(call.arguments)}]" for call in turn.tool_calls]
    lines += ["", "── what happened to it ──", *map(_words, item.changes)] if item.changes else []
    return "\n".join(lines)


def render_html(item: Trajectory) -> str:
    """Return one self-contained page with the pictures.

    Raises
    ------
    UserError
        The trajectory was imported: which windows its pictures show is not recorded.
    """
    folder = item.views.parent
    if item.record.imported is not None or not (folder / RUN_FILE).exists():
        raise UserError(
            "there is no page of an imported trajectory",
            where=f"trajectory {item.id}",
            fix=f"read it as text, and open its pictures in {item.views}",
        )
    views = {view.png_sha256: view for turn in item.trace.turns for view in turn.views}
    pictures = {sha256: Shown(view, item.png(sha256), "") for sha256, view in views.items()}
    prediction = prediction_of(reread([item.trace]))
    run = read_run_record(folder)
    return render_page(
        Recorded(item.record.task, item.id, run, prediction, (item.trace,), pictures, item.record.truth)
    )


def _words(change: Change) -> str:
    return "\n".join(_lines(change))


def _lines(change: Change) -> Iterator[str]:
    ballot = f" {change.vote}" if change.vote else ""
    yield f"{change.at}  {visible(change.by)}: {change.action}{ballot}, {change.before} → {change.after}. {visible(change.why)}"
    for edit in change.edits:
        yield f"  turn {edit.turn + 1} was: {visible(edit.before)}"
        yield f"  turn {edit.turn + 1} is:  {visible(edit.after)}"
    for check, reason in change.unchecked.items():
        yield f"  {check} was not checked: {reason}"
