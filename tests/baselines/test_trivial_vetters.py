"""metadata-only and inverted-weak: what they use, what they refuse, and the training that `run --train` does."""

import json
from dataclasses import replace

import numpy as np
import pytest

from specvi_baselines import inverted_weak, metadata_only
from specvi_benchmark.cli.main import main
from specvi_benchmark.errors import UserError
from specvi_benchmark.runs.fitting import fit, load_system, read_fit_record, training_parts
from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.splits import Split
from specvi_benchmark.splits.io import write_split
from specvi_benchmark.vetting import load_vetter


@pytest.fixture
def leaky(make_split):
    """A split whose positives have three times the signal to noise; scores are low for positives."""

    def told(c):
        noise = 1.0 if c.truth == "YES" else 9.0
        s = c.spectrum
        spectrum = Spectrum(s.wavelength_AA, s.flux, s.ivar / noise, s.mask, name=s.name)
        score = 0.3 if c.truth == "YES" else 0.9
        name = f"{c.part} {c.object_id}"
        return replace(c, id=name, spectrum=spectrum, object_id=name, label_evidence={"weak_score": score})

    members = [told(c) for part in ("train", "test") for c in make_split(60, part=part).candidates]
    return Split("leaky", "1", tuple(members), {"weak_classifier": {"acceptance": 0.8}})


@pytest.fixture
def place(leaky, tmp_path):
    write_split(leaky, tmp_path / "leaky")
    return str(tmp_path / "leaky")


def right(vetter, split):
    truth = {c.id: c.truth for c in split.candidates}
    verdicts = list(vetter.vet([c.question for c in split.candidates]))
    return np.mean([verdict.answer == truth[verdict.id] for verdict in verdicts])


def test_metadata_only_finds_the_leak_and_never_looks_at_flux(leaky, place, tmp_path):
    vetter = load_system(fit("metadata-only", place, tmp_path / "model"))
    test = leaky.select(part="test")
    assert right(vetter, test) == 1
    dark = [
        replace(c.question, spectrum=Spectrum(
            c.spectrum.wavelength_AA, c.spectrum.flux[::-1], c.spectrum.ivar, c.spectrum.mask, name="other"))
        for c in test.candidates
    ]  # fmt: skip
    answers = [verdict.answer for verdict in vetter.vet(dark)]
    assert answers == [verdict.answer for verdict in vetter.vet([c.question for c in test.candidates])]


def test_training_is_recorded_repeated_and_never_mixed(leaky, place, tmp_path):
    spec = fit("metadata-only", place, tmp_path / "model")
    files = {path.name: path.read_bytes() for path in (tmp_path / "model").iterdir()}
    assert fit("metadata-only", place, tmp_path / "model") == spec
    fit("metadata-only", place, tmp_path / "again")
    assert {p.name: p.read_bytes() for p in (tmp_path / "again").iterdir()} == files
    learnt, held, source = training_parts(leaky, "here")
    record = read_fit_record(tmp_path / "model")
    assert (record.train_fingerprint, record.dev_fingerprint) == (learnt.fingerprint, held.fingerprint)
    assert source == record.dev_from == "train"
    assert not {c.object_id for c in learnt.candidates} & {c.object_id for c in held.candidates}
    assert load_system(spec).config["training"]["train_fingerprint"] == learnt.fingerprint
    with pytest.raises(UserError, match="another training"):
        fit("metadata-only", place, tmp_path / "model", seed=1)


def test_what_can_not_be_trained_is_refused(make_split, place, tmp_path):
    with pytest.raises(UserError, match="has to be trained first"):
        load_vetter("metadata-only")
    with pytest.raises(UserError, match="can't be trained"):
        fit("rules", place, tmp_path / "m")
    write_split(make_split(12), tmp_path / "test-only")
    with pytest.raises(UserError, match="no train part"):
        fit("metadata-only", str(tmp_path / "test-only"), tmp_path / "m")
    with pytest.raises(UserError, match="not a trained metadata-only"):
        metadata_only.create(str(tmp_path), {})


def test_inverted_weak_says_yes_where_the_classifier_said_not(leaky, place):
    vetter = inverted_weak.create(place, {})
    assert right(vetter, leaky) == 1
    verdicts = list(vetter.vet([c.question for c in leaky.candidates]))
    assert sorted({round(verdict.p_yes, 6) for verdict in verdicts}) == [0.1, 0.7]
    assert vetter.config == {"split": leaky.fingerprint, "threshold": 0.8}


def test_inverted_weak_needs_a_split_with_scores(make_split, tmp_path):
    with pytest.raises(UserError, match="needs the split"):
        inverted_weak.create(None, {})
    write_split(make_split(12), tmp_path / "plain")
    with pytest.raises(UserError, match="does not say"):
        inverted_weak.create(str(tmp_path / "plain"), {})


def specvi(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code or 0


def test_run_trains_first_and_says_on_what(leaky, place, tmp_path):
    command = (
        "run",
        "--vetter",
        "metadata-only",
        "--train",
        place,
        "--split",
        place,
        "--out",
        tmp_path / "run",
    )
    assert specvi(*command) == 0
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    learnt, _, _ = training_parts(leaky, "here")
    assert record["config"]["training"]["train_fingerprint"] == learnt.fingerprint
    assert record["counts"]["answered"] == 60
    assert (tmp_path / "run" / "model" / "fit.json").exists()
    assert specvi(*command) == 0


def test_a_track_is_chosen_and_main_is_the_default(make_split, tmp_path):
    members = make_split(12).candidates
    others = [replace(c, id=f"x{c.id}", track="extreme") for c in members]
    write_split(Split("two", "1", (*members, *others), {}), tmp_path / "two")
    for track, number in ((None, 12), ("main", 12), ("extreme", 12), ("all", 24)):
        asked = () if track is None else ("--track", track)
        out = tmp_path / f"run-{track}"
        assert specvi("run", "--vetter", "always-yes", "--split", tmp_path / "two", "--out", out, *asked) == 0
        record = json.loads((out / "run.json").read_text())
        assert record["counts"]["answered"] == number
        assert record["split"]["track"] == (None if track == "all" else track or "main")
        assert specvi("score", out) == 0
        results = json.loads((out / "results.json").read_text())
        tracks = [macro["track"] for macro in results["macro"]]
        assert tracks == (["main", "extreme"] if track == "all" else [track or "main"])
    assert specvi("run", "--vetter", "always-yes", "--split", tmp_path / "two", "--track", "cross-task") == 2
