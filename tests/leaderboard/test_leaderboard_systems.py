import json
from importlib.metadata import entry_points
from itertools import combinations

import pytest
from sklearn.metrics import f1_score

from specvi_benchmark.errors import UserError
from specvi_benchmark.runs.compared import shown_vetter
from specvi_benchmark.runs.predictions import read_run_predictions
from specvi_benchmark.splits.io import read_split, write_split
from specvi_leaderboard.entry import KINDS
from specvi_leaderboard.systems import read_systems, refuse_mixed


def by_name(systems):
    return {entry.system.name: entry.system for entry in systems}


def test_scores_are_those_of_the_predictions_and_the_split(make_run, toy):
    folder = make_run("reader", 9, 4, other=["abstained", "unparsed"])
    result = by_name(read_systems([folder]))["reader"].results
    answers = read_run_predictions(folder / "predictions.jsonl")
    reference = {}
    for task in read_split(toy).tasks:
        chosen = read_split(toy).select(task=task).candidates
        truth = [candidate.truth == "YES" for candidate in chosen]
        # The ranked rule: whatever is no answer is the wrong answer.
        said = [
            {"YES": True, "NO": False}.get(answers[task, candidate.id].answer, candidate.truth != "YES")
            for candidate in chosen
        ]
        reference[task] = f1_score(truth, said)
    assert {score.task: score.ranked.f1.value for score in result.tasks} == pytest.approx(reference)
    assert result.macro[0].ranked.f1.value == pytest.approx(sum(reference.values()) / len(reference))


def test_what_a_run_claims_about_itself_is_never_read(make_run):
    folder = make_run("reader", 9, 4)
    before = by_name(read_systems([folder]))["reader"].results
    (folder / "results.json").write_text(json.dumps({"macro": [{"track": "main", "f1": 1.0}]}))
    assert by_name(read_systems([folder]))["reader"].results == before


def test_the_constants_stand_in_every_table(make_run):
    systems = by_name(read_systems([make_run("reader", 9, 4)]))
    # The toy has no train part and no selection scores, so two rows are lacking, and are told by `lacking`.
    assert list(systems) == ["reader", "always-yes", "always-no", "rules"]
    # 12 of 72 positive: always YES has F1 = 2·12 / (2·12 + 60).
    assert systems["always-yes"].results.macro[0].ranked.f1.value == pytest.approx(24 / 84)
    assert systems["always-no"].results.macro[0].ranked.f1.value == 0
    assert systems["always-yes"].trivial
    assert not systems["reader"].trivial
    assert not systems["rules"].trivial
    assert systems["always-yes"].seconds is None


def test_a_constant_that_was_run_is_not_added_again(make_run):
    systems = [entry.system for entry in read_systems([make_run("always-yes", 12, 60)])]
    assert [system.name for system in systems] == ["always-yes", "always-no", "rules"]
    assert systems[0].started is not None
    assert systems[1].started is None


def test_cost_and_seconds_are_means_over_candidates(make_run):
    folder = make_run("reader", 9, 4, cost_usd=0.004, seconds=3.5)
    system = by_name(read_systems([folder]))["reader"]
    assert system.cost_usd == pytest.approx(0.004)
    assert system.seconds == pytest.approx(3.5)


def test_an_unfinished_run_counts_what_is_missing_as_error(make_run):
    folder = make_run("reader", 12, 0)
    log = folder / "predictions.jsonl"
    kept = log.read_text().splitlines(keepends=True)[:-10]
    log.write_text("".join(kept))
    result = by_name(read_systems([folder]))["reader"].results
    assert result.partial is not None
    assert result.partial.missing == 10
    assert sum(score.ledger["NO"]["error"] for score in result.tasks) == 10
    assert not result.rankable


def test_runs_over_different_candidates_are_refused(make_run, toy, tmp_path):
    half = read_split(toy).select(task="cv")
    write_split(half, tmp_path / "half")
    runs = [make_run("a", 9, 4), make_run("b", 9, 4), make_run("c", 9, 4, at=tmp_path / "half")]
    with pytest.raises(UserError, match="more than one split fingerprint") as caught:
        read_systems(runs)
    assert str(runs[0]) in str(caught.value)
    assert str(runs[2]) in str(caught.value)
    assert read_split(toy).fingerprint[:12] in str(caught.value)
    assert half.fingerprint[:12] in str(caught.value)


def test_the_same_run_twice_is_refused(make_run):
    folder = make_run("reader", 9, 4)
    with pytest.raises(UserError, match="named twice"):
        read_systems([folder, folder.parent / "." / folder.name])


def test_no_run_and_a_folder_without_one_are_refused(tmp_path):
    with pytest.raises(UserError, match="no run to show"):
        read_systems([])
    with pytest.raises(UserError, match="not a run folder"):
        read_systems([tmp_path])


def test_runs_of_one_vetter_are_named_by_their_folders(make_run):
    folders = [make_run("reader", 9, 4, folder="first"), make_run("reader", 8, 4, folder="second")]
    names = [entry.system.name for entry in read_systems(folders)]
    assert names[:2] == ["reader (first)", "reader (second)"]


def test_runs_that_no_name_tells_apart_are_refused(make_run):
    folders = [make_run("reader", 9, 4, folder="x/run"), make_run("reader", 8, 4, folder="y/run")]
    with pytest.raises(UserError, match="can't be told apart"):
        read_systems(folders)


def test_a_split_that_has_moved_is_found_where_it_is_named(make_run, toy, tmp_path):
    folder = make_run("reader", 9, 4)
    before = by_name(read_systems([folder]))
    toy.rename(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="no longer where it was"):
        read_systems([folder])
    assert by_name(read_systems([folder], str(tmp_path / "elsewhere"))) == before


@pytest.mark.parametrize("values", list(combinations([1, 2, 3], 2)))
def test_refuse_mixed_names_every_value_and_who_has_it(values):
    first, second = values
    with pytest.raises(UserError) as caught:
        refuse_mixed("scoring version", {"a": first, "b": second, "c": first})
    assert f"{first}: a, c" in str(caught.value)
    assert f"{second}: b" in str(caught.value)


def test_refuse_mixed_lets_one_value_pass():
    refuse_mixed("scoring version", {"a": 1, "b": 1})


def test_every_vetter_of_the_suite_has_a_kind():
    names = {
        entry.name for entry in entry_points(group="specvi.vetters") if entry.value.startswith("specvi_")
    }
    assert names == set(KINDS)


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ("rules", "rules"),
        ("openai:gpt-5.4-mini", "openai:gpt-5.4-mini"),
        ("transformers:Maxwell-Jia/spec-o3-7b", "transformers:Maxwell-Jia/spec-o3-7b"),
        ("transformers:/data/me/sft-7b/model", "transformers:sft-7b"),
        ("ensemble:/a/runs/lightgbm/model,full/runs/spectrum-net/model", "ensemble:lightgbm,spectrum-net"),
    ],
)
def test_folders_of_a_machine_are_shown_by_their_last_names(spec, shown):
    assert shown_vetter(spec) == shown
