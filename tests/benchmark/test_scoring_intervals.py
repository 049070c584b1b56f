"""Intervals, against closed forms, a plain row-by-row bootstrap, and simulated coverage."""

import numpy as np
import pytest
from scipy import stats

from specvi_benchmark.scoring.intervals import bootstrap_totals, draw_tables, interval, recentred
from specvi_benchmark.scoring.ledger import Group, Rows, ledgers
from specvi_benchmark.scoring.metrics import FN, FP, TN, TP, Rule, macro, metrics, tables


def rows_of(cells, objects=None):
    """Rows of main/t0, main/t1, … with given (TP, FP, FN, TN)."""
    group, positive, call = [], [], []
    for place, (tp, fp, fn, tn) in enumerate(cells):
        group += [place] * (tp + fp + fn + tn)
        positive += [True] * tp + [False] * fp + [True] * fn + [False] * tn
        call += [0] * (tp + fp) + [1] * (fn + tn)
    codes = np.arange(len(group)) if objects is None else np.asarray(objects)
    groups = tuple(Group("main", f"t{place}") for place in range(len(cells)))
    return Rows(groups, np.array(group), np.array(positive), np.array(call), codes)


def width(values):
    low, high = np.quantile(values, [0.025, 0.975])
    return high - low


def test_draws_keep_the_class_counts_of_single_row_objects():
    draws, methods = draw_tables(rows_of([(30, 20, 10, 140), (5, 0, 1, 60)]), resamples=500)
    assert methods == ("object bootstrap", "beta")
    np.testing.assert_allclose(draws[..., TP] + draws[..., FN], np.tile([40, 6], (500, 1)))
    np.testing.assert_allclose(draws[..., FP] + draws[..., TN], np.tile([160, 60], (500, 1)))


def test_bootstrap_spread_is_the_binomial_one():
    draws, _ = draw_tables(rows_of([(30, 20, 10, 140)]), resamples=40_000, seed=1)
    values = metrics(draws[:, 0])
    recall_error = np.sqrt(0.75 * 0.25 / 40)
    accuracy_error = np.sqrt(40 * 0.75 * 0.25 + 160 * 0.875 * 0.125) / 200
    assert values.recall.std() == pytest.approx(recall_error, rel=0.02)
    assert values.accuracy.std() == pytest.approx(accuracy_error, rel=0.02)
    assert values.recall.mean() == pytest.approx(0.75, abs=4 * recall_error / 200)


def test_multinomial_draws_equal_drawing_objects_one_by_one():
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 3, size=(60, 5))
    strata = np.arange(60)[:, None] % 3 == np.arange(3)
    quick = bootstrap_totals(counts, strata, 20_000, np.random.default_rng(0))
    plain = np.zeros((20_000, 5))
    for which in range(3):
        members = np.flatnonzero(strata[:, which])
        drawn = rng.choice(members, size=(20_000, len(members)))
        plain += counts[drawn].sum(axis=1)
    np.testing.assert_allclose(quick.mean(axis=0), counts.sum(axis=0), rtol=0.003)
    np.testing.assert_allclose(np.cov(quick.T), np.cov(plain.T), atol=0.06 * np.cov(plain.T).max())


def test_chunks_leave_no_resample_out(monkeypatch):
    monkeypatch.setattr("specvi_benchmark.scoring.intervals._CHUNK_ENTRIES", 7)
    totals = bootstrap_totals(np.eye(3, dtype=np.int64), np.ones((3, 1), bool), 101, np.random.default_rng(0))
    assert (totals.sum(axis=1) == 3).all()


@pytest.mark.parametrize("cells", [(30, 20, 30, 140), (18, 2, 2, 98)])
def test_showing_each_object_twice_adds_no_information(cells):
    once = rows_of([cells])
    doubled_cells = tuple(2 * count for count in cells)
    twice = rows_of(
        [doubled_cells],
        objects=np.concatenate(
            [
                np.arange(count).repeat(2) + start
                for count, start in zip(cells, np.cumsum((0, *cells[:3])), strict=True)
            ]
        ),
    )
    apart = rows_of([doubled_cells])
    widths = [
        width(metrics(draw_tables(rows, resamples=40_000)[0][:, 0]).f1) for rows in (once, twice, apart)
    ]
    assert widths[1] == pytest.approx(widths[0], rel=0.02)
    assert widths[1] / widths[2] == pytest.approx(np.sqrt(2), rel=0.06)


def test_a_thin_cell_gives_beta_quantiles():
    rows = rows_of([(19, 0, 1, 200)])
    draws, methods = draw_tables(rows, resamples=200_000, seed=2)
    assert methods == ("beta",)
    values = metrics(draws[:, 0])
    assert interval(0.95, values.recall) == pytest.approx(stats.beta(19.5, 1.5).ppf([0.025, 0.975]), abs=1e-3)
    false_positive_rate = draws[:, 0, FP] / 200
    expected = stats.beta(0.5, 200.5).ppf([0.025, 0.975])
    assert np.quantile(false_positive_rate, [0.025, 0.975]) == pytest.approx(expected, abs=1e-4)
    # F1 of independent rates, integrated on a grid of their quantiles.
    grid = (np.arange(2000) + 0.5) / 2000
    tp = 20 * stats.beta(19.5, 1.5).ppf(grid)[:, None]
    fp = 200 * stats.beta(0.5, 200.5).ppf(grid)[None, :]
    f1 = 2 * tp / (20 + tp + fp)
    assert np.quantile(values.f1, [0.025, 0.975]) == pytest.approx(np.quantile(f1, [0.025, 0.975]), abs=1e-3)


def test_thin_is_fewer_than_ten_objects_in_any_cell():
    def method(*cells, objects=None):
        return draw_tables(rows_of([cells], objects), resamples=10)[1][0]

    assert method(10, 10, 10, 10) == "object bootstrap"
    for cells in ((9, 10, 10, 10), (10, 9, 10, 10), (10, 10, 9, 10), (10, 10, 10, 9)):
        assert method(*cells) == "beta"
    assert method(10, 10, 10, 10, objects=[0, 0, *range(2, 40)]) == "beta"  # ten rows, nine objects


def test_a_perfect_score_has_an_interval_that_ends_at_one():
    draws, _ = draw_tables(rows_of([(20, 0, 0, 100)]), resamples=50_000)
    low, high = interval(1.0, metrics(draws[:, 0]).recall)
    assert high == 1
    assert low == pytest.approx(stats.beta(20.5, 0.5).ppf(0.025), abs=2e-3)


def test_an_undefined_value_has_no_interval():
    assert np.isnan(interval(np.nan, np.array([0.1, 0.2]))).all()
    assert interval(0.5, np.array([np.nan, 0.4, 0.6])) == pytest.approx((0.405, 0.595))


def test_tasks_that_share_objects_vary_together():
    cells = (30, 30, 30, 30)
    shared = rows_of([cells, cells], objects=np.tile(np.arange(120), 2))
    draws, _ = draw_tables(shared, resamples=4000)
    np.testing.assert_array_equal(draws[:, 0], draws[:, 1])  # the same answers on the same objects
    apart, _ = draw_tables(rows_of([cells, cells]), resamples=4000)
    assert abs(np.corrcoef(metrics(apart).f1.T)[0, 1]) < 0.06


def test_beta_draws_of_two_tasks_are_independent():
    cells = (12, 1, 3, 60)
    draws, methods = draw_tables(rows_of([cells, cells]), resamples=4000)
    assert methods == ("beta", "beta")
    for cell in (TP, FP):
        assert abs(np.corrcoef(draws[..., cell].T)[0, 1]) < 0.06  # of independent draws, 4σ is 0.063


def test_order_of_rows_and_names_of_objects_change_nothing():
    rng = np.random.default_rng(5)
    rows = rows_of([(30, 20, 15, 140), (5, 3, 2, 60)], objects=rng.integers(0, 120, size=275))
    order = rng.permutation(275)
    names = rng.permutation(10_000)
    shuffled = Rows(
        rows.groups, rows.group[order], rows.positive[order], rows.call[order], names[rows.object_code[order]]
    )
    np.testing.assert_array_equal(draw_tables(rows, resamples=50)[0], draw_tables(shuffled, resamples=50)[0])
    assert not np.array_equal(draw_tables(rows, resamples=50, seed=1)[0], draw_tables(rows, resamples=50)[0])


def test_recentring_moves_the_mean_and_not_the_spread():
    draws = metrics(np.random.default_rng(0).integers(1, 50, size=(200, 4)))
    points = metrics(np.array([20, 3, 2, 60]))
    moved = recentred(points, draws)
    assert moved.f1.mean() == pytest.approx(points.f1)
    assert moved.f1.std() == pytest.approx(draws.f1.std())
    undefined = metrics(np.array([0, 0, 0, 5]))
    np.testing.assert_array_equal(recentred(undefined, draws).f1, draws.f1)


def coverage(design, tasks, repeats, seed=0):
    """Share of simulated systems whose interval holds the true F1: of one task, and of the macro mean."""
    positives, negatives, tpr, fpr = design
    truth = metrics(
        np.array([positives * tpr, negatives * fpr, positives * (1 - tpr), negatives * (1 - fpr)])
    ).f1
    rng = np.random.default_rng(seed)
    hits = {"task": 0, "macro": 0}
    for repeat in range(repeats):
        tp, fp = rng.binomial(positives, tpr, size=tasks), rng.binomial(negatives, fpr, size=tasks)
        rows = rows_of([(a, b, positives - a, negatives - b) for a, b in zip(tp, fp, strict=True)])
        points = metrics(tables(ledgers(rows), Rule.RANKED))
        drawn = metrics(draw_tables(rows, resamples=600, seed=repeat)[0])
        members = list(range(tasks))
        mean, means = macro(points, members), macro(drawn, members)
        low, high = interval(float(points.f1[0]), drawn.f1[:, 0])
        hits["task"] += bool(low <= truth <= high)
        low, high = interval(float(mean.f1), recentred(mean, means).f1)
        hits["macro"] += bool(low <= truth <= high)
    return hits["task"] / repeats, hits["macro"] / repeats


@pytest.mark.slow
@pytest.mark.parametrize(
    "design",
    [
        (20, 100, 0.9, 0.02),
        (20, 100, 0.98, 0.004),  # F1 near 1
        (20, 100, 0.05, 0.01),  # F1 near 0
        (50, 250, 0.6, 0.15),
        (150, 700, 0.9, 0.07),
    ],
    ids=str,
)
def test_coverage_is_near_nominal(design):
    # Of 400 repeats at 95 %, the binomial ±3σ is ±0.033. Counts are discrete, so some excess is expected.
    one, mean = coverage(design, tasks=5, repeats=400)
    assert one >= 0.917
    assert mean >= 0.917
    if design == (150, 700, 0.9, 0.07):
        assert one <= 0.983
        assert mean <= 0.983
