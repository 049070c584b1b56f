"""The answers of one system on one task, with what the questions beyond accuracy need to know of a candidate."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from specvi_benchmark.scoring.ledger import NO, YES, BoolArray, Group, IntArray
from specvi_benchmark.scoring.metrics import FloatArray

NO_PROBABILITY = "the system gives no probability"


@dataclass(frozen=True, slots=True, eq=False)
class TaskAnswers:
    """One task of one track, one entry a candidate.

    Attributes
    ----------
    group
        Which task of which track.
    id
        Of the candidate.
    positive
        ``(n,)`` bool, whether the truth is YES.
    call
        ``(n,)`` int, index into `specvi_benchmark.scoring.ledger.CALLS`.
    p_yes
        ``(n,)`` P(YES), NaN where the system gave none.
    object_code
        ``(n,)`` int, equal where two rows show the same object.
    snr
        ``(n,)`` signal to noise, NaN where it is not known.
    survey, subtype
        One a candidate; "" where it is not known.
    """

    group: Group
    id: Sequence[str]
    positive: BoolArray
    call: IntArray
    p_yes: FloatArray
    object_code: IntArray
    snr: FloatArray
    survey: Sequence[str]
    subtype: Sequence[str]

    @property
    def called_yes(self) -> BoolArray:
        """Return which candidates were called YES."""
        yes: BoolArray = self.call == YES
        return yes

    @property
    def answered(self) -> BoolArray:
        """Return which candidates have an answer."""
        answered: BoolArray = (self.call == YES) | (self.call == NO)
        return answered

    @property
    def has_p(self) -> BoolArray:
        """Return which candidates have a P(YES)."""
        return ~np.isnan(self.p_yes)

    @property
    def one_an_object(self) -> IntArray:
        """Return one row of each object, the first by id: visits of one object are not independent."""
        by_id = np.argsort(np.asarray(self.id), kind="stable")
        rows: IntArray = by_id[np.unique(self.object_code[by_id], return_index=True)[1]].astype(np.int64)
        return rows

    def score(self, p: FloatArray) -> FloatArray:
        """Return ``p`` for ranking, −∞ where the system gave none: such a candidate is never on a list."""
        ranked: FloatArray = np.where(np.isnan(p), -np.inf, p)
        return ranked

    @property
    def without_probability(self) -> str | None:
        """Return why the task has no probabilities, or None where it has.

        Every answer needs one: over the answers that happen to have one, a number would speak of a
        choice of candidates that the system made.
        """
        missing = int((self.answered & ~self.has_p).sum())
        if not self.has_p.any():
            return NO_PROBABILITY
        if missing:
            return f"{missing} of {int(self.answered.sum())} answers have no P(YES)"
        return None

    def confidence(self, p: FloatArray) -> FloatArray:
        """Return the probability that ``p`` gives to the system's own answer; −∞ where it has no answer."""
        own = np.where(self.called_yes, p, 1 - p)
        confidence: FloatArray = np.where(self.answered, own, -np.inf)
        return confidence
