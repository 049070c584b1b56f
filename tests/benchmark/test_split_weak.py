import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from specvi_benchmark.errors import UserError
from specvi_benchmark.splits.recipe import WeakClassifier
from specvi_benchmark.splits.weak import folds_of, train_weak

SETTINGS = WeakClassifier(
    acceptance=0.8, folds=5, positives=1000, others_per_positive=1.0, trees=60, leaves=16, learning_rate=0.2
)


def planted(n=300, visits=2):
    """Features that tell an object but not its class: what a classifier could only have learnt by heart."""
    rng = np.random.default_rng(4)
    member = rng.random(n) < 0.5
    features = rng.normal(size=(n, 4)).astype(np.float32)
    names = [f"o{number}" for number in range(n)]
    return np.tile(features, (visits, 1)), np.tile(member, visits), names * visits


def test_no_object_is_judged_by_a_classifier_that_has_seen_it():
    features, member, names = planted()
    fold = folds_of(names, 1, 5)
    weak = train_weak(features, member, fold, SETTINGS, 1, "test")
    own = roc_auc_score(member, weak.score(features, fold))
    assert 0.4 < own < 0.6  # nothing to be known
    seen = roc_auc_score(member, weak.score(features, (fold + 1) % 5))
    assert seen > 0.95  # what it would be if an object were judged by a classifier trained on it


def test_a_real_feature_is_found():
    features, member, names = planted(visits=1)
    features[:, 0] += 3 * member
    fold = folds_of(names, 1, 5)
    score = train_weak(features, member, fold, SETTINGS, 1, "test").score(features, fold)
    assert roc_auc_score(member, score) > 0.95


def test_folds_belong_to_objects_and_are_about_equal():
    names = [f"o{number}" for number in range(5000)]
    fold = folds_of(names, 3, 5)
    assert np.array_equal(fold, folds_of(names[::-1], 3, 5)[::-1])
    assert np.abs(np.bincount(fold) - 1000).max() < 4 * np.sqrt(5000 * 0.2 * 0.8)
    assert not np.array_equal(fold, folds_of(names, 4, 5))


def test_training_twice_gives_the_same_scores():
    features, member, names = planted()
    fold = folds_of(names, 1, 5)
    first, second = (
        train_weak(features, member, fold, SETTINGS, 1, "test").score(features, fold) for _ in range(2)
    )
    assert first.tobytes() == second.tobytes()


def test_too_few_positives_are_refused():
    features, _, names = planted()
    few = np.arange(len(names)) < 10
    with pytest.raises(UserError, match="too few spectra"):
        train_weak(features, few, folds_of(names, 1, 5), SETTINGS, 1, "task cv")
