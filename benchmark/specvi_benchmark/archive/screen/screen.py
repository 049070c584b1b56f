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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from specvi_benchmark.archive.source import StoredArchive
from specvi_benchmark.errors import UserError
from specvi_benchmark.features import SELECTION_VERSION
from specvi_benchmark.files import StrictModel, atomic_path, read_json_model, write_json
from specvi_benchmark.spectrum import FloatArray
from specvi_benchmark.splits.build import score, train
from specvi_benchmark.splits.choosing import label
from specvi_benchmark.splits.recipe import Recipe, TaskKey, refuse_unknown_classes
from specvi_benchmark.splits.screening import Report, Screened, screen
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
    labels = {task: label(screened, recipe, task) for task in recipe.tasks}
    trained, _ = train(screened, recipe, labels, report)
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
    scores = score(screened, trained, recipe.seed, report)
    known = {task: labels[task].member for task in recipe.tasks}
    accepted, candidates = _write(archive, screened, info, scores, known, out)
    return ScreenReport(
        len(screened.object_id), new, features_s, time.perf_counter() - start, accepted, candidates
    )


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
    scores = score(screened, trained, info.seed, report)
    nobody = np.zeros(len(screened.object_id), dtype=np.bool_)
    judged = info.model_copy(update={"archive": dict(archive.identity)})
    accepted, candidates = _write(archive, screened, judged, scores, dict.fromkeys(info.tasks, nobody), out)
    return ScreenReport(len(nobody), new, features_s, time.perf_counter() - start, accepted, candidates)


def screened_folder(archive: StoredArchive) -> Path:
    """Return where the features of an archive stand."""
    return archive.folder / "screened"


def _features(
    archive: StoredArchive, pool: Pool, report: Report, work: Path | None
) -> tuple[Screened, int, float]:
    folder = work or screened_folder(archive)
    before = {path.name for path in folder.glob("*.parquet")}
    start = time.perf_counter()
    screened = screen(archive, folder, pool, report)
    seconds = time.perf_counter() - start
    new = sum(len(rows) for rows, file in zip(_rows(screened), screened.files, strict=True)
              if file.name not in before)  # fmt: skip
    return screened, new, seconds


def _rows(screened: Screened) -> list[range]:
    counts = [pq.read_metadata(file).num_rows for file in screened.files]
    ends = np.cumsum(counts).tolist()
    return [range(end - count, end) for count, end in zip(counts, ends, strict=True)]


def _write(
    archive: StoredArchive,
    screened: Screened,
    info: ScreenInfo,
    scores: Mapping[TaskKey, FloatArray],
    member: Mapping[TaskKey, np.ndarray],
    out: Path,
) -> tuple[dict[TaskKey, int], dict[TaskKey, int]]:
    """Write scores and candidates; screen.json comes last, and says that all is there."""
    above = {task: scores[task] > info.acceptance for task in info.tasks}
    ids = archive.ids()
    with atomic_path(out / SCORES) as temporary:
        _write_scores(temporary, screened, ids, scores)
    found = {task: above[task] & ~member[task] for task in info.tasks}
    with (
        atomic_path(out / CANDIDATES) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as text,
    ):
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(["task", "id", "score", "snr", "object_id", "known_as"])
        for task in info.tasks:
            rows.writerows(_candidates(task, screened, ids, scores[task], found[task]))
    write_json(out / INFO, info.model_dump(mode="json"))
    return (
        {task: int(rows.sum()) for task, rows in above.items()},
        {task: int(rows.sum()) for task, rows in found.items()},
    )


def _write_scores(
    path: Path, screened: Screened, ids: Sequence[str], scores: Mapping[TaskKey, FloatArray]
) -> None:
    fields = [("id", pa.string()), ("object_id", pa.string()), ("snr", pa.float32())]
    fields += [("bad_fraction", pa.float32()), ("known_as", pa.list_(pa.string()))]
    schema = pa.schema([*fields, *((f"score_{task}", pa.float64()) for task in scores)])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for first in range(0, len(ids), _ROWS):
            part = slice(first, first + _ROWS)
            columns = {
                "id": ids[part],
                "object_id": screened.object_id[part],
                "snr": pa.array(screened.snr[part].astype(np.float32), from_pandas=True),
                "bad_fraction": screened.bad_fraction[part].astype(np.float32),
                "known_as": [sorted(classes) for classes in screened.known_as[part]],
                **{f"score_{task}": values[part] for task, values in scores.items()},
            }
            writer.write_table(pa.table(columns, schema=schema))


def _candidates(
    task: TaskKey, screened: Screened, ids: Sequence[str], scores: FloatArray, found: np.ndarray
) -> list[tuple[object, ...]]:
    rows = np.flatnonzero(found)
    best = rows[np.argsort(-scores[rows], kind="stable")].tolist()
    return [
        (
            task,
            ids[row],
            f"{scores[row]:.6f}",
            "" if np.isnan(screened.snr[row]) else f"{screened.snr[row]:.2f}",
            screened.object_id[row],
            ";".join(sorted(screened.known_as[row])),
        )
        for row in best
    ]
