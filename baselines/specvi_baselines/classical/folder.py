"""``model.json``: what a folder of a classical learner says about itself, and what is refused."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.features.selection import SELECTION_VERSION, selection_columns
from specvi_benchmark.files import StrictModel, parse_json, read_text, refuse_newer, sha256_file, validate
from specvi_benchmark.splits.families import Family

MODEL_FILE = "model.json"
SCHEMA_VERSION: Literal[1] = 1


class Decisive(StrictModel):
    """A feature, and its share of all that moved the log-odds of the training spectra."""

    feature: str
    share: float


class TaskModel(StrictModel):
    """The model of one task: its file, what it learnt from, what dev chose, and how it does on dev.

    ``dev_log_loss`` weighs both classes alike: 0.693 is guessing. ``features`` are the most decisive ones.
    """

    file: str
    sha256: str
    train: Mapping[Literal["YES", "NO"], int]
    dev: Mapping[Literal["YES", "NO"], int]
    chosen: Mapping[str, Any]
    dev_auroc: float
    dev_log_loss: float
    features: tuple[Decisive, ...]


class ModelRecord(StrictModel):
    """The content of ``model.json``.

    ``columns`` are the features by name, in the order the models know them. ``selector_family`` says that the
    negatives of the training split were selected by a classifier of this learner's family.
    """

    schema_version: Literal[1]
    learner: Family
    selection_version: int
    columns: tuple[str, ...]
    selector_family: bool
    tasks: Mapping[str, TaskModel] = Field(min_length=1)


def column_names() -> tuple[str, ...]:
    """Return the names of the features, in their order."""
    return tuple(column.name for column in selection_columns())


def read_model(folder: Path, learner: Family) -> ModelRecord:
    """Read ``model.json`` and check that it fits this version, and its files to it.

    Raises
    ------
    UserError
        No model folder, one of another learner or suite, other features, or a file that was changed or is missing.
    """
    path = folder / MODEL_FILE
    fix = f"train again: specvi fit {learner} --train SPLIT --out FOLDER"
    if not path.is_file():
        raise UserError(
            f"not a trained {learner}", where=folder, expected=f"a folder with {MODEL_FILE}", fix=fix
        )
    content = parse_json(read_text(path), path)
    refuse_newer(content, SCHEMA_VERSION, path)
    record = validate(ModelRecord, content, path)
    if record.learner != learner:
        raise UserError(
            "a model of another learner",
            where=folder,
            expected=learner,
            got=record.learner,
            fix=f"name it {record.learner}:{folder}",
        )
    if record.selection_version != SELECTION_VERSION or record.columns != column_names():
        lacking = sorted(set(record.columns) ^ set(column_names()))
        raise UserError(
            "the model knows other features than this version of the suite measures",
            where=folder,
            expected=f"selection features of version {SELECTION_VERSION}, in their order",
            got=f"version {record.selection_version}" + (f"; {examples(lacking)}" if lacking else ""),
            fix=fix,
        )
    for task, model in record.tasks.items():
        if not (folder / model.file).is_file() or sha256_file(folder / model.file) != model.sha256:
            raise UserError(
                "a model file is missing or not the one that was written",
                where=folder / model.file,
                expected=f"the model of task {task}, SHA-256 {model.sha256[:12]}…",
                fix=fix,
            )
    return record
