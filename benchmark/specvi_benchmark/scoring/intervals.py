"""How far chance reaches: random 2×2 tables a system could have had, and 95 % intervals from them.

Two ways, chosen for each task (the last axis of every array here is TP, FP, FN, TN):

*Object bootstrap.* Objects, not rows, are drawn with replacement, within strata of objects that appear
in the same (task, truth) pairs. An object drawn twice counts twice in every task it appears in, so
tasks that share objects vary together. Efron & Tibshirani 1993, chapter 8; Field & Welsh 2007,
J. R. Stat. Soc. B 69, 369.

*Beta draws.* A cell filled by fewer than ten objects is too thin to resample: zero stays zero, and the
interval of a perfect score has no width. There the true-positive and the false-positive rate are
independent draws from Beta(k + ½, n − k + ½), the Jeffreys posterior, with the numbers of positives and
negatives fixed. Brown, Cai & DasGupta 2001, Stat. Sci. 16, 101; for F1, Goutte & Gaussier 2005, ECIR.

A macro average is taken within each draw, then recentred: see `recentred`.
"""

from typing import Literal

import numpy as np

from specvi_benchmark.scoring.ledger import NO, YES, BoolArray, IntArray, Rows
from specvi_benchmark.scoring.metrics import FN, FP, TN, TP, FloatArray, Metrics

Method = Literal["object bootstrap", "beta"]

LEVEL = 0.95
RESAMPLES = 10_000
THIN = 10  # objects in a cell; below, the bootstrap gives way to Beta draws
_CHUNK_ENTRIES = 4_000_000  # entries of one block of multinomial draws: 32 MB


def draw_tables(
    rows: Rows, *, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[FloatArray, tuple[Method, ...]]:
    """Return random 2×2 tables under the ranked rule, and how each group's were made.

    Returns
    -------
    draws
        ``(resamples, groups, 4)``. Draw i of every group belongs together, so that a macro average
        is taken within a draw.
    methods
        One a group.

    Notes
    -----
    Neither the order of rows nor the naming of objects changes a draw.
    """
    counts = object_counts(rows)
    by_group = counts.reshape(len(counts), len(rows.groups), 4)
    thin = (by_group > 0).sum(axis=0).min(axis=-1) < THIN
    draws = np.zeros((resamples, len(rows.groups), 4))
    if not thin.all():
        strata = np.concatenate(
            [by_group[..., [TP, FN]].any(axis=-1), by_group[..., [FP, TN]].any(axis=-1)], axis=1
        )
        totals = bootstrap_totals(counts, strata, resamples, np.random.default_rng([seed, 0]))
        draws[:] = totals.reshape(draws.shape)
    for place in np.flatnonzero(thin):
        draws[:, place] = _beta_tables(
            by_group[:, place], resamples, np.random.default_rng([seed, 1 + int(place)])
        )
    return draws, tuple("beta" if is_thin else "object bootstrap" for is_thin in thin)


def object_counts(rows: Rows) -> IntArray:
    """Return ``(objects, groups · 4)``: each object's own 2×2 tables under the ranked rule."""
    right = rows.call == np.where(rows.positive, YES, NO)
    cell = np.where(rows.positive, np.where(right, TP, FN), np.where(right, TN, FP))
    names, object_row = np.unique(rows.object_code, return_inverse=True)
    counts = np.zeros((len(names), len(rows.groups) * 4), dtype=np.int64)
    np.add.at(counts, (object_row, rows.group * 4 + cell), 1)
    return counts


def bootstrap_totals(
    counts: IntArray, strata: BoolArray, resamples: int, rng: np.random.Generator
) -> IntArray:
    """Resample objects within strata and return the column sums, ``(resamples, columns)``.

    Parameters
    ----------
    counts
        ``(objects, columns)``, what each object adds to every column. Columns may belong to several
        tasks, or to several systems on the same objects.
    strata
        ``(objects, keys)``; objects with equal keys are in one stratum, whose size stays fixed.

    Notes
    -----
    Objects of a stratum with equal rows are interchangeable, so it is enough to draw how often each
    *distinct* row appears, a multinomial. This is the same distribution as drawing objects one by one,
    and takes time by distinct rows, of which there are few.
    """
    keyed = np.concatenate([strata.astype(np.int64), counts], axis=1)
    distinct, frequency = _distinct(keyed)
    keys, added = distinct[:, : strata.shape[1]], distinct[:, strata.shape[1] :]
    stratum = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
    totals = np.zeros((resamples, counts.shape[1]), dtype=np.int64)
    for which in range(int(stratum.max()) + 1):
        members = np.flatnonzero(stratum == which)
        size = int(frequency[members].sum())
        step = max(1, _CHUNK_ENTRIES // len(members))
        for start in range(0, resamples, step):
            block = totals[start : start + step]
            block += rng.multinomial(size, frequency[members] / size, size=len(block)) @ added[members]
    return totals


def interval(point: float, draws: FloatArray) -> tuple[float, float]:
    """Return the central 95 % of the draws, widened where needed to contain the point estimate.

    The widening is what makes the interval of k = 0 begin at 0 and that of k = n end at 1, as Brown, Cai &
    DasGupta do. Draws in which the value is undefined (NaN) are left out. An undefined point
    has no interval: NaN, NaN.
    """
    if np.isnan(point):
        return np.nan, np.nan
    low, high = np.clip(np.nanquantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]), 0, 1)
    return min(float(low), point), max(float(high), point)


def recentred(points: Metrics, draws: Metrics) -> Metrics:
    """Return draws of a mean over tasks, shifted so that their own mean is the point estimate.

    The +½ of a Beta draw pulls a rate near 0 or 1 inwards. In one task the pull is small beside the
    spread; in a mean over T tasks the spread shrinks by √T and the pull does not, and five nearly
    perfect tasks would get an interval that misses the truth every second time.
    """
    return Metrics(
        *(
            values if np.isnan(point) else values + (point - np.nanmean(values))
            for point, values in zip(points, draws, strict=True)
        )
    )


def _distinct(rows: IntArray) -> tuple[IntArray, IntArray]:
    """Return the distinct rows of ``(n, columns)``, in a fixed order, and how often each appears."""
    # Rows as byte strings sort ten times faster than `np.unique(axis=0)` sorts them as numbers.
    packed = np.ascontiguousarray(rows, dtype="<i8")
    strings = packed.view(np.dtype((np.void, packed.itemsize * packed.shape[1]))).reshape(-1)
    _, first, frequency = np.unique(strings, return_index=True, return_counts=True)
    return rows[first], frequency


def _beta_tables(counts: IntArray, resamples: int, rng: np.random.Generator) -> FloatArray:
    """Return ``(resamples, 4)`` tables of one group from ``(objects, 4)`` counts."""
    draws = np.empty((resamples, 4))
    for called_yes, called_no in ((TP, FN), (FP, TN)):
        rows_by_object = counts[:, [called_yes, called_no]].sum(axis=1)
        size = rows_by_object.sum()
        if size == 0:
            draws[:, [called_yes, called_no]] = 0
            continue
        # Rows of one object are taken to agree: n rows then tell as much as (Σ nᵢ)² / Σ nᵢ² objects
        # (Kish 1965, Survey Sampling, with an intra-class correlation of 1). One row each: n.
        weight = size / (rows_by_object**2).sum()
        yes, no = counts[:, called_yes].sum() * weight, counts[:, called_no].sum() * weight
        draws[:, called_yes] = size * rng.beta(yes + 0.5, no + 0.5, size=resamples)
        draws[:, called_no] = size - draws[:, called_yes]
    return draws
