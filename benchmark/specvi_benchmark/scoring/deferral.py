"""What is gained by giving the least certain candidates to people, and how much there is for them to do.

``confidence`` orders the candidates: −∞ is a non-answer, which goes to people before any other. Equal
confidence says nothing about the order, so numbers are means over every order of the tied candidates.
"""

from dataclasses import dataclass

import numpy as np

from specvi_benchmark.scoring.ledger import BoolArray, IntArray
from specvi_benchmark.scoring.metrics import FloatArray, ratio

_ROUNDING = 1e-12  # below is what rounding leaves of 0


@dataclass(frozen=True, slots=True, eq=False)
class DeferralCurve:
    """Running sums over candidates as more are deferred, at every place where the confidence changes.

    Attributes
    ----------
    deferred
        ``(k,)`` share of candidates in people's hands, rising. It begins with the share of non-answers.
    kept_tp, kept_fp
        ``(k,)`` true and false YES among what the system keeps.
    found
        ``(k,)`` positives among what people look at.
    positives
        All positives.
    """

    deferred: FloatArray
    kept_tp: FloatArray
    kept_fp: FloatArray
    found: FloatArray
    positives: float

    def at(self, deferred: FloatArray | float) -> "DeferralCurve":
        """Return the curve at given shares; NaN below the share of non-answers, which nobody can undercut."""
        wanted = np.atleast_1d(np.asarray(deferred, dtype=np.float64))
        below = wanted < self.deferred[0] - 1e-12
        tp, fp, found = (
            np.where(below, np.nan, np.interp(wanted, self.deferred, values))
            for values in (self.kept_tp, self.kept_fp, self.found)
        )
        return DeferralCurve(wanted, tp, fp, found, self.positives)

    @property
    def purity(self) -> FloatArray:
        """Return the purity of the catalogue: YES that the system keeps, and what people confirm."""
        return ratio(self.kept_tp + self.found, self.kept_tp + self.kept_fp + self.found, above=_ROUNDING)

    @property
    def machine_purity(self) -> FloatArray:
        """Return the purity of the YES that the system keeps, without the people's part."""
        return ratio(self.kept_tp, self.kept_tp + self.kept_fp, above=_ROUNDING)

    @property
    def completeness(self) -> FloatArray:
        """Return the completeness of the catalogue: YES that the system keeps, and what people confirm."""
        return ratio(self.kept_tp + self.found, np.full(len(self.found), self.positives), above=_ROUNDING)


def deferral_curve(
    positive: BoolArray, called_yes: BoolArray, confidence: FloatArray, weight: FloatArray | None = None
) -> DeferralCurve:
    """Defer the least certain candidates first; people are taken to be right.

    Parameters
    ----------
    positive, called_yes, confidence
        ``(n,)``; the confidence of the answer given, −∞ without one.
    weight
        ``(n,)`` how many candidates of a survey each stands for; 1 by default.
    """
    weights = np.ones(len(positive)) if weight is None else weight
    order = np.argsort(confidence, kind="stable")
    ends = _tie_ends(confidence[order])

    def gone(which: BoolArray) -> FloatArray:
        return np.concatenate([[0.0], np.cumsum((weights * which)[order])])[ends]

    tp, fp = positive & called_yes, ~positive & called_yes
    everyone = gone(np.ones(len(positive), dtype=np.bool_))
    silent = int(np.isneginf(confidence).any())  # then the curve begins behind the block of non-answers
    return DeferralCurve(
        deferred=(everyone / max(everyone[-1], np.finfo(float).tiny))[silent:],
        kept_tp=np.maximum(weights[tp].sum() - gone(tp), 0)[silent:],
        kept_fp=np.maximum(weights[fp].sum() - gone(fp), 0)[silent:],
        found=gone(positive)[silent:],
        positives=float(weights[positive].sum()),
    )


def errors_kept(wrong: BoolArray, confidence: FloatArray) -> FloatArray:
    """Return ``(n + 1,)``: the mean number of wrong answers among the 0, 1, … n most confident candidates."""
    order = np.argsort(-confidence, kind="stable")
    ends = _tie_ends(confidence[order])
    sums = np.concatenate([[0], np.cumsum(wrong[order])])[ends]
    errors: FloatArray = np.interp(np.arange(len(wrong) + 1), ends, sums)
    return errors


def aurc(wrong: BoolArray, confidence: FloatArray) -> float:
    """Return the area under the risk–coverage curve.

    The share of wrong answers among the i most confident, averaged over i = 1 … n: Geifman, Uziel &
    El-Yaniv 2019, ICLR. Early ranks weigh most: one error among the first few can count for fifty late ones.
    """
    if len(wrong) == 0:
        return np.nan
    kept = np.arange(1, len(wrong) + 1)
    return float((errors_kept(wrong, confidence)[1:] / kept).mean())


def augrc(wrong: BoolArray, confidence: FloatArray) -> float:
    """Return the area under the generalised risk–coverage curve.

    The share of all candidates that are kept *and* wrong, averaged over coverage from 0 to 1: the mean
    risk of a silent failure, between 0 and ½. Traub et al. 2024, NeurIPS (arXiv 2407.01032). It equals
    (1 − AUROC_f)·a·(1 − a) + ½(1 − a)², a being accuracy and AUROC_f that of confidence for right answers.
    """
    if len(wrong) == 0:
        return np.nan
    shares = errors_kept(wrong, confidence) / len(wrong)
    return float(((shares[1:] + shares[:-1]) / 2).mean())


def workload(
    positive: BoolArray, score: FloatArray, completeness: float, weight: FloatArray | None = None
) -> float:
    """Return the share of candidates a person opens, from the highest score down, to find a share of positives.

    Within a tie the order is random, and the value is the mean over orders: in a tie of b candidates with
    m positives, j of which are still needed, j·(b − m)/(m + 1) negatives are opened before (negative
    hypergeometric). NaN without a positive.

    Parameters
    ----------
    completeness
        In (0, 1]; the number of positives to find is rounded up.
    weight
        ``(n,)`` how many candidates of a survey each stands for, equal within positives and within
        negatives; 1 by default.
    """
    if not positive.any():
        return np.nan
    weights = np.ones(len(positive)) if weight is None else weight
    wanted = int(np.ceil(completeness * positive.sum() - 1e-9))
    level = np.sort(score[positive])[::-1][wanted - 1]
    above, tied = score > level, score == level
    found = int((positive & above).sum())
    still, members = wanted - found, int((positive & tied).sum())
    others = int((~positive & tied).sum())
    per_positive, per_negative = (
        weights[positive].mean(),
        (weights[~positive].mean() if (~positive).any() else 0),
    )
    opened = weights[above].sum() + still * per_positive + still * others / (members + 1) * per_negative
    return float(opened / weights.sum())


def prevalence_weights(positive: BoolArray, prevalence: float) -> FloatArray:
    """Return weights that give positives the share ``prevalence``; they sum to 1. NaN where a class is absent."""
    positives, negatives = positive.sum(), (~positive).sum()
    if not positives or not negatives:
        return np.full(len(positive), np.nan)
    weights: FloatArray = np.where(positive, prevalence / positives, (1 - prevalence) / negatives)
    return weights


def _tie_ends(ordered: FloatArray) -> IntArray:
    """Return 0 and the number of candidates up to the end of each run of equal values."""
    changes = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    ends: IntArray = np.unique(np.concatenate([[0], changes, [len(ordered)]])).astype(np.int64)
    return ends
