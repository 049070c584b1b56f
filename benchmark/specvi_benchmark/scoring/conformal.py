"""Conformal selection: a list of YES whose *expected* share of false entries is at most q.

Each candidate gets a p-value for "this is a negative" from labelled negatives of a calibration set, and
Benjamini & Hochberg's procedure chooses. If the negatives of both sets are exchangeable, the mean over
calibration sets and lists of the false-discovery proportion is at most q (times the share of negatives).
It says nothing about one list, and nothing about completeness.
"""

import math

import numpy as np

from specvi_benchmark.scoring.ledger import BoolArray
from specvi_benchmark.scoring.metrics import FloatArray


def conformal_p_values(negatives: FloatArray, score: FloatArray) -> FloatArray:
    """Return p = (1 + #{calibration negatives with a score ≥ this one}) / (1 + #negatives) of each candidate.

    The p-value of Jin & Candès 2023, J. Mach. Learn. Res. 24(244), for a yes/no truth, on
    negatives alone (Bates, Candès, Lei, Romano & Sesia 2023, Ann. Stat. 51, 149). Without the positives in its
    denominator it does not need both sets to have the same share of positives. Ties count against
    the candidate: conservative, and not random.

    Parameters
    ----------
    negatives
        ``(n₀,)`` scores of the calibration negatives.
    score
        ``(m,)`` scores of the candidates.
    """
    rising = np.sort(negatives)
    as_high = len(rising) - np.searchsorted(rising, score, side="left")
    p_values: FloatArray = (1 + as_high) / (1 + len(rising))
    return p_values


def benjamini_hochberg(p_values: FloatArray, q: float) -> BoolArray:
    """Return which hypotheses are rejected: those up to the last k with p₍ₖ₎ ≤ q·k/m.

    Benjamini & Hochberg 1995, J. R. Stat. Soc. B 57, 289. It holds for conformal p-values, which depend on
    each other through the calibration set: Bates et al. 2023.
    """
    rising = np.sort(p_values)
    # The 1e-12 forgives the last bit of q·k/m, where p-value and bound are the same fraction.
    passed = np.flatnonzero(rising <= q * np.arange(1, len(rising) + 1) / max(len(rising), 1) * (1 + 1e-12))
    return p_values <= rising[passed[-1]] if len(passed) else np.zeros(len(p_values), dtype=np.bool_)


def select(negatives: FloatArray, score: FloatArray, q: float) -> BoolArray:
    """Return which candidates are selected with an expected false-discovery proportion of at most q."""
    return benjamini_hochberg(conformal_p_values(negatives, score), q)


def negatives_needed(q: float, prevalence: float) -> int:
    """Return how many calibration negatives a list of the size of the class needs.

    The lowest p-value there is, 1 / (n₀ + 1), has to pass q·k/m. A list of all members has k/m = prevalence,
    so n₀ ≥ 1 / (q·prevalence) − 1. With fewer, only lists longer than the class can be selected.
    """
    return math.ceil(1 / (q * prevalence) - 1 - 1e-9)
