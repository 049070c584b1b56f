"""Drafting: a teacher inspects train candidates through the environment, resumably, and each inspection is kept."""

from collections.abc import Callable, Sequence
from pathlib import Path

from specvi_agents.trajectories.records import SCHEMA_VERSION, Record
from specvi_agents.trajectories.screening import now
from specvi_agents.trajectories.store import Store
from specvi_benchmark.errors import UserError
from specvi_benchmark.runs.ask import ask
from specvi_benchmark.runs.budget import Limits, Spending
from specvi_benchmark.runs.log import Entry
from specvi_benchmark.runs.record import (
    RUN_FILE,
    RunRecord,
    SplitReference,
    environment,
    read_run_record,
    refuse_other_run,
    write_run_record,
)
from specvi_benchmark.runs.record import SCHEMA_VERSION as RUN_SCHEMA_VERSION
from specvi_benchmark.runs.runner import VERSIONS, Progress
from specvi_benchmark.splits import Candidate, Split
from specvi_benchmark.splits.weak import draw
from specvi_benchmark.traces import TraceRecord
from specvi_benchmark.vetting import AnyVetter, Outcome

NO_LIMITS = Limits()


def choose(split: Split, per_task: int | None) -> tuple[Candidate, ...]:
    """Return the candidates to draft from: of each task the first so many, in an order drawn by their ids.

    A larger number gives the same candidates and more, so that a folder can grow.

    Raises
    ------
    UserError
        One is not of the train part.
    """
    if strangers := [candidate for candidate in split.candidates if candidate.part != "train"]:
        raise UserError(
            "trajectories are drafted from train candidates only: a model must not be taught what it is measured on",
            where=f"split {split.name}, candidate {strangers[0].id}",
            expected="part train",
            got=f"part {strangers[0].part}",
        )
    found: list[Candidate] = []
    for task in split.tasks:
        rows = [candidate for candidate in split.candidates if candidate.task.key == task]
        rows.sort(key=lambda candidate: draw(f"trajectory {candidate.id}"))
        found += rows[:per_task]
    return tuple(found)


def draft(
    teacher: AnyVetter,
    spec: str,
    candidates: Sequence[Candidate],
    reference: SplitReference,
    folder: Path,
    *,
    limits: Limits = NO_LIMITS,
    report: Callable[[Progress], None] = lambda _: None,
) -> Progress:
    """Have every candidate inspected that has no trajectory in the folder yet; return how far it came.

    Each inspection is in the folder as soon as it ends: a kill costs those under way, and none is made twice. One that
    broke off (outcome `error`) is not kept, and made again by the same command.

    Parameters
    ----------
    candidates
        As `choose` returns them.
    reference
        The part of the split they are from.
    limits
        When to stop with candidates left.

    Raises
    ------
    UserError
        The folder holds drafts of another teacher or split; the teacher doesn't inspect.
    """
    store = Store.make(folder)
    with store.adding():
        _open(teacher, spec, reference, folder)
        known = store.records()
        waiting = [candidate for candidate in candidates if candidate.id not in known]
        spending = Spending(limits, getattr(teacher, "expected_usd", 0.0))
        for record in known.values():
            spending.add(record.cost_usd)
        taking = _Taking(store, spec, reference, waiting, len(candidates), spending, report)
        taking.tell()
        questions = [candidate.question for candidate in waiting]
        left = ask(teacher, questions, taking.take, spending.may_ask, give_up_at_s=spending.give_up_at_s)
        return taking.tell(spending.stopped_by if left else None)


class _Taking:
    """Takes what a teacher made of each candidate, and counts."""

    def __init__(
        self,
        store: Store,
        spec: str,
        reference: SplitReference,
        waiting: Sequence[Candidate],
        total: int,
        spending: Spending,
        report: Callable[[Progress], None],
    ) -> None:
        self.spending = spending
        self._store, self._spec, self._reference, self._report = store, spec, reference, report
        self._candidates = {candidate.id: candidate for candidate in waiting}
        self._total, self._done = total, total - len(waiting)
        self._counts: dict[str, int] = {}

    def take(self, entry: Entry) -> None:
        """Keep one inspection."""
        verdict = entry.verdict
        outcome = verdict.outcome
        self._counts[outcome.value] = self._counts.get(outcome.value, 0) + 1
        if outcome is not Outcome.ERROR:
            candidate = self._candidates[verdict.id]
            trace = self._only_trace(entry)
            record = Record(
                schema_version=SCHEMA_VERSION,
                id=candidate.id,
                task=candidate.task.key,
                truth=candidate.truth,
                source_name=candidate.spectrum.name or candidate.id,
                object_id=candidate.object_id,
                survey=candidate.spectrum.survey,
                split=self._reference,
                teacher=self._spec,
                trace=trace,
                cost_usd=verdict.cost_usd,
            )
            self._store.add(record, entry.pictures)
            self._done += 1
        try:
            self.spending.add(verdict.cost_usd)
        finally:
            self.tell()

    def tell(self, stopped_by: str | None = None) -> Progress:
        """Report how far it is."""
        progress = Progress(self._done, self._total, dict(self._counts), self.spending.spent_usd, stopped_by)
        self._report(progress)
        return progress

    def _only_trace(self, entry: Entry) -> TraceRecord:
        traces = entry.verdict.traces
        if len(traces) != 1 or not any(turn.views for turn in traces[0].turns):
            raise UserError(
                "this teacher leaves no inspection to learn from",
                where=f"--teacher {self._spec}",
                expected="one inspection a candidate, with the pictures it saw",
                got=f"{len(traces)} traces" if len(traces) != 1 else "a statement without pictures",
                fix="name an inspecting vetter, without votes",
            )
        return traces[0].record(entry.verdict.task, entry.verdict.id)


def _open(teacher: AnyVetter, spec: str, reference: SplitReference, folder: Path) -> None:
    """Put on record who drafts from what, or check that it is the same as before."""
    asked = RunRecord(
        schema_version=RUN_SCHEMA_VERSION,
        vetter=spec,
        config=dict(teacher.config),
        split=reference,
        versions={**VERSIONS, **getattr(teacher, "versions", {})},
        environment=environment(),
        seed=0,
        started=now(),
    )
    if (folder / RUN_FILE).exists():
        refuse_other_run(read_run_record(folder), asked, folder)
        return
    if Store(folder).records():
        raise UserError(
            "this folder holds trajectories that were not drafted",
            where=folder,
            expected="a new folder, or one that `specvi trajectories draft` wrote",
            fix="name another folder with --out",
        )
    write_run_record(folder, asked)
