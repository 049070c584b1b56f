"""Which screened spectra become candidates, of which part: pure bookkeeping on scores and labels."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

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
    key: Key
    object_hash: int
    snr: float
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
    """Return the labels of screened spectra for one task."""
    wanted = recipe.classes[task]
    found = {
        classes: (_matches(classes, wanted.positives), _matches(classes, wanted.never_negative))
        for classes in set(screened.known_as)
    }
    table = np.array([found[classes] for classes in screened.known_as], dtype=np.bool_)
    return Labels(member=table[:, 0], excluded=table[:, 1] & ~table[:, 0])


_matches = lru_cache(maxsize=4096)(matches)  # few sets of classes, asked for shard by shard


def usable(screened: Screened, quality: Quality) -> BoolArray:
    """Return which spectra pass the quality cuts; one without a signal to noise passes no S/N cut."""
    low, high = quality.snr
    passed = screened.bad_fraction <= quality.bad_fraction
    if low is not None:
        passed = passed & (screened.snr >= low)
    if high is not None:
        passed = passed & (screened.snr < high)
    return passed


_ROW = np.dtype(
    [
        ("row", "i8"),
        ("shard", "i4"),
        ("place", "i4"),
        ("lot", "u8"),
        ("object", "u8"),
        ("snr", "f8"),
        ("score", "f8"),
    ]
)
"""A spectrum that may be chosen: 48 bytes. Its object goes by 64 bits of a hash of the object's id."""


@dataclass(slots=True, eq=False)
class _Pool:
    """The spectra that may be chosen for one truth of a set, and how many there were at each step."""

    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(4, dtype=np.int64))
    content: bytearray = field(default_factory=bytearray)

    def in_order(self) -> NDArray[np.void]:
        """Return the spectra in the order in which they are considered; those of one object stand side by side."""
        rows = np.frombuffer(bytes(self.content), _ROW)
        return rows[np.lexsort((rows["row"], rows["lot"]))]


@dataclass(slots=True, eq=False)
class Pools:
    """What may be chosen of an archive: gathered shard by shard, so that what may not takes no memory."""

    recipe: Recipe
    _pools: dict[tuple[int, TaskKey, Answer], _Pool] = field(default_factory=dict)
    _ordinary: dict[tuple[int, TaskKey], tuple[int, int]] = field(default_factory=dict)
    _spectra: int = 0

    def add(
        self, part: Screened, labels: Mapping[TaskKey, Labels], scores: Mapping[TaskKey, FloatArray]
    ) -> None:
        """Look at some spectra, each once.

        Parameters
        ----------
        scores
            ``(n,)`` score of the weak classifier for each task; NaN, which is never accepted, where there is none.
        """
        self._spectra += len(part.rows)
        lots: dict[tuple[TaskKey, int], int] = {}
        for place, item in enumerate(self.recipe.sets):
            good = usable(part, item.quality or self.recipe.quality)
            sound = good & part.decidable
            for task in item.tasks:
                accepted = scores[task] > self.recipe.weak_classifier.acceptance
                ordinary = labels[task].of("NO") & sound & part.random
                seen, taken = self._ordinary.get((place, task), (0, 0))
                now = int(ordinary.sum()), int((ordinary & accepted).sum())
                self._ordinary[place, task] = seen + now[0], taken + now[1]
                for truth in ANSWERS:
                    labelled = labels[task].of(truth)
                    pool = self._pools.setdefault((place, task, truth), _Pool())
                    fit = labelled & sound
                    steps = (labelled, labelled & good, fit, fit & accepted)
                    pool.counts += [int(step.sum()) for step in steps]
                    if truth == "NO" or item.positives_filter == "same_threshold":
                        fit = fit & accepted
                    if item.match == "snr":
                        fit = fit & (part.snr > 0)  # false for one that has none
                    self._keep(pool, part, np.flatnonzero(fit), task, scores[task], lots)

    def _keep(
        self,
        pool: _Pool,
        part: Screened,
        places: IntArray,
        task: TaskKey,
        scores: FloatArray,
        lots: dict[tuple[TaskKey, int], int],
    ) -> None:
        if not places.size:
            return
        rows = np.empty(places.size, _ROW)
        for number, place in enumerate(places.tolist()):
            name = part.object_id[place]
            if (task, place) not in lots:
                lots[task, place] = draw(f"{self.recipe.seed} {task} {name}")
            key = part.keys[place]
            rows[number] = (
                part.rows[place],
                key.shard,
                key.row,
                lots[task, place],
                draw(name),
                part.snr[place],
                scores[place],
            )
        pool.content += rows.tobytes()

    def pool(self, place: int, task: TaskKey, truth: Answer) -> _Pool:
        """Return the pool of one truth of a set."""
        return self._pools.get((place, task, truth), _Pool())

    def funnel(self, place: int, task: TaskKey, truth: Answer, chosen: int) -> Funnel:
        """Return how many spectra of a truth were left at each step."""
        labelled, good, decidable, accepted = self.pool(place, task, truth).counts.tolist()
        return Funnel(
            archive=self._spectra,
            labelled=labelled,
            usable=good,
            decidable=decidable,
            accepted=accepted,
            chosen=chosen,
        )

    def rate(self, place: int, task: TaskKey) -> float | None:
        """Return the accepted share of the non-members that are there by the survey's own odds."""
        seen, accepted = self._ordinary.get((place, task), (0, 0))
        return accepted / seen if seen else None


def choose(
    pools: Pools, views: Views, taken: frozenset[str] = frozenset()
) -> tuple[list[Chosen], list[SetReport]]:
    """Fill every set of the recipe, in its order; return the candidates and how each set came about.

    An object belongs to one part for all tasks and tracks: the one it was first chosen for. Within a task
    it serves one set only. Among equals a hash of seed, task and object decides, so the choice depends
    neither on order nor on batches.

    Parameters
    ----------
    taken
        Objects that are never chosen: those of an earlier version of the split.

    Raises
    ------
    UserError
        A set can't be filled; the message says which, how many are there and how many are needed.
    """
    recipe = pools.recipe
    ledger = _Ledger(used={(task, draw(name)) for task in recipe.tasks for name in taken})
    chosen: list[Chosen] = []
    reports: list[SetReport] = []
    for place, item in enumerate(recipe.sets):
        for task in item.tasks:
            rows, report = _Desk(pools, place, item, task, views, ledger).fill()
            chosen += rows
            reports.append(report)
    return chosen, reports


@dataclass(frozen=True, slots=True)
class _Ledger:
    """Objects, by the hashes of their ids, that are taken: in which part, and for which task."""

    part: dict[int, Part] = field(default_factory=dict)
    used: set[tuple[TaskKey, int]] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Desk:
    """Fills one set for one task."""

    pools: Pools
    place: int
    item: CandidateSet
    task: TaskKey
    views: Views
    ledger: _Ledger

    def fill(self) -> tuple[list[Chosen], SetReport]:
        """Fill every part of the set."""
        pools = {truth: self.pools.pool(self.place, self.task, truth).in_order() for truth in ANSWERS}
        chosen: dict[tuple[Answer, Part], list[Chosen]] = {}
        # The truth of which the larger share is needed is drawn freely; with `match` the other one follows it.
        for truth in sorted(ANSWERS, key=lambda name: -self._need(name, len(pools[name]))):
            for part in PARTS:
                if part not in self.item.counts:
                    continue
                first = next((chosen[other, part] for other in ANSWERS if (other, part) in chosen), None)
                like = first if self.item.match == "snr" else None
                chosen[truth, part] = self._take(pools[truth], part, truth, like)
        found = [row for truth in ANSWERS for part in PARTS for row in chosen.get((truth, part), ())]
        self.ledger.used.update((self.task, row.object_hash) for row in found)
        funnel = {truth: self._funnel(truth, sum(row.truth == truth for row in found)) for truth in ANSWERS}
        return found, SetReport.of(self.item, self.task, funnel, self.pools.rate(self.place, self.task))

    def _funnel(self, truth: Answer, chosen: int) -> Funnel:
        return self.pools.funnel(self.place, self.task, truth, chosen)

    def _need(self, truth: Answer, pool: int) -> float:
        """Return how many of a pool's spectra are needed, as a share."""
        wanted = sum(int(getattr(count, truth)) for count in self.item.counts.values())
        return wanted / max(1, pool)

    def _take(
        self, pool: NDArray[np.void], part: Part, truth: Answer, like: Sequence[Chosen] | None
    ) -> list[Chosen]:
        """Return as many spectra of the pool as the part needs, and book their objects.

        The first that are free; or, with ``like``, those whose S/N is that of the spectra already chosen.
        """
        wanted = int(getattr(self.item.counts[part], truth))
        ledger, snr = self.ledger, pool["snr"]
        free = np.array(
            [
                place
                for place, name in enumerate(pool["object"].tolist())
                if (self.task, name) not in ledger.used and ledger.part.get(name, part) == part
            ],
            dtype=np.intp,
        )
        targets = None if like is None else _spread([row.snr for row in like], wanted)
        found: list[Chosen] = []
        while len(found) < wanted and free.size:
            nearest = 0 if targets is None else _nearest(snr[free], targets[len(found)])
            if nearest is None:
                break
            place, free = int(free[nearest]), np.delete(free, nearest)
            one = pool[place]
            key = Key(int(one["shard"]), int(one["place"]))
            views = self.views(key, self.item.surveys) if self.item.surveys else ()
            if views is None:
                continue
            name = int(one["object"])
            ledger.part[name] = part
            score = round(float(one["score"]), 6)
            row = int(one["row"])
            found.append(
                Chosen(
                    self.task, self.item.track, part, truth, row, key, name, float(one["snr"]), score, views
                )
            )
        if len(found) < wanted:
            raise self._short(self._funnel(truth, len(found)), part, truth, wanted, len(pool))
        return found

    def _short(self, found: Funnel, part: Part, truth: Answer, wanted: int, pool: int) -> UserError:
        """Return the refusal, with what each cut left, so that one sees which of them to change."""
        matched = self.item.match == "snr"
        recipe = self.pools.recipe
        return UserError(
            "the archive does not fill a set",
            where=f"recipe {recipe.name}: {self.item.track}, task {self.task}, {part}, {truth}",
            expected=f"{wanted} spectra{' at the S/N of the other truth' if matched else ''}",
            got=f"{found.chosen} of {pool} that pass; the others are taken by other parts or sets"
            + (f", or differ by more than {MATCHED_DEX} dex in S/N" if matched else "")
            + f". Of {found.archive} spectra {found.labelled} have this truth, {found.usable} of these pass the "
            f"quality cuts, {found.decidable} can be decided, {found.accepted} score above "
            f"{recipe.weak_classifier.acceptance:g}",
            fix="a larger archive, smaller counts, a lower acceptance threshold, or another seed: how many score above "
            "it varies from seed to seed, most where few positives are learnt from"
            + ("; or no match" if matched else ""),
        )


def _nearest(snr: FloatArray, target: float) -> int | None:
    """Return the place of the S/N that is nearest; None where none is near, see `MATCHED_DEX`."""
    away = np.abs(np.log10(snr) - target)
    place = int(np.argmin(away))
    return place if away[place] <= MATCHED_DEX else None


def _spread(snr: Sequence[float], number: int) -> FloatArray:
    """Return so many values of log10 S/N that are distributed as those given: their quantiles."""
    return np.quantile(np.log10(snr), (np.arange(number) + 0.5) / number)
