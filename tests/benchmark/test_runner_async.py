"""Asynchronous vetters: many at a time, each question once, budgets kept, stops clean."""

import asyncio
import os
import signal
import time
from collections import Counter
from dataclasses import replace
from hashlib import sha256

import pytest

from specvi_benchmark.errors import UserError
from specvi_benchmark.runs.ask import ask, verdicts
from specvi_benchmark.runs.budget import GRACE_S, Limits, Spending
from specvi_benchmark.runs.predictions import read_run_predictions
from specvi_benchmark.runs.record import SplitReference, read_run_record
from specvi_benchmark.runs.runner import run
from specvi_benchmark.traces import Trace, Turn, ViewRecord, read_traces, said
from specvi_benchmark.vetting import AsyncVetter, Outcome, Verdict, VetterUnusable, answered


class Waiting:
    """Answers after a moment by a rule; counts how many it has in hand."""

    def __init__(self, rule, in_flight=8, seconds=0.001, **config):
        self.rule, self.in_flight, self.seconds, self.config = rule, in_flight, seconds, config
        self.asked, self.running, self.most, self.closed = [], 0, 0, 0

    async def vet_one(self, question):
        self.asked.append(question.id)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(self.seconds)
            found = self.rule(question)
            if isinstance(found, BaseException):
                raise found
            return found
        finally:
            self.running -= 1

    async def close(self):
        self.closed += 1


def yes(question, **more):
    return answered(question, "YES", traces=(said("seen"),), **more)


def start(vetter, split, folder, **more):
    reference = SplitReference(
        name="small", version="1", path="here", part="test", task=None, fingerprint=split.fingerprint
    )
    return run(vetter, "waiting", split, reference, folder, **more)


def rows(folder):
    return {row_id: row for (_, row_id), row in read_run_predictions(folder / "predictions.jsonl").items()}


def test_many_are_in_flight_and_each_is_asked_once(tmp_path, make_split):
    split, vetter = make_split(50), Waiting(yes, in_flight=8)
    assert isinstance(vetter, AsyncVetter)
    record = start(vetter, split, tmp_path)
    assert vetter.most == 8
    assert Counter(vetter.asked) == Counter(c.id for c in split.candidates)
    assert (record.counts["answered"], vetter.closed) == (50, 1)
    assert all(0.001 <= row.seconds < 5 for row in rows(tmp_path).values())


@pytest.mark.parametrize(
    "broken",
    [
        lambda _: ZeroDivisionError("no flux"),
        lambda _: SystemExit(3),
        lambda _: UserError("this spectrum can't be drawn"),
        lambda _: TimeoutError("slow"),
        lambda _: None,
        lambda q: replace(yes(q), id="stranger"),
        lambda q: replace(yes(q), cost_usd=float("nan")),
        lambda q: replace(yes(q), traces=(shown(b"png", pictures={}),)),
        lambda q: replace(yes(q), traces=(shown(b"png", pictures={sha256(b"png").hexdigest(): b"other"}),)),
        lambda q: replace(yes(q), traces=(said("a"), said("b"))),
    ],
    ids=[
        "raises",
        "exit",
        "user",
        "timeout",
        "none",
        "stranger",
        "nan",
        "no-picture",
        "wrong-picture",
        "same-sample",
    ],
)
def test_a_fault_costs_its_question_only(tmp_path, make_split, broken):
    split = make_split(20)
    record = start(Waiting(lambda q: broken(q) if q.id == "cv-007" else yes(q)), split, tmp_path)
    assert record.counts["answered"] == 19
    assert rows(tmp_path)["cv-007"].outcome == "error"
    assert read_traces(tmp_path / "traces.jsonl")["cv", "cv-007", 0].turns[-1].role == "error"


def test_a_vetter_that_can_answer_nothing_stops_the_run_with_its_own_words(tmp_path, make_split):
    vetter = Waiting(lambda q: VetterUnusable("wrong key") if q.id == "cv-010" else yes(q), in_flight=4)
    with pytest.raises(VetterUnusable, match="wrong key"):
        start(vetter, make_split(40), tmp_path)
    assert vetter.closed == 1
    assert len(vetter.asked) < 20
    assert set(rows(tmp_path)) <= {f"cv-{n:03d}" for n in range(20)}
    assert read_run_record(tmp_path).ended is None
    record = start(Waiting(yes), make_split(40), tmp_path)
    assert record.counts["answered"] == 40


def test_the_same_holds_for_a_vetter_that_computes(tmp_path, make_split):
    class Broken:
        config = {}  # noqa: RUF012

        def vet(self, questions):
            yield yes(questions[0])
            raise VetterUnusable("no weights")

    with pytest.raises(VetterUnusable, match="no weights"):
        start(Broken(), make_split(5), tmp_path)
    assert len(rows(tmp_path)) == 2  # one of the batch, and the next when it was asked alone


def shown(*pngs, pictures=None, sample=0):
    names = [sha256(png).hexdigest() for png in pngs]
    views = tuple(
        ViewRecord(
            png_sha256=name, pixel_sha256=name, window_AA=(1, 2), frame="rest", style="clean", size_px=(1, 1)
        )
        for name in names
    )
    kept = dict(zip(names, pngs, strict=True)) if pictures is None else pictures
    return Trace((Turn(role="user", text="look", views=views),), {}, sample, kept)


def test_pictures_are_kept_once_under_their_hash(tmp_path, make_split):
    def rule(question):
        own = question.id.encode()
        return replace(yes(question), traces=(shown(b"shared", own), shown(own, sample=1)))

    split = make_split(5)
    start(Waiting(rule), split, tmp_path)
    kept = {path.name: path.read_bytes() for path in (tmp_path / "views").iterdir()}
    expected = [b"shared", *(c.id.encode() for c in split.candidates)]
    assert kept == {f"{sha256(png).hexdigest()}.png": png for png in expected}
    assert {sample for *_, sample in read_traces(tmp_path / "traces.jsonl")} == {0, 1}


def test_a_picture_that_a_kill_left_in_part_is_written_whole(tmp_path, make_split):
    name = f"{sha256(b'whole picture').hexdigest()}.png"
    start(Waiting(lambda _: ValueError("not yet")), make_split(1), tmp_path)
    (tmp_path / "views").mkdir()
    (tmp_path / "views" / name).write_bytes(b"whole")
    start(Waiting(lambda q: replace(yes(q), traces=(shown(b"whole picture"),))), make_split(1), tmp_path)
    assert (tmp_path / "views" / name).read_bytes() == b"whole picture"


def test_a_new_attempt_replaces_all_samples_of_the_earlier_one(tmp_path, make_split):
    votes = lambda q: replace(yes(q), traces=tuple(replace(said(f"s{n}"), sample=n) for n in range(3)))  # noqa: E731
    start(Waiting(lambda q: replace(votes(q), outcome=Outcome.ERROR, answer=None)), make_split(1), tmp_path)
    assert len(read_traces(tmp_path / "traces.jsonl")) == 3
    start(Waiting(yes), make_split(1), tmp_path)
    (trace,) = read_traces(tmp_path / "traces.jsonl").values()
    assert trace.turns[0].text == "seen"


def test_a_budget_in_dollars_is_not_exceeded_and_the_run_goes_on_later(tmp_path, make_split):
    split, paid = make_split(40), lambda q: yes(q, cost_usd=0.25)
    told = []
    record = start(Waiting(paid), split, tmp_path, limits=Limits(max_usd=3.1), report=told.append)
    assert record.ended is None
    assert "3.1 dollars" in told[-1].stopped_by
    assert 0 < told[-1].spent_usd <= 3.1 + 7 * 0.25  # before the first is paid for, nothing is known
    record = start(Waiting(paid), split, tmp_path, limits=Limits(max_usd=6.1))
    spent = sum(row.cost_usd for row in rows(tmp_path).values())
    assert 5.75 <= spent <= 6.1
    assert start(Waiting(paid), split, tmp_path).counts["answered"] == 40


def test_an_estimate_keeps_the_budget_from_the_first_question(tmp_path, make_split):
    vetter = Waiting(lambda q: yes(q, cost_usd=0.25))
    vetter.expected_usd = 0.3
    start(vetter, make_split(40), tmp_path, limits=Limits(max_usd=1.0))
    assert len(rows(tmp_path)) == 4


def test_failed_attempts_count_in_the_budget(tmp_path, make_split):
    failing = Waiting(lambda q: Verdict(q.id, "cv", Outcome.ERROR, cost_usd=1.0))
    start(failing, make_split(3), tmp_path)
    told = []
    start(
        Waiting(lambda q: yes(q, cost_usd=1.0)),
        make_split(3),
        tmp_path,
        limits=Limits(max_usd=5.5),
        report=told.append,
    )
    assert told[0].spent_usd == 3.0
    assert told[-1].spent_usd == 5.0
    assert told[-1].stopped_by


def test_a_price_that_turns_out_unknown_stops_a_run_with_a_budget(tmp_path, make_split):
    vetter = Waiting(lambda q: yes(q, cost_usd=None))
    with pytest.raises(UserError, match="price is not known"):
        start(vetter, make_split(10), tmp_path, limits=Limits(max_usd=5))
    assert len(rows(tmp_path)) >= 1
    vetter.expected_usd = None
    with pytest.raises(UserError, match="price is not known"):
        start(vetter, make_split(10), tmp_path / "other", limits=Limits(max_usd=5))
    assert start(vetter, make_split(10), tmp_path).counts["answered"] == 10


def test_minutes_stop_a_run_with_all_that_was_asked_answered(tmp_path, make_split):
    vetter, told = Waiting(yes, in_flight=2, seconds=0.1), []
    record = start(vetter, make_split(200), tmp_path, limits=Limits(max_minutes=0.3 / 60), report=told.append)
    assert record.ended is None
    assert set(rows(tmp_path)) == set(vetter.asked)
    assert 0 < len(vetter.asked) < 200
    assert "minutes" in told[-1].stopped_by


def test_minutes_hold_for_a_vetter_that_computes(tmp_path, make_split):
    class Slow:
        config = {}  # noqa: RUF012

        def vet(self, questions):
            for question in questions:
                time.sleep(0.05)
                yield yes(question)

    record = start(Slow(), make_split(100), tmp_path, limits=Limits(max_minutes=0.2 / 60))
    assert record.ended is None
    assert 0 < len(rows(tmp_path)) < 100


def test_what_hangs_is_given_up_and_not_counted(make_split):
    questions, taken = [c.question for c in make_split(6).candidates], []

    class Hanging(Waiting):
        async def vet_one(self, question):
            await asyncio.sleep(30 if question.id > "cv-003" else 0)
            return yes(question)

    vetter = Hanging(yes)
    left = ask(vetter, questions, taken.append, give_up_at_s=time.monotonic() + 0.3)
    assert (left, len(taken), vetter.closed) == (2, 4, 1)


def test_a_minute_of_grace_follows_the_last_question():
    before = time.monotonic()
    spending = Spending(Limits(max_minutes=2), 0.0)
    assert 120 + GRACE_S <= spending.give_up_at_s - before <= 121 + GRACE_S
    assert Spending(Limits(), 0.0).give_up_at_s is None


def test_an_interrupt_leaves_a_folder_that_goes_on(tmp_path, make_split):
    split = make_split(60)

    def interrupted(question):
        if len(vetter.asked) == 12:
            os.kill(os.getpid(), signal.SIGINT)
        return yes(question)

    vetter = Waiting(interrupted, in_flight=4)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            start(vetter, split, tmp_path)
    finally:
        signal.signal(signal.SIGINT, before)
    done = rows(tmp_path)
    assert 0 < len(done) < 60
    assert (vetter.running, vetter.closed) == (0, 1)
    again = Waiting(yes)
    assert start(again, split, tmp_path).counts["answered"] == 60
    assert not set(again.asked) & set(done)


def test_verdicts_gives_them_to_whoever_only_wants_answers(make_split):
    questions = [c.question for c in make_split(9).candidates]
    found = list(verdicts(Waiting(lambda q: OSError("x") if q.id == "cv-002" else yes(q)), questions))
    assert Counter(v.outcome for v in found) == {"answered": 8, "error": 1}


def test_memory_holds_nothing_of_what_is_done(make_split):
    """Only as many traces are alive as are in flight."""
    import gc
    import weakref

    alive, most = weakref.WeakSet(), 0

    class Kept(dict):
        __hash__ = object.__hash__

    def rule(question):
        nonlocal most
        kept = Kept({sha256(b"x").hexdigest(): b"x"})
        alive.add(kept)
        if len(alive) > 20:
            gc.collect()
        most = max(most, len(alive))
        return replace(yes(question), traces=(replace(shown(b"x"), pictures=kept),))

    questions = [c.question for c in make_split(4).candidates] * 100
    ask(Waiting(rule, in_flight=4, seconds=0), questions, lambda _: None)
    assert most <= 20
