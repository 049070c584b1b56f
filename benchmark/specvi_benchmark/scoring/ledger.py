"""The ledger: every candidate counted once, by its truth and by what became of it."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from specvi_benchmark.tasks.task import Track
from specvi_benchmark.vetting import ANSWERS, Outcome

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

NON_ANSWERS: tuple[str, ...] = tuple(outcome.value for outcome in Outcome if outcome is not Outcome.ANSWERED)
CALLS: tuple[str, ...] = (*ANSWERS, *NON_ANSWERS)
"""What can become of a candidate, the columns of a ledger: YES, NO, or one kind of non-answer."""

POSITIVE, NEGATIVE = 0, 1  # rows of a ledger
YES, NO, ERROR = CALLS.index("YES"), CALLS.index("NO"), CALLS.index(Outcome.ERROR)  # columns of a ledger


class Group(NamedTuple):
    """What gets one line in a table: a task within a track."""

    track: Track
    task: str


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The answers of one system, one row a candidate, in any order.

    Attributes
    ----------
    groups
        The lines of the table; ``group`` counts in them.
    group
        ``(n,)`` int, index into ``groups``.
    positive
        ``(n,)`` bool, whether the truth is YES.
    call
        ``(n,)`` int, index into `CALLS`.
    object_code
        ``(n,)`` int, equal where two rows show the same object; the numbers themselves mean nothing.
    p_yes
        ``(n,)`` P(YES), NaN where the system gave none; None where nobody asks for it.

    Raises
    ------
    ValueError
        The arrays differ in length, hold an index that is out of range, or leave a group empty.
    """

    groups: tuple[Group, ...]
    group: IntArray
    positive: BoolArray
    call: IntArray
    object_code: IntArray
    p_yes: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        arrays = (self.group, self.positive, self.call, self.object_code, self.p_yes_or_nan)
        if len({array.shape for array in arrays}) != 1 or self.group.ndim != 1:
            raise ValueError(f"one value a row is needed, got shapes {[array.shape for array in arrays]}")
        if self.positive.dtype != np.bool_:
            raise ValueError(f"positive must be boolean, got {self.positive.dtype}")
        if set(np.unique(self.group).tolist()) != set(range(len(self.groups))):
            raise ValueError("every group needs rows, and every row a group")
        if not ((self.call >= 0) & (self.call < len(CALLS))).all():
            raise ValueError("a call is out of range")

    @property
    def p_yes_or_nan(self) -> NDArray[np.float64]:
        """Return ``(n,)`` P(YES), NaN where there is none."""
        return np.full(len(self.call), np.nan) if self.p_yes is None else self.p_yes


def ledgers(rows: Rows) -> IntArray:
    """Return ``(groups, 2, 7)`` counts: group × truth (positive, negative) × `CALLS`. They sum to the rows."""
    shape = (len(rows.groups), 2, len(CALLS))
    truth = np.where(rows.positive, POSITIVE, NEGATIVE)
    cell = np.ravel_multi_index((rows.group, truth, rows.call), shape)
    return np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape)
