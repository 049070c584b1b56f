"""Leaks that are planted must be found, and none where there is none."""

import numpy as np
import pytest

from specvi_benchmark.spectrum import Claims, Spectrum
from specvi_benchmark.splits import Candidate, Split
from specvi_benchmark.splits.difference import compare_splits
from specvi_benchmark.splits.leaks import find_leaks
from specvi_benchmark.splits.near import near_duplicates
from specvi_benchmark.splits.verify import verify_split
from specvi_benchmark.tasks import get_task
from specvi_benchmark.vetting import Question

WAVELENGTH = np.geomspace(3800, 9100, 1500)


def candidate(number, part, truth, rng, *, noise=1.0, redshift=0.0, score=0.9, flux=None, **more):
    light = 10 + np.sin(WAVELENGTH / 200 + number) + rng.normal(0, noise, WAVELENGTH.size)
    flux = light if flux is None else flux
    values = {
        "id": f"{part}-{number}",
        "task": get_task("cv"),
        "track": "main",
        "part": part,
        "spectrum": Spectrum(
            WAVELENGTH,
            flux,
            np.full(WAVELENGTH.size, noise**-2),
            np.zeros(WAVELENGTH.size, bool),
            name=f"{part}-{number}",
            mjd=int(rng.integers(56000, 60000)),
            ra_deg=float(rng.uniform(0, 360)),
            dec_deg=float(rng.uniform(-10, 60)),
            claims=Claims(redshift=redshift),
        ),
        "redshift": redshift,
        "truth": truth,
        "object_id": f"{part} {number}",
        "object_id_source": "simulated",
        "label_source": "made",
        "label_evidence": {"weak_score": score},
    }
    return Candidate(**(values | more))


def none(truth, rng):
    return {}


def made(leak=none, n=60):
    rng = np.random.default_rng(8)
    sizes = {"train": (n, n), "test": (n // 3, n * 5 // 3)}
    members = []
    for part, (yes, no) in sizes.items():
        for number in range(yes + no):
            truth = "YES" if number < yes else "NO"
            members.append(candidate(number, part, truth, rng, **leak(truth, rng)))
    return Split("made", "1", tuple(members), {})


def above_chance(split):
    return {leak.probe for leak in find_leaks(split) if leak.above_chance}


def test_nothing_is_found_where_nothing_leaks():
    def varied(_, rng):
        return {"score": float(rng.uniform(0.8, 1)), "noise": float(rng.uniform(0.5, 2))}

    split = made(varied)
    assert {leak.probe for leak in find_leaks(split)} == {
        "metadata-only", "metadata without redshift", "inverted-weak",
    }  # fmt: skip
    assert above_chance(split) == set()


def test_a_leak_by_redshift_is_told_from_the_others():
    split = made(lambda truth, rng: {"redshift": float(rng.uniform(0, 1) + 0.8 * (truth == "YES"))})
    assert above_chance(split) == {"metadata-only"}
    split = made(lambda truth, rng: {"noise": float(rng.uniform(0.5, 1) + 0.5 * (truth == "YES"))})
    assert above_chance(split) == {"metadata-only", "metadata without redshift"}


def test_matched_sets_without_a_train_part_are_at_chance_and_not_below():
    # One YES and five NO at each S/N, and nothing else is known. With folds by chance AUROC would be 0.27.
    rng = np.random.default_rng(2)
    noise = rng.uniform(0.3, 2, 40)

    def bare(number):
        ivar = np.full(WAVELENGTH.size, noise[number % 40] ** -2)
        light = 10 + rng.normal(0, noise[number % 40], WAVELENGTH.size)
        spectrum = Spectrum(WAVELENGTH, light, ivar, np.zeros(WAVELENGTH.size, bool))
        return candidate(number, "test", "YES" if number < 40 else "NO", rng, spectrum=spectrum)

    split = Split("made", "1", tuple(map(bare, range(240))), {})
    (found,) = [leak for leak in find_leaks(split) if leak.probe == "metadata without redshift"]
    assert found.auroc.low < 0.5 < found.auroc.high


@pytest.mark.parametrize(
    "leak",
    [
        lambda truth, rng: {"noise": float(rng.uniform(0.5, 1.5) + 0.7 * (truth == "YES"))},
        lambda truth, rng: {"redshift": None if truth == "YES" and rng.random() < 0.6 else 0.001},
    ],
    ids=["signal to noise", "missing redshift"],
)
def test_truth_in_the_metadata_is_found(leak):
    split = made(leak)
    (found,) = [leak for leak in find_leaks(split) if leak.probe == "metadata-only"]
    assert found.above_chance
    assert found.fitted_on == "train"
    assert found.auroc.value > 0.65
    warned = [check for check in verify_split(split) if not check.holds and "metadata-only" in check.name]
    assert [(check.verdict, "above chance" in check.detail) for check in warned] == [("warns", True)]


def test_positives_that_need_not_pass_the_classifier_are_found():
    split = made(
        lambda truth, rng: {"score": float(rng.uniform(0.2, 1) if truth == "YES" else rng.uniform(0.8, 1))}
    )
    assert above_chance(split) == {"inverted-weak"}


def test_without_a_train_part_the_probe_learns_from_other_objects():
    split = made(lambda truth, rng: {"noise": float(rng.uniform(0.5, 1) + (truth == "YES"))}).select(
        part="test"
    )
    (found,) = [leak for leak in find_leaks(split) if leak.probe == "metadata-only"]
    assert found.fitted_on == "other objects of test"
    assert found.above_chance


def test_a_new_reduction_in_another_part_is_found_whatever_it_is_called():
    split = made()
    rng = np.random.default_rng(1)
    known = next(c for c in split.candidates if c.part == "train")
    tilt = np.linspace(0.7, 1.4, WAVELENGTH.size) * 37
    again = candidate(999, "test", known.truth, rng, flux=known.spectrum.flux * tilt)
    spoilt = Split("spoilt", "1", (*split.candidates, again), {})
    assert near_duplicates(split) == []
    (pair,) = near_duplicates(spoilt)
    assert {pair.first.id, pair.second.id} == {known.id, again.id}
    failing = [check.name for check in verify_split(spoilt) if check.verdict == "FAILS"]
    assert failing == ["parts share no near-duplicate"]
    same_part = candidate(998, "train", known.truth, rng, flux=known.spectrum.flux * tilt)
    assert near_duplicates(Split("s", "1", (*split.candidates, same_part), {})) == []


def test_a_question_holds_neither_truth_nor_score():
    question = made().candidates[0].question
    assert set(Question.__slots__) == {"id", "task", "spectrum", "redshift", "prompt"}
    assert question.prompt == ()
    assert "weak_score" not in repr(question.spectrum)


def test_a_difference_names_what_changed():
    split = made()
    rng = np.random.default_rng(2)
    first, second, third, *rest = split.candidates
    other = [
        candidate(1000, "test", "NO", rng),
        candidate(0, "train", "NO", rng, flux=first.spectrum.flux, spectrum=first.spectrum),
        candidate(1, "train", "YES", rng, flux=second.spectrum.flux * 2),
    ]
    later = Split("made", "2", (*other, *rest), {"seed": 2})
    found = compare_splits(split, later)
    assert [entry.id for entry in found.added] == ["test-1000"]
    assert [entry.id for entry in found.removed] == [third.id]
    assert {(change.id, change.what) for change in found.changed} == {
        ("train-0", "truth"), ("train-1", "spectrum"),
    }  # fmt: skip
    assert found.unchanged == len(rest)
    assert [(item.key, item.before, item.after) for item in found.recipe] == [("seed", None, 2)]
    assert not found.same_fingerprint
    same = compare_splits(split, split)
    assert (same.added, same.removed, same.changed, same.same_fingerprint) == ((), (), (), True)
