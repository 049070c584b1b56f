import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from specvi_benchmark.splits.auroc import auroc


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=2, max_size=80))
def test_the_area_is_that_of_scikit_learn(rows):
    score, truth = np.array([row[0] for row in rows], float), np.array([row[1] for row in rows])
    found = auroc(score, truth, [str(n) for n in range(len(rows))])
    if truth.all() or not truth.any():
        assert found is None
    else:
        assert found.value == pytest.approx(roc_auc_score(truth, score))
        assert 0 <= found.low <= found.value <= found.high <= 1


def test_the_interval_covers_the_truth_as_often_as_it_says():
    # Normal scores one standard deviation apart: the area is Φ(1/√2) = 0.7602.
    rng = np.random.default_rng(1)
    truth = np.arange(150) < 30
    names = [str(n) for n in range(150)]
    hits = 0
    for _ in range(400):
        found = auroc(rng.normal(truth * 1.0, 1), truth, names)
        hits += found.low <= 0.7602 <= found.high
    assert 0.90 < hits / 400 < 0.985


def test_seeing_every_object_twice_does_not_make_the_interval_narrower():
    rng = np.random.default_rng(2)
    truth = np.arange(100) < 30
    score, names = rng.normal(truth * 1.0, 1), np.arange(100).astype(str)
    once = auroc(score, truth, names)
    twice = auroc(np.tile(score, 2), np.tile(truth, 2), np.tile(names, 2))
    assert twice.value == pytest.approx(once.value)
    assert twice.high - twice.low == pytest.approx(once.high - once.low)


def test_a_perfect_score_still_has_an_interval():
    found = auroc(np.array([0.0, 0.1, 0.8, 0.9]), np.array([False, False, True, True]), list("abcd"))
    assert found.value == 1
    assert found.low < 1
