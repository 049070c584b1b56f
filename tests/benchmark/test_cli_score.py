"""`specvi score`: what it prints, writes and refuses."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from sklearn.metrics import f1_score

from specvi_benchmark.cli.main import main
from specvi_benchmark.files import append_line
from specvi_benchmark.runs.predictions import Prediction
from specvi_benchmark.runs.record import RunRecord, choose_split, write_run_record
from specvi_benchmark.scoring.results import read_results
from specvi_benchmark.splits import Split
from specvi_benchmark.splits.io import write_split

ANSWERS = ["YES"] * 6 + ["NO"] * 5 + [None]  # the last one abstained
TRUTH = ["YES" if number % 3 == 0 else "NO" for number in range(12)]


def call(*arguments):
    """Run the program in this process and return its exit code."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code or 0


@pytest.fixture
def split_folder(tmp_path, make_split):
    write_split(make_split(12), tmp_path / "split")
    return tmp_path / "split"


@pytest.fixture
def run_folder(tmp_path, split_folder):
    """Return a run folder as `specvi run` leaves it."""
    folder = tmp_path / "run"
    split, reference = choose_split(str(split_folder))
    folder.mkdir()
    write_run_record(
        folder,
        RunRecord(
            schema_version=1, vetter="made", config={}, split=reference, versions={"scoring_version": 1},
            environment={}, seed=0, started="2026-01-01T00:00:00+00:00",
        ),
    )  # fmt: skip
    for candidate, answer in zip(split.candidates, ANSWERS, strict=True):
        outcome = "answered" if answer else "abstained"
        line = Prediction(id=candidate.id, task="cv", answer=answer, outcome=outcome)
        append_line(folder / "predictions.jsonl", line.model_dump(mode="json"))
    return folder


def write_csv(path: Path, split: Split) -> Path:
    rows = [f"{c.id},{c.task.key},{a or ''},x" for c, a in zip(split.candidates, ANSWERS, strict=True)]
    path.write_text("\n".join(["id,task,answer,model", *rows]) + "\n")
    return path


def test_a_run_folder_is_scored_and_keeps_its_results(run_folder, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    assert call("score", run_folder) == 0
    said = [
        answer or ("NO" if truth == "YES" else "YES") for answer, truth in zip(ANSWERS, TRUTH, strict=True)
    ]
    f1 = f1_score(TRUTH, said, pos_label="YES")
    results = read_results(run_folder / "results.json")
    (cv,) = results.tasks
    assert cv.ranked.f1.value == pytest.approx(f1)
    assert cv.ledger["NO"]["abstained"] == 1
    assert results.split.parts == ("test",)
    assert results.split.object_id_sources == {"simulated": 12}
    assert not results.outcomes_undeclared
    printed = capsys.readouterr().out
    assert f"{f1:.3f} [" in printed
    assert "1 abstained" in printed
    assert "F1 at best" in printed
    assert "file names" not in printed
    assert "macro (1)" in printed
    assert "Any non-answer" in printed
    assert "resamples of 12 objects" in printed
    assert printed.endswith(f"Next: specvi leaderboard build {run_folder}\n")


def test_json_is_what_the_file_holds(run_folder, capsys):
    assert call("score", run_folder, "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert not (run_folder / "results.json").exists()  # the folder may be another's, and read-only
    assert call("score", run_folder, "--json", "--out", run_folder / "results.json") == 0
    assert printed == json.loads((run_folder / "results.json").read_text())


def test_results_never_replace_what_is_scored(run_folder, split_folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    split, _ = choose_split(str(split_folder))
    answers = write_csv(tmp_path / "answers.csv", split)
    log = run_folder / "predictions.jsonl"
    for out, *arguments in (
        ("answers.csv", answers, "--split", split_folder),
        (log, log, "--split", split_folder),
        (log, run_folder),
        (run_folder / "traces" / "results.json", run_folder),
        (run_folder, run_folder),
    ):
        before = {path: path.read_bytes() for path in (answers, log)}
        assert call("score", *arguments, "--out", out) == 2
        assert "in the place of what is scored" in capsys.readouterr().err
        assert before == {path: path.read_bytes() for path in (answers, log)}
    assert call("score", run_folder, "--out", run_folder / "results.json") == 0


def test_rows_left_out_are_said(run_folder, split_folder, tmp_path, capsys):
    first, *_ = (run_folder / "predictions.jsonl").read_text().splitlines()
    failed = json.loads(first) | {"answer": None, "outcome": "error"}
    other = json.loads(first) | {"id": "elsewhere", "task": "wd"}
    log = tmp_path / "resumed.jsonl"
    whole = (run_folder / "predictions.jsonl").read_text()
    log.write_text(f"{json.dumps(failed)}\n{json.dumps(other)}\n{whole}")
    assert call("score", log, "--split", split_folder) == 2
    assert "ids that are not in the split (1): elsewhere" in capsys.readouterr().err
    assert call("score", log, "--split", split_folder, "--task", "CV") == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "Errors tried again: 1;" in printed
    assert "Rows of other tasks left out: 1." in printed


def test_a_file_scores_as_the_run_with_the_same_answers(run_folder, split_folder, tmp_path, capsys):
    split, _ = choose_split(str(split_folder))
    answers = write_csv(tmp_path / "answers.csv", split)
    out = tmp_path / "elsewhere" / "results.json"
    assert call("score", answers, "--split", split_folder, "--out", out) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "Columns ignored: model." in printed
    assert "Outcomes undeclared" in printed
    assert f"--split {split_folder}" in printed
    assert call("score", run_folder) == 0
    of_file, of_run = read_results(out), read_results(run_folder / "results.json")
    assert of_file.macro == of_run.macro
    assert of_file.outcomes_undeclared
    assert of_file.tasks[0].ledger["NO"]["unparsed"] == 1


def test_partial_stands_in_print_and_file(run_folder, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    log = run_folder / "predictions.jsonl"
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:9]))
    assert call("score", run_folder) == 2
    message = capsys.readouterr().err
    assert "candidates without a row (3)" in message
    assert "finish the run" in message
    assert not (run_folder / "results.json").exists()
    assert call("score", run_folder, "--allow-partial") == 0
    printed = capsys.readouterr().out
    assert "Partial: 3 candidates without a row" in printed
    assert "Incomplete, not ranked: too many errors in main/cv." in printed
    results = read_results(run_folder / "results.json")
    assert results.partial.missing == 3
    assert results.incomplete == ("main/cv",)


def test_object_ids_from_file_names_are_said_to_be_weak(tmp_path, make_split, capsys):
    split = make_split(12)
    named = [replace(candidate, object_id_source="file-name") for candidate in split.candidates]
    write_split(Split("named", "1", tuple(named), split.recipe), tmp_path / "named")
    assert call("score", write_csv(tmp_path / "a.csv", split), "--split", tmp_path / "named") == 0
    assert "intervals may be too narrow" in " ".join(capsys.readouterr().out.split())


def test_another_split_is_refused(run_folder, tmp_path, make_split, capsys):
    write_split(make_split(12, task="wd"), tmp_path / "other")
    assert call("score", run_folder, "--split", tmp_path / "other") == 2
    assert "fingerprint" in capsys.readouterr().err


def test_a_split_that_moved_is_found_by_option(run_folder, split_folder, tmp_path, capsys):
    split_folder.rename(tmp_path / "moved")
    assert call("score", run_folder) == 2
    assert "--split" in capsys.readouterr().err
    assert call("score", run_folder, "--split", tmp_path / "moved") == 0


def test_what_cannot_be_scored_is_told(run_folder, split_folder, tmp_path, capsys):
    answers = tmp_path / "answers.csv"
    answers.write_text("id,task,answer\ncv-000,cv,YES\n")
    for arguments, told in (
        ((tmp_path / "nothing",), "no such run folder or file"),
        ((tmp_path,), "not a run folder"),
        ((answers,), "--split"),
        ((run_folder, "--part", "dev"), "names its own part"),
        ((answers, "--split", split_folder), "candidates without a row (11)"),
        ((answers, "--split", split_folder, "--task", "galaxy"), "no such task"),
        ((answers, "--split", split_folder, "--task", "wd"), "no candidate to score"),
    ):
        assert call("score", *arguments) == 2
        captured = capsys.readouterr()
        assert told in captured.err
        assert "Traceback" not in captured.err
        assert captured.out == ""
