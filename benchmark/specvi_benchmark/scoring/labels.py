"""Labels are measurements too: what wrong ones cost a perfect system, and which ones to look at again."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats

from specvi_benchmark.scoring.ledger import BoolArray, IntArray
from specvi_benchmark.scoring.metrics import FloatArray

LEVEL = 0.95
LEAST_SYSTEMS = 3  # answers a discrimination is computed from; with two it could only be -1 or 1
_TAIL = 1e-9  # probability left out at each end of a binomial
_MOST_COUNTS = 2000  # of one binomial; wider ones (millions of labels) are taken in groups of counts


class Ceiling(NamedTuple):
    """What a system that knows the truth scores against imperfect labels.

    ``precision``, ``recall`` and ``f1`` are at the expected number of wrong labels; ``low`` to ``high`` holds
    F1 with 95 % probability. NaN where undefined.
    """

    precision: float
    recall: float
    f1: float
    low: float
    high: float


def f1_ceiling(positives: int, negatives: int, contamination: float, missed: float) -> Ceiling:
    """Return the score of a system that says the truth, where some labels do not.

    Of P labelled positives a share φ (``contamination``) is no member: the system says NO, counted FN. Of N
    labelled negatives a share μ (``missed``) is a member: it says YES, counted FP. So recall = 1 - φ,
    precision = P (1 - φ) / (P (1 - φ) + N μ), F1 = 2 (1 - φ) / (2 - φ + μ N / P).

    Parameters
    ----------
    positives, negatives
        Numbers of candidates labelled YES and NO.
    contamination, missed
        Assumed shares of wrong labels among them. Each wrong label is an independent event: the interval
        comes from the two binomial distributions, exactly up to some millions of labels. It falls with either share, so a range of
        assumptions is bounded by its ends.

    Notes
    -----
    No ceiling for a system that has learnt the labels' own mistakes: it can score higher. Only algebra on
    2×2 tables; the effect of a small missed share on precision at low prevalence is the point of it.

    Raises
    ------
    ValueError
        A negative count, or a share that is not within 0 and 1.
    """
    if min(positives, negatives) < 0 or not (0 <= contamination <= 1 and 0 <= missed <= 1):
        raise ValueError(
            f"counts of at least 0 and shares from 0 to 1 are needed, got {positives}, {negatives}, "
            f"{contamination}, {missed}"
        )
    lost, found = positives * contamination, negatives * missed  # expected FN and FP
    hits = positives - lost
    low, high = _f1_interval(positives, negatives, contamination, missed)
    return Ceiling(
        precision=_divide(hits, hits + found),
        recall=_divide(hits, positives),
        f1=_divide(2 * hits, 2 * hits + lost + found),
        low=low,
        high=high,
    )


def _f1_interval(positives: int, negatives: int, contamination: float, missed: float) -> tuple[float, float]:
    if positives == 0:  # F1 is 0 with one false positive, undefined without
        return (np.nan, np.nan) if negatives * missed == 0 else (0.0, 0.0)
    lost, lost_chance = _binomial(positives, contamination)
    found, found_chance = _binomial(negatives, missed)
    hits = positives - lost[:, None]
    f1 = (2 * hits / (2 * hits + lost[:, None] + found[None, :])).ravel()
    order = np.argsort(f1)
    below = np.cumsum((lost_chance[:, None] * found_chance[None, :]).ravel()[order])
    ends = np.searchsorted(below, [(1 - LEVEL) / 2 * below[-1], (1 + LEVEL) / 2 * below[-1]])
    low, high = f1[order][np.minimum(ends, len(order) - 1)]
    return float(low), float(high)


def _binomial(n: int, share: float) -> tuple[IntArray, FloatArray]:
    """Return the counts that matter and their probabilities."""
    if n * share < _TAIL:  # the chance of even one
        return np.array([0]), np.array([1.0])
    distribution = stats.binom(n, share)
    first, last = int(distribution.ppf(_TAIL)), int(distribution.ppf(1 - _TAIL))
    counts = np.arange(max(first, 0), last + 1)
    chances = distribution.pmf(counts)
    step = -(-len(counts) // _MOST_COUNTS)  # a group is narrower than a hundredth of the standard deviation
    starts = np.arange(0, len(counts), step)
    middles = np.minimum(starts + step // 2, len(counts) - 1)
    return counts[middles], np.add.reduceat(chances, starts)


@dataclass(frozen=True, slots=True, eq=False)
class Suspects:
    """How systems stand to the label of each candidate of one task, arrays of ``(candidates,)``.

    Attributes
    ----------
    answered, against
        How many systems answered, and how many of these contradict the label.
    unanimous
        True where at least two answered and all of them contradict the label.
    discrimination
        Correlation, over the systems that answered, of following the label here with following it
        elsewhere. Negative: the better a system is otherwise, the more it contradicts this label. NaN where
        undefined: fewer than three answers, or all of them alike, as in unanimous ones.
    expected_unanimous
        How many unanimous ones there would be if systems erred independently of each other, each at its own
        rate among the candidates of that label. Hard candidates make real systems err together, so more is
        no proof of wrong labels.
    """

    answered: IntArray
    against: IntArray
    unanimous: BoolArray
    discrimination: FloatArray
    expected_unanimous: float

    def ranked(self) -> IntArray:
        """Return the candidates to look at, most suspect first.

        Unanimous ones, more answers first; then those that most systems contradict and the better systems
        more than the others, most negative discrimination first.
        """
        contested = ~self.unanimous & (2 * self.against > self.answered) & (self.discrimination < 0)
        agreed, split = np.flatnonzero(self.unanimous), np.flatnonzero(contested)
        return np.concatenate(
            [
                agreed[np.argsort(-self.answered[agreed], kind="stable")],
                split[np.argsort(self.discrimination[split], kind="stable")],
            ]
        )


def suspects(says_yes: BoolArray, answered: BoolArray, positive: BoolArray) -> Suspects:
    """Return how systems stand to the labels of one task.

    Parameters
    ----------
    says_yes
        ``(systems, n)`` bool, YES; has no meaning where nothing was answered.
    answered
        ``(systems, n)`` bool, whether there is an answer.
    positive
        ``(n,)`` bool, the label.

    Notes
    -----
    The discrimination is the item-rest correlation of classical test theory, the point-biserial correlation of
    an item with the score on all others: Henrysson 1963, Psychometrika 28, 211; Lord & Novick 1968,
    Statistical Theories of Mental Test Scores, chapter 15. That items with a negative one are often
    wrongly labelled: Rodriguez et al. 2021, Evaluation Examples Are Not Equally Informative, ACL.
    A system that always gives the same answer says nothing about a single candidate: leave it out.
    """
    follows = answered & (says_yes == positive)
    against = (answered & ~follows).sum(axis=0)
    count = answered.sum(axis=0)
    return Suspects(
        answered=count,
        against=against,
        unanimous=(count >= 2) & (against == count),
        discrimination=_discrimination(follows, answered),
        expected_unanimous=_expected_unanimous(follows, answered, positive),
    )


def _discrimination(follows: BoolArray, answered: BoolArray) -> FloatArray:
    """Return the correlation of each column with the share followed in all other columns."""
    rest_answers = answered.sum(axis=1, keepdims=True) - answered
    rest_hits = follows.sum(axis=1, keepdims=True) - follows
    used = answered & (rest_answers > 0)
    rest = np.where(used, rest_hits / np.maximum(rest_answers, 1), 0.0)
    here = np.where(used, follows, False).astype(np.float64)
    n = used.sum(axis=0)
    here_off = np.where(used, here - here.sum(axis=0) / np.maximum(n, 1), 0.0)
    rest_off = np.where(used, rest - rest.sum(axis=0) / np.maximum(n, 1), 0.0)
    spread = np.sqrt((here_off**2).sum(axis=0) * (rest_off**2).sum(axis=0))
    correlation = np.full(n.shape, np.nan)
    # Equal rest scores differ by rounding only: no spread, no correlation.
    known = (n >= LEAST_SYSTEMS) & (spread > 1e-9)
    np.divide((here_off * rest_off).sum(axis=0), spread, out=correlation, where=known)
    return correlation


def _expected_unanimous(follows: BoolArray, answered: BoolArray, positive: BoolArray) -> float:
    expected = 0.0
    for label in (True, False):
        chosen = answered[:, positive == label]
        answers = chosen.sum(axis=1)
        errors = answers - follows[:, positive == label].sum(axis=1)
        rate = np.divide(errors, answers, out=np.zeros(len(answers)), where=answers > 0)
        chance = np.where(chosen, rate[:, None], 1.0).prod(axis=0)
        expected += float(chance[chosen.sum(axis=0) >= 2].sum())
    return expected


def _divide(part: float, whole: float) -> float:
    return part / whole if whole > 0 else np.nan
