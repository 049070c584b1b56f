"""Wrong labels: what they cost a perfect system, and how to find them."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import f1_score

from specvi_benchmark.scoring.labels import f1_ceiling, suspects


def test_the_ceiling_of_the_cv_set_by_hand():
    """2 % of 229 positives and 0.2 % of 1229 negatives: FN 4.58, FP 2.458, TP 224.42."""
    found = f1_ceiling(229, 1229, 0.02, 0.002)
    assert found.recall == pytest.approx(0.98)
    assert found.precision == pytest.approx(224.42 / (224.42 + 2.458))
    assert found.f1 == pytest.approx(2 * 224.42 / (2 * 224.42 + 4.58 + 2.458))
    assert found.f1 == pytest.approx(2 * 0.98 / (2 - 0.02 + 0.002 * 1229 / 229))  # the closed form
    assert found.low < found.f1 < found.high


def test_the_ceiling_and_its_interval_by_simulation():
    rng = np.random.default_rng(5)
    positives, negatives, contamination, missed = 60, 300, 0.05, 0.01
    scores = []
    for _ in range(20_000):
        label = np.repeat([True, False], [positives, negatives])
        wrong = rng.random(360) < np.where(label, contamination, missed)
        truth = label ^ wrong  # what the perfect system says
        scores.append(2 * (label & truth).sum() / (label.sum() + truth.sum()))
    found = f1_ceiling(positives, negatives, contamination, missed)
    assert found.f1 == pytest.approx(np.mean(scores), abs=0.002)
    inside = np.mean([(found.low <= score <= found.high) for score in scores])
    assert 0.95 <= inside < 0.975  # at least the level; the score is discrete


def test_the_interval_by_counting_every_outcome():
    positives, negatives, contamination, missed = 5, 8, 0.2, 0.1
    outcomes = sorted(
        (
            2 * (positives - x) / (2 * (positives - x) + x + y),
            stats.binom.pmf(x, positives, contamination) * stats.binom.pmf(y, negatives, missed),
        )
        for x, y in product(range(positives + 1), range(negatives + 1))
    )
    values, chances = np.array(outcomes).T
    below = np.cumsum(chances)
    found = f1_ceiling(positives, negatives, contamination, missed)
    assert found.low == pytest.approx(values[below >= 0.025][0])
    assert found.high == pytest.approx(values[below >= 0.975][0])


def test_right_labels_cost_nothing_and_wrong_ones_everything():
    assert f1_ceiling(10, 50, 0, 0) == (1, 1, 1, 1, 1)
    assert f1_ceiling(10, 50, 1, 0)[1:] == (0, 0, 0, 0)
    nothing = f1_ceiling(0, 50, 0.1, 0)
    assert np.isnan(nothing).all()  # no positive, no YES
    assert f1_ceiling(0, 50, 0.1, 0.5).f1 == 0
    for bad in ((-1, 5, 0, 0), (5, 5, 1.1, 0), (5, 5, 0, -0.1)):
        with pytest.raises(ValueError):
            f1_ceiling(*bad)


@settings(max_examples=80)
@given(st.integers(1, 300), st.integers(0, 2000), st.floats(0, 0.5), st.floats(0, 0.2))
def test_more_wrong_labels_never_raise_the_ceiling(positives, negatives, contamination, missed):
    here = f1_ceiling(positives, negatives, contamination, missed)
    for worse in (
        f1_ceiling(positives, negatives, min(1, contamination + 0.1), missed),
        f1_ceiling(positives, negatives, contamination, missed + 0.1),
    ):
        assert worse.f1 <= here.f1 + 1e-12
        assert worse.low <= here.low + 1e-12
        assert worse.high <= here.high + 1e-12


def made(systems=8, n=400, wrong_labels=(3, 25), seed=0):
    """Systems of rising skill, each right about the truth; two labels are wrong."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.3
    skill = np.linspace(0.6, 0.97, systems)
    says = np.where(rng.random((systems, n)) < skill[:, None], truth, ~truth)
    label = truth.copy()
    label[list(wrong_labels)] ^= True
    return says, np.ones_like(says), label


def test_wrong_labels_come_first():
    says, answered, label = made()
    found = suspects(says, answered, label)
    assert set(found.ranked()[:10].tolist()) >= {3, 25}
    unanimous = {i for i in range(400) if all(says[:, i] != label[i])}
    assert set(np.flatnonzero(found.unanimous).tolist()) == unanimous


def test_discrimination_is_the_correlation_with_all_other_candidates():
    says, answered, label = made(n=40)
    answered[2, 5] = answered[0, :10] = answered[7, 30:] = False
    found = suspects(says, answered, label)
    for i in range(40):
        here, rest = [], []
        for s in range(8):
            others = [j for j in range(40) if j != i and answered[s, j]]
            if answered[s, i] and others:
                here.append(float(says[s, i] == label[i]))
                rest.append(np.mean([says[s, j] == label[j] for j in others]))
        expected = np.nan if len(set(here)) < 2 else stats.pearsonr(here, rest).statistic
        assert found.discrimination[i] == pytest.approx(expected, nan_ok=True), i
        assert found.answered[i] == len(here)
        assert found.against[i] == here.count(0.0)


def test_chance_alone_by_simulation():
    """Independent errors: the expected number of unanimous ones is what simulation gives on average."""
    rng = np.random.default_rng(2)
    positive = np.repeat([True, False], [100, 400])
    counts, expected = [], []
    for _ in range(300):
        wrong = rng.random((3, 500)) < np.array([0.3, 0.4, 0.2])[:, None]
        found = suspects(positive ^ wrong, np.ones((3, 500), dtype=bool), positive)
        counts.append(found.unanimous.sum())
        expected.append(found.expected_unanimous)
    assert np.mean(expected) == pytest.approx(500 * 0.3 * 0.4 * 0.2, rel=0.05)
    assert np.mean(counts) == pytest.approx(np.mean(expected), rel=0.08)


@settings(max_examples=50)
@given(st.integers(0, 10_000))
def test_swapping_yes_and_no_everywhere_or_the_order_changes_nothing(seed):
    says, answered, label = made(systems=5, n=30, seed=seed)
    rng = np.random.default_rng(seed)
    answered = rng.random(says.shape) < 0.8
    one = suspects(says, answered, label)
    swapped = suspects(~says, answered, ~label)
    assert one.ranked().tolist() == swapped.ranked().tolist()
    np.testing.assert_allclose(one.discrimination, swapped.discrimination)
    order = rng.permutation(5)
    other = suspects(says[order], answered[order], label)
    np.testing.assert_allclose(one.discrimination, other.discrimination)
    assert other.expected_unanimous == pytest.approx(one.expected_unanimous)


def test_silence_is_neither_for_nor_against():
    says = np.array([[True, True], [True, False]])
    answered = np.array([[True, False], [True, False]])
    found = suspects(says, answered, np.array([False, True]))
    assert found.answered.tolist() == [2, 0]
    assert found.unanimous.tolist() == [True, False]
    assert found.ranked().tolist() == [0]
    assert np.isnan(found.discrimination).all()


def test_the_closed_form_is_what_scikit_learn_scores():
    """8 of 40 positives and 6 of 120 negatives labelled wrongly, exactly the expected numbers."""
    label = np.repeat([1, 0], [40, 120])
    truth = label.copy()
    truth[:8] = 0
    truth[40:46] = 1
    assert f1_ceiling(40, 120, 8 / 40, 6 / 120).f1 == pytest.approx(f1_score(label, truth))


def test_a_ceiling_of_millions_of_labels_is_the_normal_limit_and_needs_no_memory():
    """Delta method: F1 = 2h / (2h + a + b) with h = P − a; its spread from those of a and b."""
    positives = negatives = 10**9
    share = 0.5
    found = f1_ceiling(positives, negatives, share, share)
    a = b = positives * share
    whole = 2 * (positives - a) + a + b
    by_a = -2 / whole + 2 * (positives - a) / whole**2  # h falls as a rises; the whole falls by one
    by_b = -2 * (positives - a) / whole**2
    spread = np.sqrt(positives * share * (1 - share) * (by_a**2 + by_b**2))
    assert found.f1 == 0.5
    assert found.low == pytest.approx(0.5 - 1.96 * spread, abs=0.02 * spread)
    assert found.high == pytest.approx(0.5 + 1.96 * spread, abs=0.02 * spread)
