"""Area under the ROC curve with an interval that knows that spectra of one object are not independent."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from specvi_benchmark.spectrum import BoolArray, FloatArray


@dataclass(frozen=True, slots=True)
class Auroc:
    """P(score of a YES > score of a NO), ties counting half, with a two-sided confidence interval."""

    value: float
    low: float
    high: float


def auroc(
    score: FloatArray, positive: BoolArray, object_id: Sequence[str], level: float = 0.95
) -> Auroc | None:
    """Estimate the area under the ROC curve.

    The variance is that of the placement values (DeLong, DeLong & Clarke-Pearson 1988, Biometrics 44, 837),
    summed within objects (Obuchowski 1997, Biometrics 53, 567; an object has one truth, so there are no mixed
    clusters). The interval is normal, cut at 0 and 1; an estimate of exactly 0 or 1 has no spread of its
    own, and is given the interval of one wrongly ordered pair in 2·min(YES, NO).

    Parameters
    ----------
    score, positive, object_id
        ``(n,)``.
    level
        Confidence level of the interval.

    Returns
    -------
    None without a YES or without a NO.
    """
    yes, no = score[positive], score[~positive]
    if not (yes.size and no.size):
        return None
    ranks = rankdata(np.concatenate([yes, no]))
    # Placement of a YES: share of the NO below it; of a NO: share of the YES above it.
    placed_yes = (ranks[: yes.size] - rankdata(yes)) / no.size
    placed_no = 1 - (ranks[yes.size :] - rankdata(no)) / yes.size
    value = float(placed_yes.mean())
    names = np.asarray(object_id)
    variance = _variance(placed_yes, names[positive], value) + _variance(placed_no, names[~positive], value)
    if variance == 0:
        worst = 1 / (2 * min(yes.size, no.size))
        variance = worst * (1 - worst) / min(yes.size, no.size)
    half = float(ndtri((1 + level) / 2)) * math.sqrt(variance)
    return Auroc(value, max(0.0, value - half), min(1.0, value + half))


def _variance(placed: FloatArray, names: np.ndarray, value: float) -> float:
    """Return the variance of a mean of placements whose deviations add up within objects."""
    _, cluster = np.unique(names, return_inverse=True)
    sums = np.bincount(cluster, placed - value)
    if sums.size < 2:
        return 0.25
    return float(sums.size / (sums.size - 1) * np.sum(sums**2) / placed.size**2)
