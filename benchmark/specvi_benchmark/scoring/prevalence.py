"""What an astronomer asks: how pure, complete and costly a search would be in a survey.

Everything follows from two rates, the share of members and the share of others that a system calls YES,
which do not depend on the share of positives of the set they were measured on, as long as its negatives are
like those of the survey. Each function takes arrays of any one shape, so that intervals come from draws.
"""

from typing import NamedTuple

import numpy as np

from specvi_benchmark.scoring.intervals import draw_tables
from specvi_benchmark.scoring.ledger import NO, YES, BoolArray, Rows
from specvi_benchmark.scoring.metrics import FN, FP, TN, TP, FloatArray, ratio

SECONDS_A_LOOK = 10.0
"""One inspection by an expert: the suite's anchor, see docs/deferral.md."""


class Rates(NamedTuple):
    """Share of members and of others that are passed on; NaN without a member, without another."""

    members: FloatArray
    others: FloatArray


class Share(NamedTuple):
    """A share that is known: exactly (``counts`` None), or as so many of so many."""

    value: float
    counts: tuple[int, int] | None = None

    def draws(self, resamples: int, rng: np.random.Generator) -> FloatArray:
        """Return ``(resamples,)`` values it could have: constant, or from Beta(k + ½, n − k + ½)."""
        if self.counts is None:
            return np.full(resamples, self.value)
        found, of = self.counts
        return rng.beta(found + 0.5, of - found + 0.5, size=resamples)


class Screen(NamedTuple):
    """The weak classifier before the system: which share of members and of all others it lets through."""

    members: Share = Share(1.0)
    others: Share = Share(1.0)


NO_SCREEN = Screen()


class Draws(NamedTuple):
    """Rates of every group: ``(groups,)`` as measured, and ``(resamples, groups)`` as they could have been."""

    point: Rates
    drawn: Rates


def rate_draws(rows: Rows, *, queue_counts: bool, resamples: int, seed: int = 0) -> Draws:
    """Return the rates of each group of rows, with draws made as those of the metrics are.

    Parameters
    ----------
    queue_counts
        Whether non-answers are passed on too, to people; otherwise only YES is.
    """
    passed = (rows.call != NO) if queue_counts else (rows.call == YES)
    as_answered = Rows(rows.groups, rows.group, rows.positive, np.where(passed, YES, NO), rows.object_code)
    tables, _ = draw_tables(as_answered, resamples=resamples, seed=seed)
    cell = np.where(rows.positive, np.where(passed, TP, FN), np.where(passed, FP, TN))
    table = np.bincount(rows.group * 4 + cell, minlength=4 * len(rows.groups)).reshape(-1, 4)
    return Draws(_rates(table), _rates(tables))


def purity_at(rates: Rates, prevalence: float) -> FloatArray:
    """Return the purity of what is passed on where a share ``prevalence`` are members.

    Bayes: TPR·π / (TPR·π + FPR·(1 − π)). NaN where nothing is passed on.
    """
    right, false = rates.members * prevalence, rates.others * (1 - prevalence)
    return ratio(right, right + false)


def through(rates: Rates, members: FloatArray | float, others: FloatArray | float) -> Rates:
    """Return the rates of a screen and the system behind it, from the screen's shares let through."""
    return Rates(rates.members * members, rates.others * others)


def opened(rates: Rates, prevalence: float) -> FloatArray:
    """Return the share of all spectra that is passed on: what a person opens."""
    return rates.members * prevalence + rates.others * (1 - prevalence)


def looks_per_member(rates: Rates, prevalence: float) -> FloatArray:
    """Return how many spectra a person opens for each member confirmed; infinite where none is passed on.

    Without any system it is 1 / prevalence: 525 in the catalogue of Sun et al. 2021.
    """
    passed, right = opened(rates, prevalence), rates.members * prevalence
    return np.where(right > 0, ratio(passed, right), np.where(passed > 0, np.inf, np.nan))


def hours_saved(
    before: FloatArray | float,
    after: FloatArray | float,
    spectra: float,
    seconds_a_look: float = SECONDS_A_LOOK,
) -> FloatArray:
    """Return hours of looking that are saved in so many spectra, from the shares opened before and after."""
    saved: FloatArray = (np.asarray(before) - np.asarray(after)) * spectra * seconds_a_look / 3600
    return saved


class Drop(NamedTuple):
    """A metric in two surveys on the same objects, and their difference with its 95 % interval."""

    reference: float
    other: float
    drop: float
    low: float
    high: float


def survey_drop(
    positive: BoolArray,
    reference: BoolArray,
    other: BoolArray,
    *,
    resamples: int = 10_000,
    seed: int = 0,
) -> dict[str, Drop]:
    """Return how much a system loses from one survey to another on the same objects.

    Parameters
    ----------
    positive
        ``(objects,)`` truth.
    reference, other
        ``(objects,)`` whether the system's call on that survey's spectrum counts as YES.

    Returns
    -------
    dict
        ``recall``, ``false_alarms`` (share of negatives called YES), ``f1``, ``accuracy``. A drop is
        reference − other; for false alarms a negative one is a loss.

    Notes
    -----
    Both surveys see the same objects, so chance in which objects were drawn mostly cancels. The four joint
    shares (right in both, in one, in the other, in neither) of each truth are drawn from Dirichlet(counts + ½):
    half an object more a cell, as Agresti & Min 2005, Stat. Med. 24, 729, advise for paired differences.
    """
    rng = np.random.default_rng(seed)
    draws = np.empty((resamples, 2, 4))  # survey × TP, FP, FN, TN
    points = np.empty((2, 4))
    for truth, yes, no in ((True, TP, FN), (False, FP, TN)):
        here = positive == truth
        size = int(here.sum())
        joint = np.bincount(2 * reference[here] + other[here], minlength=4)
        shares = rng.dirichlet(joint + 0.5, size=resamples) if size else np.zeros((resamples, 4))
        for survey, places in enumerate(([2, 3], [1, 3])):
            points[survey, yes] = joint[places].sum()
            draws[:, survey, yes] = size * shares[:, places].sum(axis=1)
            points[survey, no], draws[:, survey, no] = (
                size - points[survey, yes],
                size - draws[:, survey, yes],
            )
    found, drawn = _paired_metrics(points), _paired_metrics(draws)
    return {name: _drop(found[name], drawn[name]) for name in found}


def _paired_metrics(tables: FloatArray) -> dict[str, FloatArray]:
    tp, fp, fn, tn = (tables[..., place] for place in (TP, FP, FN, TN))
    return {
        "recall": ratio(tp, tp + fn),
        "false_alarms": ratio(fp, fp + tn),
        "f1": ratio(2 * tp, 2 * tp + fp + fn),
        "accuracy": ratio(tp + tn, tp + fp + fn + tn),
    }


def _drop(point: FloatArray, drawn: FloatArray) -> Drop:
    reference, other = (float(value) for value in point)
    if np.isnan(reference - other):
        return Drop(reference, other, np.nan, np.nan, np.nan)
    low, high = np.nanquantile(drawn[:, 0] - drawn[:, 1], [0.025, 0.975])
    drop = reference - other
    return Drop(reference, other, drop, min(float(low), drop), max(float(high), drop))


def _rates(tables: np.ndarray) -> Rates:
    tp, fp, fn, tn = (np.asarray(tables[..., place], dtype=np.float64) for place in (TP, FP, FN, TN))
    return Rates(ratio(tp, tp + fn), ratio(fp, fp + tn))
