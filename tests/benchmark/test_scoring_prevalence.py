"""What a search would give in a survey: published numbers, closed forms, and intervals by simulation."""

import numpy as np
import pytest
from scipy import stats

from specvi_benchmark.scoring.ledger import CALLS, NO, YES, Group, Rows
from specvi_benchmark.scoring.prevalence import (
    Rates,
    Share,
    hours_saved,
    looks_per_member,
    opened,
    purity_at,
    rate_draws,
    survey_drop,
    through,
)

ABSTAINED = CALLS.index("abstained")


def rates(members, others):
    return Rates(np.array(members), np.array(others))


def rows(positive, call, objects=None):
    positive, call = np.asarray(positive), np.asarray(call)
    codes = np.arange(len(call)) if objects is None else np.asarray(objects)
    return Rows((Group("main", "cv"),), np.zeros(len(call), int), positive, call, codes)


def test_purity_of_a_published_system_at_survey_prevalence():
    # Spec-o3-7B on CV: TPR 214/229, FPR 86/1229; at 1 in 525 a purity of about 2.5 %.
    found = rates(214 / 229, 86 / 1229)
    assert purity_at(found, 1 / 525) == pytest.approx(0.0249, abs=2e-4)
    assert purity_at(found, 229 / 1458) == pytest.approx(214 / 300)  # at the set's own share: its precision
    # Behind a screen that accepts 1.74 %: a false-alarm rate of 0.12 %, about 14,000 in 11.4 million.
    screened = through(found, 1.0, 0.0174)
    assert screened.others * 11.4e6 == pytest.approx(13_900, rel=0.01)


def test_cost_is_one_over_purity_and_525_without_a_system():
    found = rates([0.9, 0.5, 0.0, 0.0], [0.1, 0.0, 0.2, 0.0])
    cost = looks_per_member(found, 0.01)
    assert cost[:2] == pytest.approx(1 / purity_at(found, 0.01)[:2])
    assert cost[2] == np.inf
    assert np.isnan(cost[3])
    assert looks_per_member(rates(1.0, 1.0), 323 / 169_509) == pytest.approx(169_509 / 323)


def test_hours_at_ten_seconds_a_look():
    # 36,000 looks of 10 s are 100 hours; a system that passes 2 % saves 98 of them.
    assert hours_saved(1.0, 0.02, 36_000) == pytest.approx(98)
    assert opened(rates(0.9, 0.01), 0.1) == pytest.approx(0.09 + 0.009)


def test_non_answers_join_the_queue_and_are_no_false_alarm():
    positive = np.array([True] * 4 + [False] * 10)
    call = np.array([YES, YES, ABSTAINED, NO] + [YES] + [ABSTAINED] * 3 + [NO] * 6)
    yes = rate_draws(rows(positive, call), queue_counts=False, resamples=100).point
    queue = rate_draws(rows(positive, call), queue_counts=True, resamples=100).point
    assert (yes.members[0], yes.others[0]) == (0.5, 0.1)
    assert (queue.members[0], queue.others[0]) == (0.75, 0.4)


def test_an_empty_class_is_undefined():
    found = rate_draws(rows([False] * 3, [NO, NO, YES]), queue_counts=False, resamples=50)
    assert np.isnan(found.point.members).all()
    assert np.isnan(found.drawn.members).all()
    assert np.isnan(purity_at(found.point, 0.1)).all()


def test_all_abstained_lists_nothing():
    found = rate_draws(rows([True, False], [ABSTAINED, ABSTAINED]), queue_counts=False, resamples=50).point
    assert np.isnan(purity_at(found, 0.1)).all()
    everything = rate_draws(
        rows([True, False], [ABSTAINED, ABSTAINED]), queue_counts=True, resamples=50
    ).point
    assert looks_per_member(everything, 0.01)[0] == pytest.approx(100)


def test_a_counted_share_varies_and_a_stated_one_does_not():
    rng = np.random.default_rng(0)
    assert set(Share(0.97).draws(5, rng)) == {0.97}
    drawn = Share(776 / 803, (776, 803)).draws(20_000, rng)
    low, high = stats.beta.ppf([0.025, 0.975], 776.5, 27.5)
    assert np.quantile(drawn, [0.025, 0.975]) == pytest.approx([low, high], abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("members", "others"), [(0.94, 0.07), (0.8, 0.005), (0.99, 0.001)])
def test_intervals_of_purity_hold_the_truth(members, others):
    rng = np.random.default_rng(21)
    positive = np.arange(600) < 100
    truth = float(purity_at(rates(members, others), 1 / 525))
    held, trials = 0, 600
    for _ in range(trials):
        call = np.where(rng.random(600) < np.where(positive, members, others), YES, NO)
        found = rate_draws(rows(positive, call), queue_counts=False, resamples=1000)
        point = float(purity_at(found.point, 1 / 525)[0])
        low, high = np.nanquantile(purity_at(found.drawn, 1 / 525), [0.025, 0.975])
        held += min(low, point) <= truth <= max(high, point)
    assert held / trials >= 0.92


def test_a_drop_by_hand():
    positive = np.array([True] * 10 + [False] * 40)
    here = np.array([True] * 9 + [False] + [True] * 2 + [False] * 38)
    there = np.array([True] * 6 + [False] * 4 + [True] * 5 + [False] * 35)
    found = survey_drop(positive, here, there)
    assert (found["recall"].reference, found["recall"].other) == (0.9, 0.6)
    assert found["recall"].drop == pytest.approx(0.3)
    assert found["false_alarms"].drop == pytest.approx(2 / 40 - 5 / 40)
    assert found["f1"].reference == pytest.approx(18 / (18 + 1 + 2))
    assert found["accuracy"].drop == pytest.approx(47 / 50 - 41 / 50)
    assert found["f1"].low < found["f1"].drop < found["f1"].high


def test_exchanging_the_surveys_turns_the_drop_round():
    rng = np.random.default_rng(1)
    positive, here, there = (rng.random(80) < share for share in (0.3, 0.4, 0.5))
    one, other = survey_drop(positive, here, there, seed=3), survey_drop(positive, there, here, seed=4)
    for name in one:
        assert one[name].drop == pytest.approx(-other[name].drop)
        assert one[name].low == pytest.approx(-other[name].high, abs=0.02)


def test_a_drop_without_a_class():
    found = survey_drop(np.zeros(5, bool), np.zeros(5, bool), np.ones(5, bool))
    assert np.isnan(found["recall"].drop)
    assert found["false_alarms"].drop == -1
    assert found["accuracy"].drop == 1


@pytest.mark.slow
@pytest.mark.parametrize("positives", [50, 200])
def test_intervals_of_a_paired_drop_hold_the_truth(positives):
    """Answers to one object's two spectra agree more often than chance would have it."""
    rng = np.random.default_rng(2)
    positive = np.arange(6 * positives) < positives
    held, trials = {"recall": 0, "f1": 0}, 600
    # Called YES in both, here only, there only: members .75, .15, .02; others .02, .02, .04.
    tpr, fpr = (0.9, 0.77), (0.04, 0.06)
    f1 = [2 * t / (1 + t + 5 * f) for t, f in zip(tpr, fpr, strict=True)]
    truth = {"recall": tpr[0] - tpr[1], "f1": f1[0] - f1[1]}
    for trial in range(trials):
        luck = rng.random(len(positive))
        edges = np.where(positive[:, None], [0.75, 0.9, 0.92], [0.02, 0.04, 0.08])
        here = luck < edges[:, 1]
        there = (luck < edges[:, 0]) | ((luck >= edges[:, 1]) & (luck < edges[:, 2]))
        found = survey_drop(positive, here, there, resamples=1000, seed=trial)
        for name in held:
            held[name] += found[name].low <= truth[name] <= found[name].high
    for name, count in held.items():
        assert 0.92 <= count / trials <= 0.99, name
