"""Measures of P(YES) against scikit-learn, brute force, closed forms and simulation."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk
from sklearn.calibration import calibration_curve

from specvi_benchmark.scoring import probability as prob


@st.composite
def labelled(draw, least=2):
    """Truths and probabilities on a coarse grid, so that ties are common; both classes are there."""
    n = draw(st.integers(least, 40))
    positive = draw(st.lists(st.booleans(), min_size=n, max_size=n).filter(lambda x: 0 < sum(x) < len(x)))
    grid = draw(st.integers(1, 20))
    p = draw(st.lists(st.integers(0, grid), min_size=n, max_size=n))
    return np.array(positive), np.array(p) / grid


@given(labelled())
def test_against_scikit_learn(data):
    positive, p = data
    assert prob.auroc(positive, p) == pytest.approx(sk.roc_auc_score(positive, p))
    assert prob.average_precision(positive, p) == pytest.approx(sk.average_precision_score(positive, p))
    assert prob.brier_losses(positive, p).mean() == pytest.approx(sk.brier_score_loss(positive, p))
    inside = np.clip(p, 0.01, 0.99)
    assert prob.log_losses(positive, inside).mean() == pytest.approx(sk.log_loss(positive, inside))
    thresholds, precision, recall = prob.precision_recall(positive, p)
    expected = sk.precision_recall_curve(positive, p)
    np.testing.assert_allclose(thresholds, expected[2][::-1])
    np.testing.assert_allclose(precision, expected[0][:-1][::-1])
    np.testing.assert_allclose(recall, expected[1][:-1][::-1])


@given(labelled())
def test_auroc_is_the_share_of_pairs_in_order(data):
    positive, p = data
    pairs = [
        (a > b) + 0.5 * (a == b) for a, b in itertools.product(p[positive].tolist(), p[~positive].tolist())
    ]
    assert prob.auroc(positive, p) == pytest.approx(np.mean(pairs))


@given(labelled())
def test_what_leaves_a_ranking_leaves_its_measures(data):
    positive, p = data
    bent = p**3 / 2 + 0.1
    assert prob.auroc(positive, bent) == pytest.approx(prob.auroc(positive, p))
    assert prob.average_precision(positive, bent) == pytest.approx(prob.average_precision(positive, p))
    order = np.random.default_rng(0).permutation(len(p))
    assert prob.average_precision(positive[order], p[order]) == pytest.approx(
        prob.average_precision(positive, p)
    )
    twice = np.tile(positive, 2), np.tile(p, 2)
    assert prob.auroc(*twice) == pytest.approx(prob.auroc(positive, p))
    assert prob.average_precision(*twice) == pytest.approx(prob.average_precision(positive, p))


@given(labelled())
def test_exchanging_the_labels(data):
    positive, p = data
    assert prob.auroc(~positive, 1 - p) == pytest.approx(prob.auroc(positive, p))
    assert prob.auroc(~positive, p) == pytest.approx(1 - prob.auroc(positive, p))
    np.testing.assert_allclose(prob.brier_losses(~positive, 1 - p), prob.brier_losses(positive, p))
    np.testing.assert_allclose(prob.log_losses(~positive, 1 - p), prob.log_losses(positive, p))


@given(labelled(), st.sampled_from([prob.equal_width_bins, prob.adaptive_bins]), st.integers(1, 12))
def test_the_parts_of_the_brier_score_add_up(data, binning, bins):
    positive, p = data
    parts = prob.decompose(positive, p, binning(p, bins))
    total = parts.reliability - parts.resolution + parts.uncertainty + parts.within
    assert total == pytest.approx(prob.brier_losses(positive, p).mean(), abs=1e-12)


def test_a_brier_score_taken_apart_by_hand():
    positive = np.array([True, False, False, False, True, True, False, True])
    p = np.repeat([0.25, 0.75], 4)
    parts = prob.decompose(positive, p, prob.equal_width_bins(p, 2))
    # Shares of YES are 1/4 and 3/4 as told: no reliability term. Base ½: resolution (¼)², uncertainty ¼.
    assert parts == pytest.approx((0, 1 / 16, 1 / 4, 0))


@given(labelled(), st.integers(1, 10))
def test_equal_width_bins_against_scikit_learn(data, bins):
    positive, p = data
    made = prob.reliability(positive, p, prob.equal_width_bins(p, bins))
    share, mean = calibration_curve(positive, p, n_bins=bins)
    np.testing.assert_allclose(made.positive_share, share)
    np.testing.assert_allclose(made.mean_p, mean)
    assert made.n.sum() == len(p)
    error = prob.expected_calibration_error(positive, p, prob.equal_width_bins(p, bins))
    assert error == pytest.approx((made.n * np.abs(made.mean_p - made.positive_share)).sum() / len(p))


@given(labelled(), st.integers(1, 10))
def test_adaptive_bins_hold_equal_numbers_and_keep_ties(data, bins):
    _, p = data
    bin_of = prob.adaptive_bins(p, bins)
    assert (np.diff(bin_of[np.argsort(p, kind="stable")]) >= 0).all()
    assert all(len(set(bin_of[p == value])) == 1 for value in p)
    distinct = np.random.default_rng(len(p)).permutation(len(p)) / len(p)
    sizes = np.bincount(prob.adaptive_bins(distinct, bins), minlength=bins)
    assert sizes.max() - sizes[sizes > 0].min() <= 1


def test_empty_classes_are_undefined():
    p = np.array([0.2, 0.8])
    yes, no = np.array([True, True]), np.array([False, False])
    assert np.isnan(prob.auroc(yes, p))
    assert np.isnan(prob.auroc(no, p))
    assert np.isnan(prob.average_precision(no, p))
    assert prob.average_precision(yes, p) == 1
    empty = np.empty(0)
    assert np.isnan(prob.expected_calibration_error(empty.astype(bool), empty, prob.adaptive_bins(empty)))
    assert all(np.isnan(prob.decompose(empty.astype(bool), empty, prob.equal_width_bins(empty))))
    assert np.isnan(prob.auroc_interval(np.nan, 0, 3)).all()


def test_one_positive():
    positive = np.array([False, True, False, False])
    p = np.array([0.9, 0.6, 0.3, 0.1])
    assert prob.auroc(positive, p) == pytest.approx(2 / 3)
    assert prob.average_precision(positive, p) == pytest.approx(1 / 2)


def test_the_impossible_that_happened_is_infinite():
    losses = prob.log_losses(np.array([True, False, True]), np.array([0.0, 0.0, 1.0]))
    assert losses.tolist() == [np.inf, 0, 0]
    assert np.isnan(prob.mean_interval(losses, np.arange(3))).all()


def test_chance_leaves_the_error_that_simulation_shows():
    rng = np.random.default_rng(3)
    p = rng.beta(0.5, 2, 300)
    bins = prob.equal_width_bins(p)
    drawn = [prob.expected_calibration_error(rng.random(300) < p, p, bins) for _ in range(1000)]
    assert prob.error_by_chance(p, bins) == pytest.approx(np.mean(drawn), rel=0.03)
    assert prob.error_by_chance(np.array([0.0, 1.0, 1.0]), np.array([0, 1, 1])) == 0


def test_interval_of_an_auroc_solves_its_equation():
    # Newcombe's method 5 at the limits: |A − Â| = z·√V(A).
    value, m, n = 0.9, 20, 60
    low, high = prob.auroc_interval(value, m, n)
    assert low < value < high < 1
    for a in (low, high):
        inner = (m + n) / 2 - 1
        v = a * (1 - a) * (1 + inner * (1 - a) / (2 - a) + inner * a / (1 + a)) / (m * n)
        assert abs(a - value) == pytest.approx(1.959964 * np.sqrt(v), rel=1e-4)
    low, high = prob.auroc_interval(1.0, m, n)
    assert high == 1
    assert 0.85 < low < 0.95
    mirrored = prob.auroc_interval(0.1, m, n)
    assert mirrored == pytest.approx(
        (1 - prob.auroc_interval(0.9, m, n)[1], 1 - prob.auroc_interval(0.9, m, n)[0])
    )


def test_interval_of_a_mean_by_objects():
    losses = np.random.default_rng(1).random(40)
    low, high = prob.mean_interval(losses, np.arange(40))
    reach = 2.022691 * losses.std(ddof=1) / np.sqrt(40)  # Student's t, 39 degrees of freedom
    assert (low, high) == pytest.approx((losses.mean() - reach, losses.mean() + reach))
    # The same visits twice are no more evidence.
    twice = prob.mean_interval(np.tile(losses, 2), np.tile(np.arange(40), 2))
    assert twice == pytest.approx((low, high))


def test_effective_count():
    assert prob.effective_count(np.arange(7)) == 7
    assert prob.effective_count(np.zeros(7, int)) == 1
    assert prob.effective_count(np.array([0, 0, 1])) == pytest.approx(9 / 5)
    assert prob.effective_count(np.empty(0, int)) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("positives", "negatives", "shift"), [(20, 100, 1.0), (20, 100, 3.0), (50, 250, 2.0)]
)
def test_intervals_hold_the_truth_as_often_as_they_say(positives, negatives, shift):
    """Normal scores a shift apart: AUROC is Φ(shift/√2), average precision is integrated numerically."""
    from scipy import stats

    rng = np.random.default_rng(11)
    area = stats.norm.cdf(shift / np.sqrt(2))
    cut = np.linspace(-6, 10, 20_001)
    recall, false = stats.norm.sf(cut - shift), stats.norm.sf(cut)
    precision = positives * recall / (positives * recall + negatives * false + 1e-300)
    average = -np.trapezoid(precision, recall)
    truth = np.arange(positives + negatives) < positives
    held = np.zeros(2)
    trials = 2000
    for _ in range(trials):
        score = rng.normal(size=len(truth)) + shift * truth
        low, high = prob.auroc_interval(prob.auroc(truth, score), positives, negatives)
        held[0] += low <= area <= high
        low, high = prob.average_precision_interval(prob.average_precision(truth, score), positives)
        held[1] += low <= average <= high
    assert 0.93 <= held[0] / trials <= 0.99
    assert 0.93 <= held[1] / trials <= 1
