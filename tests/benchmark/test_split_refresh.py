"""Refreshing a split, sealing its fresh part, and ranks under another selector."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from specvi_benchmark.cli.main import main
from specvi_benchmark.errors import UserError
from specvi_benchmark.runs.selectors import rank_change, selections
from specvi_benchmark.splits import Split
from specvi_benchmark.splits.build import build_split
from specvi_benchmark.splits.families import fit_other
from specvi_benchmark.splits.io import read_split, write_split
from specvi_benchmark.splits.recipe import Recipe, WeakClassifier, load_recipe
from specvi_benchmark.splits.refresh import refresh_split
from specvi_benchmark.splits.seal import (
    label_hash,
    question_hash,
    read_secret,
    seal,
    verify_seal,
    write_questions,
    write_sealed,
)
from specvi_benchmark.splits.simulated import SimulatedArchive
from specvi_benchmark.splits.verify import verify_split


class FirstRelease(SimulatedArchive):
    """The first thousand spectra of the archive: what was there before it grew."""

    @property
    def shards(self):
        return 2

    @property
    def identity(self):
        return {**super().identity, "release": "first"}


def toy(version="1", size=1500, **more):
    mini = load_recipe("mini").model_dump(mode="json")
    source = mini["source"] | {
        "size": size,
        "field": {"fg-star": 3, "k-giant": 1},
        "rare": {"cv-quiescent": 3, "cv-polar": 1, "be-star": 3, "planetary-nebula": 3},
        "overlap": 0.0,
    }
    sets = [
        {
            "tasks": ["cv"],
            "track": "main",
            "positives_filter": "none",
            "counts": {"train": [8, 8], "test": [5, 25]},
        }
    ]
    weak = mini["weak_classifier"] | {"acceptance": 0.3, "positives": 50}
    return Recipe.model_validate(
        mini
        | {"name": "toy", "version": version, "source": source, "sets": sets, "weak_classifier": weak}
        | more
    )


def specvi(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    output = capsys.readouterr()
    return ended.value.code or 0, output.out, output.err


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    work = tmp_path_factory.mktemp("screened")
    return build_split(toy(), archive=FirstRelease(toy().source), work=work), work


@pytest.fixture(scope="module")
def refreshed(first):
    """The archive grows from 1000 to 1500 spectra; two truths of the first version were wrong."""
    split, work = first
    wrong = [next(c for c in split.candidates if c.truth == truth) for truth in ("YES", "NO")]
    candidates = tuple(
        replace(c, truth="NO" if c.truth == "YES" else "YES") if c in wrong else c for c in split.candidates
    )
    before = Split(split.name, split.version, candidates, split.recipe)
    return before, wrong, refresh_split(before, toy("2"), work=work)


def test_what_was_in_it_stays_as_it_was(refreshed):
    before, wrong, done = refreshed
    gone = {c.id for c in wrong}
    after = {c.id: c for c in done.split.candidates}
    for c in before.candidates:
        if c.id not in gone:
            assert after[c.id] is c
    assert done.split.version == "2"
    assert done.split.recipe["extends"]["fingerprint"] == before.fingerprint


def test_what_the_new_labels_contradict_is_withdrawn_and_never_turned_round(refreshed):
    _, wrong, done = refreshed
    assert {item.id for item in done.withdrawn} == {c.id for c in wrong}
    assert {item.truth: item.why.split(":")[0] for item in done.withdrawn} == {
        "NO": "now a member", "YES": "no longer a member",
    }  # fmt: skip
    assert {entry.id for entry in done.difference.removed} == {c.id for c in wrong}
    assert [change for change in done.difference.changed if change.what == "truth"] == []


def test_only_new_objects_come_and_the_result_is_sound(refreshed):
    before, _, done = refreshed
    old = {c.object_id for c in before.candidates}
    assert not old & {c.object_id for c in done.fresh.candidates}
    tally = Counter((c.part, c.truth) for c in done.fresh.candidates)
    assert tally == {("train", "YES"): 8, ("train", "NO"): 8, ("test", "YES"): 5, ("test", "NO"): 25}
    assert len(done.difference.added) == len(done.fresh.candidates) == 46
    assert [check.name for check in verify_split(done.split) if check.verdict == "FAILS"] == []


def test_the_same_version_is_refused(first):
    split, work = first
    with pytest.raises(UserError, match="a version of its own"):
        refresh_split(split, toy("1"), work=work)


@pytest.mark.slow
def test_the_command_writes_the_refreshed_split_and_the_fresh_part(capsys, tmp_path, first, monkeypatch):
    monkeypatch.setenv("SPECVI_HOME", str(tmp_path / "home"))
    write_split(first[0], tmp_path / "old")
    (tmp_path / "r.yaml").write_text(yaml.safe_dump(toy("2").model_dump(mode="json")))
    common = ("split", "refresh", tmp_path / "old", tmp_path / "r.yaml", "--processes", "1", "--out")
    code, out, err = specvi(capsys, *common, tmp_path / "new")
    assert code == 0, err
    assert "46 added, 0 removed, 46 unchanged" in out
    assert len(read_split(tmp_path / "new").candidates) == 92
    code, out, err = specvi(capsys, *common, tmp_path / "fresh", "--fresh-only")
    assert code == 0, err
    fresh = read_split(tmp_path / "fresh")
    assert not {c.object_id for c in fresh.candidates} & {c.object_id for c in first[0].candidates}
    commitment, secret = tmp_path / "c.json", tmp_path / "s.json"
    code, out, _ = specvi(
        capsys, "split", "seal", tmp_path / "fresh", "--out", commitment, "--secret", secret
    )
    assert code == 0
    assert secret.stat().st_mode & 0o077 == 0
    code, out, _ = specvi(capsys, "split", "open", commitment, tmp_path / "fresh", secret)
    assert code == 0
    assert "as sealed" in out
    code, _, err = specvi(
        capsys, "split", "seal", tmp_path / "fresh", "--out", commitment, "--secret", secret
    )
    assert code == 2
    assert "never overwritten" in err
    code, _, err = specvi(capsys, "split", "open", commitment, tmp_path / "new", secret)
    assert code == 2
    assert "questions are not those" in err


def test_a_seal_holds_for_the_labels_it_was_made_of(make_split):
    split = make_split()
    commitment, secret = seal(split)
    verify_seal(commitment, split, secret)
    assert set(json.loads(commitment.model_dump_json())["counts"]["test"]) == {"cv"}
    first = split.candidates[0]
    for change in (
        {"truth": "NO"}, {"object_id": "another"}, {"label_source": "another"}, {"decidable": False},
        {"label_evidence": {"note": "later"}},
    ):  # fmt: skip
        other = Split(split.name, split.version, (replace(first, **change), *split.candidates[1:]), {})
        with pytest.raises(UserError, match="labels are not those"):
            verify_seal(commitment, other, secret)
    for change in ({"redshift": 0.1}, {"part": "cal"}, {"id": "new"}):
        other = Split(split.name, split.version, (replace(first, **change), *split.candidates[1:]), {})
        with pytest.raises(UserError, match="questions are not those"):
            verify_seal(commitment, other, secret)
    shuffled = Split("other name", "9", split.candidates[::-1], {})
    verify_seal(commitment, shuffled, secret)


def test_a_commitment_with_other_counts_opens_nothing(make_split):
    split = make_split()
    commitment, secret = seal(split)
    more = commitment.model_copy(update={"counts": {"test": {"cv": 300}}})
    with pytest.raises(UserError, match="other counts"):
        verify_seal(more, split, secret)


def test_published_questions_are_checked_before_anything_is_opened(make_split, tmp_path, capsys):
    split, tracked = make_split(), make_split().candidates[0]
    extreme = replace(tracked, id="extreme", track="extreme", redshift=None)
    split = Split(split.name, split.version, (*split.candidates, extreme), {})
    folder = tmp_path / "questions"
    write_sealed(split, tmp_path / "c.json", tmp_path / "s.json", folder)
    code, out, err = specvi(capsys, "split", "open", tmp_path / "c.json", "--questions", folder)
    assert (code, out.splitlines()) == (0, ["small 1: questions as sealed"]), err
    path = folder / "test_cv.parquet"
    table = pq.read_table(path)
    rows = table.to_pylist()
    rows[3]["errors"]["ivar"][5] *= 1 + 1e-15
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path)
    code, _, err = specvi(capsys, "split", "open", tmp_path / "c.json", "--questions", folder)
    assert code == 2
    assert "questions are not those" in err
    pq.write_table(pa.concat_tables([table, table.slice(0, 1)]), path)  # a question asked twice
    assert specvi(capsys, "split", "open", tmp_path / "c.json", "--questions", folder)[0] == 2
    path.write_bytes(b"no parquet")
    for arguments in (("--questions", folder), (), (tmp_path / "split",)):
        code, _, err = specvi(capsys, "split", "open", tmp_path / "c.json", *arguments)
        assert code == 2
        assert "Traceback" not in err


@pytest.mark.parametrize("secret", ["c.json", "questions/s.json", "questions"])
def test_a_secret_is_never_put_where_it_would_be_published(make_split, tmp_path, secret):
    with pytest.raises(UserError, match="would be published"):
        write_sealed(make_split(), tmp_path / "c.json", tmp_path / secret, tmp_path / "questions")
    assert not list(tmp_path.iterdir())


def test_a_seal_that_could_not_write_its_questions_is_no_seal(make_split, tmp_path):
    """Questions come first: a seal without them, whose files are never overwritten, could not be published."""
    (tmp_path / "questions").mkdir()
    (tmp_path / "questions/mine").touch()
    paths = tmp_path / "c.json", tmp_path / "s.json", tmp_path / "questions"
    with pytest.raises(UserError, match="not empty"):
        write_sealed(make_split(), *paths)
    assert not paths[0].exists()
    assert not paths[1].exists()
    (tmp_path / "questions/mine").unlink()
    sealed = write_sealed(make_split(), *paths)
    assert paths[1].stat().st_mode & 0o777 == 0o600
    verify_seal(sealed, make_split(), read_secret(paths[1]))
    assert sorted(path.name for path in paths[2].iterdir()) == ["test_cv.parquet"]


def test_the_commitment_tells_nothing_without_the_salt(make_split):
    """Twelve labels can be guessed in 2^12 tries; with a salt that is not known no try can be checked."""
    split = make_split()
    (one, _), (two, _) = seal(split), seal(split)
    assert one.labels != two.labels
    assert one.questions == two.questions == question_hash(split)
    published = one.model_dump_json()
    assert "YES" not in published
    assert label_hash(split, bytes(32)) not in published
    turned = tuple(replace(c, truth="NO") for c in split.candidates)
    assert question_hash(Split("a", "1", turned, {})) == question_hash(split)  # nor do the questions tell it


def test_published_questions_hold_no_label(make_split, tmp_path):
    rows = make_split().candidates
    candidates = tuple(
        replace(c, label_evidence={"kind": "cv-polar"}, label_source="a-catalogue") for c in rows
    )
    split = Split("sealed", "1", candidates, {})
    (path,) = write_questions(split, tmp_path / "q")
    table = pq.read_table(path)
    found = table.to_pylist()
    assert [row["extra_info"]["index"] for row in found] == sorted(c.id for c in candidates)
    assert all(row["reward_model"] == {"ground_truth": None, "type": None} for row in found)
    text = str([{k: v for k, v in row.items() if k != "prompt"} for row in found])
    for word in ("YES", "cv-polar", "a-catalogue", "object-", *(c.spectrum.name for c in candidates)):
        assert word not in text
    assert {row["extra_info"]["name"] for row in found} == {""}
    assert found[0]["errors"]["ivar"] == min(candidates, key=lambda c: c.id).spectrum.ivar.tolist()


@pytest.mark.parametrize("family", ["random-forest", "logistic"])
def test_other_families_learn_what_is_there_to_learn_with_gaps_in_it(family):
    rng = np.random.default_rng(3)
    member = np.arange(400) % 2 == 0
    features = rng.normal(size=(400, 5)).astype(np.float32)
    features[:, 1] += 2 * member
    features[rng.random(400) < 0.2, 1] = np.nan
    features[:, 4] = np.nan  # can't be measured in any of them
    settings = WeakClassifier(
        acceptance=0.8, folds=2, positives=60, others_per_positive=1, trees=30, leaves=8, learning_rate=0.1
    )
    fitted = fit_other(family, features[:300], member[:300], settings, seed=1)
    score = fitted.predict(features[300:])
    again = fit_other(family, features[:300], member[:300], settings, seed=1).predict(features[300:])
    assert np.array_equal(score, again)
    assert ((score >= 0) & (score <= 1)).all()
    seen = np.isfinite(features[300:, 1])
    yes, no = score[seen & member[300:]], score[seen & ~member[300:]]
    assert (yes[:, None] > no).mean() > 0.85  # AUROC; two normals two sigma apart give 0.92


@pytest.mark.parametrize("family", ["random-forest", "logistic"])
def test_a_recipe_may_name_another_family(first, family):
    weak = toy().weak_classifier.model_copy(update={"family": family, "acceptance": 0.1})
    recipe = toy().model_copy(update={"weak_classifier": weak})
    split = build_split(recipe, work=first[1])
    assert split.recipe["weak_classifier"]["family"] == family
    assert len(split.candidates) == 46
    (shared,) = selections(first[0], split)
    assert 0 <= shared.shared_no < 1


def test_rank_changes_are_those_of_the_scores():
    scores = {"a": (0.9, 0.5), "b": (0.8, 0.7), "c": (0.7, 0.6), "none": (None, 0.1)}
    found = rank_change(scores, ("lightgbm", "logistic"), "main")
    assert {item.system: item.rank for item in found.systems} == {
        "a": (1, 3), "b": (2, 1), "c": (3, 2), "none": (None, None),
    }  # fmt: skip
    assert found.swapped == (("a", "b"), ("a", "c"))
    assert found.tau_b == pytest.approx(-1 / 3)  # one pair agrees, two do not


@pytest.mark.slow
def test_the_selectors_command_ranks_systems_on_both_selections(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("SPECVI_HOME", str(tmp_path / "home"))
    (tmp_path / "r.yaml").write_text(yaml.safe_dump(toy().model_dump(mode="json")))
    command = ("split", "selectors", tmp_path / "r.yaml", "--out", tmp_path / "o", "--second", "logistic", "--processes",
               "1", "--vetter", "always-yes", "--vetter", "rules", "--json")  # fmt: skip
    code, out, err = specvi(capsys, *command)
    assert code == 0, err
    told = json.loads(out[out.index("{") :])
    assert told["families"] == ["lightgbm", "logistic"]
    by_name = {item["system"]: item for item in told["systems"]}
    # Always YES on 5 of 30: precision 1/6, recall 1, F1 2/7, whatever was selected.
    assert by_name["always-yes"]["macro_f1"] == pytest.approx([2 / 7, 2 / 7])
    assert (tmp_path / "o" / "runs" / "logistic" / "rules" / "predictions.jsonl").exists()
