"""Which screened spectra become candidates, of which part: pure bookkeeping on scores and labels."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from specvi_benchmark.errors import UserError
from specvi_benchmark.spectrum import BoolArray, FloatArray
from specvi_benchmark.splits.archive import Key, Record
from specvi_benchmark.splits.recipe import CandidateSet, Quality, Recipe, TaskKey, matches
from specvi_benchmark.splits.report import Funnel, SetReport
from specvi_benchmark.splits.screening import Screened
from specvi_benchmark.splits.split import Part
from specvi_benchmark.splits.weak import draw
from specvi_benchmark.tasks.task import Track
from specvi_benchmark.vetting import ANSWERS, Answer

IntArray = NDArray[np.intp]

PARTS: tuple[Part, ...] = ("test", "train", "dev", "cal")
"""The order in which parts are filled: the set that is scored comes first."""

Views = Callable[[Key, Sequence[str]], tuple[Record, ...] | None]
"""Returns an object's spectra by further surveys; None where one is lacking or can't be decided."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A screened spectrum that becomes a candidate; ``views`` are those of its object by further surveys."""

    task: TaskKey
    track: Track
    part: Part
    truth: Answer
    row: int
    weak_score: float
    views: tuple[Record, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """``(n,)``: known as the class of a task; known as something that is never its negative."""

    member: BoolArray
    excluded: BoolArray

    def of(self, truth: Answer) -> BoolArray:
        """Return which spectra may have this truth."""
        return self.member if truth == "YES" else ~self.member & ~self.excluded


def label(screened: Screened, recipe: Recipe, task: TaskKey) -> Labels:
    """Return the labels of every screened spectrum for one task."""
    wanted = recipe.classes[task]
    found = {
        classes: (matches(classes, wanted.positives), matches(classes, wanted.never_negative))
        for classes in set(screened.known_as)
    }
    table = np.array([found[classes] for classes in screened.known_as], dtype=np.bool_)
    return Labels(member=table[:, 0], excluded=table[:, 1] & ~table[:, 0])


def usable(screened: Screened, quality: Quality) -> BoolArray:
    """Return which spectra pass the quality cuts; one without a signal to noise passes no S/N cut."""
    low, high = quality.snr
    passed = screened.bad_fraction <= quality.bad_fraction
    if low is not None:
        passed = passed & (screened.snr >= low)
    if high is not None:
        passed = passed & (screened.snr < high)
    return passed


def choose(
    screened: Screened,
    recipe: Recipe,
    labels: Mapping[TaskKey, Labels],
    scores: Mapping[TaskKey, FloatArray],
    views: Views,
    taken: frozenset[str] = frozenset(),
) -> tuple[list[Chosen], list[SetReport]]:
    """Fill every set of the recipe, in its order; return the candidates and how each set came about.

    An object belongs to one part for all tasks and tracks: the one it was first chosen for. Within a task
    it serves one set only. Among equals a hash of seed, task and object decides, so the choice depends
    neither on order nor on batches.

    Parameters
    ----------
    scores
        ``(n,)`` score of the weak classifier for each task; NaN, which is never accepted, where there is none.
    taken
        Objects that are never chosen: those of an earlier version of the split.

    Raises
    ------
    UserError
        A set can't be filled; the message says which, how many are there and how many are needed.
    """
    ledger = _Ledger(used={(task, name) for task in recipe.tasks for name in taken})
    chosen: list[Chosen] = []
    reports: list[SetReport] = []
    for item in recipe.sets:
        for task in item.tasks:
            desk = _Desk(screened, recipe, item, task, scores[task], views, ledger)
            rows, report = desk.fill(labels[task])
            chosen += rows
            reports.append(report)
    return chosen, reports


@dataclass(frozen=True, slots=True)
class _Ledger:
    """Objects that are taken: in which part, and for which task."""

    part: dict[str, Part] = field(default_factory=dict)
    used: set[tuple[TaskKey, str]] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Desk:
    """Fills one set for one task."""

    screened: Screened
    recipe: Recipe
    item: CandidateSet
    task: TaskKey
    score: FloatArray
    views: Views
    ledger: _Ledger

    def fill(self, labels: Labels) -> tuple[list[Chosen], SetReport]:
        """Fill every part of the set."""
        good = usable(self.screened, self.item.quality or self.recipe.quality)
        rate: float | None = None
        chosen: list[Chosen] = []
        funnel: dict[Answer, Funnel] = {}
        for truth in ANSWERS:
            labelled = labels.of(truth)
            decidable = labelled & good & self.screened.decidable
            accepted = decidable & (self.score > self.recipe.weak_classifier.acceptance)
            filtered = truth == "NO" or self.item.positives_filter == "same_threshold"
            pool = self._order(np.flatnonzero(accepted if filtered else decidable))
            found = [
                row for part in PARTS if part in self.item.counts for row in self._take(pool, part, truth)
            ]
            funnel[truth] = Funnel(
                archive=len(good),
                labelled=int(labelled.sum()),
                usable=int((labelled & good).sum()),
                decidable=int(decidable.sum()),
                accepted=int(accepted.sum()),
                chosen=len(found),
            )
            chosen += found
            ordinary = decidable & self.screened.random
            if truth == "NO" and ordinary.any():
                rate = float((accepted & ordinary).sum() / ordinary.sum())
        self.ledger.used.update((self.task, self.screened.object_id[row.row]) for row in chosen)
        return chosen, SetReport.of(self.item, self.task, funnel, rate)

    def _order(self, rows: Sequence[int] | IntArray) -> list[int]:
        """Return rows in the order in which they are considered; spectra of one object stay together."""
        names = self.screened.object_id
        lots = {row: draw(f"{self.recipe.seed} {self.task} {names[row]}") for row in map(int, rows)}
        return sorted(lots, key=lambda row: (lots[row], row))

    def _take(self, pool: Sequence[int], part: Part, truth: Answer) -> list[Chosen]:
        """Return as many spectra of the pool as the part needs, and book their objects."""
        wanted = int(getattr(self.item.counts[part], truth))
        found: list[Chosen] = []
        for row in pool:
            if len(found) == wanted:
                break
            name = self.screened.object_id[row]
            if (self.task, name) in self.ledger.used or self.ledger.part.get(name, part) != part:
                continue
            views = self.views(self.screened.keys[row], self.item.surveys) if self.item.surveys else ()
            if views is None:
                continue
            self.ledger.part[name] = part
            score = round(float(self.score[row]), 6)
            found.append(Chosen(self.task, self.item.track, part, truth, row, score, views))
        if len(found) < wanted:
            raise self._short(part, truth, wanted, len(found), len(pool))
        return found

    def _short(self, part: Part, truth: Answer, wanted: int, found: int, pool: int) -> UserError:
        return UserError(
            "the archive does not fill a set",
            where=f"recipe {self.recipe.name}: {self.item.track}, task {self.task}, {part}, {truth}",
            expected=f"{wanted} spectra",
            got=f"{found} of {pool} that pass; the others are taken by other parts or sets",
            fix="a larger archive, a lower acceptance threshold, or smaller counts",
        )
