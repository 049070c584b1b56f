"""How far inspectors agree: people with people, systems with systems, or both.

Ratings are a matrix, items × raters, of category numbers; a rating may be missing. Every coefficient here is
a function of sums over items, so that a bootstrap over items, or over objects with several items each,
needs only these sums.

With rare positives two raters agree mostly on NO, chance agreement is high, and κ is low although they hardly
ever differ (Feinstein & Cicchetti 1990, J. Clin. Epidemiol. 43, 543). So κ stands beside raw agreement, agreement
on the positives, and AC1, which does not fall into that hole.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from specvi_benchmark.scoring.ledger import IntArray
from specvi_benchmark.scoring.metrics import FloatArray, ratio

MISSING = -1
RESAMPLES = 10_000
LEVEL = 0.95

Scale = Literal["nominal", "ordinal", "interval"]
_Coefficient = Callable[[FloatArray], FloatArray]  # (…, sums) → (…)


class Agreement(NamedTuple):
    """A coefficient with its 95 % interval; NaN where it is undefined, an interval also where all draws agree."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """Who gave what to which item.

    Attributes
    ----------
    values
        ``(items, raters)`` int: category, or `MISSING`.
    categories
        How many categories there are, also those nobody chose.
    cluster
        ``(items,)`` int, equal where items show the same object: the bootstrap draws objects. None: every item by itself.

    Raises
    ------
    ValueError
        The shapes do not fit, or a category is out of range.
    """

    values: IntArray
    categories: int = 2
    cluster: IntArray | None = None

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.dtype.kind != "i":
            raise ValueError(f"items × raters of whole numbers are needed, got shape {self.values.shape}")
        if self.cluster is not None and self.cluster.shape != self.values.shape[:1]:
            raise ValueError("one cluster an item is needed")
        if self.values.size and not (self.values.min() >= MISSING and self.values.max() < self.categories):
            raise ValueError(f"a category is not within 0 to {self.categories - 1}")

    @property
    def counts(self) -> IntArray:
        """Return ``(items, categories)``: how many raters chose each category."""
        counts: IntArray = (self.values[:, :, None] == np.arange(self.categories)).sum(axis=1)
        return counts


def raw_agreement(ratings: Ratings, *, resamples: int = RESAMPLES, seed: int = 0) -> Agreement:
    """Return the chance that two raters of a random item agree, mean over items with at least two ratings.

    Also called percent agreement. Undefined without such an item.
    """
    counts, size, paired = _shape(ratings)
    agree = ratio((counts * (counts - 1)).sum(axis=1), size * (size - 1))
    sums = np.stack([np.where(paired, agree, 0), paired], axis=1)
    return _with_interval(ratings, sums, lambda s: ratio(s[..., 0], s[..., 1]), resamples, seed)


def specific_agreement(
    ratings: Ratings, category: int, *, resamples: int = RESAMPLES, seed: int = 0
) -> Agreement:
    """Return agreement on one category: of raters who chose it, the share of other ratings that chose it too.

    With category 1 = YES, positive-specific agreement; for two raters 2a / (2a + b + c). Undefined where nobody
    with a partner chose it. Cicchetti & Feinstein 1990, J. Clin. Epidemiol. 43, 551; for many raters de Vet
    et al. 2017, J. Clin. Epidemiol. 83, 85: Σ n(n-1) / Σ n(m-1) with n of m raters of an item choosing it.
    """
    counts, size, paired = _shape(ratings)
    chosen = np.where(paired, counts[:, category], 0)
    sums = np.stack([chosen * (chosen - 1), chosen * (size - 1)], axis=1)
    return _with_interval(ratings, sums, lambda s: ratio(s[..., 0], s[..., 1]), resamples, seed)


def cohen_kappa(ratings: Ratings, *, resamples: int = RESAMPLES, seed: int = 0) -> Agreement:
    """Return Cohen's κ of two raters, over items that both rated: (p - e) / (1 - e).

    Undefined (NaN) where chance agreement e is 1: both gave one and the same category throughout. Cohen 1960,
    Educ. Psychol. Meas. 20, 37.

    Raises
    ------
    ValueError
        There are not exactly two raters.
    """
    if ratings.values.shape[1] != 2:
        raise ValueError(f"Cohen's κ is of two raters, got {ratings.values.shape[1]}")
    q = ratings.categories
    first, second = ratings.values.T
    both = (first != MISSING) & (second != MISSING)
    pair = np.where(both, first * q + second, -1)
    sums = (pair[:, None] == np.arange(q * q)).astype(np.float64)

    def kappa(s: FloatArray) -> FloatArray:
        table: FloatArray = s.reshape(*s.shape[:-1], q, q)
        table = ratio(table, table.sum(axis=(-2, -1), keepdims=True))
        chance: FloatArray = (table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1)
        same: FloatArray = np.trace(table, axis1=-2, axis2=-1)
        return _beyond_chance(same, chance)

    return _with_interval(ratings, sums, kappa, resamples, seed)


def fleiss_kappa(ratings: Ratings, *, resamples: int = RESAMPLES, seed: int = 0) -> Agreement:
    """Return Fleiss' κ of any number of raters: chance agreement is Σ π², with π the mean share of a category.

    Fleiss 1971, Psychol. Bull. 76, 378; with missing ratings as Gwet 2014, Handbook of Inter-Rater
    Reliability, 4th ed., chapter 2: shares over items with a rating, agreement over items with two.
    """
    return _with_interval(
        ratings, _share_sums(ratings), lambda s: _from_shares(s, _sum_of_squares), resamples, seed
    )


def gwet_ac1(ratings: Ratings, *, resamples: int = RESAMPLES, seed: int = 0) -> Agreement:
    """Return Gwet's AC1: chance agreement is Σ π (1 - π) / (q - 1) over q categories.

    Gwet 2008, Br. J. Math. Stat. Psychol. 61, 29; missing ratings as in `fleiss_kappa`.
    """

    def chance(shares: FloatArray) -> FloatArray:
        value: FloatArray = (1 - _sum_of_squares(shares)) / (shares.shape[-1] - 1)
        return value

    return _with_interval(ratings, _share_sums(ratings), lambda s: _from_shares(s, chance), resamples, seed)


def krippendorff_alpha(
    ratings: Ratings,
    scale: Scale = "nominal",
    values: FloatArray | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Agreement:
    """Return Krippendorff's α: 1 - observed / expected disagreement, any number of raters, ratings may be missing.

    Parameters
    ----------
    scale
        ``nominal``: two categories are the same or not. ``ordinal``: their order counts. ``interval``: the
        squared difference of their values counts.
    values
        ``(categories,)`` value of each category, for ``interval``. None: 0, 1, 2 …

    Notes
    -----
    Krippendorff 2011, Computing Krippendorff's Alpha-Reliability; 2019, Content Analysis, 4th ed.,
    chapter 12. Items with one rating have no part. Undefined where all paired ratings are the same.
    """
    q = ratings.categories
    counts, size, paired = _shape(ratings)
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(q, dtype=np.int64)
    weight = ratio(paired, np.where(paired, size - 1, 1))
    sums = (pairs * weight[:, None, None]).reshape(len(counts), q * q)
    points = np.arange(q, dtype=np.float64) if values is None else values

    def alpha(s: FloatArray) -> FloatArray:
        coincidences = s.reshape(*s.shape[:-1], q, q)
        totals = coincidences.sum(axis=-1)
        n = totals.sum(axis=-1)
        difference = _differences(scale, totals, points)
        observed = (coincidences * difference).sum(axis=(-2, -1))
        expected = (totals[..., :, None] * totals[..., None, :] * difference).sum(axis=(-2, -1))
        value: FloatArray = 1 - ratio(observed * (n - 1), expected)
        return value

    return _with_interval(ratings, sums, alpha, resamples, seed)


def _differences(scale: Scale, totals: FloatArray, points: FloatArray) -> FloatArray:
    """Return squared differences of categories, ``(…, q, q)`` or ``(q, q)``."""
    q = len(points)
    if scale == "nominal":
        return 1 - np.eye(q)
    if scale == "interval":
        return (points[:, None] - points[None, :]) ** 2
    # Ordinal: how many ratings lie between two categories, each of the two counted half.
    middle = np.cumsum(totals, axis=-1) - totals / 2
    return (middle[..., :, None] - middle[..., None, :]) ** 2


def _shape(ratings: Ratings) -> tuple[IntArray, IntArray, IntArray]:
    """Return counts, how many ratings each item has, and 1 where these are at least two."""
    counts = ratings.counts
    size = counts.sum(axis=1)
    return counts, size, (size >= 2).astype(np.int64)


def _share_sums(ratings: Ratings) -> FloatArray:
    """Return for each item: its agreement and 1 if it has two ratings; 1 if it has one, and its shares."""
    counts, size, paired = _shape(ratings)
    agree = ratio((counts * (counts - 1)).sum(axis=1), size * (size - 1))
    shares = ratio(counts, np.broadcast_to(size[:, None], counts.shape))
    rated = size > 0
    return np.column_stack([np.where(paired, agree, 0), paired, rated, np.where(rated[:, None], shares, 0)])


def _from_shares(s: FloatArray, chance: _Coefficient) -> FloatArray:
    shares = ratio(s[..., 3:], np.broadcast_to(s[..., 2:3], s[..., 3:].shape))
    return _beyond_chance(ratio(s[..., 0], s[..., 1]), chance(shares))


def _sum_of_squares(shares: FloatArray) -> FloatArray:
    total: FloatArray = (shares**2).sum(axis=-1)
    return total


def _beyond_chance(observed: FloatArray, chance: FloatArray) -> FloatArray:
    """Return (observed - chance) / (1 - chance)."""
    # Shares add up to 1 only to the last digits; a remainder that small is none.
    room = np.where(np.isclose(chance, 1, rtol=0, atol=1e-12), 0, 1 - chance)
    return ratio(observed - chance, room)


def _with_interval(
    ratings: Ratings, sums: FloatArray, coefficient: _Coefficient, resamples: int, seed: int
) -> Agreement:
    """Return a coefficient and its percentile bootstrap interval.

    Items that show the same object are drawn together. Objects with equal sums are interchangeable, so it is
    enough to draw how often each distinct row of sums appears. Draws in which the coefficient is undefined
    are left out. Where every draw gives the same value, as in perfect agreement, the bootstrap sees no chance
    at work, which is not the same as none: there the interval is undefined. Efron & Tibshirani 1993, An
    Introduction to the Bootstrap, chapter 13.
    """
    value = float(coefficient(sums.sum(axis=0)))
    if np.isnan(value):
        return Agreement(np.nan, np.nan, np.nan)
    if ratings.cluster is not None:
        objects, place = np.unique(ratings.cluster, return_inverse=True)
        by_object = np.zeros((len(objects), sums.shape[1]))
        np.add.at(by_object, place, sums)
        sums = by_object
    rows, frequency = np.unique(sums, axis=0, return_counts=True)
    n = int(frequency.sum())
    drawn = np.random.default_rng(seed).multinomial(n, frequency / n, size=resamples)
    values = coefficient(drawn @ rows)
    values = values[~np.isnan(values)]
    if values.size == 0 or np.ptp(values) < 1e-12:
        return Agreement(value, np.nan, np.nan)
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Agreement(value, min(float(low), value), max(float(high), value))
