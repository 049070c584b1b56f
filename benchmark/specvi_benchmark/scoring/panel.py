"""Several systems on the same candidates, as the arrays a comparison works on."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specvi_benchmark.scoring.ledger import NO, YES, BoolArray, Group, IntArray, Rows
from specvi_benchmark.scoring.metrics import FloatArray

CREDIT_UNITS = 10_000
"""A full credit, where credits are not whole: sums of them are exact."""


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """The answers of several systems to the same questions.

    Attributes
    ----------
    names
        One a system, sorted, so that the order in which systems are named changes nothing.
    groups, group, positive, object_code
        As in `Rows`.
    call
        ``(systems, n)`` int, index into `CALLS`.
    p_yes
        ``(systems, n)`` P(YES), NaN where a system gave none.
    """

    names: tuple[str, ...]
    groups: tuple[Group, ...]
    group: IntArray
    positive: BoolArray
    object_code: IntArray
    call: IntArray
    p_yes: FloatArray

    @property
    def counts_as_yes(self) -> BoolArray:
        """Return ``(systems, n)``: under the ranked rule a non-answer to a negative counts as YES."""
        counts: BoolArray = np.where(self.positive, self.call == YES, self.call != NO)
        return counts

    @property
    def right(self) -> BoolArray:
        """Return ``(systems, n)``: which candidates are right under the ranked rule."""
        right: BoolArray = self.counts_as_yes == self.positive
        return right

    @property
    def credit(self) -> IntArray:
        """Return ``(systems, n)``: 1 − (P(YES) − truth)², in units of `CREDIT_UNITS`; a P(YES) must be there."""
        credit: IntArray = np.rint(CREDIT_UNITS * (1 - np.square(self.p_yes - self.positive))).astype(
            np.int64
        )
        return credit


def panel(systems: Mapping[str, Rows]) -> Panel:
    """Put systems side by side.

    Parameters
    ----------
    systems
        Name → answers. The rows of all of them are about the same candidates, in the same order.

    Raises
    ------
    ValueError
        Fewer than two systems, or rows that differ in more than their calls.
    """
    if len(systems) < 2:
        raise ValueError("a comparison needs two systems or more")
    names = tuple(sorted(systems))
    first = systems[names[0]]
    for name in names[1:]:
        other = systems[name]
        same = (
            first.groups == other.groups
            and np.array_equal(first.group, other.group)
            and np.array_equal(first.positive, other.positive)
            and np.array_equal(first.object_code, other.object_code)
        )
        if not same:
            raise ValueError(f"{name} answered other candidates than {names[0]}")
    return Panel(
        names=names,
        groups=first.groups,
        group=first.group,
        positive=first.positive,
        object_code=first.object_code,
        call=np.stack([systems[name].call for name in names]),
        p_yes=np.stack([systems[name].p_yes_or_nan for name in names]),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Stratum:
    """Objects that appear in the same (task, truth) pairs; a resample keeps their number.

    Attributes
    ----------
    labels
        The pairs, as indices into the labels of `object_strata`.
    yes
        ``(objects, labels, systems)``, what a metric counts, added over an object's rows: YES, or credit.
    rows
        ``(objects, labels)``, how many rows an object has.
    """

    labels: tuple[int, ...]
    yes: IntArray
    rows: IntArray


def object_strata(
    chosen: Panel, places: tuple[int, ...], counted: IntArray | BoolArray | None = None
) -> list[Stratum]:
    """Return the objects of some groups, by stratum; ``counted`` ``(systems, n)`` is by default what counts as YES.

    Label ``2k`` are the positives of ``places[k]``, label ``2k + 1`` its negatives. Strata, and objects
    within one, stand in an order that depends on nothing but their content.
    """
    kept = np.isin(chosen.group, places)
    position = {place: k for k, place in enumerate(places)}
    label = np.array([2 * position[place] for place in chosen.group[kept].tolist()], dtype=np.int64)
    label += ~chosen.positive[kept]
    found, object_row = np.unique(chosen.object_code[kept], return_inverse=True)
    shape = (len(found), 2 * len(places))
    rows = np.zeros(shape, dtype=np.int64)
    np.add.at(rows, (object_row, label), 1)
    yes = np.zeros((*shape, len(chosen.names)), dtype=np.int64)
    np.add.at(yes, (object_row, label), (chosen.counts_as_yes if counted is None else counted)[:, kept].T)
    keys, which = np.unique(rows > 0, axis=0, return_inverse=True)
    return [
        _stratum(tuple(np.flatnonzero(key).tolist()), yes[members], rows[members])
        for key, members in ((keys[k], np.flatnonzero(which.reshape(-1) == k)) for k in range(len(keys)))
    ]


def _stratum(labels: tuple[int, ...], yes: IntArray, rows: IntArray) -> Stratum:
    yes, rows = yes[:, labels], rows[:, labels]
    order = _content_order(np.concatenate([rows, yes.reshape(len(yes), -1)], axis=1))
    return Stratum(labels, yes[order], rows[order])


def _content_order(table: IntArray) -> NDArray[np.intp]:
    """Return an order of rows by their content alone."""
    packed = np.ascontiguousarray(table, dtype="<i8")
    strings = packed.view(np.dtype((np.void, packed.itemsize * packed.shape[1]))).reshape(-1)
    return np.argsort(strings, kind="stable")
