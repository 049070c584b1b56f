"""Mends probabilities: on labelled candidates of `cal` or `dev`, or by a known change of prevalence."""

from typing import NamedTuple

import numpy as np
from scipy import optimize, special

from specvi_benchmark.scoring.ledger import BoolArray
from specvi_benchmark.scoring.metrics import FloatArray

_EDGE = 1e-6  # probabilities are kept this far from 0 and 1 where a logit is taken


class Platt(NamedTuple):
    """P(YES) = 1 / (1 + exp(−(slope · logit p + intercept)))."""

    slope: float
    intercept: float

    def __call__(self, p: FloatArray) -> FloatArray:
        """Return mended probabilities."""
        mended: FloatArray = special.expit(self.slope * _logit(p) + self.intercept)
        return mended


def fit_platt(positive: BoolArray, p: FloatArray) -> Platt:
    """Fit Platt's sigmoid on the logit of p, with his smoothed targets, by maximum likelihood.

    Targets (N₊ + 1) / (N₊ + 2) and 1 / (N₋ + 2): Platt 1999, Advances in Large Margin Classifiers. They keep
    the fit finite where the classes separate. On the logit, so that slope 1 and intercept 0 change nothing.

    Raises
    ------
    ValueError
        One class only.
    """
    positives, negatives = _both_classes(positive)
    score = _logit(p)
    target = np.where(positive, (positives + 1) / (positives + 2), 1 / (negatives + 2))

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        told = parameters[0] * score + parameters[1]
        gap = special.expit(told) - target
        value = (np.logaddexp(0, told) - target * told).mean()
        return float(value), np.array([(gap * score).mean(), gap.mean()])

    start = np.array([1.0, 0.0])
    found = optimize.minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-9}).x
    return Platt(float(found[0]), float(found[1]))


class Steps(NamedTuple):
    """A rising function by straight lines between points; level beyond them."""

    at: FloatArray
    value: FloatArray

    def __call__(self, p: FloatArray) -> FloatArray:
        """Return mended probabilities."""
        return np.interp(p, self.at, self.value)


def fit_isotonic(positive: BoolArray, p: FloatArray) -> Steps:
    """Fit the rising function of p with the least squared error.

    Zadrozny & Elkan 2002, KDD. It gives 0 and 1 at the ends where the calibration set has only one
    class there, and then an infinite log loss at the first surprise.
    """
    _both_classes(positive)
    scores, sizes, hits = _by_score(positive, p)
    return Steps(scores, _pool(hits / sizes, sizes))


class VennAbers(NamedTuple):
    """Two probabilities a candidate, one of which is calibrated, and their merger ``p``."""

    low: FloatArray
    high: FloatArray
    p: FloatArray


def venn_abers(positive: BoolArray, p_calibration: FloatArray, p: FloatArray) -> VennAbers:
    """Return the inductive Venn–Abers prediction of each p.

    Each candidate is added to the calibration set, once as NO and once as YES, and the isotonic fit is
    read at its place: p₀ and p₁. If calibration set and candidate are exchangeable, the one of the two that
    belongs to the truth is perfectly calibrated, whatever the system. Merged as p₁ / (1 − p₀ + p₁), which
    is minimax for log loss. Vovk & Petej 2014, UAI (arXiv 1211.0025); inductive: Vovk, Petej & Fedorova
    2015, NIPS.
    """
    _both_classes(positive)
    scores, sizes, hits = _by_score(positive, p_calibration)
    distinct, place = np.unique(p, return_inverse=True)
    pairs = np.array([_read_both(scores, sizes, hits, score) for score in distinct]).reshape(-1, 2)[place]
    low, high = pairs[:, 0], pairs[:, 1]
    return VennAbers(low, high, high / (1 - low + high))


def shift_prior(p: FloatArray, held: float, wanted: float) -> FloatArray:
    """Return probabilities as they would be at another share of positives, all else being equal.

    The odds are multiplied by the ratio of the prior odds: Saerens, Latinne & Decaestecker 2002, Neural
    Comput. 14, 21. Right where positives still look like positives and negatives like negatives.

    Parameters
    ----------
    held
        Share of positives where p was learned or calibrated.
    wanted
        Share of positives where it is to be used.

    Raises
    ------
    ValueError
        A share that is not between 0 and 1, both excluded.
    """
    if not (0 < held < 1 and 0 < wanted < 1):
        raise ValueError(f"shares of positives lie between 0 and 1, got {held} and {wanted}")
    yes, no = p * (wanted / held), (1 - p) * ((1 - wanted) / (1 - held))
    return yes / (yes + no)


def _both_classes(positive: BoolArray) -> tuple[int, int]:
    positives, negatives = int(positive.sum()), int((~positive).sum())
    if not positives or not negatives:
        raise ValueError(f"both classes are needed to calibrate, got {positives} YES and {negatives} NO")
    return positives, negatives


def _logit(p: FloatArray) -> FloatArray:
    logit: FloatArray = special.logit(np.clip(p, _EDGE, 1 - _EDGE))
    return logit


def _by_score(positive: BoolArray, p: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the distinct scores, rising, with how many candidates and how many positives have each."""
    scores, place = np.unique(p, return_inverse=True)
    return (
        scores,
        np.bincount(place).astype(np.float64),
        np.bincount(place, weights=positive).astype(np.float64),
    )


def _pool(shares: FloatArray, sizes: FloatArray) -> FloatArray:
    pooled: FloatArray = optimize.isotonic_regression(shares, weights=sizes).x
    return pooled


def _read_both(scores: FloatArray, sizes: FloatArray, hits: FloatArray, score: float) -> tuple[float, float]:
    """Return the isotonic fit at ``score`` with one candidate more there: as NO, as YES."""
    place = int(np.searchsorted(scores, score))
    if place == len(scores) or scores[place] != score:
        sizes, hits = np.insert(sizes, place, 0.0), np.insert(hits, place, 0.0)
    else:
        sizes, hits = sizes.copy(), hits.copy()
    sizes[place] += 1
    as_no = _pool(hits / sizes, sizes)[place]
    hits[place] += 1
    return float(as_no), float(_pool(hits / sizes, sizes)[place])
