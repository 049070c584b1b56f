"""Which systems lie apart, and which ranks each could have: confidence sets for ranks.

Method: Mogstad, Romano, Shaikh & Wilhelm 2024, Rev. Econ. Stud. 91, 476, with the step-down of Romano & Wolf
2005, Econometrica 73, 1237. In each resample the largest studentised difference over all pairs tells how large a
difference chance alone makes somewhere. Pairs beyond what that explains are apart; they are set aside, and the
rest is looked at again. A system's set of ranks leaves out as many places at the top as systems are shown to
be better, and as many at the bottom as are shown to be worse. In 95 % of cases every set holds its true rank,
all at once.

The paper tests each direction of a pair and keeps the reverse of a rejected one in later steps. Here a pair is one
two-sided test and its sign says the direction, which loses less power; simulated coverage stays above nominal.

Against Bonferroni and Holm the gain comes from dependence: systems share candidates and pairs share systems,
and the largest of many dependent differences is smaller than that of as many independent ones.
"""

import numpy as np
from numpy.typing import NDArray

from specvi_benchmark.scoring.ledger import BoolArray, IntArray
from specvi_benchmark.scoring.metrics import FloatArray
from specvi_benchmark.scoring.paired import PairedDraws


def adjusted_p(draws: PairedDraws) -> FloatArray:
    """Return ``(pairs,)``: two-sided p of "no difference", adjusted over all pairs by step-down.

    Romano & Wolf 2016, Stat. Probab. Lett. 113, 38, algorithm 4.1. A pair without any difference has p = 1.
    """
    observed = (np.abs(draws.difference) / _floor(draws.error)).astype(np.float32)
    order = np.argsort(-observed, kind="stable")
    largest = np.abs(draws.studentised)[:, order]
    # The largest over a pair and all those with less evidence than it.
    np.maximum.accumulate(largest[:, ::-1], axis=1, out=largest[:, ::-1])
    reached = (largest >= observed[order]).sum(axis=0)
    p = np.empty(len(order))
    p[order] = np.maximum.accumulate((reached + 1) / (len(largest) + 1))
    return np.where(draws.difference == 0, 1.0, p)


def single_p(draws: PairedDraws) -> FloatArray:
    """Return ``(pairs,)``: p of "no difference" for each pair alone, two-sided."""
    observed = (np.abs(draws.difference) / _floor(draws.error)).astype(np.float32)
    reached = (np.abs(draws.studentised) >= observed).sum(axis=0)
    return np.where(draws.difference == 0, 1.0, (reached + 1) / (len(draws.studentised) + 1))


def rank_sets(draws: PairedDraws, apart: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the best and the worst rank of each system, ``(systems,)``; 1 is the highest value.

    Parameters
    ----------
    draws
        The pairs.
    apart
        ``(pairs,)``, which pairs are shown to differ.
    """
    better = np.where(draws.difference > 0, draws.first, draws.second)[apart]
    worse = np.where(draws.difference > 0, draws.second, draws.first)[apart]
    systems = len(draws.value)
    return 1 + np.bincount(worse, minlength=systems), systems - np.bincount(better, minlength=systems)


def holm(p: NDArray[np.float64]) -> FloatArray:
    """Return p-values adjusted by Holm 1979, Scand. J. Stat. 6, 65."""
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(steps, 1)
    return adjusted


def _floor(error: FloatArray) -> FloatArray:
    """Return the errors, with 1 where there is none and so no difference either."""
    return np.where(error > 0, error, 1.0)
