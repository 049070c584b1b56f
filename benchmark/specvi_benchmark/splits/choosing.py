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

MATCHED_DEX = 0.1
"""How far, in log10 S/N, a spectrum may be from the one it is matched to (`CandidateSet.match`)."""

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
        pools = {truth: self._pool(labels, truth) for truth in ANSWERS}
        chosen: dict[tuple[Answer, Part], list[Chosen]] = {}
        # The truth of which the larger share is needed is drawn freely; with `match` the other one follows it.
        for truth in sorted(ANSWERS, key=lambda name: -self._need(name, pools[name])):
            for part in PARTS:
                if part not in self.item.counts:
                    continue
                first = next((chosen[other, part] for other in ANSWERS if (other, part) in chosen), None)
                like = first if self.item.match == "snr" else None
                chosen[truth, part] = self._take(labels, pools[truth], part, truth, like)
        found = [row for truth in ANSWERS for part in PARTS for row in chosen.get((truth, part), ())]
        self.ledger.used.update((self.task, self.screened.object_id[row.row]) for row in found)
        funnel = {
            truth: self._funnel(labels, truth, sum(row.truth == truth for row in found)) for truth in ANSWERS
        }
        return found, SetReport.of(self.item, self.task, funnel, self._rate(labels))

    def _usable(self) -> BoolArray:
        return usable(self.screened, self.item.quality or self.recipe.quality)

    def _accepted(self) -> BoolArray:
        return self.score > self.recipe.weak_classifier.acceptance

    def _pool(self, labels: Labels, truth: Answer) -> list[int]:
        """Return the rows that may be chosen, in the order in which they are considered."""
        fit = labels.of(truth) & self._usable() & self.screened.decidable
        if truth == "NO" or self.item.positives_filter == "same_threshold":
            fit &= self._accepted()
        if self.item.match == "snr":
            fit &= self.screened.snr > 0  # false for one that has none
        return self._order(np.flatnonzero(fit))

    def _need(self, truth: Answer, pool: Sequence[int]) -> float:
        """Return how many of a pool's spectra are needed, as a share."""
        wanted = sum(int(getattr(count, truth)) for count in self.item.counts.values())
        return wanted / max(1, len(pool))

    def _funnel(self, labels: Labels, truth: Answer, chosen: int) -> Funnel:
        labelled, good = labels.of(truth), self._usable()
        decidable = labelled & good & self.screened.decidable
        return Funnel(
            archive=len(good),
            labelled=int(labelled.sum()),
            usable=int((labelled & good).sum()),
            decidable=int(decidable.sum()),
            accepted=int((decidable & self._accepted()).sum()),
            chosen=chosen,
        )

    def _rate(self, labels: Labels) -> float | None:
        """Return the accepted share of the non-members that are there by the survey's own odds."""
        ordinary = labels.of("NO") & self._usable() & self.screened.decidable & self.screened.random
        return float((ordinary & self._accepted()).sum() / ordinary.sum()) if ordinary.any() else None

    def _order(self, rows: Sequence[int] | IntArray) -> list[int]:
        """Return rows in the order in which they are considered; spectra of one object stay together."""
        names = self.screened.object_id
        lots = {row: draw(f"{self.recipe.seed} {self.task} {names[row]}") for row in map(int, rows)}
        return sorted(lots, key=lambda row: (lots[row], row))

    def _take(
        self, labels: Labels, pool: Sequence[int], part: Part, truth: Answer, like: Sequence[Chosen] | None
    ) -> list[Chosen]:
        """Return as many spectra of the pool as the part needs, and book their objects.

        The first that are free; or, with ``like``, those whose S/N is that of the spectra already chosen.
        """
        wanted = int(getattr(self.item.counts[part], truth))
        names = self.screened.object_id
        free = np.array(
            [
                row
                for row in pool
                if (self.task, names[row]) not in self.ledger.used
                and self.ledger.part.get(names[row], part) == part
            ],
            dtype=np.intp,
        )
        targets = (
            None if like is None else _spread([float(self.screened.snr[row.row]) for row in like], wanted)
        )
        found: list[Chosen] = []
        while len(found) < wanted and free.size:
            place = 0 if targets is None else self._nearest(free, targets[len(found)])
            if place is None:
                break
            row, free = int(free[place]), np.delete(free, place)
            views = self.views(self.screened.keys[row], self.item.surveys) if self.item.surveys else ()
            if views is None:
                continue
            self.ledger.part[names[row]] = part
            score = round(float(self.score[row]), 6)
            found.append(Chosen(self.task, self.item.track, part, truth, row, score, views))
        if len(found) < wanted:
            raise self._short(self._funnel(labels, truth, len(found)), part, truth, wanted, len(pool))
        return found

    def _nearest(self, rows: IntArray, target: float) -> int | None:
        """Return the place of the row whose S/N is nearest; None where none is near, see `MATCHED_DEX`."""
        away = np.abs(np.log10(self.screened.snr[rows]) - target)
        place = int(np.argmin(away))
        return place if away[place] <= MATCHED_DEX else None

    def _short(self, found: Funnel, part: Part, truth: Answer, wanted: int, pool: int) -> UserError:
        """Return the refusal, with what each cut left, so that one sees which of them to change."""
        matched = self.item.match == "snr"
        return UserError(
            "the archive does not fill a set",
            where=f"recipe {self.recipe.name}: {self.item.track}, task {self.task}, {part}, {truth}",
            expected=f"{wanted} spectra{' at the S/N of the other truth' if matched else ''}",
            got=f"{found.chosen} of {pool} that pass; the others are taken by other parts or sets"
            + (f", or differ by more than {MATCHED_DEX} dex in S/N" if matched else "")
            + f". Of {found.archive} spectra {found.labelled} have this truth, {found.usable} of these pass the "
            f"quality cuts, {found.decidable} can be decided, {found.accepted} score above "
            f"{self.recipe.weak_classifier.acceptance:g}",
            fix="a larger archive, smaller counts, a lower acceptance threshold, or another seed: how many score above "
            "it varies from seed to seed, most where few positives are learnt from"
            + ("; or no match" if matched else ""),
        )


def _spread(snr: Sequence[float], number: int) -> FloatArray:
    """Return so many values of log10 S/N that are distributed as those given: their quantiles."""
    return np.quantile(np.log10(snr), (np.arange(number) + 0.5) / number)
