"""Screening without people: six checks of every draft, the reasons on record, and how many each lets through."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from specvi_agents.trajectories.checks import CHECKS, NotChecked, Subject
from specvi_agents.trajectories.records import SCHEMA_VERSION, Change, Record, Trajectory
from specvi_agents.trajectories.store import Store
from specvi_benchmark.evidence import EXTRACTOR_VERSION, MEASURE_VERSION
from specvi_benchmark.evidence.score import share
from specvi_benchmark.files import StrictModel
from specvi_benchmark.scoring.measure import Measure
from specvi_benchmark.traces import TraceRecord
from specvi_benchmark.vetting import Question

SCREENING_VERSION = 1
"""Raised whenever a trajectory could be screened differently."""

SCREENER = f"screening {SCREENING_VERSION} (evidence {EXTRACTOR_VERSION}.{MEASURE_VERSION})"
"""How a screening signs."""


FUNNEL_FILE = "funnel.json"


@dataclass(frozen=True, slots=True)
class Screened:
    """What a screening found: check → what is wrong; check → why it could not be made."""

    faults: Mapping[str, str]
    unchecked: Mapping[str, str]


def screen(record: Record, trace: TraceRecord, question: Question | None) -> Screened:
    """Make every check of one trajectory.

    Parameters
    ----------
    trace
        The inspection as it stands, or as it would stand with an edit.
    question
        The candidate with its spectrum; None where that is not at hand, and checks that need it are left out.
    """
    names = (record.source_name, record.object_id or "", record.id)
    turns = tuple(turn.model_copy(update={"reasoning": None}) for turn in trace.turns)
    subject = Subject(trace.model_copy(update={"turns": turns}), record.truth, names, question)
    faults: dict[str, str] = {}
    unchecked: dict[str, str] = {}
    for name, check in CHECKS.items():
        try:
            fault = check(subject)
        except NotChecked as reason:
            unchecked[name] = str(reason)
        else:
            if fault:
                faults[name] = fault
    return Screened(faults, unchecked)


def screen_all(
    store: Store,
    questions: Mapping[str, Question],
    report: Callable[[int, int], None] = lambda _done, _total: None,
) -> int:
    """Screen every draft that has not been screened; return how many. Each goes on record as it is done.

    Parameters
    ----------
    questions
        The candidates by id; one that is missing is screened without its spectrum.
    report
        Called with how many are done, and of how many.
    """
    with store.changing():
        waiting = [item for item in store.trajectories().values() if item.state == "draft"]
        for number, item in enumerate(waiting):
            report(number, len(waiting))
            found = screen(item.record, item.trace, questions.get(item.id))
            store.change(_change(item, found))
    report(len(waiting), len(waiting))
    return len(waiting)


def _change(item: Trajectory, found: Screened) -> Change:
    return Change(
        schema_version=SCHEMA_VERSION,
        id=item.id,
        action="screen",
        by=SCREENER,
        at=now(),
        why="; ".join(f"{check}: {fault}" for check, fault in found.faults.items()) or "every check holds",
        before=item.state,
        after="rejected" if found.faults else "screened",
        faults=found.faults,
        unchecked=found.unchecked,
    )


def now() -> str:
    """Return the time as changes record it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Step(StrictModel):
    """One step of the funnel: how many of those that passed all steps before fail here, and how many in all do."""

    check: str
    passed: int
    failed: int
    failed_in_all: int
    unchecked: int


class Funnel(StrictModel):
    """What a screening let through, of one task or of all. ``rate`` has a 95 % interval over objects."""

    task: str
    drafted: int
    passed: int
    rate: Measure
    steps: tuple[Step, ...]


def funnel(trajectories: Iterable[Trajectory]) -> list[Funnel]:
    """Return the funnel of each task, and of all together (``task`` is then ``all``), from the record of changes."""
    screened = [item for item in trajectories if any(change.action == "screen" for change in item.changes)]
    tasks = sorted({item.record.task for item in screened})
    groups = [(task, [item for item in screened if item.record.task == task]) for task in tasks]
    return [_funnel(task, items) for task, items in (*groups, ("all", screened)) if items]


def _funnel(task: str, items: Sequence[Trajectory]) -> Funnel:
    findings = [next(change for change in item.changes if change.action == "screen") for item in items]
    objects = [item.record.object_id or item.record.source_name for item in items]
    left = findings
    steps = []
    for check in CHECKS:
        kept = [one for one in left if check not in one.faults]
        steps.append(
            Step(
                check=check,
                passed=len(kept),
                failed=len(left) - len(kept),
                failed_in_all=sum(check in one.faults for one in findings),
                unchecked=sum(check in one.unchecked for one in findings),
            )
        )
        left = kept
    rate = share([not one.faults for one in findings], objects)
    return Funnel(task=task, drafted=len(items), passed=len(left), rate=rate, steps=tuple(steps))
