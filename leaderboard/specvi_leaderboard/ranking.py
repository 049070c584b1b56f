"""Ranks as the intervals allow them: a range of places, and who can't be told apart from whom."""

from collections.abc import Mapping
from typing import NamedTuple


class Point(NamedTuple):
    """A score and its interval, ``low`` ≤ ``value`` ≤ ``high``."""

    value: float
    low: float
    high: float


class Place(NamedTuple):
    """Where a system stands.

    ``best`` and ``worst`` bound its rank; ``tied_with`` are the systems whose intervals overlap its own.
    """

    system: str
    best: int
    worst: int
    tied_with: tuple[str, ...]


def rank(scores: Mapping[str, Point]) -> tuple[Place, ...]:
    """Return the places of the systems, highest score first; equal scores in the order of names.

    A system's best rank is one more than the number of systems whose whole interval lies above its own;
    its worst rank leaves behind only those whose whole interval lies below. Intervals that touch
    overlap. Overlap does not carry over from one pair to the next (A–B and B–C may overlap, A–C not),
    so that groups of ties would depend on where one starts; a range a system does not.

    This displays overlap. It is no test: on the same candidates two systems vary together, and a paired
    comparison can separate systems whose intervals overlap.
    """
    ordered = sorted(scores, key=lambda name: (-scores[name].value, name))
    return tuple(_place(name, ordered, scores) for name in ordered)


def _place(name: str, ordered: list[str], scores: Mapping[str, Point]) -> Place:
    own = scores[name]
    above = {other for other in ordered if scores[other].low > own.high}
    below = {other for other in ordered if scores[other].high < own.low}
    return Place(
        system=name,
        best=1 + len(above),
        worst=len(ordered) - len(below),
        tied_with=tuple(other for other in ordered if other != name and other not in above | below),
    )
