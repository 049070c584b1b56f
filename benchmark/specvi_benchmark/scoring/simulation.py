"""Systems made up to try the statistics on: known truth, known quality, and how often an interval holds it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
from scipy import stats

from specvi_benchmark.scoring.compared_metric import parse_metric
from specvi_benchmark.scoring.intervals import draw_tables, interval, recentred
from specvi_benchmark.scoring.ledger import NO, YES, Group, Rows, ledgers
from specvi_benchmark.scoring.metrics import FloatArray, Rule, macro, metrics, tables
from specvi_benchmark.scoring.paired import paired_draws
from specvi_benchmark.scoring.panel import panel
from specvi_benchmark.scoring.rank_sets import adjusted_p, holm, rank_sets, single_p
from specvi_benchmark.tasks.registry import TASK_KEYS
from specvi_benchmark.tasks.task import Track

MAIN: Track = get_args(Track)[0]
NEGATIVES_PER_POSITIVE = 5  # about one candidate in six is positive, as in the official test set


@dataclass(frozen=True, slots=True)
class Design:
    """A test set of equal tasks, with one object a candidate."""

    positives: int
    tasks: int

    @property
    def negatives(self) -> int:
        """Return the negatives of a task."""
        return NEGATIVES_PER_POSITIVE * self.positives

    def true_f1(self, tpr: float, fpr: float) -> float:
        """Return F1 at the expected counts."""
        found, alarms = self.positives * tpr, self.negatives * fpr
        return 2 * found / (self.positives + found + alarms)


@dataclass(frozen=True, slots=True)
class IntervalCoverage:
    """Share of simulated test sets whose 95 % interval holds the true F1; ``plain`` is the percentile bootstrap."""

    design: Design
    tpr: float
    fpr: float
    f1: float
    ours: float
    plain: float


@dataclass(frozen=True, slots=True)
class ComparisonCoverage:
    """How a comparison of several systems of known quality does.

    ``pairs``: intervals of pairs that hold the true difference. ``ranks``: test sets in which every rank set
    holds its true rank. ``found``, ``found_holm``: pairs that differ and were found apart, by step-down and by
    Holm's method on the p-values of single pairs; None where all systems are equal.
    """

    design: Design
    systems: int
    pairs: float
    ranks: float
    found: float | None
    found_holm: float | None


def simulated_rows(
    design: Design, rates: Sequence[tuple[float, float]], rng: np.random.Generator, shared: float = 0.6
) -> dict[str, Rows]:
    """Return systems with given true-positive and false-positive rates.

    ``shared`` is the correlation between systems of how hard a candidate is, on a normal scale.
    """
    groups = tuple(Group(MAIN, key) for key in TASK_KEYS[: design.tasks])
    size = design.positives + design.negatives
    group = np.repeat(np.arange(design.tasks), size)
    positive = np.tile(np.arange(size) < design.positives, design.tasks)
    common = rng.normal(size=len(group))
    systems = {}
    for number, (tpr, fpr) in enumerate(rates):
        hard = np.sqrt(shared) * common + np.sqrt(1 - shared) * rng.normal(size=len(group))
        right = hard < np.where(positive, stats.norm.ppf(tpr), stats.norm.ppf(1 - fpr))
        call = np.where(right == positive, YES, NO)
        systems[f"system {number:02}"] = Rows(groups, group, positive, call, np.arange(len(group)))
    return systems


def many_systems(systems: int = 50, candidates: int = 6754, seed: int = 0) -> dict[str, Rows]:
    """Return systems of spread quality over five tasks; 6,754 candidates are the official test set's number."""
    rng = np.random.default_rng(seed)
    groups = tuple(Group(MAIN, key) for key in TASK_KEYS[:5])
    group = np.arange(candidates) % len(groups)
    positive = rng.random(candidates) < 1 / (1 + NEGATIVES_PER_POSITIVE)
    common = rng.normal(size=candidates)
    found = {}
    for number in range(systems):
        right = common + rng.normal(size=candidates) < 1 + 1.5 * number / systems
        call = np.where(right == positive, YES, NO)
        found[f"system {number:02}"] = Rows(groups, group, positive, call, np.arange(candidates))
    return found


def interval_coverage(
    design: Design, tpr: float, fpr: float, *, repeats: int, resamples: int, seed: int = 0
) -> IntervalCoverage:
    """Simulate test sets and count how often the interval of (macro-)F1 holds the truth."""
    truth = design.true_f1(tpr, fpr)
    members = list(range(design.tasks))
    rng = np.random.default_rng(seed)
    ours = plain = 0
    for repeat in range(repeats):
        rows = simulated_rows(design, [(tpr, fpr)], rng)["system 00"]
        counts = tables(ledgers(rows), Rule.RANKED)
        point = macro(metrics(counts), members)
        drawn = macro(metrics(draw_tables(rows, resamples=resamples, seed=repeat)[0]), members)
        spread = recentred(point, drawn) if design.tasks > 1 else drawn
        ours += _holds(interval(float(point.f1), spread.f1), truth)
        values = macro(metrics(_percentile_tables(counts, resamples, rng)), members).f1
        low, high = np.quantile(values, [0.025, 0.975])
        plain += _holds((float(low), float(high)), truth)
    return IntervalCoverage(design, tpr, fpr, truth, ours / repeats, plain / repeats)


def comparison_coverage(
    design: Design, rates: Sequence[tuple[float, float]], *, repeats: int, resamples: int, seed: int = 0
) -> ComparisonCoverage:
    """Simulate test sets, compare the systems by macro-F1, and hold the result against the truth."""
    truth = np.array([design.true_f1(*rate) for rate in rates])
    better = (truth > truth[:, None] + 1e-9).sum(axis=1)
    worse = (truth < truth[:, None] - 1e-9).sum(axis=1)
    rng = np.random.default_rng(seed)
    pairs, ranks, found, found_holm = [], 0, [], []
    for repeat in range(repeats):
        systems = panel(simulated_rows(design, rates, rng))
        draws = paired_draws(
            systems, parse_metric("macro-f1", systems.groups), resamples=resamples, seed=repeat
        )
        true_difference = truth[draws.first] - truth[draws.second]
        apart = adjusted_p(draws) <= 0.05
        best, worst = rank_sets(draws, apart)
        ranks += bool(((best <= 1 + better) & (worst >= len(rates) - worse)).all())
        pairs.append(np.mean(np.abs(draws.difference - true_difference) <= draws.half_width()))
        differ = np.abs(true_difference) > 1e-9
        if differ.any():
            found.append(np.mean(apart[differ]))
            found_holm.append(np.mean((holm(single_p(draws)) <= 0.05)[differ]))
    return ComparisonCoverage(
        design,
        len(rates),
        float(np.mean(pairs)),
        ranks / repeats,
        float(np.mean(found)) if found else None,
        float(np.mean(found_holm)) if found_holm else None,
    )


def _percentile_tables(counts: np.ndarray, resamples: int, rng: np.random.Generator) -> FloatArray:
    """Return ``(resamples, tasks, 4)`` tables of a plain bootstrap of candidates within each class."""
    draws = np.empty((resamples, *counts.shape))
    for task, table in enumerate(counts):
        for cells in ((0, 2), (1, 3)):
            size = table[list(cells)].sum()
            draws[:, task, list(cells)] = rng.multinomial(size, table[list(cells)] / size, size=resamples)
    return draws


def _holds(bounds: tuple[float, float], truth: float) -> bool:
    return bounds[0] <= truth <= bounds[1]
