"""How answers move between two runs over the same candidates: paired, by object, with intervals."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy import stats

from specvi_benchmark.files import StrictModel
from specvi_benchmark.probes.series import Answers
from specvi_benchmark.scoring import CALLS, Group, Rows
from specvi_benchmark.scoring.compare import compare
from specvi_benchmark.scoring.intervals import LEVEL, RESAMPLES
from specvi_benchmark.splits import Candidate
from specvi_benchmark.vetting import Answer

ALL_TASKS = "all"
BEFORE, AFTER = "before", "after"


class Shift(StrictModel):
    """A mean difference, after minus before, with its 95 % interval."""

    value: float
    low: float
    high: float


class Move(StrictModel):
    """How the answers of one probe differ from those it is compared with, on the same candidates.

    Attributes
    ----------
    task
        A task's key, or `ALL_TASKS` together.
    truth
        Of members (YES) or of others (NO).
    candidates, objects
        How many both runs were asked about.
    yes_before, yes_after
        Answers YES. ``lost`` of them are no longer YES, ``gained`` are new.
    yes
        Change of the share of YES. None where a run has too many errors, or there is one object only.
    p
        McNemar's exact test of ``lost`` against ``gained``; takes candidates as independent.
    p_yes
        Change of the mean P(YES), where both runs give one for every candidate.
    non_answers_before, non_answers_after
        Neither YES nor NO.
    """

    probe: str
    against: str
    task: str
    truth: Answer
    candidates: int
    objects: int
    yes_before: int
    yes_after: int
    lost: int
    gained: int
    non_answers_before: int
    non_answers_after: int
    yes: Shift | None
    p: float | None
    p_yes: Shift | None

    @property
    def direction(self) -> Literal["down", "up", "none"]:
        """Return which way the share of YES moved beyond chance, by its interval."""
        if self.yes is None or self.yes.low <= 0 <= self.yes.high:
            return "none"
        return "down" if self.yes.value < 0 else "up"


def move(
    candidates: Sequence[Candidate],
    before: Answers,
    after: Answers,
    *,
    probe: str,
    against: str,
    task: str,
    truth: Answer,
    resamples: int = RESAMPLES,
) -> Move | None:
    """Compare two runs on the candidates of one truth that both were asked about; None where there are none.

    The share of YES is a system's accuracy where every truth is taken for YES, so that its change is one paired
    difference of `specvi_benchmark.scoring.compare`: objects are drawn anew together for both runs.
    """
    pool = [c for c in candidates if c.truth == truth and c.id in before and c.id in after]
    if not pool:
        return None
    first, second = ([answers[c.id] for c in pool] for answers in (before, after))
    yes_first, yes_second = (np.array([row.answer == "YES" for row in rows]) for rows in (first, second))
    objects = len({c.object_id for c in pool})
    shift, p = _difference(pool, before, after, resamples) if objects > 1 else (None, None)
    return Move(
        probe=probe,
        against=against,
        task=task,
        truth=truth,
        candidates=len(pool),
        objects=objects,
        yes_before=int(yes_first.sum()),
        yes_after=int(yes_second.sum()),
        lost=int((yes_first & ~yes_second).sum()),
        gained=int((yes_second & ~yes_first).sum()),
        non_answers_before=sum(row.answer is None for row in first),
        non_answers_after=sum(row.answer is None for row in second),
        yes=shift,
        p=p,
        p_yes=_probability_shift(pool, before, after),
    )


def _difference(
    pool: Sequence[Candidate], before: Answers, after: Answers, resamples: int
) -> tuple[Shift | None, float | None]:
    found = compare({BEFORE: _rows(pool, before), AFTER: _rows(pool, after)}, "accuracy", resamples=resamples)
    if not found.pairs:  # one of the two has too many errors to be compared
        return None, None
    (pair,) = found.pairs
    sign = 1 if pair.higher == AFTER else -1
    low, high = sorted((sign * pair.low, sign * pair.high))
    return Shift(value=sign * pair.difference, low=low, high=high), pair.mcnemar.p


def _rows(pool: Sequence[Candidate], answers: Answers) -> Rows:
    """Return the answers as if every truth were YES: being right is then to have said YES."""
    calls = [row.answer or row.outcome.value for row in (answers[c.id] for c in pool)]
    return Rows(
        groups=(Group(pool[0].track, ALL_TASKS),),
        group=np.zeros(len(pool), dtype=np.int64),
        positive=np.ones(len(pool), dtype=np.bool_),
        call=np.array([CALLS.index(call) for call in calls]),
        object_code=np.unique([c.object_id for c in pool], return_inverse=True)[1],
    )


def _probability_shift(pool: Sequence[Candidate], before: Answers, after: Answers) -> Shift | None:
    """Return the change of the mean P(YES), each object counted once, with Student's interval over objects."""
    by_object: dict[str, list[float]] = {}
    for candidate in pool:
        first, second = before[candidate.id].p_yes, after[candidate.id].p_yes
        if first is None or second is None:
            return None
        by_object.setdefault(candidate.object_id, []).append(second - first)
    means = np.array([np.mean(values) for values in by_object.values()])
    if means.size < 2:
        return None
    value = float(means.mean())
    if np.ptp(means) == 0:
        return Shift(value=value, low=value, high=value)
    low, high = stats.ttest_1samp(means, 0).confidence_interval(LEVEL)
    return Shift(value=value, low=float(low), high=float(high))
