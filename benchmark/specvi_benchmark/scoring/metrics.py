"""Accuracy, precision, recall and F1 from a ledger, under a stated rule for non-answers."""

from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specvi_benchmark.scoring.ledger import ERROR, NEGATIVE, NO, POSITIVE, YES, IntArray

FloatArray = NDArray[np.float64]

TP, FP, FN, TN = range(4)
"""Places in the last axis of a 2×2 table."""

ERROR_LIMIT = 0.005  # a larger share of `error` in any task leaves a result incomplete

RULE = (
    "Positive class YES. Any non-answer (abstained, unparsed, truncated, refused, error) is wrong: "
    "a positive counts as FN, a negative as FP. "
    f"More than {100 * ERROR_LIMIT:.1f} % error in any task: incomplete, not ranked."
)


class Rule(StrEnum):
    """What a candidate without an answer counts as."""

    RANKED = "ranked"
    """Wrong: a positive is FN, a negative is FP. The worst case."""
    NON_ANSWER_IS_NO = "non_answer_is_no"
    """As if NO had been said: a positive is FN, a negative is TN."""
    BEST = "best"
    """Right: a positive is TP, a negative is TN. No way of answering them could give more."""


class Metrics(NamedTuple):
    """Four arrays of one shape. NaN where a value is undefined."""

    accuracy: FloatArray
    precision: FloatArray
    recall: FloatArray
    f1: FloatArray


def tables(counts: IntArray, rule: Rule) -> IntArray:
    """Return the 2×2 tables of ledgers, ``(…, 2, 7)`` → ``(…, 4)`` in the order TP, FP, FN, TN."""
    positive, negative = counts[..., POSITIVE, :], counts[..., NEGATIVE, :]
    positives, negatives = positive.sum(axis=-1), negative.sum(axis=-1)
    tp = positives - positive[..., NO] if rule is Rule.BEST else positive[..., YES]
    fp = negatives - negative[..., NO] if rule is Rule.RANKED else negative[..., YES]
    return np.stack([tp, fp, positives - tp, negatives - fp], axis=-1)


def metrics(table: NDArray[np.number]) -> Metrics:
    """Return the metrics of 2×2 tables, ``(…, 4)`` → ``(…)``; counts need not be whole numbers.

    Undefined, hence NaN: accuracy without a candidate, precision where nothing counts as YES
    (TP + FP = 0), recall without a positive, F1 = 2TP / (2TP + FP + FN) with neither.
    """
    tp, fp, fn, tn = (table[..., place].astype(np.float64) for place in (TP, FP, FN, TN))
    return Metrics(
        accuracy=ratio(tp + tn, tp + fp + fn + tn),
        precision=ratio(tp, tp + fp),
        recall=ratio(tp, tp + fn),
        f1=ratio(2 * tp, 2 * tp + fp + fn),
    )


def macro(parts: Metrics, members: list[int]) -> Metrics:
    """Return the mean over some places of the last axis; undefined where any of them is."""
    return Metrics(*(values[..., members].mean(axis=-1) for values in parts))


def error_share(counts: IntArray) -> FloatArray:
    """Return the share of candidates that ended as `error`, ``(…, 2, 7)`` → ``(…)``."""
    return ratio(counts[..., ERROR].sum(axis=-1), counts.sum(axis=(-2, -1)))


def ratio(part: ArrayLike, whole: ArrayLike, *, above: float = 0.0) -> FloatArray:
    """Return part / whole, of any shapes that broadcast; NaN where the whole is not ``above`` what counts as 0.

    The one division of this package: what has nothing to be a share of is undefined, never 0.
    """
    parts, wholes = np.broadcast_arrays(part, whole)
    shares: FloatArray = np.full(wholes.shape, np.nan)
    np.divide(parts, wholes, out=shares, where=wholes > above)
    return shares
