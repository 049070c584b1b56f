"""Review by people: revise, audit, vote, reject. Who may do what when stands in one table; every act goes on record.

A trajectory that passed the screening is revised by one person, audited by two others, and accepted by the majority of
three votes. A revision rewrites what the inspector says, never what it calls: the pictures would no longer follow.
"""

from collections.abc import Mapping
from typing import Any, Literal

from specvi_agents.dialects import calls_in_text
from specvi_agents.trajectories.records import (
    SCHEMA_VERSION,
    Action,
    Change,
    Edit,
    State,
    Trajectory,
    applied,
)
from specvi_agents.trajectories.screening import now, screen
from specvi_agents.trajectories.store import Store
from specvi_benchmark.errors import UserError
from specvi_benchmark.vetting import Question

AUDITORS = 2
VOTERS = 3

Ballot = Literal["for", "against"]

ALLOWED: Mapping[Action, tuple[State, ...]] = {
    "screen": ("draft",),
    "revise": ("screened", "revised", "audited", "rejected"),
    "audit": ("revised",),
    "vote": ("audited",),
    "reject": ("draft", "screened", "revised", "audited", "accepted"),
}
"""From which states each act is possible."""

_FIRST: Mapping[State, str] = {
    "draft": "it has not been screened: `specvi trajectories screen` does that",
    "screened": "nobody has revised it: read it, and revise it, with or without an edit",
    "revised": "two auditors have to find nothing wrong with it",
    "audited": "three people vote on it",
    "accepted": "it is accepted; `--reject` takes it back",
    "rejected": "it is rejected; a revision that mends it brings it back",
}


def revise(
    store: Store, wanted: str, *, by: str, why: str, texts: Mapping[int, str], question: Question | None
) -> Trajectory:
    """Record that a person has read a trajectory, and what was rewritten. Earlier audits and votes are void.

    Parameters
    ----------
    texts
        Turn (as `specvi trace` counts, from 1) → its new text; empty where nothing had to be changed.
    question
        The candidate with its spectrum, for the checks; None where it is not at hand.

    Raises
    ------
    UserError
        The state does not allow it; a turn is not the inspector's; its calls change; a check no longer holds.
    """
    with store.changing():
        item = store.find(wanted)
        _check(item, "revise", by, why)
        edits = tuple(_edit(item, number, text) for number, text in sorted(texts.items()))
        edits = tuple(edit for edit in edits if edit.before != edit.after)
        found = screen(item.record, applied(item.trace, edits), question)
        if found.faults:
            raise UserError(
                "the revised text does not pass the screening",
                where=f"trajectory {item.id}",
                got="; ".join(f"{check}: {fault}" for check, fault in found.faults.items()),
                fix="revise what is named, or reject the trajectory",
            )
        _record(store, item, "revise", by, why, "revised", edits=edits, unchecked=found.unchecked)
    return store.find(item.id)


def audit(store: Store, wanted: str, *, by: str, why: str) -> Trajectory:
    """Record that an auditor finds nothing wrong. Who finds something revises or rejects instead.

    Raises
    ------
    UserError
        The state does not allow it, or this person revised or audited the text.
    """
    with store.changing():
        item = store.find(wanted)
        _check(item, "audit", by, why)
        reviser, *auditors = [change.by for change in _since_revision(item)]
        if same(by, reviser):
            _refuse_person(item, by, "revised this text", "an auditor is somebody else")
        if any(same(by, other) for other in auditors):
            _refuse_person(item, by, "has audited this text", f"{AUDITORS} different auditors")
        after: State = "audited" if len(auditors) + 1 == AUDITORS else "revised"
        _record(store, item, "audit", by, why, after)
    return store.find(item.id)


def vote(store: Store, wanted: str, *, by: str, why: str, ballot: Ballot) -> Trajectory:
    """Record a vote; with the third the majority decides.

    Raises
    ------
    UserError
        The state does not allow it, or this person has voted.
    """
    with store.changing():
        item = store.find(wanted)
        _check(item, "vote", by, why)
        cast = [change for change in _since_revision(item) if change.action == "vote"]
        if any(same(by, change.by) for change in cast):
            _refuse_person(item, by, "has voted", f"{VOTERS} different voters")
        ballots = [*(change.vote for change in cast), ballot]
        after: State = "audited"
        if len(ballots) == VOTERS:
            after = "accepted" if 2 * ballots.count("for") > VOTERS else "rejected"
        _record(store, item, "vote", by, why, after, vote=ballot)
    return store.find(item.id)


def reject(store: Store, wanted: str, *, by: str, why: str) -> Trajectory:
    """Record that a person takes a trajectory out.

    Raises
    ------
    UserError
        It is out already.
    """
    with store.changing():
        item = store.find(wanted)
        _check(item, "reject", by, why)
        _record(store, item, "reject", by, why, "rejected")
    return store.find(item.id)


def same(first: str, second: str) -> bool:
    """Tell whether two names are one person's, however they are spaced and in whatever case."""
    return first.casefold().split() == second.casefold().split()


def _check(item: Trajectory, action: Action, by: str, why: str) -> None:
    if item.state not in ALLOWED[action]:
        raise UserError(
            f"a trajectory that is {item.state} can't be {_done(action)}",
            where=f"trajectory {item.id}",
            expected=f"state {' or '.join(ALLOWED[action])}",
            got=item.state,
            fix=_FIRST[item.state],
        )
    if not by.strip() or by.strip().lower().startswith("screening"):
        raise UserError("a change needs the name of a person", where="--reviewer", got=repr(by))
    if not why.strip():
        raise UserError("a change needs a reason", where="--why", got=repr(why))


def _done(action: Action) -> str:
    return {"vote": "voted on", "audit": "audited", "revise": "revised"}.get(action, f"{action}ed")


def _edit(item: Trajectory, number: int, text: str) -> Edit:
    turns = item.trace.turns
    turn = turns[number - 1] if 1 <= number <= len(turns) else None
    if turn is None or turn.role != "assistant":
        said = [str(place) for place, one in enumerate(turns, start=1) if one.role == "assistant"]
        raise UserError(
            "only what the inspector says can be revised",
            where=f"trajectory {item.id}, turn {number}",
            expected=f"one of the turns {', '.join(said)}",
            got="no such turn" if turn is None else f"a turn of the {turn.role}",
        )
    if calls_in_text(text) != calls_in_text(turn.text):
        raise UserError(
            "a revision can't change what is called: the pictures that follow belong to the calls",
            where=f"trajectory {item.id}, turn {number}",
            fix="leave every <tool_call> as it is, or reject the trajectory",
        )
    return Edit(turn=number - 1, before=turn.text, after=text)


def _since_revision(item: Trajectory) -> list[Change]:
    """Return the last revision and what followed it."""
    last = max(number for number, change in enumerate(item.changes) if change.action == "revise")
    return list(item.changes[last:])


def _refuse_person(item: Trajectory, by: str, did: str, expected: str) -> None:
    raise UserError(
        f"{by} {did}", where=f"trajectory {item.id}", expected=expected, fix="let somebody else do it"
    )


def _record(
    store: Store, item: Trajectory, action: Action, by: str, why: str, after: State, **more: Any
) -> None:
    store.change(
        Change(
            schema_version=SCHEMA_VERSION,
            id=item.id,
            action=action,
            by=" ".join(by.split()),
            at=now(),
            why=why.strip(),
            before=item.state,
            after=after,
            **more,
        )
    )
