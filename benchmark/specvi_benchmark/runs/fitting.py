"""Trains a vetter on a split's train part and keeps a record of what it was trained on."""

import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, cast, runtime_checkable
from uuid import uuid4

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import (
    StrictModel,
    canonical_json,
    locked,
    parse_json,
    read_text,
    refuse_newer,
    validate,
    write_json,
)
from specvi_benchmark.runs.record import environment
from specvi_benchmark.splits import Split
from specvi_benchmark.splits.named import find_split
from specvi_benchmark.splits.weak import draw
from specvi_benchmark.vetting import AnyVetter, Question, Verdict, Vetter, load_vetter, make_system

FIT_FILE = "fit.json"
SCHEMA_VERSION: Literal[1] = 1
CalibrationPart = Literal["cal", "dev"]
LARGEST_SEED = 2**31 - 1
"""What every generator of random numbers takes: LightGBM's seeds have 32 bits, and wrap."""
DEV_SHARE = 5
"""One object in so many of a train part becomes dev, where a split has none."""


@runtime_checkable
class Trainable(Protocol):
    """What a factory returns for a name without an argument, when it has to be trained.

    One that keeps checkpoints has an attribute ``resumes`` that is true: after a kill its `fit` is called again with
    the folder that the killed call had. Whatever does not belong in the trained folder it removes at the end.
    """

    @property
    def config(self) -> Mapping[str, Any]: ...

    def fit(self, train: Split, dev: Split, out: Path, seed: int) -> None:
        """Write the trained vetter into the folder ``out``; ``name:out`` is then a vetter."""
        ...


@runtime_checkable
class Calibrated(Trainable, Protocol):
    """One whose P(YES) is mended on labels that it was not trained on."""

    def calibrate(self, held: Split, part: CalibrationPart, out: Path) -> None:
        """Mend what `fit` wrote into ``out`` on the part ``held``: ``cal``, or ``dev`` where there is no ``cal``."""
        ...


class FitRecord(StrictModel):
    """The content of ``fit.json``: everything that made a trained vetter.

    ``calibration_fingerprint`` is None for a vetter that is not calibrated.
    """

    schema_version: Literal[1]
    vetter: str
    config: Mapping[str, Any]
    train: str
    train_fingerprint: str
    dev_fingerprint: str
    dev_from: Literal["dev", "train"]
    calibration_fingerprint: str | None = None
    seed: int
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Trained:
    """A trained vetter that names its training data in ``config``, and with it in ``run.json``."""

    vetter: Vetter
    record: FitRecord

    @property
    def config(self) -> Mapping[str, Any]:
        """Return the vetter's own config, and what it was trained on."""
        kept = ("train", "train_fingerprint", "dev_fingerprint", "seed")
        return {**self.vetter.config, "training": {name: getattr(self.record, name) for name in kept}}

    def vet(self, questions: Sequence[Question]) -> Iterator[Verdict]:
        """Yield what the vetter yields."""
        return self.vetter.vet(questions)


def load_system(spec: str, options: Mapping[str, str] | None = None) -> AnyVetter:
    """Make the vetter of a spec string; one that `fit` trained says on what."""
    vetter = load_vetter(spec, options)
    argument = spec.partition(":")[2]
    if isinstance(vetter, Vetter) and argument and (Path(argument) / FIT_FILE).is_file():
        return Trained(vetter, read_fit_record(Path(argument)))
    return vetter


def fit(name: str, train: str, out: Path, *, options: Mapping[str, str] | None = None, seed: int = 0) -> str:
    """Train the vetter ``name`` on the train part of a split; return the spec string of the trained one.

    Tracks and tasks are those of the train part. Where the split has no dev part, one object in five of
    the train part, drawn by hash, becomes it. The folder appears whole; a finished one of the same
    training is taken as it is.

    Raises
    ------
    UserError
        The vetter can't be trained, the split has no train part, the folder holds something else, or the seed is none.
    """
    system = _learner(name, options, seed)
    split = find_split(train)
    learnt, held, dev_from = training_parts(split, train)
    cal = split.select(part="cal")
    mended: tuple[Split, CalibrationPart] = (cal, "cal") if cal.candidates else (held, "dev")
    if isinstance(system, Calibrated):
        _refuse_uncalibratable(mended[0], mended[1], learnt.tasks)
    record = FitRecord(
        schema_version=SCHEMA_VERSION,
        vetter=name,
        config={**system.config, "options": dict(options or {})},
        train=f"{split.name} {split.version}",
        train_fingerprint=learnt.fingerprint,
        dev_fingerprint=held.fingerprint,
        dev_from=dev_from,
        calibration_fingerprint=mended[0].fingerprint if isinstance(system, Calibrated) else None,
        seed=seed,
        environment=environment(),
    )
    if (out / FIT_FILE).is_file():
        _refuse_other_fit(read_fit_record(out), record, out)
        return f"{name}:{out}"
    if out.exists() and any(out.iterdir()):
        raise UserError("the folder is not empty", where=out, expected="a new folder", fix="name another")
    resumes = bool(getattr(system, "resumes", False))
    building = out.parent / f".{out.name}.{_name_of(record) if resumes else uuid4().hex[:8]}.tmp"
    with locked(out) if resumes else nullcontext():
        if (out / FIT_FILE).is_file():  # another process has made it meanwhile
            return f"{name}:{out}"
        building.mkdir(parents=True, exist_ok=resumes)
        try:
            system.fit(learnt, held, building, seed)
            if isinstance(system, Calibrated):
                system.calibrate(*mended, building)
            write_json(building / FIT_FILE, record.model_dump(mode="json"))
            building.replace(out)
        except UserError:
            shutil.rmtree(building, ignore_errors=True)  # the same again would fail again
            raise
        finally:
            if not resumes:
                shutil.rmtree(building, ignore_errors=True)
    return f"{name}:{out}"


def _learner(name: str, options: Mapping[str, str] | None, seed: int) -> Trainable:
    if not 0 <= seed <= LARGEST_SEED:
        raise UserError("not a seed of a training", where="--seed", expected=f"0 to {LARGEST_SEED}", got=seed)
    if ":" in name:
        raise UserError(
            "a trained vetter can't be trained", where=f"vetter {name!r}", expected="its bare name"
        )
    system = make_system(name, options)
    if not isinstance(system, Trainable):
        raise UserError(f"vetter {name} can't be trained", where="--train", fix="leave --train out")
    return system


def training_parts(split: Split, where: object) -> tuple[Split, Split, Literal["dev", "train"]]:
    """Return train, dev, and from which part dev was taken."""
    train, dev = split.select(part="train"), split.select(part="dev")
    if not train.candidates:
        raise UserError("the split has no train part", where=where, fix="name a split that has one")
    if dev.candidates:
        return train, dev, "dev"
    held = {c.object_id for c in train.candidates if draw(f"dev {c.object_id}") % DEV_SHARE == 0}

    def some(inside: bool) -> Split:
        kept = tuple(c for c in train.candidates if (c.object_id in held) is inside)
        return Split(split.name, split.version, kept, split.recipe)

    return some(inside=False), some(inside=True), "train"


def read_fit_record(folder: Path) -> FitRecord:
    """Read the ``fit.json`` of a folder."""
    path = folder / FIT_FILE
    content = parse_json(read_text(path), path)
    refuse_newer(content, SCHEMA_VERSION, path)
    return validate(FitRecord, content, path)


def refuse_other_training(folder: Path, asked: Mapping[str, str]) -> None:
    """Refuse options of training that are given to a trained folder, unless it was trained with the very same.

    For the factories of systems that have such options: what has no effect is told, not ignored. `specvi run --train`
    gives every option to the training and to the trained system, so the same ones are right.

    Parameters
    ----------
    folder
        What `fit` wrote; one without ``fit.json`` says nothing of its options, and none is right.
    asked
        The options given that shape a training.

    Raises
    ------
    UserError
        An option that was not the folder's.
    """
    if not asked:
        return
    known = read_fit_record(folder).config.get("options", {}) if (folder / FIT_FILE).is_file() else {}
    other = [name for name, value in asked.items() if known.get(name) != value]
    if other:
        raise UserError(
            "options of training have no effect on a system that is trained",
            where=folder,
            expected=", ".join(
                f"{name}={known[name]}, as it was trained" if name in known else f"no {name}"
                for name in other
            ),
            got=", ".join(f"--option {name}={asked[name]}" for name in other),
            fix="leave them out, or train another: specvi fit NAME --train SPLIT --out FOLDER with these options",
        )


def _refuse_uncalibratable(held: Split, part: CalibrationPart, tasks: Sequence[str]) -> None:
    """Refuse before training, which may take hours, what calibration would refuse after it."""
    for task in tasks:
        truths = {candidate.truth for candidate in held.candidates if candidate.task.key == task}
        if len(truths) < 2:
            raise UserError(
                "P(YES) can't be calibrated on one class",
                where=f"split {held.name}, {part}, task {task}",
                expected="YES and NO",
                got=f"only {truths.pop()}" if truths else "no candidates",
                fix="a split whose parts hold both, for every task that is learnt",
            )


def _name_of(record: FitRecord) -> str:
    """Return what names one training among all: its folder is found again after a kill, and never another's."""
    return hashlib.sha256(canonical_json(record.model_dump(mode="json"))).hexdigest()[:8]


def _refuse_other_fit(known: FitRecord, asked: FitRecord, folder: Path) -> None:
    names = ("vetter", "config", "train_fingerprint", "dev_fingerprint", "calibration_fingerprint", "seed")
    differing = [
        name
        for name in names
        if canonical_json(_plain(getattr(known, name))) != canonical_json(_plain(getattr(asked, name)))
    ]
    if differing:
        raise UserError(
            "this folder holds a vetter of another training",
            where=folder,
            expected="the same vetter, config, split and seed",
            got=f"another {', '.join(differing)}",
            fix="name another folder with --out",
        )


def _plain(value: object) -> object:
    return dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else value
