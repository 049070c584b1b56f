"""List and show trajectories; revise, audit, vote on and reject them, each with a name and a reason."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from specvi_benchmark.errors import UserError

if TYPE_CHECKING:
    from specvi_agents.trajectories.records import Trajectory
    from specvi_agents.trajectories.store import Store

LISTED = 20

app = typer.Typer(add_completion=False)


@app.command()
def review(
    folder: Annotated[Path, typer.Argument(help="Trajectory folder.")],
    id_: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="A trajectory, or how its id begins. None: a list.")
    ] = None,
    state: Annotated[str | None, typer.Option(help="List only this state.")] = None,
    task: Annotated[str | None, typer.Option(help="List only this task.")] = None,
    every: Annotated[bool, typer.Option("--all", help="List all, not the first 20.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Print long prompts in full.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write one page with the pictures here.")] = None,
    revise: Annotated[
        bool, typer.Option("--revise", help="Read and, with --turn, rewritten. Alone: nothing had to change.")
    ] = False,
    turn: Annotated[
        list[int] | None, typer.Option(min=1, help="Turn to rewrite, with --text. Both may be repeated.")
    ] = None,
    text: Annotated[list[str] | None, typer.Option(help="Its new text; @FILE reads a file.")] = None,
    audit: Annotated[bool, typer.Option("--audit", help="Nothing is wrong with it.")] = False,
    vote: Annotated[str | None, typer.Option(help="for or against.")] = None,
    reject: Annotated[bool, typer.Option("--reject", help="Take it out.")] = False,
    reviewer: Annotated[str, typer.Option(help="Who does it.")] = "",
    why: Annotated[str, typer.Option(help="Why.")] = "",
    split: Annotated[
        list[str] | None, typer.Option(help="Where the split lies now, for the checks of a revision.")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List FOLDER, show ID of it, or do something to ID. The state goes screened, revised, audited, accepted."""
    from specvi_agents.trajectories import review as acts
    from specvi_agents.trajectories.candidates import question_of
    from specvi_agents.trajectories.store import Store

    store = Store(folder)
    asked = [revise or bool(turn or text), audit, vote is not None, reject]
    if sum(asked) > 1:
        raise UserError(
            "one thing at a time", where="specvi trajectories review", fix="leave all but one out"
        )
    if id_ is None:
        if any(asked) or html is not None:
            raise UserError("of which trajectory?", where="specvi trajectories review", expected="an ID")
        _list(store, state, task, every=every, json_=json_)
        return
    item = store.find(id_)
    if not any(asked) and (reviewer or why):
        raise UserError(
            "what has been done?",
            where="specvi trajectories review",
            expected="--revise, --audit, --vote or --reject",
        )
    if not any(asked):
        _show(item, html, full=full, json_=json_)
        return
    signed = {"by": reviewer, "why": why}
    if audit:
        after = acts.audit(store, item.id, **signed)
    elif vote is not None:
        after = acts.vote(store, item.id, **signed, ballot=_ballot(vote))
    elif reject:
        after = acts.reject(store, item.id, **signed)
    else:
        texts = _texts(turn or [], text or [])
        question = question_of(item.record, split or [])
        after = acts.revise(store, item.id, **signed, texts=texts, question=question)
    if json_:
        typer.echo(after.changes[-1].model_dump_json(indent=2))
    else:
        typer.echo(f"{after.id}: {item.state} → {after.state}{_waits_for(after)}")


def _ballot(text: str) -> Literal["for", "against"]:
    if text == "for":
        return "for"
    if text == "against":
        return "against"
    raise UserError("not a vote", where="--vote", expected="for or against", got=text)


def _texts(turns: Sequence[int], given: Sequence[str]) -> dict[int, str]:
    """Return the new text of each turn: as given, or from a file."""
    from specvi_benchmark.files import read_text

    if len(turns) != len(given) or len(set(turns)) < len(turns):
        raise UserError(
            "which text for which turn?",
            where="--turn, --text",
            expected="each --turn once, with a --text TEXT or --text @FILE",
            got=f"{len(turns)} turns, {len(given)} texts",
        )
    texts = (read_text(Path(one[1:])).removesuffix("\n") if one.startswith("@") else one for one in given)
    return dict(zip(turns, texts, strict=True))


def _waits_for(item: "Trajectory") -> str:
    """Say how many more are needed."""
    from specvi_agents.trajectories.review import AUDITORS, VOTERS

    last = [change.action for change in item.changes]
    since = last[::-1].index("revise") if "revise" in last else 0
    done = Counter(last[len(last) - since :])
    if item.state == "revised":
        return f", {AUDITORS - done['audit']} more to audit it"
    return f", {VOTERS - done['vote']} more to vote" if item.state == "audited" else ""


def _list(store: "Store", state: str | None, task: str | None, *, every: bool, json_: bool) -> None:
    import json

    from specvi_agents.trajectories.records import STATES
    from specvi_benchmark.tasks import get_task
    from specvi_benchmark.trace_page.text import visible

    if state is not None and state not in STATES:
        raise UserError("no such state", where="--state", expected=f"one of {', '.join(STATES)}", got=state)
    key = None if task is None else get_task(task).key
    items = [
        item
        for item in store.trajectories().values()
        if state in (None, item.state) and key in (None, item.record.task)
    ]
    if json_:
        rows = [
            {
                "id": i.id,
                "task": i.record.task,
                "truth": i.record.truth,
                "state": i.state,
                "faults": dict(i.faults),
            }
            for i in items
        ]
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    shown = items if every else items[:LISTED]
    for item in shown:
        typer.echo(
            f"{item.record.task:4} {visible(item.id)}  {item.record.truth:3}  {item.state}{_why_out(item)}"
        )
    if len(items) > len(shown):
        typer.echo(f"… and {len(items) - len(shown)} more; --all lists them")
    counts = Counter(item.state for item in items)
    typer.echo(", ".join(f"{counts[name]} {name}" for name in STATES if counts[name]) or "none")
    if shown:
        typer.echo(
            f"Next: specvi trajectories review {shlex.quote(str(store.folder))} {visible(shown[0].id)[:8]}"
        )


def _why_out(item: "Trajectory") -> str:
    from specvi_benchmark.trace_page.text import visible

    if item.state != "rejected":
        return ""
    last = item.changes[-1]
    return f": {visible(last.why)}" if last.action != "vote" else ": by vote"


def _show(item: "Trajectory", html: Path | None, *, full: bool, json_: bool) -> None:
    import json

    from specvi_agents.trajectories.showing import render_html, render_words
    from specvi_benchmark.files import write_text

    if html is not None:
        write_text(html, render_html(item))
        typer.echo(f"Wrote {html}\nOpen: {html.resolve().as_uri()}")
    elif json_:
        value: Mapping[str, object] = {
            "record": item.record.model_dump(mode="json"),
            "trace": item.trace.model_dump(mode="json"),
            "state": item.state,
            "changes": [change.model_dump(mode="json") for change in item.changes],
        }
        typer.echo(json.dumps(value, indent=2, ensure_ascii=False))
    else:
        typer.echo(render_words(item, full=full))
