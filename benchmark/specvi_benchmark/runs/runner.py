"""Runs any vetter over any split: every question ends as exactly one verdict, whatever happens."""

import fcntl
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from specvi_benchmark.errors import UserError
from specvi_benchmark.runs.ask import ask
from specvi_benchmark.runs.budget import Limits, Spending, costs
from specvi_benchmark.runs.log import Entry, Log, mend
from specvi_benchmark.runs.predictions import read_run_predictions
from specvi_benchmark.runs.record import (
    MODEL_FOLDER,
    PREDICTIONS_FILE,
    RUN_FILE,
    SCHEMA_VERSION,
    RunRecord,
    SplitReference,
    environment,
    read_run_record,
    refuse_other_run,
    write_run_record,
)
from specvi_benchmark.scoring import SCORING_VERSION
from specvi_benchmark.splits import Split
from specvi_benchmark.vetting import AnyVetter, Outcome, Question
from specvi_benchmark.views import RENDERER_VERSION

VERSIONS: Mapping[str, int] = {"scoring_version": SCORING_VERSION, "renderer_version": RENDERER_VERSION}


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: verdicts in the log, questions in the split, and the outcomes so far.

    ``spent_usd`` is what all verdicts in the log cost, None where a price is not known. ``stopped_by`` says
    why the run ended with questions unasked.
    """

    done: int
    total: int
    counts: Mapping[str, int]
    spent_usd: float | None = 0.0
    stopped_by: str | None = None


NO_LIMITS = Limits()


def run(
    vetter: AnyVetter,
    spec: str,
    split: Split,
    reference: SplitReference,
    folder: Path,
    *,
    seed: int = 0,
    limits: Limits = NO_LIMITS,
    report: Callable[[Progress], None] = lambda _: None,
) -> RunRecord:
    """Ask the vetter every question of the split that has no verdict yet, and log each verdict.

    The folder holds ``run.json``, ``predictions.jsonl``, ``traces.jsonl`` and ``views/``. A run that was
    stopped at any moment goes on: what is in the log stays, `error` rows are tried again, the last line of
    a question counts. An exception of the vetter costs that question (outcome `error`), not the run.

    Parameters
    ----------
    vetter, spec
        The system, and the spec string it was made from.
    split, reference
        The questions, and how run.json names them, so that scoring finds them again.
    folder
        The run folder; made if it does not exist.
    seed
        Recorded; for vetters that draw random numbers.
    limits
        When to stop with questions unasked. ``ended`` of the record that is returned is then None.
    report
        Called after every verdict, and at the end.

    Raises
    ------
    UserError
        The split is empty, the folder holds another run, another process works in it, the vetter can
        answer nothing, or a limit in dollars can't be kept.
    """
    if not split.candidates:
        raise UserError(
            "the split is empty", where=reference.path, fix="choose a part or task that has candidates"
        )
    folder.mkdir(parents=True, exist_ok=True)
    with _only_process(folder):
        record = _open(vetter, spec, reference, folder, seed)
        state = _State(folder, split, Spending(limits, getattr(vetter, "expected_usd", 0.0)), report)
        waiting = unanswered(split, state.outcomes)
        state.tell()
        if waiting and record.ended is not None:  # new attempts at `error` rows reopen the run
            record = record.model_copy(update={"ended": None, "counts": None})
            write_run_record(folder, record)
        with Log(folder) as state.log:
            spending = state.spending
            left = ask(vetter, waiting, state.take, spending.may_ask, give_up_at_s=spending.give_up_at_s)
        if left:
            state.tell(stopped_by=state.spending.stopped_by)
            return record
        if len(state.outcomes) != len(split.candidates):
            raise AssertionError(
                f"{len(split.candidates) - len(state.outcomes)} questions ended without a verdict"
            )
        if record.ended is None:
            counts = {outcome.value: state.counts[outcome] for outcome in Outcome}
            record = record.model_copy(update={"ended": _now(), "counts": counts})
            write_run_record(folder, record)
        return record


class _State:
    """What the log of a run says so far; takes entries, and tells how far the run is."""

    log: Log

    def __init__(
        self, folder: Path, split: Split, spending: Spending, report: Callable[[Progress], None]
    ) -> None:
        self.total, self.spending, self.report = len(split.candidates), spending, report
        self.outcomes = finished(folder)
        self.counts = Counter(self.outcomes.values())
        for cost_usd in costs(folder / PREDICTIONS_FILE):
            spending.add(cost_usd)

    def take(self, entry: Entry) -> None:
        """Log an entry and count it."""
        verdict = entry.verdict
        self.log.write(entry)
        key = verdict.task, verdict.id
        if key in self.outcomes:
            self.counts[self.outcomes[key]] -= 1
        self.outcomes[key] = verdict.outcome
        self.counts[verdict.outcome] += 1
        try:
            self.spending.add(verdict.cost_usd)
        finally:
            self.tell()

    def tell(self, stopped_by: str | None = None) -> None:
        """Report how far the run is."""
        counts = {outcome.value: count for outcome, count in self.counts.items() if count}
        self.report(Progress(len(self.outcomes), self.total, counts, self.spending.spent_usd, stopped_by))


def finished(folder: Path) -> dict[tuple[str, str], Outcome]:
    """Return the outcome of every question that has a verdict in the log."""
    path = folder / PREDICTIONS_FILE
    return {key: row.outcome for key, row in read_run_predictions(path).items()} if path.exists() else {}


def unanswered(split: Split, outcomes: Mapping[tuple[str, str], Outcome]) -> list[Question]:
    """Return the questions that have no verdict yet, or the outcome `error`."""
    return [
        candidate.question
        for candidate in split.candidates
        if outcomes.get((candidate.task.key, candidate.id), Outcome.ERROR) is Outcome.ERROR
    ]


def _open(vetter: AnyVetter, spec: str, reference: SplitReference, folder: Path, seed: int) -> RunRecord:
    """Start the run, or check that the one in the folder is the same and mend its logs."""
    asked = RunRecord(
        schema_version=SCHEMA_VERSION,
        vetter=spec,
        config=dict(vetter.config),
        split=reference,
        versions={**VERSIONS, **getattr(vetter, "versions", {})},
        environment=environment(),
        seed=seed,
        started=_now(),
    )
    if not (folder / RUN_FILE).exists():
        if strangers := sorted(
            path.name
            for path in folder.iterdir()
            if not path.name.startswith(".") and path.name != MODEL_FOLDER
        ):
            raise UserError(
                "the run folder is not empty",
                where=folder,
                expected="a new or empty folder, or one with run.json",
                got=", ".join(strangers[:5]),
                fix="name another folder with --out",
            )
        write_run_record(folder, asked)
        return asked
    known = read_run_record(folder)
    refuse_other_run(known, asked, folder)
    if known.split != asked.split:  # the same candidates, found in another place now
        known = known.model_copy(update={"split": asked.split})
        write_run_record(folder, known)
    mend(folder)
    return known


@contextmanager
def _only_process(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; the system lets go of it when the process dies, however it dies."""
    handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UserError(
            "another process is running in this folder",
            where=folder,
            fix="wait for it, or name another folder with --out",
        ) from None
    else:
        yield
    finally:
        os.close(handle)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
