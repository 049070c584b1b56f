"""Deferral, risk and workload against brute force over every order of ties, and closed forms."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from specvi_benchmark.scoring.deferral import (
    augrc,
    aurc,
    deferral_curve,
    errors_kept,
    prevalence_weights,
    workload,
)


def orders(confidence):
    """Every order from most to least confident, ties in each possible way."""
    for permutation in itertools.permutations(range(len(confidence))):
        ordered = [confidence[place] for place in permutation]
        if all(a >= b for a, b in itertools.pairwise(ordered)):
            yield list(permutation)


@st.composite
def small(draw, most=6):
    n = draw(st.integers(1, most))
    wrong = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    confidence = draw(st.lists(st.sampled_from([-np.inf, 0.2, 0.5, 0.9]), min_size=n, max_size=n))
    return np.array(wrong), np.array(confidence)


@settings(max_examples=60)
@given(small())
def test_risk_is_the_mean_over_every_order_of_ties(data):
    wrong, confidence = data
    n = len(wrong)
    kept = np.array([np.concatenate([[0], np.cumsum(wrong[order])]) for order in orders(confidence)])
    np.testing.assert_allclose(errors_kept(wrong, confidence), kept.mean(axis=0))
    risks = (kept[:, 1:] / np.arange(1, n + 1)).mean(axis=1)
    assert aurc(wrong, confidence) == pytest.approx(risks.mean())
    silent = np.array([np.trapezoid(row / n, np.arange(n + 1) / n) for row in kept])
    assert augrc(wrong, confidence) == pytest.approx(silent.mean())


@given(small(most=40))
def test_augrc_follows_from_accuracy_and_the_auroc_of_confidence(data):
    wrong, confidence = data
    accuracy = 1 - wrong.mean()
    if 0 < accuracy < 1:
        area = roc_auc_score(~wrong, np.maximum(confidence, -1))
        expected = (1 - area) * accuracy * (1 - accuracy) + (1 - accuracy) ** 2 / 2
    else:
        expected = (1 - accuracy) / 2
    assert augrc(wrong, confidence) == pytest.approx(expected, abs=1e-12)


@given(small(most=40))
def test_what_leaves_the_order_leaves_the_risk(data):
    wrong, confidence = data
    bent = np.exp(3 * confidence)
    assert aurc(wrong, bent) == pytest.approx(aurc(wrong, confidence))
    assert augrc(wrong, bent) == pytest.approx(augrc(wrong, confidence))
    twice = np.tile(wrong, 2), np.tile(confidence, 2)
    assert augrc(*twice) == pytest.approx(augrc(wrong, confidence))


def test_edges_of_risk():
    assert np.isnan(aurc(np.empty(0, bool), np.empty(0)))
    assert np.isnan(augrc(np.empty(0, bool), np.empty(0)))
    everyone_silent = np.ones(5, bool), np.full(5, -np.inf)
    assert aurc(*everyone_silent) == 1
    assert augrc(*everyone_silent) == 0.5
    assert aurc(np.zeros(5, bool), np.arange(5.0)) == 0
    # One error, the least confident of n: risk 0 … 0, 1/n. The oracle's AURC.
    assert aurc(np.arange(8) == 0, np.arange(8.0)) == pytest.approx(1 / 64)


@settings(max_examples=60)
@given(st.integers(0, 100_000))
def test_deferral_by_brute_force(seed):
    """One by one in a random order without ties: what people see is right, the rest stays as called."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 30))
    positive, yes = rng.random(n) < 0.4, rng.random(n) < 0.5
    confidence = rng.permutation(n) / n
    silent = rng.random(n) < 0.2
    yes &= ~silent
    confidence[silent] = -np.inf
    curve = deferral_curve(positive, yes, confidence)
    queue = np.argsort(confidence, kind="stable")
    for seen in range(int(silent.sum()), n + 1):
        people = np.isin(np.arange(n), queue[:seen])
        listed = np.where(people, positive, yes)
        there = curve.at(seen / n)
        right = int((listed & positive).sum())
        assert there.completeness[0] == pytest.approx(
            right / positive.sum() if positive.any() else np.nan, nan_ok=True
        )
        assert there.purity[0] == pytest.approx(right / listed.sum() if listed.any() else np.nan, nan_ok=True)
        machine = yes & ~people
        expected = (machine & positive).sum() / machine.sum() if machine.any() else np.nan
        assert there.machine_purity[0] == pytest.approx(expected, nan_ok=True)


def test_non_answers_are_people_s_from_the_start():
    positive = np.array([True, True, False, False])
    yes = np.array([True, False, True, False])
    confidence = np.array([0.9, -np.inf, 0.6, 0.7])
    curve = deferral_curve(positive, yes, confidence)
    assert curve.deferred[0] == 0.25
    assert np.isnan(curve.at(0.1).purity).all()
    assert curve.at(0.25).purity[0] == pytest.approx(2 / 3)  # YES, YES? and the one people confirmed
    assert curve.at(0.25).completeness[0] == 1
    assert curve.at(0.5).purity[0] == 1
    assert curve.at(1.0).completeness[0] == 1
    assert np.isnan(curve.at(1.0).machine_purity[0])


def test_all_abstained():
    positive = np.array([True, False, False])
    curve = deferral_curve(positive, np.zeros(3, bool), np.full(3, -np.inf))
    assert curve.deferred.tolist() == [1]
    assert curve.purity.tolist() == [1]
    assert curve.completeness.tolist() == [1]


def test_deferral_at_another_prevalence_is_a_set_with_that_share():
    rng = np.random.default_rng(4)
    positive = np.arange(60) < 20
    yes = rng.random(60) < np.where(positive, 0.8, 0.2)
    confidence = rng.random(60)
    # 1 in 5: every negative counts twice.
    doubled = np.concatenate([np.arange(60), np.arange(20, 60)])
    curve = deferral_curve(positive, yes, confidence, prevalence_weights(positive, 0.2))
    plain = deferral_curve(positive[doubled], yes[doubled], confidence[doubled])
    at = np.linspace(0, 1, 21)
    np.testing.assert_allclose(curve.at(at).purity, plain.at(at).purity)
    np.testing.assert_allclose(curve.at(at).completeness, plain.at(at).completeness)


@settings(max_examples=60)
@given(small(), st.sampled_from([0.5, 0.9, 1.0]))
def test_workload_is_the_mean_over_every_order_of_ties(data, target):
    positive, score = data
    if not positive.any():
        assert np.isnan(workload(positive, score, target))
        return
    wanted = int(np.ceil(target * positive.sum()))
    opened = [np.flatnonzero(np.cumsum(positive[order]) == wanted)[0] + 1 for order in orders(score)]
    assert workload(positive, score, target) == pytest.approx(np.mean(opened) / len(positive))


def test_workload_at_a_prevalence():
    # Scores separate all but one negative, which is above the last of 4 positives.
    positive = np.array([True, True, True, False, True, False, False, False])
    score = np.linspace(1, 0, 8)
    weights = prevalence_weights(positive, 0.01)
    assert workload(positive, score, 1.0) == 5 / 8
    assert workload(positive, score, 1.0, weights) == pytest.approx(0.01 + 0.99 / 4)
    assert workload(positive, score, 0.75, weights) == pytest.approx(0.0075)
    assert np.isnan(prevalence_weights(np.ones(3, bool), 0.1)).all()
