"""How good probabilities are: do they rank, and are they right as numbers?

All functions take ``positive`` ``(n,)`` bool and ``p`` ``(n,)`` in [0, 1]; what is undefined is NaN.
"""

from typing import NamedTuple

import numpy as np
from scipy import optimize, special

from specvi_benchmark.scoring.ledger import BoolArray, IntArray
from specvi_benchmark.scoring.metrics import FloatArray

BINS = 10
CHANCE_DRAWS = 1000
_Z = 1.959963984540054  # 97.5 % point of the normal distribution
_TINY = 1e-9


class Decomposition(NamedTuple):
    """The Brier score in parts: reliability − resolution + uncertainty + within = Brier, exactly.

    ``within`` is what bins leave over: the variance of p within bins less twice its covariance with the
    truth there. 0 where every bin holds one value of p.
    """

    reliability: float
    resolution: float
    uncertainty: float
    within: float


class Reliability(NamedTuple):
    """Bins of p that hold candidates, one entry a bin."""

    low: FloatArray
    high: FloatArray
    n: IntArray
    mean_p: FloatArray
    positive_share: FloatArray


def auroc(positive: BoolArray, p: FloatArray) -> float:
    """Return the probability that a positive has the higher p of a positive and a negative; ties count half.

    The Mann–Whitney statistic: Hanley & McNeil 1982, Radiology 143, 29.
    """
    positives, negatives = int(positive.sum()), int((~positive).sum())
    if not positives or not negatives:
        return np.nan
    _, place, sizes = np.unique(p, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(sizes) - (sizes - 1) / 2)[place]  # ties share their mean rank
    return float((ranks[positive].sum() - positives * (positives + 1) / 2) / (positives * negatives))


def auroc_interval(value: float, positives: float, negatives: float) -> tuple[float, float]:
    """Return the 95 % interval of an AUROC, by method 5 of Newcombe 2006, Stat. Med. 25, 559.

    The values A with (A − value)² ≤ z² V(A), V being Hanley & McNeil's variance with both group sizes
    in its inner terms replaced by their mean. It has a width also at 1. Counts may be effective ones.
    """
    if np.isnan(value):
        return np.nan, np.nan
    inner = (positives + negatives) / 2 - 1

    def outside(a: float) -> float:
        variance = a * (1 - a) * (1 + inner * (1 - a) / (2 - a) + inner * a / (1 + a))
        return float((a - value) ** 2 - _Z**2 * variance / (positives * negatives))

    # `outside` is negative beside the value and positive at the far end: one root on each side.
    low = optimize.brentq(outside, 0, min(value, 1 - _TINY)) if value > 0 else 0.0
    high = optimize.brentq(outside, max(value, _TINY), 1) if value < 1 else 1.0
    return float(low), float(high)


def precision_recall(positive: BoolArray, p: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return thresholds (every distinct p, falling), and precision and recall of "p ≥ threshold is YES"."""
    order = np.argsort(-p, kind="stable")
    last = np.flatnonzero(np.diff(p[order], append=-np.inf))
    hits = np.cumsum(positive[order])[last]
    recall = hits / positive.sum() if positive.any() else np.full(len(last), np.nan)
    return p[order][last], hits / (last + 1), recall


def average_precision(positive: BoolArray, p: FloatArray) -> float:
    """Return the sum over falling thresholds of precision times the step in recall, without interpolation.

    Its floor is the share of positives, not one half, so it compares only between equal shares.
    """
    if not positive.any():
        return np.nan
    _, precision, recall = precision_recall(positive, p)
    return float((precision * np.diff(recall, prepend=0)).sum())


def average_precision_interval(value: float, positives: float) -> tuple[float, float]:
    """Return the 95 % logit interval of Boyd, Eng & Page 2013, ECML PKDD; none (NaN) at 0 and 1."""
    if np.isnan(value) or not 0 < value < 1:
        return np.nan, np.nan
    reach = _Z / np.sqrt(positives * value * (1 - value))
    low, high = special.expit(special.logit(value) + np.array([-reach, reach]))
    return float(low), float(high)


def brier_losses(positive: BoolArray, p: FloatArray) -> FloatArray:
    """Return (p − truth)² of each candidate; the Brier score is their mean. Brier 1950, Mon. Weather Rev. 78, 1."""
    return np.square(p - positive)


def log_losses(positive: BoolArray, p: FloatArray) -> FloatArray:
    """Return −ln of the probability given to the truth; infinite where the truth was called impossible."""
    given = np.where(positive, p, 1 - p)
    return -np.log(given, out=np.full(len(p), -np.inf), where=given > 0)


def mean_interval(losses: FloatArray, object_code: IntArray) -> tuple[float, float]:
    """Return the 95 % interval of a mean loss, from the spread between objects (rows of one may agree).

    The linearised ("sandwich") variance of a ratio of sums over objects, with Student's t: Cochran 1977,
    Sampling Techniques, §6.3. NaN with fewer than two objects, or an infinite loss.
    """
    names, place = np.unique(object_code, return_inverse=True)
    if len(names) < 2 or not np.isfinite(losses).all():
        return np.nan, np.nan
    mean = losses.mean()
    residual = np.bincount(place, weights=losses - mean)
    spread = np.sqrt(len(names) / (len(names) - 1) * np.square(residual).sum()) / len(losses)
    reach = special.stdtrit(len(names) - 1, 0.975) * spread
    return max(0.0, float(mean - reach)), float(mean + reach)


def effective_count(object_code: IntArray) -> float:
    """Return how many independent objects rows are worth: (Σ nᵢ)² / Σ nᵢ² over objects (Kish 1965)."""
    rows = np.unique(object_code, return_counts=True)[1]
    return float(rows.sum() ** 2 / np.square(rows).sum()) if len(rows) else 0.0


def equal_width_bins(p: FloatArray, bins: int = BINS) -> IntArray:
    """Return the bin of each p among ``bins`` of equal width; an edge belongs to the bin below it."""
    return np.searchsorted(np.linspace(0, 1, bins + 1)[1:-1], p).astype(np.int64)


def adaptive_bins(p: FloatArray, bins: int = BINS) -> IntArray:
    """Return the bin of each p among at most ``bins`` that hold about as many candidates each.

    Edges are values of p; equal p stay together. Nguyen & O'Connor 2015, EMNLP.
    """
    if len(p) == 0:
        return np.empty(0, dtype=np.int64)
    last = -(-np.arange(1, bins) * len(p) // bins) - 1  # of each bin but the topmost: ⌈k·n/bins⌉ − 1
    edges = np.unique(np.sort(p)[last])
    return np.searchsorted(edges, p).astype(np.int64)


def expected_calibration_error(positive: BoolArray, p: FloatArray, bin_of: IntArray) -> float:
    """Return the mean over candidates of |mean p − share of positives| of their bin (ECE of P(YES)).

    Naeini, Cooper & Hauskrecht 2015, AAAI. It judges P(YES), not the probability of the answer given.
    """
    if len(p) == 0:
        return np.nan
    return float(np.abs(np.bincount(bin_of, weights=p - positive)).sum() / len(p))


def error_by_chance(p: FloatArray, bin_of: IntArray, seed: int = 0) -> float:
    """Return the mean ECE of a perfectly calibrated system that gives these p: what chance alone leaves.

    Truths are drawn from p itself: consistency resampling, Bröcker & Smith 2007, Weather Forecast. 22, 651.
    """
    if len(p) == 0:
        return np.nan
    member = (bin_of[:, np.newaxis] == np.unique(bin_of)).astype(np.float64)
    truth = np.random.default_rng(seed).random((CHANCE_DRAWS, len(p))) < p
    return float(np.abs((p - truth) @ member).sum(axis=1).mean() / len(p))


def decompose(positive: BoolArray, p: FloatArray, bin_of: IntArray) -> Decomposition:
    """Return the parts of the Brier score over bins.

    Murphy 1973, J. Appl. Meteorol. 12, 595; the part within bins: Stephenson, Coelho & Jolliffe 2008,
    Weather Forecast. 23, 752.
    """
    if len(p) == 0:
        return Decomposition(*[np.nan] * 4)
    sizes = np.bincount(bin_of)
    safe = np.maximum(sizes, 1)
    mean_p, share = (np.bincount(bin_of, weights=values) / safe for values in (p, positive))
    base, weight = positive.mean(), sizes / len(p)
    p_left, truth_left = p - mean_p[bin_of], positive - share[bin_of]
    return Decomposition(
        reliability=float((weight * np.square(mean_p - share)).sum()),
        resolution=float((weight * np.square(share - base)).sum()),
        uncertainty=float(base * (1 - base)),
        within=float((np.square(p_left) - 2 * p_left * truth_left).mean()),
    )


def reliability(positive: BoolArray, p: FloatArray, bin_of: IntArray) -> Reliability:
    """Return mean p and share of positives of each bin that holds candidates; ``low`` and ``high`` are its p."""
    used = np.unique(bin_of)
    inside = [bin_of == which for which in used]
    return Reliability(
        low=np.array([p[rows].min() for rows in inside]),
        high=np.array([p[rows].max() for rows in inside]),
        n=np.array([rows.sum() for rows in inside], dtype=np.int64),
        mean_p=np.array([p[rows].mean() for rows in inside]),
        positive_share=np.array([positive[rows].mean() for rows in inside]),
    )
