"""Conformal selection and thresholds: brute force, and the promise itself by simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from specvi_benchmark.scoring import conformal, thresholds

Q = 0.2


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=15), st.lists(st.integers(0, 6), min_size=1, max_size=15)
)
def test_p_values_by_counting(negatives, scores):
    found = conformal.conformal_p_values(np.array(negatives, float), np.array(scores, float))
    for score, value in zip(scores, found, strict=True):
        assert value == (1 + sum(other >= score for other in negatives)) / (1 + len(negatives))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0.01, 0.5))
def test_benjamini_hochberg_is_scipys(values, q):
    p = np.array(values)
    expected = stats.false_discovery_control(p) <= q
    found = conformal.benjamini_hochberg(p, q)
    differs = found != expected
    assert (np.abs(stats.false_discovery_control(p)[differs] - q) < 1e-9).all()


def test_nothing_to_select():
    assert conformal.benjamini_hochberg(np.empty(0), 0.1).tolist() == []
    assert not conformal.select(np.array([0.9, 0.8]), np.array([1.0, 1.0]), 0.1).any()


def test_how_many_negatives_are_needed():
    # 1/(n₀+1) ≤ q·prevalence. At 1 in 525 and q = 10 %: 5249.
    assert conformal.negatives_needed(0.1, 1 / 525) == 5249
    for q, prevalence in ((0.1, 1 / 525), (0.2, 0.167), (0.05, 0.5)):
        needed = conformal.negatives_needed(q, prevalence)
        m = round(10_000 / prevalence) if prevalence < 0.01 else 1000
        members = int(m * prevalence + 1e-9)
        score = np.where(np.arange(m) < members, 2.0, 0.0)
        # All members above every negative: selected with as many as needed, not with one negative fewer.
        if members == m * prevalence:
            assert conformal.select(np.zeros(needed), score, q)[:members].all()
            assert not conformal.select(np.zeros(needed - 1), score, q).any()


def simulate(draw_scores, *, q=Q, negatives=200, candidates=120, members=20, trials=1500, seed=0):
    """Return the mean false-discovery proportion and the mean completeness over many sets."""
    rng = np.random.default_rng(seed)
    truth = np.arange(candidates) < members
    false, found = [], []
    for _ in range(trials):
        nulls = draw_scores(np.zeros(negatives, bool), rng)
        chosen = conformal.select(nulls, draw_scores(truth, rng), q)
        false.append((chosen & ~truth).sum() / max(chosen.sum(), 1))
        found.append(chosen[truth].mean())
    return np.mean(false), np.mean(found), np.std(false) / np.sqrt(trials)


def normal(truth, rng):
    return rng.normal(size=len(truth)) + 2.5 * truth


def rounded(truth, rng):
    return np.round(normal(truth, rng))


def binary(truth, rng):
    """Answers alone, with the rates of a good published system: 94 % and 7 %."""
    return (rng.random(len(truth)) < np.where(truth, 0.94, 0.07)).astype(float)


@pytest.mark.slow
@pytest.mark.parametrize("scores", [normal, rounded, binary])
def test_the_expected_false_share_is_at_most_q(scores):
    false, _, error = simulate(scores)
    assert false <= Q + 3 * error


@pytest.mark.slow
def test_a_ranking_has_power_and_uses_what_it_may():
    false, found, error = simulate(normal)
    assert found > 0.5
    # BH controls at q times the share of negatives, 100/120, and conformal p-values are nearly uniform.
    assert false == pytest.approx(Q * 100 / 120, abs=3 * error + 0.01)


@pytest.mark.slow
def test_binary_answers_have_no_power():
    # All YES share one p-value, about the false-alarm rate: 0.07 > q·(share of YES) = 0.1·0.215.
    _, found, _ = simulate(binary, q=0.1)
    assert found < 0.01


@pytest.mark.slow
def test_no_power_at_a_survey_s_prevalence_with_too_few_negatives():
    shape = {"candidates": 5250, "members": 10, "trials": 200, "q": 0.1}
    _, found, _ = simulate(lambda t, rng: normal(t, rng) + 4 * t, negatives=1000, **shape)
    assert found < 0.01
    needed = conformal.negatives_needed(0.1, 10 / 5250)
    _, found, _ = simulate(lambda t, rng: normal(t, rng) + 4 * t, negatives=4 * needed, **shape)
    assert found > 0.8


@pytest.mark.slow
def test_another_survey_breaks_the_promise():
    """Negatives that look half a step more like members than those calibrated on."""
    rng = np.random.default_rng(5)
    truth = np.arange(120) < 20
    false = []
    for _ in range(1500):
        nulls = rng.normal(size=200)
        chosen = conformal.select(nulls, rng.normal(size=120) + np.where(truth, 2.5, 0.7), Q)
        false.append((chosen & ~truth).sum() / max(chosen.sum(), 1))
    assert np.mean(false) > 1.5 * Q


@given(st.integers(0, 60), st.integers(0, 60))
def test_clopper_pearson_is_scipys(successes, more):
    trials = successes + more
    if not trials:
        assert np.isnan(thresholds.clopper_pearson(0, 0)).all()
        return
    expected = stats.binomtest(successes, trials).proportion_ci(0.95, method="exact")
    assert tuple(thresholds.clopper_pearson(successes, trials)) == pytest.approx(
        (expected.low, expected.high)
    )
    one_sided = stats.binomtest(successes, trials, alternative="greater").proportion_ci(0.9, method="exact")
    assert thresholds.lower_bound(successes, trials, 0.9) == pytest.approx(one_sided.low)


def test_positives_needed():
    # 0.9²⁹ = 0.047 ≤ 0.05 < 0.9²⁸: 29, the number that is well known from tolerance limits; 59 for 95 %.
    assert [thresholds.positives_needed(share) for share in (0.9, 0.95, 0.99)] == [29, 59, 299]
    p = np.linspace(0.1, 0.9, 29)
    assert thresholds.completeness_threshold(np.ones(29, bool), p, 0.9) == pytest.approx(0.1)
    assert np.isnan(thresholds.completeness_threshold(np.ones(28, bool), p[:28], 0.9))


@pytest.mark.slow
@pytest.mark.parametrize("positives", [40, 150])
def test_completeness_is_kept_as_often_as_promised(positives):
    rng = np.random.default_rng(positives)
    missed, lost = 0, []
    trials = 4000
    for _ in range(trials):
        score = rng.normal(size=positives)
        kept = stats.norm.sf(thresholds.completeness_threshold(np.ones(positives, bool), score, 0.9))
        missed += kept < 0.9
        lost.append(kept)
    assert missed / trials <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / trials)
    assert np.mean(lost) < 0.985  # and no more is kept than it takes


@pytest.mark.slow
@pytest.mark.parametrize("shift", [2.0, 3.0])
def test_purity_is_kept_as_often_as_promised(shift):
    rng = np.random.default_rng(9)
    broken, given_any, trials = 0, 0, 3000
    for _ in range(trials):
        positive = rng.random(600) < 0.17
        score = rng.normal(size=600) + shift * positive
        threshold = thresholds.purity_threshold(positive, score, 0.8)
        if np.isnan(threshold):
            continue
        given_any += 1
        right, false = 0.17 * stats.norm.sf(threshold - shift), 0.83 * stats.norm.sf(threshold)
        broken += right / (right + false) < 0.8
    assert broken / trials <= 0.05
    assert given_any > (0.1 if shift == 2 else 0.9) * trials


def test_purity_threshold_on_a_clean_ranking():
    positive = np.arange(400) >= 300
    p = np.arange(400) / 400
    found = thresholds.purity_threshold(positive, p, 0.9)
    assert positive[p > found].all()
    assert (p > found).sum() == 58  # twice 29; the next list, 116, is longer than the class
    assert np.isnan(thresholds.purity_threshold(positive[:9], p[:9], 0.9))


def test_a_purity_threshold_is_a_probability_where_few_candidates_have_one():
    """With 40 of 200 answered and all of them right, lists longer than 40 do not exist: −∞ is no threshold."""
    positive = np.arange(200) < 40
    p = np.where(positive, 0.5 + np.arange(200) / 400, -np.inf)
    found = thresholds.purity_threshold(positive, p, 0.8)
    assert found == np.sort(p[positive])[::-1][28]  # twice 14, which 0.8¹⁴ ≤ 0.05 needs
    assert np.isnan(thresholds.purity_threshold(positive[:28], p[:28], 0.8))
