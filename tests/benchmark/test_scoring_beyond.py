"""The sections at the edges: nobody answers, one class, one positive, objects seen twice."""

import numpy as np
import pytest

from specvi_benchmark.scoring.answers import NO_PROBABILITY, TaskAnswers
from specvi_benchmark.scoring.beyond_probability import (
    deferral_section,
    probabilities,
    probability_section,
    promise_section,
)
from specvi_benchmark.scoring.beyond_survey import breakdown_section, drop_section, survey_section
from specvi_benchmark.scoring.ledger import CALLS, NO, YES, Group
from specvi_benchmark.scoring.prevalence import NO_SCREEN

ABSTAINED = CALLS.index("abstained")


def answers(positive, call, p=None, objects=None, survey="lamost"):
    n = len(positive)
    return TaskAnswers(
        group=Group("main", "cv"),
        id=[f"c{number:04d}" for number in range(n)],
        positive=np.asarray(positive, dtype=bool),
        call=np.asarray(call),
        p_yes=np.full(n, np.nan) if p is None else np.asarray(p, dtype=float),
        object_code=np.arange(n) if objects is None else np.asarray(objects),
        snr=np.full(n, np.nan),
        survey=[survey] * n,
        subtype=[""] * n,
    )


def plain(task, **options):
    return probabilities(
        task, options.get("calibration"), trained_at=options.get("trained_at"), balanced=False
    )


def test_all_abstained():
    task = answers([True, False, False], [ABSTAINED] * 3)
    found = plain(task)
    assert found.undefined == NO_PROBABILITY
    assert probability_section(task, found).versions == ()
    deferral = deferral_section(task, found, 0.1)
    assert deferral.non_answers == 1
    assert deferral.without_order.purity == 1  # everything is in people's hands
    assert deferral.undefined == NO_PROBABILITY
    # The queue is looked through at random: the one member is found after two looks of three, on average.
    assert deferral.workload_by_answer[0].opened == pytest.approx(2 / 3)
    (survey,) = survey_section([task], 0.1, NO_SCREEN, resamples=50).tasks
    assert survey.purity.value is None
    assert survey.undefined == {"purity": "nothing is passed on"}
    assert survey.completeness_with_queue.value == 1
    assert survey.looks_per_member.value == pytest.approx(10)


def test_all_abstained_with_probabilities_are_ranked_and_never_kept():
    task = answers([True, False, False], [ABSTAINED] * 3, p=[0.9, 0.2, 0.4])
    found = plain(task)
    assert probability_section(task, found).versions[0].auroc.value == 1
    (version,) = deferral_section(task, found, None).versions
    assert version.aurc == 1
    assert version.augrc == 0.5
    assert all(point.purity is None for point in version.points)


def test_no_positive():
    task = answers([False] * 4, [YES, NO, NO, NO], p=[0.9, 0.1, 0.2, 0.3])
    made = probability_section(task, plain(task))
    assert made.undefined is None
    assert made.versions[0].undefined == {"auroc": "no positive", "average_precision": "no positive"}
    assert made.versions[0].brier.value == pytest.approx((0.81 + 0.01 + 0.04 + 0.09) / 4)
    shifted = plain(task, trained_at=0.5)
    assert list(shifted.versions) == ["raw"]
    assert "one class" in shifted.undefined
    deferral = deferral_section(task, shifted, 0.1)
    assert deferral.versions[0].points[0].completeness is None
    assert deferral.versions[0].points_at_prevalence == ()
    assert deferral.versions[0].workload[0].opened is None
    (survey,) = survey_section([task], 0.1, NO_SCREEN, resamples=50).tasks
    assert survey.undefined["completeness"] == "no positive"
    assert survey.false_alarms.value == 0.25
    assert (
        promise_section(task, task, q=0.1, prevalence=None, balanced=False).undefined
        == "no positive to select"
    )


def test_no_negative():
    task = answers([True, True], [YES, NO], p=[0.9, 0.4])
    made = probability_section(task, plain(task)).versions[0]
    assert made.undefined == {"auroc": "no negative"}
    assert made.average_precision.value == 1


def test_a_missed_class_costs_without_end():
    task = answers([True, False, False], [NO, YES, NO])
    (survey,) = survey_section([task], 0.1, NO_SCREEN, resamples=50).tasks
    assert survey.looks_per_member.value is None
    assert survey.undefined["looks_per_member"] == "no member is found"
    assert survey.purity.value == 0


def test_an_impossible_truth_leaves_the_log_loss_undefined():
    task = answers([True, False, True], [NO, NO, YES], p=[0.0, 0.0, 1.0])
    made = probability_section(task, plain(task)).versions[0]
    assert made.log_loss.value is None
    assert made.undefined["log_loss"].startswith("infinite: 1 candidates")


def test_one_positive_has_intervals_and_no_promise():
    rng = np.random.default_rng(0)
    p = np.concatenate([[0.7], rng.random(30) * 0.8])
    task = answers(np.arange(31) < 1, np.where(p > 0.5, YES, NO), p=p)
    made = probability_section(task, plain(task)).versions[0]
    assert made.auroc.low < made.auroc.value
    promise = promise_section(task, task, q=0.1, prevalence=None, balanced=False)
    assert "calibration negatives are needed, 30 are there" in promise.undefined
    assert all(threshold.undefined for threshold in promise.thresholds)


def test_visits_of_one_object_are_one_calibration_example():
    positive = np.repeat([True, False], [10, 60])
    p = np.where(positive, 0.9, 0.1) + np.arange(70) / 1000
    call = np.where(positive, YES, NO)
    task = answers(positive, call, p)
    thrice = answers(np.tile(positive, 3), np.tile(call, 3), np.tile(p, 3), objects=np.tile(np.arange(70), 3))
    found = promise_section(task, thrice, q=0.2, prevalence=None, balanced=False)
    assert found.negatives == 60
    assert found.selected == 10
    assert found.false_share == 0
    assert found.completeness == 1


def test_a_missing_task_is_named():
    task = answers([True, False], [YES, NO], p=[0.9, 0.1])
    found = promise_section(task, None, q=0.1, prevalence=None, balanced=False)
    assert found.undefined == "no such task in the calibration run"
    assert found.thresholds == ()


def test_mended_on_one_class_is_undefined():
    task = answers([True, False], [YES, NO], p=[0.9, 0.1])
    one = answers([False, False], [NO, NO], p=[0.2, 0.1])
    found = plain(task, calibration=one)
    assert list(found.versions) == ["raw"]
    assert found.undefined == "calibration run: only one class is there"


def test_dev_is_shifted_to_the_share_of_the_scored_set():
    """Calibrated on a balanced set where p is right, then scored at one in six: the odds fall by five."""
    rng = np.random.default_rng(6)
    p = rng.beta(0.5, 0.5, 4000)
    balanced = answers(rng.random(4000) < p, np.where(p > 0.5, YES, NO), p)
    scored = answers(np.arange(60) < 10, np.full(60, NO), np.full(60, 0.5))
    found = probabilities(scored, balanced, trained_at=None, balanced=True)
    assert found.versions["platt"] == pytest.approx(np.full(60, 1 / 6), abs=0.02)
    assert found.versions["raw"] == pytest.approx(np.full(60, 0.5))


def test_sections_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(2)
    positive = np.arange(50) < 15
    p = np.round(rng.random(50) * 0.6 + positive * 0.3, 1)
    call = np.where(p > 0.5, YES, NO)
    order = rng.permutation(50)
    first, second = answers(positive, call, p), answers(positive[order], call[order], p[order])
    for task, other in ((first, second),):
        one, two = (deferral_section(t, plain(t), 0.01).model_dump_json() for t in (task, other))
        for left, right in zip(one.split(","), two.split(","), strict=True):
            assert left == right or float(left.split(":")[-1].strip("}]")) == pytest.approx(
                float(right.split(":")[-1].strip("}]"))
            )


def test_what_is_not_known_has_its_own_bin():
    task = answers([True, False], [YES, NO])
    for by in ("snr", "subtype"):
        (row,) = breakdown_section([task], (by,), None, resamples=20)
        assert row.value == "not known"
        assert row.purity.value is None
    (row,) = breakdown_section([task], ("survey",), 0.5, resamples=20)
    assert row.value == "lamost"
    assert row.purity.value == 1
    assert drop_section([task]) == ()
