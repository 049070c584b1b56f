"""Builds a split from a recipe: screens the archive, trains the weak classifier, chooses, reads, reports."""

import heapq
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from specvi_benchmark.features import SELECTION_VERSION, selection_columns
from specvi_benchmark.files import home, locked
from specvi_benchmark.spectrum import FloatArray
from specvi_benchmark.splits.archive import Archive, Key, Record
from specvi_benchmark.splits.choosing import Chosen, Labels, Pools, choose, label, usable
from specvi_benchmark.splits.recipe import Quality, Recipe, TaskKey, open_archive, refuse_unknown_classes
from specvi_benchmark.splits.report import BuildReport, SnrBin, WeakReport
from specvi_benchmark.splits.screening import Report, Screened, Screening, screen
from specvi_benchmark.splits.split import Candidate, Split, question_id
from specvi_benchmark.splits.weak import WEAK_SCORE, Weak, draw, folds_of, train_weak
from specvi_benchmark.splits.workers import Workers, workers
from specvi_benchmark.tasks import get_task
from specvi_benchmark.vetting import Answer

SNR_EDGES = (0.0, 5.0, 10.0, 20.0, 50.0, float("inf"))
_READ_AT_ONCE = 64


def build_split(
    recipe: Recipe,
    *,
    archive: Archive | None = None,
    work: Path | None = None,
    processes: int = 1,
    report: Report = lambda *_: None,
    keep_screening: bool = True,
    taken: frozenset[str] = frozenset(),
) -> Split:
    """Build a split. The same recipe gives the same split, whatever the processes, kills and order.

    Parameters
    ----------
    archive
        Where spectra come from; None opens the one that the recipe names.
    work
        Folder of the screening, which a killed build takes up again; None: ``screened`` in `files.home`.
    processes
        How many work at once.
    keep_screening
        Keep what the screening found, for another split of the same archive.
    taken
        Objects that are not to be chosen, by their ids.

    Raises
    ------
    UserError
        A pattern meets nothing, a classifier has too little to learn from, or a set can't be filled.
    """
    source = open_archive(recipe) if archive is None else archive
    refuse_unknown_classes(recipe, source.classes)
    folder = work or home() / "screened"
    waiting = partial(report, "Waiting for another build", 0, 1)
    with locked(folder, waiting), workers(processes) as pool:
        screened = screen(source, folder, pool, report)
        pools, weak = judge(screened, recipe, report)
        chosen, sets = choose(pools, _Views(source), taken)
        candidates = tuple(_candidates(source, chosen, pool, report))
        if not keep_screening:
            for file in screened.files:
                file.unlink()
    told = BuildReport(sets=tuple(sets), weak=tuple(weak))
    return Split(
        recipe.name, recipe.version, candidates, recorded(recipe, source), told.model_dump(mode="json")
    )


def recorded(recipe: Recipe, archive: Archive | None = None) -> Mapping[str, Any]:
    """Return what ``split.json`` holds as the recipe: the recipe, the archive's identity, the features' version."""
    source = open_archive(recipe) if archive is None else archive
    return {
        **recipe.model_dump(mode="json"),
        "archive": dict(source.identity),
        "selection_version": SELECTION_VERSION,
    }


def judge(screened: Screening, recipe: Recipe, report: Report) -> tuple[Pools, list[WeakReport]]:
    """Train a weak classifier for each task, and gather what may be chosen by its scores."""
    trained, samples = train(screened, recipe, report)
    pools = Pools(recipe)
    told = {task: _Tally(recipe, task) for task in recipe.tasks}
    for part, scores in score(screened, trained, recipe.seed, report):
        labels = {task: label(part, recipe, task) for task in recipe.tasks}
        pools.add(part, labels, scores)
        for task, tally in told.items():
            tally.add(part, labels[task], scores[task])
    return pools, [told[task].told(samples[task]) for task in recipe.tasks]


def train(
    screened: Screening, recipe: Recipe, report: Report
) -> tuple[dict[TaskKey, Weak], dict[TaskKey, Mapping[Answer, int]]]:
    """Return each task's weak classifier, and how many of each truth it was trained on."""
    settings, seed = recipe.weak_classifier, recipe.seed
    samples = _samples(screened, recipe)
    wanted = sorted({drawn.key for sample in samples.values() for drawn in sample})
    features: dict[Key, NDArray[np.float32]] = {}
    for shard, keys in itertools.groupby(wanted, key=lambda key: key.shard):
        values = screened.features(shard)
        features.update((key, values[key.row].copy()) for key in keys)
    trained: dict[TaskKey, Weak] = {}
    for number, (task, sample) in enumerate(samples.items()):
        report("Training the weak classifiers", number, len(samples))
        trained[task] = train_weak(
            np.array([features[drawn.key] for drawn in sample], dtype=np.float32).reshape(
                len(sample), len(selection_columns())
            ),
            np.array([drawn.member for drawn in sample], dtype=np.bool_),
            folds_of([drawn.object_id for drawn in sample], seed, settings.folds),
            settings,
            seed,
            f"recipe {recipe.name}, task {task}",
        )
    members = {task: sum(drawn.member for drawn in sample) for task, sample in samples.items()}
    return trained, {task: {"YES": n, "NO": len(samples[task]) - n} for task, n in members.items()}


def score(
    screened: Screening, trained: Mapping[TaskKey, Weak], seed: int, report: Report
) -> Iterator[tuple[Screened, dict[TaskKey, FloatArray]]]:
    """Yield every shard's spectra with ``(n,)`` scores for each task, by the classifier trained without its object."""
    for number, part in enumerate(screened.shards()):
        report("Scoring the archive", number, len(screened.files))
        features = screened.features(number)
        folds = {
            count: folds_of(part.object_id, seed, count)
            for count in {len(weak.boosters) for weak in trained.values()}
        }
        yield (
            part,
            {task: weak.score(features, folds[len(weak.boosters)]) for task, weak in trained.items()},
        )


class _Drawn(NamedTuple):
    """A spectrum that a classifier learns from. Among equals the smallest lots are taken."""

    lot: int
    row: int
    key: Key
    object_id: str
    member: bool


def _samples(screened: Screening, recipe: Recipe) -> dict[TaskKey, list[_Drawn]]:
    """Return what each weak classifier learns from: positives, and random others of the survey, in the archive's order."""
    settings = recipe.weak_classifier
    most = {True: settings.positives, False: round(settings.others_per_positive * settings.positives)}
    cuts = {task: _quality_of(recipe, task) for task in recipe.tasks}
    drawn: dict[tuple[TaskKey, bool], list[_Drawn]] = {(t, m): [] for t in recipe.tasks for m in most}
    for part in screened.shards():
        for task in recipe.tasks:
            labels = label(part, recipe, task)
            good = usable(part, cuts[task]) & part.decidable
            for member, rows in (
                (True, labels.of("YES") & good),
                (False, labels.of("NO") & good & part.random),
            ):
                new = (_drawn(recipe, task, part, place, member) for place in np.flatnonzero(rows).tolist())
                drawn[task, member] = heapq.nsmallest(most[member], itertools.chain(drawn[task, member], new))
    samples = {}
    for task in recipe.tasks:
        positives = drawn[task, True]
        others = drawn[task, False][: round(settings.others_per_positive * len(positives))]
        samples[task] = sorted([*positives, *others], key=lambda one: one.row)
    return samples


def _drawn(recipe: Recipe, task: TaskKey, part: Screened, place: int, member: bool) -> _Drawn:
    key = part.keys[place]
    lot = draw(f"{recipe.seed} sample {task} {tuple(key)}")
    return _Drawn(lot, int(part.rows[place]), key, part.object_id[place], member)


def _quality_of(recipe: Recipe, task: TaskKey) -> Quality:
    """Return the quality cuts under which a task's classifier is trained: the widest of its sets."""
    cuts = [item.quality or recipe.quality for item in recipe.sets if task in item.tasks]
    lows, highs = ([cut.snr[end] for cut in cuts] for end in (0, 1))
    low = None if None in lows else min(value for value in lows if value is not None)
    high = None if None in highs else max(value for value in highs if value is not None)
    return Quality(snr=(low, high), bad_fraction=max(cut.bad_fraction for cut in cuts))


@dataclass(slots=True)
class _Tally:
    """Counts what the weak classifier of a task does to members and others."""

    recipe: Recipe
    task: TaskKey
    bins: NDArray[np.int64] = field(default_factory=lambda: np.zeros((len(SNR_EDGES) - 1, 4), dtype=np.int64))
    names: Counter[str] = field(default_factory=Counter)

    def add(self, part: Screened, labels: Labels, score: FloatArray) -> None:
        """Count some spectra, each once."""
        good = usable(part, _quality_of(self.recipe, self.task)) & part.decidable
        accepted = score > self.recipe.weak_classifier.acceptance
        members, others = labels.of("YES") & good, labels.of("NO") & good
        for row in np.flatnonzero(others & accepted).tolist():
            self.names.update(part.known_as[row] or {"unknown"})
        for number, (low, high) in enumerate(itertools.pairwise(SNR_EDGES)):
            inside = (part.snr >= low) & (part.snr < high)
            counted = (members, members & accepted, others, others & accepted)
            self.bins[number] += [int((rows & inside).sum()) for rows in counted]

    def told(self, trained_on: Mapping[Answer, int]) -> WeakReport:
        """Return the report."""
        bins = zip(itertools.pairwise(SNR_EDGES), self.bins.tolist(), strict=True)
        return WeakReport(
            task=self.task,
            trained_on=trained_on,
            by_snr=tuple(
                SnrBin(
                    snr=(low, min(high, 1e9)),
                    members=counts[0],
                    members_accepted=counts[1],
                    others=counts[2],
                    others_accepted=counts[3],
                )
                for (low, high), counts in bins
            ),
            accepted_as=dict(sorted(self.names.items(), key=lambda item: (-item[1], item[0]))),
        )


@dataclass(frozen=True, slots=True)
class _Views:
    """Reads the spectra of an object by further surveys; see `choosing.Views`."""

    archive: Archive

    def __call__(self, key: Key, surveys: Sequence[str]) -> tuple[Record, ...] | None:
        found = []
        for survey in surveys:
            record = self.archive.counterpart(key, survey)
            if record is None or not record.decidable:
                return None
            found.append(record)
        return tuple(found)


def _candidates(
    archive: Archive, chosen: Sequence[Chosen], pool: Workers, report: Report
) -> Iterator[Candidate]:
    """Read every chosen spectrum once more, and make the candidates.

    Within track, task and part they come in the order of their ids, which tells nothing about the truth.
    """
    keys = sorted({row.key for row in chosen})
    chunks = [(archive, keys[first : first + _READ_AT_ONCE]) for first in range(0, len(keys), _READ_AT_ONCE)]
    records: dict[Key, Record] = {}
    for found in pool.map(_read, chunks):
        records.update(found)
        report("Reading the candidates", len(records), len(keys))
    made = [
        _candidate(row, record, archive.label_source)
        for row in chosen
        for record in (records[row.key], *row.views)
    ]
    place = {group: number for number, group in enumerate(dict.fromkeys(map(_group, made)))}
    yield from sorted(made, key=lambda candidate: (place[_group(candidate)], candidate.id))


def _group(candidate: Candidate) -> tuple[str, str, str]:
    return candidate.track, candidate.task.key, candidate.part


def _read(work: tuple[Archive, Sequence[Key]]) -> dict[Key, Record]:
    archive, keys = work
    return dict(zip(keys, archive.read(keys), strict=True))


def _candidate(row: Chosen, record: Record, label_source: str) -> Candidate:
    spectrum = record.spectrum
    return Candidate(
        id=question_id(
            track=row.track,
            task=row.task,
            survey=spectrum.survey,
            release=spectrum.release,
            survey_id=spectrum.survey_id,
        ),
        task=get_task(row.task),
        track=row.track,
        part=row.part,
        spectrum=spectrum,
        redshift=spectrum.claims.redshift,
        truth=row.truth,
        object_id=record.object_id,
        object_id_source=record.object_id_source,
        label_source=label_source,
        label_evidence={**record.evidence, WEAK_SCORE: row.weak_score},
    )
