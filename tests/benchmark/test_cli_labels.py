"""`specvi labels`: suspects, agreement and ceiling over files of answers."""

import json

import pytest
from sklearn.metrics import cohen_kappa_score

from specvi_benchmark.cli.main import main
from specvi_benchmark.splits.io import write_split

TRUTH = [number % 3 == 0 for number in range(30)]
WRONG = {
    0: (4, 7, 8, 10, 11, 13, 3, 6),
    1: (4, 7, 16, 9),
    2: (4, 19),
    3: (4,),
}  # system → where it contradicts


def call(*arguments):
    """Run the program in this process and return its exit code."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code or 0


@pytest.fixture
def folder(tmp_path, make_split):
    """Four systems of rising skill and a constant one; all four contradict the label of candidate 4."""
    split = make_split(30)
    write_split(split, tmp_path / "split")
    for system, wrong in WRONG.items():
        said = [truth ^ (number in wrong) for number, truth in enumerate(TRUTH)]
        write(tmp_path / f"system{system}.csv", split, ["YES" if yes else "NO" for yes in said])
    write(tmp_path / "constant.csv", split, ["YES"] * 30)
    return tmp_path


def write(path, split, answers):
    rows = [f"{c.id},{c.task.key},{a}" for c, a in zip(split.candidates, answers, strict=True) if a != "skip"]
    path.write_text("\n".join(["id,task,answer", *rows]) + "\n")


def files(folder, *names):
    return *(folder / f"{name}.csv" for name in names), "--split", folder / "split"


def test_suspects_are_listed_and_the_constant_left_out(folder, capsys):
    names = ("system0", "system1", "system2", "system3", "constant")
    assert call("labels", "suspects", *files(folder, *names), "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert [item["system"] for item in said["left_out"]] == ["constant"]
    (cv,) = said["tasks"]
    assert (cv["systems"], cv["candidates"], cv["unanimous"]) == (4, 30, 1)
    # Errors among the 20 labelled NO: 6, 3, 2 and 1.
    assert cv["expected_unanimous"] == pytest.approx(20 * (6 * 3 * 2 * 1) / 20**4)
    first = cv["suspects"][0]
    assert first["id"] == "cv-004"
    assert (first["label"], first["against"], first["answered"]) == ("NO", 4, 4)
    assert first["discrimination"] is None  # all contradict: no variety, no correlation


def test_suspects_in_words(folder, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    assert call("labels", "suspects", *files(folder, "system0", "system1", "system2", "constant")) == 0
    printed = capsys.readouterr().out
    assert "contradict the label of 1 of 30" in printed
    assert "cv-004" in printed
    assert "Left out, one answer throughout: constant (main cv)" in printed
    assert call("labels", "suspects", *files(folder, "system0", "constant")) == 0
    assert "fewer than two systems" in capsys.readouterr().out


def test_agreement_of_two(folder, capsys):
    assert call("labels", "agreement", *files(folder, "system0", "system1"), "--json") == 0
    said = json.loads(capsys.readouterr().out)
    (cv,) = said["tasks"]
    answers = [[truth ^ (n in WRONG[s]) for n, truth in enumerate(TRUTH)] for s in (0, 1)]
    assert cv["rated_by_two"] == 30
    assert cv["coefficients"]["Cohen κ"]["value"] == pytest.approx(cohen_kappa_score(*answers))
    assert cv["coefficients"]["raw"]["value"] == pytest.approx(22 / 30)
    assert cv["coefficients"]["raw"]["low"] < 22 / 30 < cv["coefficients"]["raw"]["high"]


def test_a_candidate_that_an_inspector_did_not_see_is_a_missing_rating(folder, make_split, capsys):
    answers = ["YES" if truth else "NO" for truth in TRUTH]
    write(folder / "part.csv", make_split(30), answers[:12] + ["skip"] * 18)
    assert call("labels", "agreement", *files(folder, "system3", "part"), "--json") == 0
    (cv,) = json.loads(capsys.readouterr().out)["tasks"]
    assert cv["rated_by_two"] == 12
    assert cv["coefficients"]["raw"]["value"] == pytest.approx(11 / 12)
    assert call("labels", "agreement", *files(folder, "system3", "part", "system0")) == 0
    printed = capsys.readouterr().out
    assert "Krippendorff" in printed
    assert "Cohen" not in printed  # of two only


def test_ceiling(capsys):
    wanted = ("--positives", 229, "--negatives", 1229, "--contamination", 0.02, "--missed", 0.002)
    assert call("labels", "ceiling", *wanted) == 0
    assert "F1 0.985" in capsys.readouterr().out
    assert call("labels", "ceiling", *wanted, "--json") == 0
    assert json.loads(capsys.readouterr().out)["recall"] == pytest.approx(0.98)
    assert call("labels", "ceiling", *wanted[:-1], 2) == 2


def test_one_run_is_no_comparison(folder, capsys):
    assert call("labels", "agreement", *files(folder, "system0")) == 2
    assert "two" in capsys.readouterr().err


def test_run_folders_name_their_own_part(folder, capsys):
    """Two runs of built-in systems, without --split and --part, as the help says."""
    for name in ("always-yes", "always-no"):
        assert call("run", "--vetter", name, "--split", folder / "split", "--out", folder / name) == 0
    capsys.readouterr()
    runs = (folder / "always-yes", folder / "always-no")
    assert call("labels", "agreement", *runs, "--json") == 0
    (cv,) = json.loads(capsys.readouterr().out)["tasks"]
    assert cv["rated_by_two"] == 30
    assert cv["coefficients"]["raw"]["value"] == 0
    assert call("labels", "suspects", *runs) == 0
    assert "Left out, one answer throughout: always-no" in capsys.readouterr().out
    assert call("labels", "suspects", *runs, "--part", "cal") == 2
    assert "names its own part" in capsys.readouterr().err
