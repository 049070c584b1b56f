"""Comparisons of simulated systems with known truth: coverage, false findings, power."""

import numpy as np
import pytest

from specvi_benchmark.scoring.simulation import (
    Design,
    comparison_coverage,
    interval_coverage,
    simulated_rows,
)


def test_simulated_systems_have_the_rates_they_are_given():
    rows = simulated_rows(Design(4000, 2), [(0.9, 0.03), (0.6, 0.2)], np.random.default_rng(0))
    for (tpr, fpr), system in zip([(0.9, 0.03), (0.6, 0.2)], rows.values(), strict=True):
        assert (system.call[system.positive] == 0).mean() == pytest.approx(tpr, abs=0.02)
        assert (system.call[~system.positive] == 0).mean() == pytest.approx(fpr, abs=0.01)
    first, second = rows.values()
    right = [(s.call == 0) == s.positive for s in (first, second)]
    assert np.corrcoef(*right)[0, 1] > 0.2  # hard candidates are hard for both


@pytest.mark.slow
def test_a_plain_bootstrap_fails_where_the_interval_holds():
    found = interval_coverage(Design(20, 1), 0.98, 0.004, repeats=300, resamples=500)
    assert found.f1 == pytest.approx(2 * 19.6 / (20 + 19.6 + 0.4))
    assert found.plain < 0.6
    assert found.ours > 0.92


@pytest.mark.slow
@pytest.mark.parametrize(
    ("design", "rates"),
    [
        (Design(20, 5), [(0.9, 0.03)] * 6),
        (Design(20, 1), [(0.98, 0.004)] * 6),
        (Design(50, 1), [(0.05, 0.01)] * 6),
        (Design(200, 1), [(0.6, 0.15)] * 6),
    ],
    ids=str,
)
def test_equal_systems_are_seldom_found_apart(design, rates):
    # 150 repeats: 0.95 − 3σ is 0.897. Thin counts make the method cautious, so there is no upper bound.
    found = comparison_coverage(design, rates, repeats=150, resamples=400)
    assert found.ranks >= 0.897
    assert found.pairs >= 0.92


@pytest.mark.slow
def test_systems_that_differ_are_found_more_often_than_by_holm():
    ladder = [(0.95 - 0.2 * k / 7, 0.03 + 0.07 * k / 7) for k in range(8)]
    found = comparison_coverage(Design(50, 5), ladder, repeats=40, resamples=2000)
    assert found.ranks >= 0.85
    assert 0.91 <= found.pairs <= 0.99
    assert found.found > found.found_holm > 0.4
