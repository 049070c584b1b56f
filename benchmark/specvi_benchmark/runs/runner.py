"""Runs any vetter over any split: every question ends as exactly one verdict, whatever happens."""

import fcntl
import os
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import append_line, json_line, mend_log
from specvi_benchmark.runs.predictions import Prediction, prediction_of, read_run_predictions
from specvi_benchmark.runs.record import (
    MODEL_FOLDER,
    PREDICTIONS_FILE,
    RUN_FILE,
    SCHEMA_VERSION,
    TRACES_FILE,
    RunRecord,
    SplitReference,
    environment,
    read_run_record,
    refuse_other_run,
    write_run_record,
)
from specvi_benchmark.scoring import SCORING_VERSION
from specvi_benchmark.splits import Split
from specvi_benchmark.traces import Trace, Turn
from specvi_benchmark.vetting import Outcome, Question, Verdict, Vetter
from specvi_benchmark.views import RENDERER_VERSION

BATCH = 64  # questions a vetter gets at once; a kill costs at most one batch of a vetter that computes ahead

VERSIONS: Mapping[str, int] = {"scoring_version": SCORING_VERSION, "renderer_version": RENDERER_VERSION}


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: verdicts in the log, questions in the split, and the outcomes so far."""

    done: int
    total: int
    counts: Mapping[str, int]


def run(
    vetter: Vetter,
    spec: str,
    split: Split,
    reference: SplitReference,
    folder: Path,
    *,
    seed: int = 0,
    report: Callable[[Progress], None] = lambda _: None,
) -> RunRecord:
    """Ask the vetter every question of the split that has no verdict yet, and log each verdict.

    The folder holds ``run.json``, ``predictions.jsonl`` and ``traces.jsonl``. A run that was stopped
    at any moment goes on: what is in the log stays, `error` rows are tried again, the last line of a
    question counts. An exception of the vetter costs that question (outcome `error`), not the run.

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
    report
        Called after every verdict.

    Raises
    ------
    UserError
        The split is empty, the folder holds another run, or another process works in it.
    """
    if not split.candidates:
        raise UserError(
            "the split is empty", where=reference.path, fix="choose a part or task that has candidates"
        )
    folder.mkdir(parents=True, exist_ok=True)
    with _only_process(folder):
        record = _open(vetter, spec, reference, folder, seed)
        outcomes = {key: row.outcome for key, row in _finished(folder).items()}
        waiting = [
            candidate.question
            for candidate in split.candidates
            if outcomes.get((candidate.task.key, candidate.id), Outcome.ERROR) is Outcome.ERROR
        ]
        total = len(split.candidates)
        report(Progress(len(outcomes), total, Counter(outcomes.values())))
        if waiting and record.ended is not None:  # new attempts at `error` rows reopen the run
            record = record.model_copy(update={"ended": None, "counts": None})
            write_run_record(folder, record)
        for verdict in verdicts(vetter, waiting):
            _log(folder, verdict)
            outcomes[verdict.task, verdict.id] = verdict.outcome
            report(Progress(len(outcomes), total, Counter(outcomes.values())))
        if len(outcomes) != total:
            raise AssertionError(f"{total - len(outcomes)} questions ended without a verdict")
        if record.ended is None:
            counts = {outcome.value: 0 for outcome in Outcome} | Counter(outcomes.values())
            record = record.model_copy(update={"ended": _now(), "counts": counts})
            write_run_record(folder, record)
        return record


def _open(vetter: Vetter, spec: str, reference: SplitReference, folder: Path, seed: int) -> RunRecord:
    """Start the run, or check that the one in the folder is the same and mend its logs."""
    asked = RunRecord(
        schema_version=SCHEMA_VERSION,
        vetter=spec,
        config=dict(vetter.config),
        split=reference,
        versions=dict(VERSIONS),
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
    mend_log(folder / PREDICTIONS_FILE)
    mend_log(folder / TRACES_FILE)
    return known


def _finished(folder: Path) -> Mapping[tuple[str, str], Prediction]:
    path = folder / PREDICTIONS_FILE
    return read_run_predictions(path) if path.exists() else {}


def verdicts(vetter: Vetter, questions: Sequence[Question]) -> Iterator[Verdict]:
    """Yield exactly one verdict a question; after a fault in a batch, what is left is asked one by one.

    A fault is an exception, an exit, a verdict that can't be logged or on a question that was not asked,
    or no verdict at all. It costs the question it belongs to: outcome `error`, the reason in the trace.
    """
    for start in range(0, len(questions), BATCH):
        waiting = {(q.task.key, q.id): q for q in questions[start : start + BATCH]}
        with suppress(Exception, SystemExit):  # whose fault it is shows when each is asked alone
            yield from _taken(vetter, waiting)
        for question in list(waiting.values()):
            yield from _asked_alone(vetter, question)


def _taken(vetter: Vetter, waiting: dict[tuple[str, str], Question]) -> Iterator[Verdict]:
    """Yield the vetter's verdicts, taking each question out of ``waiting`` as it is answered."""
    clock = time.perf_counter()
    for verdict in vetter.vet(list(waiting.values())):
        if not isinstance(verdict, Verdict):
            raise TypeError(f"a vetter yields Verdict, this one {type(verdict).__name__}")
        timed = verdict if verdict.seconds else replace(verdict, seconds=time.perf_counter() - clock)
        for _, record in _records(timed):
            json_line(record)  # what can't be logged is the vetter's fault; found before the question is done
        if waiting.pop((timed.task, timed.id), None) is None:
            raise ValueError(f"a verdict on a question that was not asked, or twice: {timed.task} {timed.id}")
        yield timed
        clock = time.perf_counter()


def _asked_alone(vetter: Vetter, question: Question) -> Iterator[Verdict]:
    """Yield the verdict on one question, or an `error` verdict whose trace says what happened."""
    waiting = {(question.task.key, question.id): question}
    reason = "the vetter gave no verdict"
    try:
        yield from _taken(vetter, waiting)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # any fault of a vetter costs this question only
        reason = _told(error)
    if waiting:
        trace = Trace(turns=(Turn(role="error", text=reason),), environment={})
        yield Verdict(question.id, question.task.key, Outcome.ERROR, trace=trace)


def _told(error: BaseException) -> str:
    """Return an exception in one line, with the file and line it came from."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    said = " ".join(f"{type(error).__name__}: {error}".split())
    line = f"{said} ({Path(place.filename).name}, line {place.lineno})"
    return line.encode("utf-8", "backslashreplace").decode()


def _records(verdict: Verdict) -> list[tuple[str, dict[str, Any]]]:
    """Return what is logged of a verdict: file name and record.

    The trace comes before the prediction, so that a prediction in the log always has its trace.
    """
    records = [(PREDICTIONS_FILE, prediction_of(verdict).model_dump(mode="json"))]
    if verdict.trace is not None:
        records.insert(0, (TRACES_FILE, verdict.trace.record(verdict.task, verdict.id)))
    return records


def _log(folder: Path, verdict: Verdict) -> None:
    for name, record in _records(verdict):
        append_line(folder / name, record)


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
