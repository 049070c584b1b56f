"""Screens an archive: features shard by shard, a weak classifier for each task, a score for every spectrum.

::

    OUT/scores.parquet     id, object_id, snr, bad_fraction, known_as, and a score for each task
        candidates.csv     what scores above the recipe's threshold for a task and is not known as its class
        weak/cv-0.txt …    the classifiers, in LightGBM's text format; screen.json says how they were made

Features stand in ``ARCHIVE/screened``, a file a shard: a killed screening goes on there, and building a split
from the same archive finds them.
"""

import csv
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from specvi_benchmark.archive.source import StoredArchive
from specvi_benchmark.errors import UserError
from specvi_benchmark.features import SELECTION_VERSION
from specvi_benchmark.files import StrictModel, atomic_path, read_json_model, write_json
from specvi_benchmark.spectrum import BoolArray, FloatArray
from specvi_benchmark.splits.build import score, train
from specvi_benchmark.splits.choosing import label
from specvi_benchmark.splits.recipe import Recipe, TaskKey, refuse_unknown_classes
from specvi_benchmark.splits.screening import Report, Screened, Screening, screen
from specvi_benchmark.splits.weak import Weak
from specvi_benchmark.splits.workers import Pool

INFO, SCORES, CANDIDATES, CLASSIFIERS = "screen.json", "scores.parquet", "candidates.csv", "weak"
_ROWS = 50_000  # of scores that are written at once


class ScreenInfo(StrictModel):
    """What ``screen.json`` holds: how the classifiers were made, so that they can judge a later release."""

    schema_version: Literal[1] = 1
    recipe: str
    recipe_version: str
    seed: int
    acceptance: float
    folds: int
    tasks: tuple[TaskKey, ...]
    positives: dict[TaskKey, tuple[str, ...]]
    selection_version: int
    archive: dict[str, str | int | None]


@dataclass(frozen=True, slots=True)
class ScreenReport:
    """What a screening did.

    Attributes
    ----------
    spectra, new
        Spectra of the survey, and those whose features were not there yet.
    features_s, scores_s
        Seconds that the features of the new, and the scores of all took.
    accepted
        Spectra above the threshold, by task.
    candidates
        Of these, the ones not known as the task's class.
    """

    spectra: int
    new: int
    features_s: float
    scores_s: float
    accepted: Mapping[TaskKey, int]
    candidates: Mapping[TaskKey, int]


def screen_archive(
    archive: StoredArchive,
    recipe: Recipe,
    out: Path,
    pool: Pool,
    report: Report = lambda *_: None,
    work: Path | None = None,
) -> ScreenReport:
    """Train the recipe's weak classifiers on the archive's labels, and score every spectrum.

    Raises
    ------
    UserError
        A pattern of the recipe meets no class, or a classifier has too little to learn from.
    """
    refuse_unknown_classes(recipe, archive.classes)
    screened, new, features_s = _features(archive, pool, report, work)
    start = time.perf_counter()
    trained, _ = train(screened, recipe, report)
    info = ScreenInfo(
        recipe=recipe.name,
        recipe_version=recipe.version,
        seed=recipe.seed,
        acceptance=recipe.weak_classifier.acceptance,
        folds=recipe.weak_classifier.folds,
        tasks=recipe.tasks,
        positives={task: recipe.classes[task].positives for task in recipe.tasks},
        selection_version=SELECTION_VERSION,
        archive=dict(archive.identity),
    )
    for task, weak in trained.items():
        weak.save(out / CLASSIFIERS, task)

    def members(part: Screened, task: TaskKey) -> BoolArray:
        return label(part, recipe, task).member

    written = _write(archive, score(screened, trained, recipe.seed, report), info, members, out)
    return _told(written, new, features_s, time.perf_counter() - start)


def apply_classifiers(
    archive: StoredArchive,
    classifiers: Path,
    out: Path,
    pool: Pool,
    report: Report = lambda *_: None,
    work: Path | None = None,
) -> ScreenReport:
    """Score every spectrum by the classifiers of an earlier screening: those of its own objects' folds.

    For a release that nobody has labelled yet. An object that was learnt from is judged by the classifier
    that did not see it, if it has the same object id.

    Raises
    ------
    UserError
        ``classifiers`` is no folder of a screening, or was made with other features.
    """
    if out.resolve() == classifiers.resolve():
        raise UserError("the new screening would replace the old one", where=out, fix="name another --out")
    info = read_json_model(classifiers / INFO, ScreenInfo)
    if info.selection_version != SELECTION_VERSION:
        raise UserError(
            "the classifiers were trained on other features",
            where=classifiers,
            expected=f"selection features of version {SELECTION_VERSION}",
            got=info.selection_version,
            fix="screen the labelled archive again",
        )
    screened, new, features_s = _features(archive, pool, report, work)
    start = time.perf_counter()
    trained = {task: Weak.load(classifiers / CLASSIFIERS, task, info.folds) for task in info.tasks}
    for task, weak in trained.items():
        weak.save(out / CLASSIFIERS, task)
    judged = info.model_copy(update={"archive": dict(archive.identity)})

    def nobody(part: Screened, _: TaskKey) -> BoolArray:
        return np.zeros(len(part.rows), dtype=np.bool_)

    written = _write(archive, score(screened, trained, info.seed, report), judged, nobody, out)
    return _told(written, new, features_s, time.perf_counter() - start)


def screened_folder(archive: StoredArchive) -> Path:
    """Return where the features of an archive stand."""
    return archive.folder / "screened"


def _features(
    archive: StoredArchive, pool: Pool, report: Report, work: Path | None
) -> tuple[Screening, int, float]:
    folder = work or screened_folder(archive)
    before = {path.name for path in folder.glob("*.parquet")}
    start = time.perf_counter()
    screened = screen(archive, folder, pool, report)
    seconds = time.perf_counter() - start
    new = sum(pq.read_metadata(file).num_rows for file in screened.files if file.name not in before)
    return screened, new, seconds


class _Candidate(NamedTuple):
    """A spectrum that scores above the threshold for a task and is not known as its class."""

    score: float
    row: int
    cells: tuple[str, ...]


@dataclass(slots=True)
class _Written:
    """What was written: numbers of spectra, by task where above the threshold, and the candidates."""

    spectra: int = 0
    above: Counter[TaskKey] = field(default_factory=Counter)
    candidates: dict[TaskKey, list[_Candidate]] = field(default_factory=dict)


def _write(
    archive: StoredArchive,
    scored: Iterator[tuple[Screened, dict[TaskKey, FloatArray]]],
    info: ScreenInfo,
    member: Callable[[Screened, TaskKey], BoolArray],
    out: Path,
) -> _Written:
    """Write scores and candidates, shard by shard; screen.json comes last, and says that all is there."""
    written = _Written(candidates={task: [] for task in info.tasks})
    with atomic_path(out / SCORES) as temporary:
        schema = _schema(info.tasks)
        with pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
            waiting: list[pa.Table] = []
            for shard, (part, scores) in enumerate(scored):
                ids = archive.shard_ids(shard)
                waiting.append(_scores(part, ids, scores, schema))
                if sum(map(len, waiting)) >= _ROWS:
                    writer.write_table(pa.concat_tables(waiting).combine_chunks())
                    waiting = []
                written.spectra += len(ids)
                for task in info.tasks:
                    above = scores[task] > info.acceptance
                    written.above[task] += int(above.sum())
                    places = np.flatnonzero(above & ~member(part, task)).tolist()
                    written.candidates[task] += [
                        _candidate(part, ids, scores[task], place) for place in places
                    ]
            if waiting:
                writer.write_table(pa.concat_tables(waiting).combine_chunks())
    with (
        atomic_path(out / CANDIDATES) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as text,
    ):
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(["task", "id", "score", "snr", "object_id", "known_as"])
        for task, found in written.candidates.items():
            best = sorted(found, key=lambda one: (-one.score, one.row))
            rows.writerows((task, *one.cells) for one in best)
    write_json(out / INFO, info.model_dump(mode="json"))
    return written


def _told(written: _Written, new: int, features_s: float, scores_s: float) -> ScreenReport:
    found = {task: len(candidates) for task, candidates in written.candidates.items()}
    above = {task: written.above[task] for task in found}
    return ScreenReport(written.spectra, new, features_s, scores_s, above, found)


def _schema(tasks: Sequence[TaskKey]) -> pa.Schema:
    fields = [("id", pa.string()), ("object_id", pa.string()), ("snr", pa.float32())]
    fields += [("bad_fraction", pa.float32()), ("known_as", pa.list_(pa.string()))]
    return pa.schema([*fields, *((f"score_{task}", pa.float64()) for task in tasks)])


def _scores(
    part: Screened, ids: Sequence[str], scores: Mapping[TaskKey, FloatArray], schema: pa.Schema
) -> pa.Table:
    columns = {
        "id": ids,
        "object_id": part.object_id,
        "snr": pa.array(part.snr.astype(np.float32), from_pandas=True),
        "bad_fraction": part.bad_fraction.astype(np.float32),
        "known_as": [sorted(classes) for classes in part.known_as],
        **{f"score_{task}": values for task, values in scores.items()},
    }
    return pa.table(columns, schema=schema)


def _candidate(part: Screened, ids: Sequence[str], scores: FloatArray, place: int) -> _Candidate:
    score = float(scores[place])
    cells = (
        ids[place],
        f"{score:.6f}",
        "" if np.isnan(part.snr[place]) else f"{part.snr[place]:.2f}",
        part.object_id[place],
        ";".join(sorted(part.known_as[place])),
    )
    return _Candidate(score, int(part.rows[place]), cells)
