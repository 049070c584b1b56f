"""Mended probabilities against scikit-learn, the definition by brute force, closed forms and simulation."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from specvi_benchmark.scoring.calibration import fit_isotonic, fit_platt, shift_prior, venn_abers


def made(n, rng, sharp=1.0, base=0.3):
    """Truths, and calibrated probabilities made too sharp by a factor on the logit."""
    p = rng.beta(1, (1 - base) / base, n)
    return rng.random(n) < p, np.clip(expit(sharp * logit(p)), 1e-6, 1 - 1e-6)


def test_platt_is_a_logistic_regression_on_smoothed_targets():
    positive, p = made(300, np.random.default_rng(2), sharp=2)
    found = fit_platt(positive, p)
    plus, minus = positive.sum(), (~positive).sum()
    target = np.where(positive, (plus + 1) / (plus + 2), 1 / (minus + 2))
    # Soft targets as two weighted rows each.
    x = np.tile(logit(p), 2)[:, None]
    y = np.repeat([1, 0], len(p))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(
            x, y, sample_weight=np.concatenate([target, 1 - target])
        )
    assert (found.slope, found.intercept) == pytest.approx((other.coef_[0, 0], other.intercept_[0]), rel=1e-4)


def test_platt_undoes_what_was_done_to_the_logit():
    positive, p = made(40_000, np.random.default_rng(5), sharp=2.5)
    found = fit_platt(positive, p)
    assert found.slope == pytest.approx(1 / 2.5, rel=0.05)
    assert found.intercept == pytest.approx(0, abs=0.05)


def test_platt_stays_finite_where_classes_separate():
    p = np.array([0.0, 0.1, 0.9, 1.0])
    mended = fit_platt(p > 0.5, p)(p)
    assert np.isfinite(mended).all()
    assert (np.diff(mended) >= 0).all()
    assert 0 < mended[0] < 0.5 < mended[-1] < 1


@given(st.integers(0, 10_000))
def test_isotonic_is_scikit_learns(seed):
    rng = np.random.default_rng(seed)
    positive, p = made(30, rng)
    p = p.round(1)
    if not 0 < positive.sum() < 30:
        return
    new = rng.random(50)
    expected = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(p, positive).predict(new)
    np.testing.assert_allclose(fit_isotonic(positive, p)(new), expected, atol=1e-9)


@given(st.integers(0, 10_000))
def test_venn_abers_by_its_definition(seed):
    rng = np.random.default_rng(seed)
    positive, p = made(20, rng)
    p = p.round(1)
    if not 0 < positive.sum() < 20:
        return
    new = np.concatenate([rng.random(5), p[:5], [0.0, 1.0]])
    found = venn_abers(positive, p, new)
    for place, score in enumerate(new):
        for label, got in ((0, found.low), (1, found.high)):
            fit = IsotonicRegression().fit(np.append(p, score), np.append(positive, label))
            assert got[place] == pytest.approx(fit.predict([score])[0], abs=1e-9)
    assert (found.low <= found.high).all()
    assert (found.low <= found.p).all()
    assert (found.p <= found.high).all()
    np.testing.assert_allclose(found.p, found.high / (1 - found.low + found.high))


def test_the_venn_abers_merger_is_minimax_for_log_loss():
    low, high = 0.2, 0.5
    merged = high / (1 - low + high)
    grid = np.linspace(0.001, 0.999, 9981)
    # Regret against the one of the two that belongs to the truth: its worst case is least at the merger.
    worst = np.maximum(np.log((1 - low) / (1 - grid)), np.log(high / grid))
    assert grid[worst.argmin()] == pytest.approx(merged, abs=2e-4)


@pytest.mark.slow
def test_the_right_one_of_the_venn_abers_pair_is_calibrated():
    """E[truth − p_truth] = 0 over calibration sets and candidates, for a system as wrong as it likes."""
    rng = np.random.default_rng(8)
    gaps = []
    for _ in range(4000):
        positive, p = made(31, rng, sharp=4, base=0.4)
        if not 0 < positive[:30].sum() < 30:
            continue
        found = venn_abers(positive[:30], p[:30], p[30:])
        right = found.high[0] if positive[30] else found.low[0]
        gaps.append(positive[30] - right)
    assert abs(np.mean(gaps)) < 3 * np.std(gaps) / np.sqrt(len(gaps))


@given(st.floats(0, 1), st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_a_change_of_prior_multiplies_the_odds(p, held, wanted):
    moved = shift_prior(np.array([p]), held, wanted)
    np.testing.assert_allclose(shift_prior(moved, wanted, held), [p], atol=1e-9)
    if 1e-6 < p < 1 - 1e-6:
        odds = p / (1 - p) * (wanted / (1 - wanted)) / (held / (1 - held))
        assert moved[0] / (1 - moved[0]) == pytest.approx(odds, rel=1e-6)


def test_a_change_of_prior_is_bayes_on_a_normal_mixture():
    x = np.linspace(-3, 4, 20)
    yes, no = np.exp(-((x - 1) ** 2) / 2), np.exp(-(x**2) / 2)
    balanced = yes / (yes + no)
    rare = 0.002 * yes / (0.002 * yes + 0.998 * no)
    np.testing.assert_allclose(shift_prior(balanced, 0.5, 0.002), rare)


def test_one_class_cannot_calibrate():
    p = np.array([0.1, 0.4])
    for fit in (fit_platt, fit_isotonic, lambda y, x: venn_abers(y, x, x)):
        with pytest.raises(ValueError, match="both classes"):
            fit(np.array([True, True]), p)
    for held, wanted in ((0, 0.5), (0.5, 1)):
        with pytest.raises(ValueError, match="shares of positives"):
            shift_prior(p, held, wanted)


def test_platt_turns_a_ranking_round_that_was_wrong_and_ties_what_is_certain():
    """What docs/probability.md says of the ranking."""
    rng = np.random.default_rng(3)
    positive = rng.random(400) < 0.4
    p = np.clip(np.where(positive, 0.3, 0.7) + 0.1 * rng.normal(size=400), 0.01, 0.99)
    fitted = fit_platt(positive, p)
    assert fitted.slope < 0
    assert (np.diff(fitted(np.sort(p))) <= 0).all()
    score = rng.normal(size=400)
    right = fit_platt(rng.random(400) < expit(score), expit(score))
    assert right(np.array([1 - 1e-9]))[0] == right(np.array([1.0]))[0] > right(np.array([1 - 1e-5]))[0]
