"""Agreement of raters: published worked examples, scikit-learn, and definitions written out as loops."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import cohen_kappa_score

from specvi_benchmark.scoring.agreement import (
    MISSING,
    Ratings,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    raw_agreement,
    specific_agreement,
)

FEW = {"resamples": 50}

# Krippendorff 2011, example C: four observers, twelve units, five categories, 0 where there is no rating.
OBSERVERS = np.array([
    [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
    [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
])  # fmt: skip
PUBLISHED = Ratings(OBSERVERS.T - 1, 5)


def two_by_two(both_yes, first, second, both_no):
    pairs = np.array([[1, 1], [1, 0], [0, 1], [0, 0]])
    return Ratings(np.repeat(pairs, [both_yes, first, second, both_no], axis=0))


def test_krippendorff_s_own_example():
    """Krippendorff 2011: nominal 0.743, ordinal 0.815, interval 0.849."""
    for scale, value in (("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)):
        assert round(krippendorff_alpha(PUBLISHED, scale, **FEW).value, 3) == value


def test_the_same_data_in_gwet_s_handbook():
    """Gwet 2014, as in the irrCAC package, data set cac.raw4raters: AC1 0.77544, Fleiss κ 0.76117, raw 0.81818."""
    assert round(gwet_ac1(PUBLISHED, **FEW).value, 5) == 0.77544
    assert round(fleiss_kappa(PUBLISHED, **FEW).value, 5) == 0.76117
    assert round(raw_agreement(PUBLISHED, **FEW).value, 5) == 0.81818


def test_three_categories_of_two_abstractors():
    """Gwet 2014, irrCAC data set cont3x3abstractors: Cohen 0.7964094, Scott 0.7962397 (Fleiss κ of two raters)."""
    table = np.array([[13, 0, 0], [0, 20, 7], [0, 4, 56]])
    pairs = np.array([(i, j) for i in range(3) for j in range(3)])
    ratings = Ratings(np.repeat(pairs, table.ravel(), axis=0), 3)
    assert round(cohen_kappa(ratings, **FEW).value, 7) == 0.7964094
    assert round(fleiss_kappa(ratings, **FEW).value, 7) == 0.7962397


def test_fleiss_1971_form_with_fourteen_raters():
    """The example of ten subjects and fourteen raters in Fleiss's layout that reference works use: κ = 0.210."""
    counts = np.array([
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ])  # fmt: skip
    ratings = Ratings(np.array([np.repeat(np.arange(5), row) for row in counts]), 5)
    assert round(fleiss_kappa(ratings, **FEW).value, 3) == 0.210


def test_rare_positives_sink_kappa_and_not_ac1():
    """Two raters agree on 118 + 0 of 125. By hand: e = 2 · 0.972 · 0.028, AC1 = (0.944 - e) / (1 - e)."""
    ratings = two_by_two(118, 5, 2, 0)
    chance = 2 * 0.972 * 0.028
    assert raw_agreement(ratings, **FEW).value == pytest.approx(118 / 125)
    assert gwet_ac1(ratings, **FEW).value == pytest.approx((0.944 - chance) / (1 - chance))
    assert cohen_kappa(ratings, **FEW).value == pytest.approx(-0.0234, abs=5e-5)
    assert specific_agreement(ratings, 1, **FEW).value == pytest.approx(2 * 118 / (2 * 118 + 5 + 2))
    assert specific_agreement(ratings, 0, **FEW).value == 0


def rater_matrices(least=2, most=4, low=MISSING):
    return st.integers(least, most).flatmap(
        lambda r: arrays(np.int64, st.tuples(st.integers(2, 15), st.just(r)), elements=st.integers(low, 2))
    )


@settings(max_examples=100)
@given(rater_matrices())
def test_agreement_by_looking_at_every_pair(values):
    ratings = Ratings(values, 3)
    rows = [[v for v in row if v != MISSING] for row in values.tolist()]
    rows = [row for row in rows if len(row) >= 2]
    pairs = [list(permutations(row, 2)) for row in rows]
    raw = np.mean([np.mean([a == b for a, b in found]) for found in pairs]) if rows else np.nan
    assert raw_agreement(ratings, **FEW).value == pytest.approx(raw, nan_ok=True)
    chose = [(a, b) for found in pairs for a, b in found if a == 1]
    specific = np.mean([b == 1 for _, b in chose]) if chose else np.nan
    assert specific_agreement(ratings, 1, **FEW).value == pytest.approx(specific, nan_ok=True)


@settings(max_examples=100)
@given(rater_matrices(), st.sampled_from(["nominal", "ordinal", "interval"]))
def test_alpha_by_its_definition(values, scale):
    """1 - (mean difference within items) / (mean difference of any two ratings that are paired at all)."""
    rows = [[v for v in row if v != MISSING] for row in values.tolist()]
    rows = [row for row in rows if len(row) >= 2]
    everything = [v for row in rows for v in row]
    amount = [everything.count(c) for c in range(3)]

    def difference(a, b):
        if scale == "nominal":
            return float(a != b)
        if scale == "interval":
            return float((a - b) ** 2)
        low, high = min(a, b), max(a, b)
        return (sum(amount[low : high + 1]) - (amount[low] + amount[high]) / 2) ** 2

    observed = sum(sum(difference(a, b) for a, b in permutations(row, 2)) / (len(row) - 1) for row in rows)
    expected = sum(difference(a, b) for a, b in permutations(everything, 2))
    alpha = 1 - observed * (len(everything) - 1) / expected if expected else np.nan
    found = krippendorff_alpha(Ratings(values, 3), scale, **FEW)
    assert found.value == pytest.approx(alpha, nan_ok=True)


@settings(max_examples=60)
@given(rater_matrices(2, 2, low=0))
def test_cohen_s_kappa_is_scikit_learn_s(values):
    found = cohen_kappa(Ratings(values, 3), **FEW).value
    if len(np.unique(values)) == 1:
        assert np.isnan(found)  # both always chose the same: no room beyond chance
    else:
        assert found == pytest.approx(cohen_kappa_score(*values.T))


@settings(max_examples=50)
@given(rater_matrices(), st.randoms(use_true_random=False))
def test_order_of_items_and_raters_changes_nothing(values, random):
    rows, columns = list(range(values.shape[0])), list(range(values.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    shuffled = values[rows][:, columns]
    for coefficient in (raw_agreement, gwet_ac1, fleiss_kappa, krippendorff_alpha):
        one, other = coefficient(Ratings(values, 3), **FEW), coefficient(Ratings(shuffled, 3), **FEW)
        assert other == pytest.approx(one, nan_ok=True)


def test_items_that_one_rater_saw_are_no_agreement():
    single = np.array([[1, MISSING], [MISSING, 0], [MISSING, MISSING]])
    for coefficient in (raw_agreement, gwet_ac1, fleiss_kappa, krippendorff_alpha, cohen_kappa):
        assert np.isnan(coefficient(Ratings(single), **FEW)).all()


def test_perfect_agreement_has_no_interval_and_no_kappa_without_variety():
    same = two_by_two(5, 0, 0, 0)
    found = raw_agreement(same)
    assert found.value == 1
    assert np.isnan([found.low, found.high]).all()
    assert np.isnan(krippendorff_alpha(same).value)
    assert np.isnan(cohen_kappa(same).value)
    assert gwet_ac1(same).value == 1


def test_intervals_draw_objects_when_they_are_known():
    """Every item four times: as separate items the interval of raw agreement shrinks by about half, as objects not."""
    rng = np.random.default_rng(1)
    truth = rng.random(60) < 0.3
    once = np.stack([truth, truth ^ (rng.random(60) < 0.2)], axis=1).astype(np.int64)
    repeated = np.repeat(once, 4, axis=0)
    width = [
        found.high - found.low
        for found in (
            raw_agreement(Ratings(once)),
            raw_agreement(Ratings(repeated)),
            raw_agreement(Ratings(repeated, 2, np.repeat(np.arange(60), 4))),
        )
    ]
    assert width[1] == pytest.approx(width[0] / 2, rel=0.15)
    assert width[2] == pytest.approx(width[0], rel=0.05)


@pytest.mark.slow
def test_intervals_hold_the_truth_about_as_often_as_they_say():
    """200 items, 3 raters, 30 % positives, each wrong one time in ten: 500 repetitions against a huge sample."""

    def sample(items, rng):
        truth = rng.random(items) < 0.3
        return (truth[:, None] ^ (rng.random((items, 3)) < 0.1)).astype(np.int64)

    rng = np.random.default_rng(3)
    for coefficient in (krippendorff_alpha, gwet_ac1, fleiss_kappa):
        true = coefficient(Ratings(sample(1_000_000, rng)), resamples=2).value
        held = 0
        for _ in range(500):
            found = coefficient(Ratings(sample(200, rng)), resamples=500)
            held += found.low <= true <= found.high
        assert 0.91 <= held / 500 <= 0.98


@pytest.mark.parametrize(
    ("values", "more"),
    [
        (np.zeros((3, 2)), {}),
        (np.zeros(3, dtype=int), {}),
        (np.full((3, 2), 2), {}),
        (np.full((3, 2), -2), {}),
        (np.zeros((3, 2), dtype=int), {"cluster": np.zeros(2, dtype=int)}),
    ],
)
def test_what_is_no_rating_matrix_is_refused(values, more):
    with pytest.raises(ValueError):
        Ratings(values, 2, **more)


def test_cohen_s_kappa_is_of_two():
    with pytest.raises(ValueError, match="two raters"):
        cohen_kappa(PUBLISHED)
