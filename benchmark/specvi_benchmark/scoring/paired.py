"""Differences between systems on the same candidates, each divided by its own standard error.

*Units.* Objects, drawn with replacement within strata of objects that appear in the same (task, truth)
pairs. One weight an object holds for every system and every task, so whatever systems have in common
cancels in their difference.

*Standard error.* The delta method: a metric's change when one object's weight changes, summed in squares
over objects. For accuracy it is the usual √(b + c) / n of discordant pairs.

*Kernel.* Every (task, truth) pair gets one more object that each system calls by the toss of a coin (by Brier
score: to which it gives 0 or 1 so): in expectation ¼ for each of the four joint outcomes of two systems, and the +½ of the Jeffreys Beta draws for
one. It adds α² / 4 to the variance of a system, α being the metric's change by one more YES. Two systems
that agree everywhere keep a standard error above 0, and a difference carried by two or three candidates is not
taken for certain. Close to Agresti & Min 2005, Stat. Med. 24, 729, who add ½ to each cell; a resample
is smoothed by a normal of the same variance (Silverman & Young 1987, Biometrika 74, 469).

*Studentised bootstrap.* In each resample the difference less the observed one, over the resample's own
standard error. Efron & Tibshirani 1993, chapter 12; symmetric: Hall 1988, J. R. Stat. Soc. B 50, 35.

Sums over objects are sums of whole numbers, small enough to be exact in the arithmetic used: nothing depends on
the number of threads or on how a library orders its additions.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specvi_benchmark.scoring.compared_metric import ComparedMetric, Slopes
from specvi_benchmark.scoring.intervals import LEVEL, RESAMPLES
from specvi_benchmark.scoring.ledger import IntArray
from specvi_benchmark.scoring.metrics import FloatArray
from specvi_benchmark.scoring.panel import Panel, Stratum, object_strata

_Whole = NDArray[np.floating[Any]]  # whole numbers, in a type that adds them exactly

_CHUNK_ENTRIES = 1_500_000  # resamples × objects, or × pairs, of one block: 12 MB as float64


@dataclass(frozen=True, slots=True, eq=False)
class PairedDraws:
    """Every pair of systems, first before second in the order of names.

    Attributes
    ----------
    value
        ``(systems,)``, the metric.
    first, second
        ``(pairs,)`` int, indices of the systems of a pair.
    difference, error
        ``(pairs,)``, first minus second, and its standard error.
    studentised
        ``(resamples, pairs)`` float32, (difference − observed difference) / standard error of the resample.
    """

    value: FloatArray
    first: IntArray
    second: IntArray
    difference: FloatArray
    error: FloatArray
    studentised: NDArray[np.float32]

    def half_width(self) -> FloatArray:
        """Return ``(pairs,)``: the 95 % interval of a pair is its difference ± this, for that pair alone."""
        return _quantile(np.abs(self.studentised)) * self.error

    def joint_half_width(self) -> FloatArray:
        """Return ``(pairs,)``: with this every interval holds its truth at once in 95 % of cases."""
        return _quantile(np.abs(self.studentised).max(axis=1)) * self.error


def paired_draws(
    systems: Panel, metric: ComparedMetric, *, resamples: int = RESAMPLES, seed: int = 0
) -> PairedDraws:
    """Compare every pair of systems. The metric must be defined for each of them.

    Memory: 4 bytes for each resample and pair, and blocks of fixed size.
    """
    strata = object_strata(systems, metric.places, metric.counted(systems))
    pairs = _Pairs(strata, metric, len(systems.names))
    value, error = pairs.observed()
    first, second = pairs.first, pairs.second
    difference = value[first] - value[second]
    studentised = np.empty((resamples, len(first)), dtype=np.float32)
    streams = [np.random.default_rng([seed, k]) for k in range(len(pairs.sums) + 1)]
    step = pairs.block()
    for start in range(0, resamples, step):
        block = studentised[start : start + step]
        block[:] = pairs.resample(len(block), streams, difference).T
    return PairedDraws(value, first, second, difference, error, studentised)


class _Sums:
    """Sums, and sums of products, of the columns of a stratum under weights.

    Columns: for each label what is counted of every system, then for each label the rows. A constant column (one row an
    object) adds nothing to a variance, and the products with it are left out.
    """

    def __init__(self, stratum: Stratum) -> None:
        objects, labels, systems = stratum.yes.shape
        self.labels, self.objects = stratum.labels, objects
        columns = np.concatenate([stratum.yes.reshape(objects, labels * systems), stratum.rows], axis=1)
        varies = (stratum.rows != stratum.rows[:1]).any(axis=0)
        # Terms of a system's influence: (label, whether what is counted or all rows, columns by system)
        self.terms = [(k, True, k * systems + np.arange(systems)) for k in range(labels)]
        self.terms += [(k, False, np.full(systems, labels * systems + k)) for k in range(labels) if varies[k]]
        used = labels * systems + (labels if varies.any() else 0)
        left, right = np.triu_indices(used)
        self.place = np.zeros((used, used), dtype=np.int64)
        self.place[left, right] = self.place[right, left] = np.arange(len(left))
        self.width = columns.shape[1]
        table = columns.T
        self.table: _Whole = np.concatenate([table, table[left] * table[right]]).astype(
            _exact(objects * int(columns.max()) ** 2)
        )

    def draw(self, resamples: int, rng: np.random.Generator) -> _Whole:
        """Return ``(resamples, objects)``: how often each object is drawn."""
        drawn = rng.integers(0, self.objects, size=(resamples, self.objects))
        drawn += np.arange(resamples)[:, None] * self.objects
        counted = np.bincount(drawn.reshape(-1), minlength=drawn.size)
        weights: _Whole = counted.reshape(drawn.shape).astype(self.table.dtype)
        return weights

    def under(self, weights: _Whole) -> tuple[FloatArray, _Whole]:
        """Return column sums ``(columns, resamples)`` and sums of products ``(…, resamples)``."""
        summed: _Whole = self.table @ weights.astype(self.table.dtype).T
        return summed[: self.width].astype(np.float64), summed[self.width :]


class _Pairs:
    """The pairs of systems over some strata. Resamples stand in the last axis of every array inside."""

    def __init__(self, strata: list[Stratum], metric: ComparedMetric, systems: int) -> None:
        self.metric, self.systems = metric, systems
        self.sums = [_Sums(stratum) for stratum in strata]
        self.left, self.right = np.triu_indices(systems)  # with each system paired with itself
        self.first, self.second = np.triu_indices(systems, 1)
        self.own = np.flatnonzero(self.left == self.right)
        self.pair = np.flatnonzero(self.left != self.right)
        self.kernel_rows = _kernel_rows(strata, 2 * len(metric.places))

    def block(self) -> int:
        """Return how many resamples to take at once; it changes no number."""
        widest = max([len(self.left), *(sums.objects for sums in self.sums)])
        return max(1, int(_CHUNK_ENTRIES // widest))

    def observed(self) -> tuple[FloatArray, FloatArray]:
        """Return ``(systems,)`` values and ``(pairs,)`` standard errors."""
        slopes, variance, kernel = self._measure([np.ones((1, sums.objects)) for sums in self.sums])
        return slopes.value[:, 0], self._error(variance, kernel)[:, 0]

    def resample(self, number: int, streams: list[np.random.Generator], difference: FloatArray) -> FloatArray:
        """Return ``(pairs, number)`` studentised differences."""
        weights = [sums.draw(number, rng) for sums, rng in zip(self.sums, streams, strict=False)]
        slopes, variance, kernel = self._measure(weights)
        noise = streams[-1].standard_normal((number, self.systems)).T
        value = slopes.value + np.sqrt(kernel) * noise
        moved = value[self.first] - value[self.second] - difference[:, None]
        error = self._error(variance, kernel)
        # No spread at all (every F1 is 0 without a positive): nothing moves, and nothing is found.
        return np.divide(moved, error, out=np.zeros_like(moved), where=error > 0)

    def _measure(self, weights: list[_Whole]) -> tuple[Slopes, FloatArray, FloatArray]:
        """Return the metric, ``(pairs with own, resamples)`` covariances, and each system's kernel."""
        number, labels = len(weights[0]), 2 * len(self.metric.places)
        yes, rows = np.zeros((labels, self.systems, number)), np.zeros((labels, 1, number))
        summed = []
        for sums, weight in zip(self.sums, weights, strict=True):
            total, products = sums.under(weight)
            inside = list(sums.labels)
            split = len(inside) * self.systems
            yes[inside] += total[:split].reshape(len(inside), self.systems, number)
            rows[inside, 0] += total[split:]
            summed.append((total, products))
        slopes = self.metric.slopes(yes, rows)
        covariance = np.zeros((len(self.left), number))
        for sums, (total, products) in zip(self.sums, summed, strict=True):
            self._add_covariance(covariance, sums, total, products, slopes)
        alpha = self.metric.unit * slopes.by_yes * self.kernel_rows[:, None, None]
        kernel = (alpha**2).sum(axis=0) / 4
        return slopes, covariance, kernel

    def _add_covariance(
        self,
        covariance: FloatArray,
        sums: _Sums,
        total: FloatArray,
        products: _Whole,
        slopes: Slopes,
    ) -> None:
        """Add a stratum's Σ w (u_a − ū_a)(u_b − ū_b), where u = Σ slope · count is an object's influence."""
        for left_label, left_is_yes, left_column in sums.terms:
            left_slope = _slope(slopes, sums.labels[left_label], is_yes=left_is_yes)
            left_mean = total[left_column] / sums.objects
            for right_label, right_is_yes, right_column in sums.terms:
                right_slope = _slope(slopes, sums.labels[right_label], is_yes=right_is_yes)
                right_total = total[right_column]
                at = sums.place[left_column[self.left], right_column[self.right]]
                # System by system: a row of pairs (a, a), (a, b), … lies in one piece, and in the cache.
                start = 0
                for a in range(self.systems):
                    end = start + self.systems - a
                    part = right_total[a:] * -left_mean[a]
                    part += products[at[start:end]]
                    part *= right_slope[a:]
                    part *= left_slope[a]
                    covariance[start:end] += part
                    start = end

    def _error(self, covariance: FloatArray, kernel: FloatArray) -> FloatArray:
        own = covariance[self.own] + kernel
        variance = own[self.first] + own[self.second] - 2 * covariance[self.pair]
        error: FloatArray = np.sqrt(np.maximum(variance, 0))
        return error


def _slope(slopes: Slopes, label: int, *, is_yes: bool) -> FloatArray:
    """Return ``(systems, resamples)`` derivatives after one label's YES rows, or after all its rows."""
    slope: FloatArray = (slopes.by_yes if is_yes else slopes.by_rows)[label]
    return slope


def _kernel_rows(strata: list[Stratum], labels: int) -> FloatArray:
    """Return ``(labels,)``: the rows of the kernel's object, Σ n² / Σ n over objects with n rows.

    One where every object has one row. Rows of one object are taken to agree, as in the Beta draws.
    """
    squares, rows = np.zeros(labels), np.zeros(labels)
    for stratum in strata:
        squares[list(stratum.labels)] += (stratum.rows**2).sum(axis=0)
        rows[list(stratum.labels)] += stratum.rows.sum(axis=0)
    mean: FloatArray = np.divide(squares, rows, out=np.zeros(labels), where=rows > 0)
    return mean


def _exact(largest: int) -> type[np.float32 | np.float64]:
    """Return a type in which whole numbers up to ``largest`` add without rounding."""
    if largest >= 2**53:
        raise ValueError("too many rows an object for exact sums")
    return np.float32 if largest < 2**24 else np.float64


def _quantile(draws: NDArray[np.float32]) -> FloatArray:
    """Return the 95 % quantile over resamples, by the order statistic that never falls short of it."""
    rank = min(len(draws) - 1, int(np.ceil(LEVEL * (len(draws) + 1))) - 1)
    found: FloatArray = np.partition(draws, rank, axis=0)[rank].astype(np.float64)
    return found
