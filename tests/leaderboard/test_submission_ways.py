"""Submissions made, checked and run again: by the suite's own runs and by files made elsewhere."""

import csv
import json
import sys

import pytest
import yaml

from specvi_benchmark.cli.main import main
from specvi_benchmark.errors import UserError
from specvi_benchmark.runs.record import choose_split
from specvi_benchmark.runs.runner import run
from specvi_benchmark.splits import Split
from specvi_benchmark.splits.io import read_split, write_split
from specvi_benchmark.vetting import load_vetter
from specvi_leaderboard.submissions.schema import Description
from specvi_leaderboard.submissions.submit import make_submission
from specvi_leaderboard.submissions.text import skeleton
from specvi_leaderboard.submissions.validate import validate_submission
from specvi_leaderboard.submissions.verify import declared_vetter, verify

META = (
    "name: Reader 1.0\nauthors: [Ada]\ndate: 2026-03-01\nkind: rules\nlicence: MIT\nmodel: {vetter: rules}\n"
)


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return caught.value.code, out, err


@pytest.fixture
def meta(tmp_path):
    path = tmp_path / "model.yaml"
    path.write_text(META)
    return path


def test_a_run_becomes_a_submission_with_the_scores_of_its_answers(make_run, toy, meta, tmp_path, capsys):
    out = tmp_path / "submissions" / "reader"
    code, said, _ = call(capsys, "submit", make_run("reader", 9, 4), "--meta", meta, "--out", out)
    assert code == 0
    assert "0.720" in said  # 9 found, 3 missed, 4 false alarms: 18 / 25
    content = yaml.safe_load((out / "submission.yaml").read_text())
    assert content["split"]["fingerprint"] == read_split(toy).fingerprint
    assert content["run"]["vetter"] == "reader"
    assert str(tmp_path) not in (out / "submission.yaml").read_text()
    code, said, _ = call(capsys, "validate", out, "--split", toy)
    assert code == 0
    assert "reader is valid" in said
    assert "0.720" in said


def test_validate_gives_results_to_scripts(make_run, toy, meta, tmp_path, capsys):
    out = tmp_path / "submissions" / "reader"
    call(capsys, "submit", make_run("reader", 9, 4), "--meta", meta, "--out", out)
    code, said, _ = call(capsys, "validate", out, "--split", toy, "--json")
    assert code == 0
    assert json.loads(said)["macro"][0]["ranked"]["f1"]["value"] == pytest.approx(18 / 25)


def test_answers_made_elsewhere_need_id_task_and_answer(make_run, toy, meta, tmp_path, capsys):
    split = read_split(toy)
    foreign = tmp_path / "answers.csv"
    with foreign.open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["id", "task", "answer", "remark"])
        for number, c in enumerate(split.candidates):
            rows.writerow([c.id, c.task.key, "" if number == 0 else c.truth, "=1+1"])
    out = tmp_path / "submissions" / "elsewhere"
    code, said, err = call(
        capsys, "submit", foreign, "--meta", meta, "--split", toy, "--track", "all", "--out", out
    )
    assert code == 0, err
    assert "outcomes are not declared" in said
    kept = (out / "predictions.jsonl").read_text()
    assert "remark" not in kept
    checked = validate_submission(out, [str(toy)])
    assert [p.outcome.value for p in checked.matched.predictions].count("unparsed") == 1


def test_what_would_be_refused_leaves_nothing_behind(make_run, meta, tmp_path, capsys):
    folder = make_run("reader", 9, 4)
    log = folder / "predictions.jsonl"
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:-1]))
    out = tmp_path / "submissions" / "reader"
    code, _, err = call(capsys, "submit", folder, "--meta", meta, "--out", out)
    assert code == 2
    assert "do not fit the split" in err
    assert not out.exists()
    assert [path.name for path in out.parent.iterdir()] == [] if out.parent.exists() else True


def test_the_template_is_a_valid_description(capsys, tmp_path):
    from specvi_leaderboard.submissions.submit import read_description

    code, said, _ = call(capsys, "submit", "--template")
    assert code == 0
    path = tmp_path / "model.yaml"
    path.write_text(said)
    assert read_description(path).kind == "agent"


@pytest.mark.parametrize("kind", ["classical", "deep-learning", "vlm", "agent"])
def test_what_learns_says_from_what(kind):
    with pytest.raises(ValueError, match="names what it was trained on"):
        Description.model_validate(
            yaml.safe_load(META.replace("2026-03-01", "'2026-03-01'")) | {"kind": kind}
        )


def test_names_that_look_alike_share_a_skeleton():
    for other in ("SPEC-O3-7B", "spec o3 7b", "Spec_03_7B", "Spec-o3.7B"):
        assert skeleton(other) == skeleton("Spec-o3-7B")
    assert skeleton("Spec-o3-3B") != skeleton("Spec-o3-7B")


def test_a_shared_object_between_its_training_part_and_the_scored_one_is_told(make_split, tmp_path):
    from dataclasses import replace

    from specvi_leaderboard.submissions.submit import read_description

    test = make_split("Both").candidates
    train = tuple(replace(c, id=f"t-{c.id}", part="train") for c in test[:3])
    place = tmp_path / "both"
    write_split(Split("Both", "1", (*test, *train), {}), place)
    split, reference = choose_split(str(place), track="all")
    folder = tmp_path / "run"
    run(load_vetter("always-yes"), "always-yes", split, reference, folder)
    path = tmp_path / "model.yaml"
    path.write_text(META + "training: [{name: Both 1, part: train}]\n")
    checked = make_submission(folder, read_description(path), tmp_path / "s" / "learner")
    assert any("shares 3 of" in note for note in checked.notes)
    path.write_text(META + "training: [{name: Both 1, part: test}]\n")
    with pytest.raises(UserError, match="trained on the candidates it is scored on"):
        make_submission(folder, read_description(path), tmp_path / "s" / "cheat")


# Running it again


@pytest.fixture
def by_rules(toy, meta, tmp_path, capsys, make_run):
    """Return a submission of the answers of `always-no`, for which the vetter `always-no` is declared."""
    split, reference = choose_split(str(toy), track="all")
    folder = tmp_path / "run"
    run(load_vetter("always-no"), "always-no", split, reference, folder)
    meta.write_text(META.replace("vetter: rules", "vetter: always-no"))
    out = tmp_path / "submissions" / "no-sayer"
    call(capsys, "submit", folder, "--meta", meta, "--out", out)
    return out


def test_verify_reproduces_an_honest_submission(by_rules, toy, tmp_path, capsys):
    code, said, _ = call(
        capsys, "verify", by_rules, "--split", toy, "--out", tmp_path / "v", "--sample", 30, "--seed", 4
    )
    assert code == 0
    # Clopper & Pearson for 30 of 30: the lower end is 0.025 to the power of 1 / 30.
    assert f"30 answers agree, 100.0% ({0.025 ** (1 / 30):.1%} to 100.0%)" in said
    assert "digest" in said


def altered(folder, share):
    path = folder / "predictions.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines[:: round(1 / share)]:
        line["answer"] = "YES" if line["answer"] == "NO" else "NO"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_verify_finds_answers_that_the_model_does_not_give(by_rules, toy, tmp_path, capsys):
    altered(by_rules, 1 / 5)
    code, said, _ = call(
        capsys, "verify", by_rules, "--split", toy, "--out", tmp_path / "v", "--all", "--json"
    )
    assert code == 1
    found = json.loads(said)
    assert found["candidates"] == 360
    assert found["agree"] == 288
    assert len(found["differences"]) == 72
    assert not found["reproduced"]


def test_a_stopped_verification_goes_on_with_the_same_sample(by_rules, toy, tmp_path):
    checked = validate_submission(by_rules, [str(toy)])
    spec, vetter = declared_vetter(checked.submission.model, None, by_rules)
    first = verify(checked, spec, vetter, tmp_path / "v", sample=20, seed=1)
    log = tmp_path / "v" / "predictions.jsonl"
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:7]))
    assert verify(checked, spec, vetter, tmp_path / "v", sample=20, seed=1) == first
    with pytest.raises(UserError, match="another run"):
        verify(checked, spec, vetter, tmp_path / "v", sample=20, seed=2)


def test_without_a_public_model_nothing_can_be_run(make_run, toy, meta, tmp_path, capsys):
    meta.write_text(META.replace("model: {vetter: rules}\n", ""))
    out = tmp_path / "submissions" / "reader"
    call(capsys, "submit", make_run("reader", 9, 4), "--meta", meta, "--out", out)
    code, _, err = call(capsys, "verify", out, "--split", toy, "--out", tmp_path / "v")
    assert code == 2
    assert "no public model is declared" in err


def test_a_folder_here_is_never_taken_for_a_model_of_the_hub(by_rules, tmp_path, monkeypatch):
    from specvi_leaderboard.submissions.schema import PublicModel

    (tmp_path / "me" / "model").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="has the name of the model on the Hub"):
        declared_vetter(PublicModel(vetter="transformers", hub_id="me/model", revision="a" * 40), None, "x")


def test_checking_imports_no_model_library(by_rules, toy):
    import subprocess

    code = (
        "import sys; from pathlib import Path\n"
        "from specvi_leaderboard.submissions.validate import validate_submission\n"
        f"validate_submission(Path({str(by_rules)!r}), [{str(toy)!r}])\n"
        "print({'torch', 'transformers', 'pickle5'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.slow
def test_a_checkpoint_is_run_again_from_a_local_copy(make_split, tmp_path):
    """A tiny untrained model at temperature 0 says the same noise again: nothing is an answer, and all of it agrees."""
    pytest.importorskip("torch", reason="torch is not installed (pip install 'specvi-bench[train]')")
    pytest.importorskip("transformers", reason="transformers is not installed")
    from specvi_agents.tiny import build_tiny_model

    tiny = build_tiny_model(tmp_path / "tiny")
    few = make_split("Few").candidates[9:14]
    write_split(Split("Few", "1", few, {}), tmp_path / "few")
    split, reference = choose_split(str(tmp_path / "few"), track="all")
    options = {"max_tokens": "8", "temperature": "0"}
    spec = f"transformers:{tiny}"
    run(load_vetter(spec, options), spec, split, reference, tmp_path / "run")
    model = {"vetter": "transformers", "hub_id": "me/tiny", "revision": "a" * 40, "options": options}
    more = {"date": "2026-03-01", "kind": "agent", "training": [{"name": "none"}], "model": model}
    description = Description.model_validate(yaml.safe_load(META) | more)
    checked = make_submission(tmp_path / "run", description, tmp_path / "submissions" / "tiny")
    spec, vetter = declared_vetter(checked.submission.model, str(tiny), "tiny")
    found = verify(checked, spec, vetter, tmp_path / "again", sample=None)
    assert (found.candidates, found.agree, found.reproduced) == (5, 5, True)
    assert not found.sampled
