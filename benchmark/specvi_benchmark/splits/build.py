"""Builds a split from a recipe: screens the archive, trains the weak classifier, chooses, reads, reports."""

import heapq
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from specvi_benchmark.features import SELECTION_VERSION
from specvi_benchmark.files import home, locked
from specvi_benchmark.spectrum import BoolArray, FloatArray
from specvi_benchmark.splits.archive import Archive, Key, Record
from specvi_benchmark.splits.choosing import Chosen, Labels, choose, label, usable
from specvi_benchmark.splits.recipe import Quality, Recipe, TaskKey, open_archive, refuse_unknown_classes
from specvi_benchmark.splits.report import BuildReport, SnrBin, WeakReport
from specvi_benchmark.splits.screening import Report, Screened, screen
from specvi_benchmark.splits.split import Candidate, Split, question_id
from specvi_benchmark.splits.weak import WEAK_SCORE, Weak, draw, folds_of, train_weak
from specvi_benchmark.splits.workers import Workers, workers
from specvi_benchmark.tasks import get_task

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
        labels = {task: label(screened, recipe, task) for task in recipe.tasks}
        scores, weak = judge(screened, recipe, labels, report)
        chosen, sets = choose(screened, recipe, labels, scores, _Views(source), taken)
        candidates = tuple(_candidates(source, screened, chosen, pool, report))
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


def judge(
    screened: Screened, recipe: Recipe, labels: Mapping[TaskKey, Labels], report: Report
) -> tuple[dict[TaskKey, FloatArray], list[WeakReport]]:
    """Train a weak classifier for each task, and score every spectrum with the classifier of its fold."""
    trained, samples = train(screened, recipe, labels, report)
    scores = score(screened, trained, recipe.seed, report)
    told = [_told(screened, recipe, task, labels[task], scores[task], samples[task]) for task in recipe.tasks]
    return scores, told


def train(
    screened: Screened, recipe: Recipe, labels: Mapping[TaskKey, Labels], report: Report
) -> tuple[dict[TaskKey, Weak], dict[TaskKey, np.ndarray]]:
    """Return each task's weak classifier, and the rows it was trained on."""
    settings, seed = recipe.weak_classifier, recipe.seed
    fold = folds_of(screened.object_id, seed, settings.folds)
    samples = {task: _sample(screened, recipe, task, labels[task]) for task in recipe.tasks}
    wanted = np.unique(np.concatenate(list(samples.values())))
    rows = _rows(screened, wanted)
    trained: dict[TaskKey, Weak] = {}
    for number, (task, sample) in enumerate(samples.items()):
        report("Training the weak classifiers", number, len(samples))
        place = np.searchsorted(wanted, sample)
        where = f"recipe {recipe.name}, task {task}"
        trained[task] = train_weak(
            rows[place], labels[task].member[sample], fold[sample], settings, seed, where
        )
    return trained, samples


def score(
    screened: Screened, trained: Mapping[TaskKey, Weak], seed: int, report: Report
) -> dict[TaskKey, FloatArray]:
    """Return ``(n,)`` scores of every spectrum for each task, by the classifier trained without its object."""
    number = len(screened.object_id)
    scores = {task: np.empty(number) for task in trained}
    folds = {task: folds_of(screened.object_id, seed, len(weak.boosters)) for task, weak in trained.items()}
    for part, features in screened.features():
        report("Scoring the archive", part.start, number)
        for task, weak in trained.items():
            scores[task][part] = weak.score(features, folds[task][part])
    return scores


def _sample(screened: Screened, recipe: Recipe, task: TaskKey, labels: Labels) -> np.ndarray:
    """Return the rows the weak classifier of a task learns from: positives, and random others of the survey."""
    settings = recipe.weak_classifier
    good = usable(screened, _quality_of(recipe, task)) & screened.decidable

    def some(rows: BoolArray, number: int) -> np.ndarray:
        def lot(row: int) -> int:
            return draw(f"{recipe.seed} sample {task} {tuple(screened.keys[row])}")

        drawn = heapq.nsmallest(number, map(int, np.flatnonzero(rows)), key=lot)
        return np.array(drawn, dtype=np.intp)

    positives = some(labels.of("YES") & good, settings.positives)
    others = labels.of("NO") & good & screened.random
    return np.sort(
        np.concatenate([positives, some(others, round(settings.others_per_positive * len(positives)))])
    )


def _quality_of(recipe: Recipe, task: TaskKey) -> Quality:
    """Return the quality cuts under which a task's classifier is trained: the widest of its sets."""
    cuts = [item.quality or recipe.quality for item in recipe.sets if task in item.tasks]
    lows, highs = ([cut.snr[end] for cut in cuts] for end in (0, 1))
    low = None if None in lows else min(value for value in lows if value is not None)
    high = None if None in highs else max(value for value in highs if value is not None)
    return Quality(snr=(low, high), bad_fraction=max(cut.bad_fraction for cut in cuts))


def _rows(screened: Screened, wanted: np.ndarray) -> np.ndarray:
    """Return the features of the rows that are wanted, ascending."""
    kept = []
    for part, features in screened.features():
        inside = wanted[(wanted >= part.start) & (wanted < part.stop)]
        kept.append(features[inside - part.start])
    return np.concatenate(kept)


def _told(
    screened: Screened,
    recipe: Recipe,
    task: TaskKey,
    labels: Labels,
    score: FloatArray,
    sample: np.ndarray,
) -> WeakReport:
    good = usable(screened, _quality_of(recipe, task)) & screened.decidable
    accepted = score > recipe.weak_classifier.acceptance
    members, others = labels.of("YES") & good, labels.of("NO") & good
    names: Counter[str] = Counter()
    for row in np.flatnonzero(others & accepted):
        names.update(screened.known_as[row] or {"unknown"})
    trained = int(labels.member[sample].sum())
    return WeakReport(
        task=task,
        trained_on={"YES": trained, "NO": len(sample) - trained},
        by_snr=tuple(
            _bin(low, high, screened.snr, members, others, accepted)
            for low, high in itertools.pairwise(SNR_EDGES)
        ),
        accepted_as=dict(sorted(names.items(), key=lambda item: (-item[1], item[0]))),
    )


def _bin(
    low: float, high: float, snr: FloatArray, members: BoolArray, others: BoolArray, accepted: BoolArray
) -> SnrBin:
    inside = (snr >= low) & (snr < high)
    return SnrBin(
        snr=(low, min(high, 1e9)),
        members=int((members & inside).sum()),
        members_accepted=int((members & inside & accepted).sum()),
        others=int((others & inside).sum()),
        others_accepted=int((others & inside & accepted).sum()),
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
    archive: Archive, screened: Screened, chosen: Sequence[Chosen], pool: Workers, report: Report
) -> Iterator[Candidate]:
    """Read every chosen spectrum once more, and make the candidates.

    Within track, task and part they come in the order of their ids, which tells nothing about the truth.
    """
    keys = sorted({screened.keys[row.row] for row in chosen})
    chunks = [(archive, keys[first : first + _READ_AT_ONCE]) for first in range(0, len(keys), _READ_AT_ONCE)]
    records: dict[Key, Record] = {}
    for found in pool.map(_read, chunks):
        records.update(found)
        report("Reading the candidates", len(records), len(keys))
    made = [
        _candidate(row, record, archive.label_source)
        for row in chosen
        for record in (records[screened.keys[row.row]], *row.views)
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
