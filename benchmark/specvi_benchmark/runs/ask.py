"""Asks any vetter any questions: exactly one verdict each, whatever the vetter does."""

import asyncio
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from specvi_benchmark.runs.log import Entry, entry_of
from specvi_benchmark.traces import Trace, Turn
from specvi_benchmark.vetting import (
    AnyVetter,
    AsyncVetter,
    Outcome,
    Question,
    Verdict,
    Vetter,
    VetterUnusable,
)

BATCH = 64  # questions a vetter gets at once; a kill costs at most one batch of a vetter that computes ahead
IN_FLIGHT = 64  # questions asked at a time of an asynchronous vetter that does not say how many

Take = Callable[[Entry], None]
MayAsk = Callable[[int], bool]
"""Whether one more question may be asked while so many are being answered."""


def ask(
    vetter: AnyVetter,
    questions: Sequence[Question],
    take: Take,
    may_ask: MayAsk = lambda _: True,
    *,
    give_up_at_s: float | None = None,
) -> int:
    """Hand ``take`` exactly one entry a question, in any order; return how many were left unasked.

    A fault is an exception, an exit, a verdict that can't be logged or on a question that was not asked,
    or no verdict at all. It costs the question it belongs to: outcome `error`, the reason in the trace.

    Parameters
    ----------
    may_ask
        Asked before each question (of a vetter that gets batches: after each verdict). Once it says no and
        nothing is being answered, the rest stays unasked.
    give_up_at_s
        Time of `time.monotonic` at which questions that an asynchronous vetter is answering are given up too,
        as if they had not been asked.

    Raises
    ------
    VetterUnusable
        The vetter says that it can answer nothing.
    """
    if isinstance(vetter, AsyncVetter):
        return asyncio.run(_ask_many(vetter, questions, take, may_ask, give_up_at_s))
    left = len(questions)
    answers = _in_batches(vetter, questions)
    while left and may_ask(0):
        take(next(answers))
        left -= 1
    return left


def verdicts(vetter: AnyVetter, questions: Sequence[Question]) -> Iterator[Verdict]:
    """Yield exactly one verdict a question, as `ask` gets them; of an asynchronous vetter when all are there."""
    if isinstance(vetter, AsyncVetter):
        found: list[Entry] = []
        ask(vetter, questions, found.append)
        yield from (entry.verdict for entry in found)
    else:
        yield from (entry.verdict for entry in _in_batches(vetter, questions))


async def _ask_many(
    vetter: AsyncVetter,
    questions: Sequence[Question],
    take: Take,
    may_ask: MayAsk,
    give_up_at_s: float | None,
) -> int:
    """Keep ``vetter.in_flight`` questions in flight; what is done is handed on and forgotten."""
    waiting = iter(questions)
    running = done = 0

    async def work() -> None:
        nonlocal running, done
        while may_ask(running) and (question := next(waiting, None)) is not None:
            running += 1
            entry = await _answer_of(vetter, question)
            running -= 1
            done += 1
            take(entry)

    try:
        async with asyncio.timeout_at(give_up_at_s), asyncio.TaskGroup() as group:
            for _ in range(min(getattr(vetter, "in_flight", IN_FLIGHT), len(questions))):
                group.create_task(work())
    except TimeoutError:
        pass
    except BaseExceptionGroup as faults:
        raise faults.exceptions[0] from None
    finally:
        if close := getattr(vetter, "close", None):
            await close()
    return len(questions) - done


async def _answer_of(vetter: AsyncVetter, question: Question) -> Entry:
    """Return the entry of one question; any fault but `VetterUnusable` becomes an `error`."""
    clock = time.perf_counter()
    try:
        verdict = await vetter.vet_one(question)
        return _entry(verdict, time.perf_counter() - clock, question)
    except VetterUnusable:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001  # any other fault costs this question only
        return _error(question, _told(error))


def _in_batches(vetter: Vetter, questions: Sequence[Question]) -> Iterator[Entry]:
    """Yield the entries; after a fault in a batch, what is left of it is asked one by one."""
    for start in range(0, len(questions), BATCH):
        waiting = {(q.task.key, q.id): q for q in questions[start : start + BATCH]}
        with suppress(Exception, SystemExit):  # whose fault it is shows when each is asked alone
            yield from _taken(vetter, waiting)
        for question in list(waiting.values()):
            yield from _asked_alone(vetter, question)


def _taken(vetter: Vetter, waiting: dict[tuple[str, str], Question]) -> Iterator[Entry]:
    """Yield the vetter's entries, taking each question out of ``waiting`` as it is answered."""
    clock = time.perf_counter()
    for verdict in vetter.vet(list(waiting.values())):
        entry = _entry(verdict, time.perf_counter() - clock)
        if waiting.pop((verdict.task, verdict.id), None) is None:
            asked = f"{verdict.task} {verdict.id}"
            raise ValueError(f"a verdict on a question that was not asked, or twice: {asked}")
        yield entry
        clock = time.perf_counter()


def _asked_alone(vetter: Vetter, question: Question) -> Iterator[Entry]:
    """Yield the entry of one question, or an `error` whose trace says what happened."""
    waiting = {(question.task.key, question.id): question}
    reason = "the vetter gave no verdict"
    try:
        yield from _taken(vetter, waiting)
    except VetterUnusable:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001  # any fault of a vetter costs this question only
        reason = _told(error)
    if waiting:
        yield _error(question, reason)


def _entry(verdict: object, seconds: float, asked: Question | None = None) -> Entry:
    """Return what will be logged, with the time it took; raise if it can't be, or is not on ``asked``."""
    if not isinstance(verdict, Verdict):
        raise TypeError(f"a vetter gives a Verdict, this one {type(verdict).__name__}")
    if asked is not None and (verdict.task, verdict.id) != (asked.task.key, asked.id):
        raise ValueError(f"a verdict on another question than was asked: {verdict.task} {verdict.id}")
    return entry_of(verdict if verdict.seconds else replace(verdict, seconds=seconds))


def _error(question: Question, reason: str) -> Entry:
    trace = Trace(turns=(Turn(role="error", text=reason),), environment={})
    return entry_of(Verdict(question.id, question.task.key, Outcome.ERROR, traces=(trace,)))


def _told(error: BaseException) -> str:
    """Return an exception in one line, with the file and line it came from."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    said = " ".join(f"{type(error).__name__}: {error}".split())
    line = f"{said} ({Path(place.filename).name}, line {place.lineno})"
    return line.encode("utf-8", "backslashreplace").decode()
