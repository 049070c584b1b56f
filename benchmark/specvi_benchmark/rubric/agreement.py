"""How far raters agree: people with people, judges with people, on each criterion and on preferences."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from specvi_benchmark.rubric.ratings import Entry, Preference, Rating, keys_of
from specvi_benchmark.rubric.rubric import LEVELS, the_rubric
from specvi_benchmark.scoring.agreement import MISSING, Agreement, Ratings, krippendorff_alpha, raw_agreement

PREFERENCE = "preference"
_CHOICES = ("first", "tie", "second")


class Line(NamedTuple):
    """Agreement of some raters on one criterion.

    ``items`` were rated by at least two of them. ``exact``: two raters give the same. ``within_one``: at most one
    level apart, None for preferences. ``alpha``: Krippendorff's, ordinal. ``higher``: how many levels the second of
    two raters lies above the first, on average; None for more raters and for preferences. ``own_family``: ratings
    in which a judge rated its own family, or may have (family not known).
    """

    criterion: str
    raters: tuple[str, ...]
    items: int
    exact: Agreement
    within_one: float | None
    alpha: Agreement
    higher: float | None
    own_family: int


def agreement(entries: Sequence[Entry], *, seed: int = 0) -> tuple[Line, ...]:
    """Return all people together, and every pair of raters; those with nothing in common are left out.

    Inspections of one question are drawn together for the intervals.
    """
    return tuple(_lines(entries, seed))


def _lines(entries: Sequence[Entry], seed: int) -> Iterator[Line]:
    criteria = [criterion.key for criterion in the_rubric().criteria]
    for criterion in (*criteria, PREFERENCE):
        given = [entry for entry in entries if _value(entry, criterion) is not None]
        people = tuple(sorted({entry.rater.name for entry in given if entry.rater.kind == "person"}))
        judges = tuple(sorted({entry.rater.name for entry in given if entry.rater.kind == "model"}))
        groups = [people] if len(people) > 2 else []
        for raters in (*groups, *combinations((*people, *judges), 2)):
            line = _line(given, criterion, raters, seed)
            if line is not None:
                yield line


def _line(entries: Sequence[Entry], criterion: str, raters: tuple[str, ...], seed: int) -> Line | None:
    table: dict[tuple[str, ...], dict[str, int]] = {}
    question: dict[tuple[str, ...], tuple[str, str]] = {}
    own = 0
    for entry in entries:
        value = _value(entry, criterion)
        if value is None or entry.rater.name not in raters:
            continue
        key = keys_of(entry)
        table.setdefault(key, {})[entry.rater.name] = value
        rated = entry.of if isinstance(entry, Rating) else entry.first
        question[key] = (rated.task, rated.id)
        own += entry.own_family is not False
    common = {key: row for key, row in table.items() if len(row) > 1}
    if not common:
        return None
    values = np.array([[row.get(name, MISSING) for name in raters] for row in common.values()])
    cluster = np.unique([" ".join(question[key]) for key in common], return_inverse=True)[1]
    categories = len(_CHOICES) if criterion == PREFERENCE else LEVELS
    ratings = Ratings(values, categories, cluster)
    gaps = values[:, 1] - values[:, 0] if len(raters) == 2 else None
    is_level = criterion != PREFERENCE
    return Line(
        criterion=criterion,
        raters=raters,
        items=len(common),
        exact=raw_agreement(ratings, seed=seed),
        within_one=_within_one(common) if is_level else None,
        alpha=krippendorff_alpha(ratings, "ordinal", seed=seed),
        higher=float(gaps.mean()) if gaps is not None and is_level else None,
        own_family=own,
    )


def _within_one(rows: Mapping[tuple[str, ...], Mapping[str, int]]) -> float:
    """Return the share of pairs at most one level apart, mean over inspections."""
    shares = [
        np.mean([abs(one - other) <= 1 for one, other in combinations(row.values(), 2)])
        for row in rows.values()
    ]
    return float(np.mean(shares))


def _value(entry: Entry, criterion: str) -> int | None:
    """Return a level, or the place of a choice on the scale from one trace to the other, whatever their order."""
    if criterion != PREFERENCE:
        value: int | None = getattr(entry, criterion) if isinstance(entry, Rating) else None
        return value
    if not isinstance(entry, Preference) or entry.prefers is None:
        return None
    place = _CHOICES.index(entry.prefers)
    in_order = entry.first.trace_sha256 <= entry.second.trace_sha256
    return place if in_order else len(_CHOICES) - 1 - place
