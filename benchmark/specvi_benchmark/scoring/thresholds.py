"""Thresholds on P(YES) with a promise, fixed on labelled candidates that are not scored.

A promise holds for candidates exchangeable with those it was made on: the same survey, selection and system.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from specvi_benchmark.scoring.ledger import BoolArray
from specvi_benchmark.scoring.metrics import FloatArray

CONFIDENCE = 0.95


class Bounds(NamedTuple):
    """Two-sided bounds of a share; NaN without a trial."""

    low: float
    high: float


def clopper_pearson(successes: int, trials: int, level: float = 0.95) -> Bounds:
    """Return the exact bounds of a binomial share. Clopper & Pearson 1934, Biometrika 26, 404."""
    if not trials:
        return Bounds(np.nan, np.nan)
    tail = (1 - level) / 2
    failures = trials - successes
    low = float(special.betaincinv(successes, failures + 1, tail)) if successes else 0.0
    high = float(special.betainccinv(successes + 1, failures, tail)) if failures else 1.0
    return Bounds(low, high)


def lower_bound(successes: int, trials: int, confidence: float) -> float:
    """Return the one-sided Clopper–Pearson lower bound of a share; 0 without a success."""
    return float(special.betaincinv(successes, trials - successes + 1, 1 - confidence)) if successes else 0.0


def completeness_threshold(
    positive: BoolArray, p: FloatArray, completeness: float, confidence: float = CONFIDENCE
) -> float:
    """Return the highest threshold that keeps ``completeness`` of the class with ``confidence``; YES is p ≥ it.

    The j-th lowest p of the calibration positives, j being the largest number with
    P(Binomial(positives, 1 − completeness) ≥ j) ≥ confidence: an order statistic as a tolerance limit,
    Wilks 1941, Ann. Math. Stat. 12, 91. The share of positives has no part in it. NaN where there are too few:
    see `positives_needed`.
    """
    positives = np.sort(p[positive])
    at_least = special.bdtrc(np.arange(len(positives)), len(positives), 1 - completeness)
    safe = int((at_least >= confidence).sum())
    return float(positives[safe - 1]) if safe else np.nan


def positives_needed(completeness: float, confidence: float = CONFIDENCE) -> int:
    """Return how many calibration positives `completeness_threshold` needs: 1 − completenessⁿ ≥ confidence."""
    return int(np.ceil(np.log1p(-confidence) / np.log(completeness) - 1e-9))


def purity_threshold(
    positive: BoolArray, p: FloatArray, purity: float, confidence: float = CONFIDENCE
) -> float:
    """Return the lowest threshold tried above which purity is promised with ``confidence``; YES is p > it.

    Lists of the highest p are tried, 2, 4, 8, … times as long as a faultless one would need to be alone, each
    with a Clopper–Pearson lower bound at an equal part of 1 − confidence. Given the first p below a list, what is on
    it are independent draws, so each bound is exact: the argument of Geifman & El-Yaniv 2017, NIPS, for selective risk. NaN where no list passes.
    It holds at the share of positives of the calibration set only.
    """
    falling = np.sort(p[np.isfinite(p)])[::-1]  # without a P(YES), −∞, nothing is on a list
    sizes = []
    size = 2 * positives_needed(purity, confidence)
    while size < len(falling):
        sizes.append(size)
        size *= 2
    passed = np.nan
    for size in sizes:
        listed = p > falling[size]
        found = int((positive & listed).sum())
        if lower_bound(found, int(listed.sum()), 1 - (1 - confidence) / len(sizes)) >= purity:
            passed = float(falling[size])
    return passed
