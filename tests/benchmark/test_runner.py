"""The runner: one verdict a question, whatever the vetter, the machine or the user does."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from specvi_benchmark.errors import UserError
from specvi_benchmark.runs.ask import BATCH
from specvi_benchmark.runs.predictions import read_run_predictions
from specvi_benchmark.runs.record import RunRecord, SplitReference, read_run_record, write_run_record
from specvi_benchmark.runs.runner import Progress, run
from specvi_benchmark.splits import Split
from specvi_benchmark.traces import Trace, read_traces, said
from specvi_benchmark.vetting import Outcome, Question, Verdict, answered

SLOW_RUN = Path(__file__).with_name("slow_run.py")


class Scripted:
    """A vetter that answers by rule, and raises, repeats or skips where told to."""

    def __init__(self, rule: Callable[[Question], object], **config: object) -> None:
        self.rule, self.config, self.asked = rule, {"rule": "scripted", **config}, []

    def vet(self, questions: Sequence[Question]) -> Iterator[Verdict]:
        for question in questions:
            self.asked.append(question.id)
            found = self.rule(question)
            if isinstance(found, BaseException):
                raise found
            if found is not None:
                yield from found if isinstance(found, list) else [found]


def yes(question: Question) -> Verdict:
    return answered(question, "YES", traces=(said("always"),))


def start(vetter: Scripted, split: Split, folder: Path, **more: object) -> RunRecord:
    reference = SplitReference(
        name=split.name,
        version=split.version,
        path="here",
        part="test",
        task=None,
        fingerprint=split.fingerprint,
    )
    return run(vetter, "scripted", split, reference, folder, **more)


def outcomes(folder: Path) -> dict[str, str]:
    rows = read_run_predictions(folder / "predictions.jsonl")
    return {row_id: row.outcome for (_, row_id), row in rows.items()}


def test_a_run_answers_every_question_once(tmp_path: Path, make_split: Callable) -> None:
    split = make_split(2 * BATCH + 3)
    seen: list[Progress] = []
    vetter = Scripted(yes)
    record = start(vetter, split, tmp_path / "run", report=seen.append)
    assert Counter(vetter.asked) == Counter(c.id for c in split.candidates)
    assert record.counts == {o.value: 0 for o in Outcome} | {"answered": len(split.candidates)}
    assert [p.done for p in seen] == list(range(len(split.candidates) + 1))
    assert read_run_record(tmp_path / "run") == record
    assert record.ended is not None
    assert set(read_traces(tmp_path / "run" / "traces.jsonl")) == {("cv", c.id, 0) for c in split.candidates}


def test_an_exception_costs_that_question_only(tmp_path: Path, make_split: Callable) -> None:
    split = make_split(20)
    broken = {"cv-003", "cv-011"}
    vetter = Scripted(lambda q: ZeroDivisionError("no flux") if q.id in broken else yes(q))
    record = start(vetter, split, tmp_path)
    assert {k for k, v in outcomes(tmp_path).items() if v == "error"} == broken
    assert record.counts is not None
    assert (record.counts["answered"], record.counts["error"]) == (18, 2)
    trace = read_traces(tmp_path / "traces.jsonl")["cv", "cv-003", 0]
    assert trace.turns[-1].role == "error"
    assert trace.turns[-1].text.startswith("ZeroDivisionError: no flux (test_runner.py, line ")


@pytest.mark.parametrize(
    "rule",
    [
        lambda q: None if q.id == "cv-002" else yes(q),  # says nothing
        lambda q: [yes(q), yes(q)] if q.id == "cv-002" else yes(q),  # says it twice
        lambda q: (
            Verdict("stranger", "cv", Outcome.REFUSED) if q.id == "cv-002" else yes(q)
        ),  # another's name
    ],
    ids=["silent", "twice", "stranger"],
)
def test_a_vetter_that_breaks_the_contract_loses_no_question(
    tmp_path: Path, make_split: Callable, rule: Callable
) -> None:
    split = make_split(6)
    start(Scripted(rule), split, tmp_path)
    found = outcomes(tmp_path)
    assert set(found) == {c.id for c in split.candidates}
    assert {k for k, v in found.items() if v == "error"} <= {"cv-002"}
    lines = (tmp_path / "predictions.jsonl").read_text().splitlines()
    assert len(lines) == 6


@pytest.mark.parametrize(
    "broken",
    [
        lambda q: replace(yes(q), cost_usd=float("nan")),
        lambda q: replace(yes(q), cost_usd=-1.0),
        lambda q: replace(yes(q), tokens_in=1.5),
        lambda q: replace(yes(q), answer="yes"),
        lambda q: replace(yes(q), traces=("seen",)),
        lambda q: replace(yes(q), traces=(Trace((), {"setting": object()}),)),
        lambda q: SimpleNamespace(id=q.id, task="cv", answer="YES"),
        lambda q: {"id": q.id, "answer": "YES"},
        lambda _: SystemExit(3),
        lambda _: ValueError("two\nlines and half a \ud800 pair"),
    ],
    ids=[
        "nan",
        "negative",
        "half-token",
        "lower-case",
        "text-trace",
        "odd-trace",
        "look-alike",
        "dict",
        "exit",
        "surrogate",
    ],
)
def test_what_cannot_be_logged_is_an_error_of_that_question(
    tmp_path: Path, make_split: Callable, broken: Callable
) -> None:
    split = make_split(5)
    record = start(Scripted(lambda q: broken(q) if q.id == "cv-002" else yes(q)), split, tmp_path)
    assert {k for k, v in outcomes(tmp_path).items() if v == "error"} == {"cv-002"}
    assert record.counts is not None
    assert sum(record.counts.values()) == 5
    (turn,) = read_traces(tmp_path / "traces.jsonl")["cv", "cv-002", 0].turns
    assert "\n" not in turn.text


def test_the_trace_is_written_before_the_prediction(
    tmp_path: Path, make_split: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    monkeypatch.setattr(
        "specvi_benchmark.runs.log.write_all",
        lambda handle, _: written.append(Path(f"/proc/self/fd/{handle}").readlink().name),
    )
    start(Scripted(yes), make_split(2), tmp_path)
    assert written == ["traces.jsonl", "predictions.jsonl"] * 2


def test_each_verdict_has_its_own_time(tmp_path: Path, make_split: Callable) -> None:
    def slow_first(question: Question) -> Verdict:
        time.sleep(0.2 if question.id == "cv-000" else 0)
        return yes(question)

    start(Scripted(slow_first), make_split(3), tmp_path)
    rows = read_run_predictions(tmp_path / "predictions.jsonl")
    assert rows["cv", "cv-000"].seconds >= 0.2
    assert rows["cv", "cv-002"].seconds < rows["cv", "cv-000"].seconds


def test_a_split_that_moved_is_found_in_its_new_place(tmp_path: Path, make_split: Callable) -> None:
    split = make_split(2)
    start(Scripted(yes), split, tmp_path)
    moved = read_run_record(tmp_path).split.model_copy(update={"path": "there"})
    run(Scripted(yes), "scripted", split, moved, tmp_path)
    assert read_run_record(tmp_path).split.path == "there"


@pytest.mark.parametrize(
    ("name", "value", "same"),
    [("vetter", "other", False), ("versions", {"renderer_version": 99}, False), ("versions", None, True)],
)
def test_what_makes_two_runs_the_same(
    tmp_path: Path, make_split: Callable, name: str, value: object, *, same: bool
) -> None:
    start(Scripted(yes), make_split(2), tmp_path)
    known = read_run_record(tmp_path)
    changed = value if value is not None else dict(known.versions) | {"scoring_version": 99}
    write_run_record(tmp_path, known.model_copy(update={name: changed}))
    if same:
        start(Scripted(yes), make_split(2), tmp_path)
    else:
        with pytest.raises(UserError, match="holds another run"):
            start(Scripted(yes), make_split(2), tmp_path)


def test_a_second_call_asks_nothing_and_error_rows_are_tried_again(
    tmp_path: Path, make_split: Callable
) -> None:
    split = make_split(8)
    start(Scripted(lambda q: OSError("down") if q.id == "cv-005" else yes(q)), split, tmp_path)
    again = Scripted(yes)
    record = start(again, split, tmp_path)
    assert again.asked == ["cv-005"]
    assert record.counts is not None
    assert record.counts["answered"] == 8
    third = Scripted(yes)
    assert start(third, split, tmp_path) == record
    assert third.asked == []
    assert (
        len((tmp_path / "predictions.jsonl").read_text().splitlines()) == 9
    )  # the last line of cv-005 counts


@pytest.mark.parametrize(
    ("change", "told"),
    [("config", "config.threshold 1 → 2"), ("split", "split "), ("seed", "seed 0 → 1")],
)
def test_another_run_in_the_same_folder_is_refused(
    tmp_path: Path, make_split: Callable, change: str, told: str
) -> None:
    start(Scripted(yes, threshold=1), make_split(4), tmp_path)
    before = (tmp_path / "predictions.jsonl").read_bytes()
    vetter = Scripted(yes, threshold=2 if change == "config" else 1)
    split = make_split(5 if change == "split" else 4)
    with pytest.raises(UserError, match="holds another run") as caught:
        start(vetter, split, tmp_path, seed=1 if change == "seed" else 0)
    assert f"got: {told}" in str(caught.value)
    assert ";" not in str(caught.value)  # nothing else differs
    assert "--out" in str(caught.value)
    assert vetter.asked == []
    assert (tmp_path / "predictions.jsonl").read_bytes() == before


def test_a_record_of_a_newer_version_is_told_so(tmp_path: Path, make_split: Callable) -> None:
    start(Scripted(yes), make_split(2), tmp_path)
    path = tmp_path / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema_version": 7, "mood": "new"}))
    with pytest.raises(UserError, match="newer version"):
        read_run_record(tmp_path)


def test_a_folder_with_other_files_is_refused(tmp_path: Path, make_split: Callable) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(UserError, match="not empty"):
        start(Scripted(yes), make_split(2), tmp_path)
    assert not (tmp_path / "run.json").exists()


def test_an_empty_split_is_refused(tmp_path: Path, make_split: Callable) -> None:
    with pytest.raises(UserError, match="the split is empty"):
        start(Scripted(yes), make_split(0), tmp_path)


def test_a_log_cut_at_any_byte_resumes_to_the_same_result(tmp_path: Path, make_split: Callable) -> None:
    split = make_split(5)
    start(Scripted(yes), split, tmp_path / "whole")
    whole = (tmp_path / "whole" / "predictions.jsonl").read_bytes()
    traces = (tmp_path / "whole" / "traces.jsonl").read_bytes()
    run_json = json.loads((tmp_path / "whole" / "run.json").read_text()) | {"ended": None, "counts": None}
    written = [
        (name, byte)
        for trace, row in zip(traces.splitlines(keepends=True), whole.splitlines(keepends=True), strict=True)
        for name, line in (("traces.jsonl", trace), ("predictions.jsonl", row))
        for byte in line
    ]  # every byte in the order in which a run writes them
    for cut in range(0, len(written), 97):
        folder = tmp_path / f"cut-{cut}"
        folder.mkdir()
        (folder / "run.json").write_text(json.dumps(run_json))
        for kept in ("traces.jsonl", "predictions.jsonl"):
            (folder / kept).write_bytes(bytes(byte for name, byte in written[:cut] if name == kept))
        before = (folder / "predictions.jsonl").read_bytes().count(b"\n")
        vetter = Scripted(yes)
        record = start(vetter, split, folder)
        assert len(vetter.asked) == 5 - before
        assert outcomes(folder) == outcomes(tmp_path / "whole")
        assert set(read_traces(folder / "traces.jsonl")) == {("cv", c.id, 0) for c in split.candidates}
        assert record.counts is not None
        assert record.counts["answered"] == 5


@pytest.mark.slow
def test_killed_again_and_again_it_finishes_only_what_is_missing(tmp_path: Path) -> None:
    folder, log = tmp_path / "run", tmp_path / "asked.txt"
    command = [sys.executable, str(SLOW_RUN), str(folder), str(log), "0.05"]
    kills = 0
    for wait in (0.3, 0.5, 0.2):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(wait)
            os.kill(process.pid, signal.SIGKILL)
            kills += process.wait() == -signal.SIGKILL
        assert json.loads((folder / "run.json").read_text())["ended"] is None
    assert kills == 3
    subprocess.run([*command[:-1], "0"], check=True)
    record = read_run_record(folder)
    assert record.counts is not None
    assert record.counts["answered"] == 40
    asked = Counter(log.read_text().split())
    assert set(asked) == {f"cv-{n:03d}" for n in range(40)}
    assert sum(asked.values()) - 40 <= kills  # only a question in flight at a kill is asked again
    lines = [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]
    assert Counter(line["id"] for line in lines) == Counter(asked.keys())


@pytest.mark.slow
def test_two_processes_in_one_folder_are_refused(tmp_path: Path, make_split: Callable) -> None:
    command = [sys.executable, str(SLOW_RUN), str(tmp_path / "run"), str(tmp_path / "log"), "0.2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        deadline = time.monotonic() + 20
        while not (tmp_path / "run" / "run.json").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        with pytest.raises(UserError, match="another process"):
            start(Scripted(yes), make_split(3), tmp_path / "run")
        process.kill()
