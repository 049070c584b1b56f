"""The vetters `lightgbm` and `logistic`: learn each task from the selection features, and say what decided."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from scipy import special

from specvi_baselines import calibration
from specvi_baselines.calibration import Reporting
from specvi_baselines.classical import linear, trees
from specvi_baselines.classical.folder import (
    MODEL_FILE,
    SCHEMA_VERSION,
    Decisive,
    ModelRecord,
    TaskModel,
    column_names,
    read_model,
)
from specvi_baselines.classical.sample import Sample, log_loss, measure, sample
from specvi_baselines.classical.words import decisive_words, signed
from specvi_benchmark.errors import UserError
from specvi_benchmark.features.selection import SELECTION_VERSION, Features
from specvi_benchmark.files import sha256_file, write_json
from specvi_benchmark.runs.fitting import CalibrationPart
from specvi_benchmark.scoring.probability import auroc
from specvi_benchmark.spectrum import FloatArray
from specvi_benchmark.splits import Split
from specvi_benchmark.splits.families import SELECTOR_FAMILY, Family, selector_family
from specvi_benchmark.traces import Trace, Turn, said
from specvi_benchmark.vetting import Outcome, Question, Verdict, answered

LEAST = 10
"""Candidates of each class that a task needs in train."""

DECISIVE = 20
"""Features listed in ``model.json``."""


class Model(Protocol):
    """A fitted model of one task; see `trees.Trees` and `linear.Linear`."""

    def margin(self, features: Features) -> FloatArray: ...

    def contributions(self, features: Features) -> tuple[FloatArray, FloatArray]: ...

    def save(self, path: Path) -> None: ...


@dataclass(frozen=True, slots=True)
class Learner:
    """How one family learns: its name, its fit, and how its models lie on disk."""

    name: Family
    fit: Callable[[Sample, Sample, int], tuple[Model, dict[str, Any]]]
    load: Callable[[Path], Model]
    suffix: str
    settings: Mapping[str, Any]


LIGHTGBM = Learner("lightgbm", trees.fit, trees.load, trees.SUFFIX, trees.SETTINGS)
LOGISTIC = Learner("logistic", linear.fit, linear.load, linear.SUFFIX, linear.SETTINGS)


@dataclass(frozen=True, slots=True)
class Untrained:
    """A learner before it has learnt anything."""

    learner: Learner
    reporting: Reporting

    @property
    def config(self) -> Mapping[str, Any]:
        """Return what changes a training, and the verdicts after it."""
        return {
            "family": self.learner.name,
            "settings": dict(self.learner.settings),
            "selection_version": SELECTION_VERSION,
            **self.reporting.config,
        }

    def fit(self, train: Split, dev: Split, out: Path, seed: int) -> None:
        """Learn every task of the train part; how much to learn is chosen on dev.

        Raises
        ------
        UserError
            A task has fewer than `LEAST` YES or NO in train, or only one of them in dev.
        """
        tasks = {task: self._fit_task(train, dev, task, out, seed) for task in train.tasks}
        record = ModelRecord(
            schema_version=SCHEMA_VERSION,
            learner=self.learner.name,
            selection_version=SELECTION_VERSION,
            columns=column_names(),
            selector_family=selector_family(train.recipe) == self.learner.name,
            tasks=tasks,
        )
        write_json(out / MODEL_FILE, record.model_dump(mode="json"))

    def calibrate(self, held: Split, part: CalibrationPart, out: Path) -> None:
        """Fit each task's sigmoid on a part that was not trained on; every task that was learnt needs both classes."""
        record = read_model(out, self.learner.name)
        raw: dict[str, FloatArray] = {}
        for task, described in record.tasks.items():
            features = measure([c.question for c in held.select(task=task).candidates])
            margin = (
                self.learner.load(out / described.file).margin(features) if len(features) else np.empty(0)
            )
            raw[task] = np.where(np.isfinite(features).any(axis=1), special.expit(margin), np.nan)
        calibration.calibrate(held, part, raw, out)

    def _fit_task(self, train: Split, dev: Split, task: str, out: Path, seed: int) -> TaskModel:
        learnt, held = sample(train, task), sample(dev, task)
        for part, found, least in (("train", learnt, LEAST), ("dev", held, 1)):
            yes, no = _counts(found).values()
            if min(yes, no) < least:
                raise UserError(
                    f"too few candidates to train {self.learner.name}",
                    where=f"split {train.name}, {part}, task {task}",
                    expected=f"at least {least} YES and {least} NO with a spectrum that covers the features",
                    got=f"{yes} YES and {no} NO",
                    fix="name a split with more, or one without this task",
                )
        model, chosen = self.learner.fit(learnt, held, seed)
        path = out / f"{task}{self.learner.suffix}"
        model.save(path)
        margin = model.margin(held.features)
        return TaskModel(
            file=path.name,
            sha256=sha256_file(path),
            train=_counts(learnt),
            dev=_counts(held),
            chosen=chosen,
            dev_auroc=auroc(held.positive, margin),
            dev_log_loss=log_loss(margin, held),
            features=_most_decisive(model, learnt.features),
        )


@dataclass(frozen=True, slots=True)
class Classical:
    """A trained learner. Same question, same verdict; the trace says which features decided."""

    learner: Learner
    record: ModelRecord
    models: Mapping[str, Model]
    calibration: calibration.Calibration
    reporting: Reporting

    @property
    def config(self) -> Mapping[str, Any]:
        """Return what changes a verdict. ``family`` lets a table mark a system of the selector's own family."""
        return {
            "family": self.learner.name,
            SELECTOR_FAMILY: self.record.selector_family,
            "selection_version": self.record.selection_version,
            "models": {task: model.sha256 for task, model in self.record.tasks.items()},
            "calibration": self.calibration.model_dump(mode="json"),
            **self.reporting.config,
        }

    def vet(self, questions: Sequence[Question]) -> Iterator[Verdict]:
        """Yield a verdict for each question, in order: `error` for a task that was not learnt, no answer without light."""
        features = measure(questions)
        for question, values in zip(questions, features, strict=True):
            if question.task.key not in self.models:
                yield _not_learnt(question, self.learner.name, tuple(self.models))
            elif not np.isfinite(values).any():
                words = "The spectrum covers none of the features: nothing to judge by."
                yield Verdict(question.id, question.task.key, Outcome.ABSTAINED, traces=(said(words),))
            else:
                yield self._answered(question, values)

    def _answered(self, question: Question, values: Features) -> Verdict:
        task, row = question.task.key, values[np.newaxis]
        parts, base = self.models[task].contributions(row)
        raw = special.expit(self.models[task].margin(row))
        mended = float(self.calibration.mended(task, raw, self.reporting.prevalence)[0])
        told = calibration.answer(mended)
        probability = f"{mended:.3f} {self.calibration.words(task, self.reporting.prevalence)}"
        learnt = f"{raw[0]:.3f} as learnt at equal shares"
        moved = f"they move the log-odds at equal shares from {signed(base[0])} to {signed(base[0] + parts[0].sum())}"
        # Measured values are no claims that a feature is there, so they stand in a turn of their own.
        measured = (
            f"{np.isfinite(values).sum()} of {len(values)} features measured; {moved}. Most of all:",
            *decisive_words(values, parts[0]),
        )
        verdict = f"{told}. P(YES) {probability}, {learnt}; YES from {calibration.THRESHOLD} on."
        turns = Turn(role="tool", text="\n".join(measured)), Turn(role="assistant", text=verdict)
        reported = float(raw[0]) if self.reporting.probability == "raw" else mended
        return answered(question, told, p_yes=reported, traces=(Trace(turns=turns, environment={}),))


def lightgbm(argument: str | None, options: Mapping[str, str]) -> Untrained | Classical:
    """Make ``lightgbm``: to be trained without an argument, trained with the folder of the training."""
    return _create(LIGHTGBM, argument, options)


def logistic(argument: str | None, options: Mapping[str, str]) -> Untrained | Classical:
    """Make ``logistic``: to be trained without an argument, trained with the folder of the training."""
    return _create(LOGISTIC, argument, options)


def _create(learner: Learner, argument: str | None, options: Mapping[str, str]) -> Untrained | Classical:
    reporting = calibration.read_reporting(learner.name, options)
    if argument is None:
        return Untrained(learner, reporting)
    folder = Path(argument)
    record = read_model(folder, learner.name)
    mended = calibration.read_calibration(folder, record.tasks)
    models = {task: learner.load(folder / described.file) for task, described in record.tasks.items()}
    return Classical(learner, record, models, mended, reporting)


def _not_learnt(question: Question, name: str, tasks: tuple[str, ...]) -> Verdict:
    task = question.task.key
    words = f"{name} was not trained for the task {task}, only for {', '.join(tasks)}"
    trace = Trace(turns=(Turn(role="error", text=words),), environment={})
    return Verdict(question.id, task, Outcome.ERROR, traces=(trace,))


def _counts(found: Sample) -> dict[Literal["YES", "NO"], int]:
    return {"YES": int(found.positive.sum()), "NO": int((~found.positive).sum())}


def _most_decisive(model: Model, features: Features) -> tuple[Decisive, ...]:
    """Return the features with the largest mean size of their part in the log-odds."""
    size = np.abs(model.contributions(features)[0]).mean(axis=0)
    order = np.argsort(-size, kind="stable")[:DECISIVE]
    total, names = float(size.sum()) or 1.0, column_names()
    return tuple(
        Decisive(feature=names[place], share=round(float(size[place]) / total, 4))
        for place in order
        if size[place]
    )
