"""`specvi compare`: what it prints, lists and refuses."""

import csv
import io
import json
from dataclasses import replace

import pytest

from specvi_benchmark.cli.main import main
from specvi_benchmark.files import append_line
from specvi_benchmark.runs.predictions import Prediction
from specvi_benchmark.runs.record import RunRecord, choose_split, write_run_record
from specvi_benchmark.splits.io import write_split

N = 60


def call(*arguments):
    """Run the program in this process and return its exit code."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code or 0


@pytest.fixture
def split_folder(tmp_path, make_split):
    write_split(make_split(N), tmp_path / "split")
    return tmp_path / "split"


@pytest.fixture
def make_run(tmp_path, split_folder):
    """Return a maker of runs that get every ``wrong``-th candidate wrong (0: none)."""

    def make(name, wrong, *, folder=None, place=split_folder, seed=0, errors=0, **config):
        out = tmp_path / (folder or name)
        out.mkdir()
        split, reference = choose_split(str(place))
        record = RunRecord(
            schema_version=1, vetter=name, config=config, split=reference, versions={"scoring_version": 1},
            environment={}, seed=seed, started="2026-01-01T00:00:00+00:00",
        )  # fmt: skip
        write_run_record(out, record)
        for number, candidate in enumerate(split.candidates):
            flip = bool(wrong) and number % wrong == 0
            answer = {"YES": "NO", "NO": "YES"}[candidate.truth] if flip else candidate.truth
            broken = number < errors
            line = Prediction(
                id=candidate.id,
                task="cv",
                answer=None if broken else answer,
                outcome="error" if broken else "answered",
            )
            append_line(out / "predictions.jsonl", line.model_dump(mode="json"))
        return out

    return make


def write_answers(path, split_folder, answer="YES"):
    split, _ = choose_split(str(split_folder))
    path.write_text("id,task,answer\n" + "".join(f"{c.id},cv,{answer}\n" for c in split.candidates))
    return path


def test_ranks_differences_and_settings_are_printed(make_run, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    runs = [make_run("good", 20, threshold=0.5), make_run("poor", 2, threshold=0.7), make_run("same", 20)]
    assert call("compare", *runs, "--margin", "0.9") == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "macro-f1, main track (cv): 60 candidates, 60 objects" in printed
    assert "1–2 good" in printed
    assert "3 poor" in printed
    assert "apart" in printed
    assert "config.threshold 0.5 good 0.7 poor not recorded same" in printed
    assert "McNemar" in printed


def test_a_setting_of_many_entries_is_told_by_a_few_that_differ(make_run, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    tasks = {task: {"slope": 0.5, "YES": 24} for task in ("cs", "cv", "mg", "ss", "wd")}
    other = {task: {"slope": 0.123456789, "YES": 24} for task in tasks}
    runs = [
        make_run("a", 20, calibration=tasks, hash="ab" * 32, style="[plain"),
        make_run("b", 2, calibration=other, hash="cd" * 32, style="{words}"),
        make_run("c", 3),
    ]
    assert call("compare", *runs) == 0
    shown = capsys.readouterr().out.partition("What differs")[2]
    assert max(len(line) for line in shown.splitlines()) <= 80
    monkeypatch.setenv("COLUMNS", "200")
    assert call("compare", *runs) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "cs.YES 24, cs.slope 0.1235, cv.YES 24 and 7 more b" in words
    assert "abababababab… a" in words
    assert "[plain a {words} b not recorded c" in words
    assert call("compare", *runs[:2], "--json") == 0
    found = json.loads(capsys.readouterr().out)["settings_that_differ"]
    assert json.loads(found["config.calibration"]["b"]) == other  # whole
    assert call("compare", *runs[:2]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert (
        "cs.slope 0.1235, cv.slope 0.1235, mg.slope 0.1235 and 2 more b" in words
    )  # YES is the same for both


def test_json_holds_every_number_and_the_settings(make_run, capsys):
    runs = [make_run("a", 20, seed=1), make_run("b", 2)]
    assert call("compare", *runs, "--json", "--metric", "accuracy") == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["value"] for row in found["systems"]] == pytest.approx([57 / 60, 30 / 60])
    (pair,) = found["pairs"]
    assert pair["difference"] == pytest.approx(27 / 60)
    assert (pair["mcnemar"]["only_higher"], pair["mcnemar"]["only_lower"]) == (27, 0)
    assert pair["apart"]
    assert found["settings_that_differ"]["seed"] == {"a": "1", "b": "0"}
    assert "split" not in found["settings_that_differ"]


def test_csv_has_a_row_a_pair(make_run, capsys):
    runs = [make_run(f"s{wrong}", wrong) for wrong in (20, 5, 2)]
    assert call("compare", *runs, "--csv", "--metric", "f1:cv") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["higher"], row["lower"]) for row in rows] == [("s20", "s5"), ("s20", "s2"), ("s5", "s2")]
    assert all(row["metric"] == "f1:cv" and float(row["mcnemar_p"]) <= 1 for row in rows)


def test_files_and_runs_stand_side_by_side(make_run, split_folder, tmp_path, capsys):
    answers = write_answers(tmp_path / "yes.csv", split_folder)
    assert call("compare", make_run("good", 20), answers, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["system"] for row in found["systems"]] == ["good", "yes"]
    assert found["systems"][1]["value"] == pytest.approx(0.5)  # 20 of 60 are positive: 2·20 / (20 + 60)
    assert found["settings_that_differ"]["vetter"] == {"good": "good", "yes": "not recorded"}
    assert found["settings_that_differ"]["answers.outcomes_declared"] == {"good": "yes", "yes": "no"}


def test_files_alone_need_a_split(split_folder, tmp_path, capsys):
    files = [write_answers(tmp_path / f"{a}.csv", split_folder, a) for a in ("YES", "NO")]
    assert call("compare", *files) == 2
    assert "--split" in capsys.readouterr().err
    assert call("compare", *files, "--split", split_folder) == 0
    assert "YES" in capsys.readouterr().out


def test_files_about_another_track_are_compared_on_it(tmp_path, make_split, capsys):
    both = make_split(30)
    other = (
        replace(c, id=f"o-{c.id}", track="extreme", object_id=f"o-{c.object_id}") for c in both.candidates
    )
    split = replace(both, candidates=(*both.candidates, *other))
    write_split(split, tmp_path / "two")
    files = []
    for answer in ("YES", "NO"):
        files.append(tmp_path / f"{answer}.csv")
        rows = "".join(f"{c.id},cv,{answer}\n" for c in split.select(track="extreme").candidates)
        files[-1].write_text("id,task,answer\n" + rows)
    assert call("compare", *files, "--split", tmp_path / "two", "--track", "extreme", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["track"], found["candidates"]) == ("extreme", 30)
    assert call("compare", *files, "--split", tmp_path / "two") == 2  # about main, unless said otherwise


def test_a_broken_run_is_shown_without_a_rank(make_run, capsys):
    runs = [make_run("a", 20), make_run("b", 2), make_run("broken", 0, errors=3)]
    assert call("compare", *runs) == 0
    assert "Not ranked: broken, incomplete" in " ".join(capsys.readouterr().out.split())


def test_only_neighbours_of_many_systems_are_printed(make_run, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    runs = [make_run(f"s{k}", k + 2) for k in range(9)]
    assert call("compare", *runs) == 0
    assert "all 36 pairs" in capsys.readouterr().out
    assert call("compare", *runs, "--all-pairs") == 0
    assert "all 36 pairs" not in capsys.readouterr().out


def test_names_are_never_read_as_markup(make_run, capsys):
    assert call("compare", make_run("[red]x[/]", 20, folder="x"), make_run("b", 2)) == 0
    assert "[red]x[/]" in capsys.readouterr().out


def test_what_cannot_be_compared_is_told(make_run, split_folder, tmp_path, make_split, capsys):
    write_split(make_split(30), tmp_path / "other")
    one, two = make_run("a", 20), make_run("b", 2, place=tmp_path / "other")
    for arguments, told in (
        ((one,), "two systems or more"),
        ((one, one), "named twice"),
        ((one, tmp_path / "absent"), "no such run folder"),
        ((one, two), "did not answer the same candidates"),
        ((one, make_run("c", 3), "--metric", "auc"), "no such metric"),
        ((one, make_run("d", 3), "--metric", "f1:wd"), "no candidates of that track and task"),
        ((one, make_run("e", 3), "--margin", "2"), "a margin is"),
        ((one, make_run("f", 3), "--part", "dev"), "names its own part"),
        ((one, make_run("a", 3, folder="sub")), None),
    ):
        code = call("compare", *arguments)
        captured = capsys.readouterr()
        assert code == (2 if told else 0)
        if told:
            assert told in captured.err
            assert captured.out == ""
        else:
            assert "a (sub)" in captured.out


@pytest.mark.slow
def test_the_bench_prints_cost_and_coverage(capsys):
    assert call("bench", "scoring", "--quick", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["cost"]["systems"] == 10
    assert min(found["cost"]["bootstrap_s"], found["cost"]["everything_s"]) > 0
    assert found["cost"]["memory_MB"] > 50  # of this whole process, whatever else it has done
    near_one = [row for row in found["intervals"] if row["tpr"] == 0.98 and row["design"]["positives"] == 20]
    assert near_one[0]["plain"] < 0.7
    assert near_one[0]["ours"] > 0.9
    assert all(row["ours"] > 0.86 for row in found["intervals"])  # 0.95 − 4σ of 100 repeats
    assert all(row["ranks"] >= 0.8 for row in found["comparisons"])


def test_a_metric_names_its_task_in_any_official_spelling(make_run, capsys):
    runs = (make_run("one", 4), make_run("other", 9))
    said = []
    for metric in ("f1:cv", "f1:CV", "F1:Cataclysmic Variable"):
        assert call("compare", *runs, "--metric", metric, "--json") == 0
        said.append(json.loads(capsys.readouterr().out))
    assert said[0]["metric"] == "f1:cv"
    assert said[0] == said[1] == said[2]
    assert call("compare", *runs, "--metric", "f1:nova") == 2
    assert "no such task" in capsys.readouterr().err
