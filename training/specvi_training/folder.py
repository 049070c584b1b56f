"""The folder of a training: what it was told, how it went, checkpoints to go on from, and the model.

``train.json`` is the record, ``log.jsonl`` the log, ``checkpoints/`` what a killed training goes on from, ``base/`` a
tiny model that was built for it, ``model/`` the result. The same command on the same folder goes on, or finds it done.
"""

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import (
    StrictModel,
    append_line,
    canonical_json,
    locked,
    mend_log,
    parse_json,
    read_lines,
    read_text,
    refuse_newer,
    validate,
    write_json,
    write_text,
)
from specvi_benchmark.runs.record import environment
from specvi_benchmark.splits import Split
from specvi_training.config import Recipe

SCHEMA_VERSION: Literal[1] = 1
RECORD_FILE = "train.json"
LOG_FILE = "log.jsonl"
STATE_FILE = "trainer_state.json"
"""What transformers writes last into a checkpoint: one with it is whole."""

_PACKAGES = ("torch", "transformers", "trl", "accelerate", "peft")
_OWN = re.compile(r"base|log\.jsonl|\.base\.tmp|\.train\.json\..*\.tmp")
"""What a training that was killed before its record stood may have left."""

_DECISIVE = ("recipe", "config", "base", "data", "dev")


class TrainRecord(StrictModel):
    """The content of ``train.json``: everything that made the model.

    Attributes
    ----------
    recipe
        Which training: ``sft``, ``grpo``.
    config
        The whole configuration.
    base
        The checkpoint it began with, by Hub id and commit or by the SHA-256 of its files.
    data
        What it learnt from: counts and fingerprint.
    dev
        Fingerprint of the candidates it was watched on.
    outcome
        How it ended: steps, best score on dev; None until then.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    recipe: str
    config: Mapping[str, Any]
    base: Mapping[str, Any]
    data: Mapping[str, Any]
    dev: str | None
    environment: Mapping[str, str]
    started: str
    ended: str | None = None
    outcome: Mapping[str, Any] | None = None


class TrainFolder:
    """A training's folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.base = path / "base"
        self.checkpoints = path / "checkpoints"
        self.model = path / "model"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the folder: no other training works in it. The first process of several holds it for all."""

        def refuse() -> None:
            raise UserError(
                "another process is training in this folder",
                where=self.path,
                fix="wait for it, or name another folder with --out",
            )

        if self.path.exists() and not self.path.is_dir():
            raise UserError("not a folder", where=self.path, fix="name a folder with --out")
        self.path.mkdir(parents=True, exist_ok=True)
        if os.environ.get("RANK", "0") != "0":
            yield
            return
        with locked(self.path, refuse):
            self._refuse_strangers()
            try:
                yield
            except UserError:
                with suppress(OSError):  # refused before anything was written: nothing is left
                    self.path.rmdir()
                raise

    def _refuse_strangers(self) -> None:
        """Raise if the folder holds something else than a training, before anything is written into it."""
        if (self.path / RECORD_FILE).is_file():
            if (self.path / "config.json").is_file():
                raise UserError(
                    "this is a trained model, not the folder of a training",
                    where=self.path,
                    fix="name the folder it lies in, or a new one, with --out",
                )
            return
        if strangers := sorted(p.name for p in self.path.iterdir() if not _OWN.fullmatch(p.name)):
            raise UserError(
                "the folder is not empty",
                where=self.path,
                expected="a new folder, or one of the same training",
                got=", ".join(strangers[:5]),
                fix="name another folder with --out",
            )

    def begin(
        self, config: Recipe, *, base: Mapping[str, Any], data: Mapping[str, Any], dev: Split | None
    ) -> tuple[TrainRecord, Path | None]:
        """Begin a training or go on with it: return its record, and the checkpoint to go on from.

        One that has ended is left as it is, unless its model is gone: then it goes on from its last checkpoint.

        Raises
        ------
        UserError
            The folder holds something else.
        """
        record = self.open(
            TrainRecord(
                recipe=config.recipe,
                config=config.model_dump(mode="json"),
                base=base,
                data=data,
                dev=None if dev is None else dev.fingerprint,
                environment=training_environment(),
                started=now(),
            )
        )
        if record.ended is not None:
            if (self.model / RECORD_FILE).is_file():
                return record, None
            record = record.model_copy(update={"ended": None, "outcome": None})
        return record, self.last_checkpoint()

    def open(self, asked: TrainRecord) -> TrainRecord:
        """Write the record, or check that the one that stands there is of the same training; return it.

        Raises
        ------
        UserError
            The folder holds something else.
        """
        if not (self.path / RECORD_FILE).is_file():
            self.write(asked)
            return asked
        known_record = read_train_record(self.path)
        was, now = (record.model_dump(mode="json") for record in (known_record, asked))
        differing = [name for name in _DECISIVE if canonical_json(was[name]) != canonical_json(now[name])]
        if differing:
            raise UserError(
                "this folder holds another training",
                where=self.path,
                expected="the same configuration, base and data",
                got=f"another {', '.join(_different(was, now, differing))}",
                fix="name another folder with --out",
            )
        return known_record

    def write(self, record: TrainRecord) -> None:
        """Write the record atomically."""
        write_json(self.path / RECORD_FILE, record.model_dump(mode="json"))

    def last_checkpoint(self) -> Path | None:
        """Return the newest whole checkpoint; parts that a kill left are removed, and later lines of the log too."""
        whole: dict[int, Path] = {}
        for path in self.checkpoints.glob("checkpoint-*"):
            step = _step(path)
            if step is None:
                shutil.rmtree(path)
            else:
                whole[step] = path
        last = max(whole, default=None)
        self._cut_log(last or 0)
        if last is None:
            return None
        self._point_here(whole[last])
        return whole[last]

    def _point_here(self, checkpoint: Path) -> None:
        """Let a checkpoint name the best one by where it lies now: the folder may have moved, or be named otherwise.

        transformers forgets a best checkpoint that it does not find, and would hand out the last weights.
        """
        path = checkpoint / STATE_FILE
        state = json.loads(path.read_text(encoding="utf-8"))
        best = state.get("best_model_checkpoint")
        if best is not None:
            write_json(path, {**state, "best_model_checkpoint": str(self.checkpoints / Path(best).name)})

    def log(self, line: Mapping[str, Any]) -> None:
        """Add a line to the log."""
        append_line(self.path / LOG_FILE, dict(line))

    def lines(self) -> list[dict[str, Any]]:
        """Return the lines of the log."""
        path = self.path / LOG_FILE
        return [value for _, value in read_lines(path)] if path.exists() else []

    def _cut_log(self, step: int) -> None:
        path = self.path / LOG_FILE
        if path.exists():
            mend_log(path)
            kept = [line for line in self.lines() if line.get("step", 0) <= step]
            write_text(path, "".join(f"{json.dumps(line)}\n" for line in kept))


def read_train_record(folder: Path) -> TrainRecord:
    """Read a training's ``train.json``."""
    path = folder / RECORD_FILE
    if not path.is_file():
        raise UserError("not a training's folder", where=folder, expected=RECORD_FILE)
    content = parse_json(read_text(path), path)
    refuse_newer(content, SCHEMA_VERSION, path)
    return validate(TrainRecord, content, path)


def training_environment() -> dict[str, str]:
    """Return the versions that can change a result."""
    return {**environment(), **{name: version(name) for name in _PACKAGES}}


def now() -> str:
    """Return the time, UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _step(checkpoint: Path) -> int | None:
    """Return the step of a checkpoint, None of one that is not whole."""
    try:
        state = json.loads((checkpoint / STATE_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    step = state.get("global_step") if isinstance(state, dict) else None
    return step if isinstance(step, int) else None


def _different(was: Mapping[str, Any], now: Mapping[str, Any], names: list[str]) -> Iterator[str]:
    """Yield the dotted names of what differs, parts of the configuration each by its own."""
    for name in names:
        old, new = was[name], now[name]
        if isinstance(old, dict) and isinstance(new, dict):
            keys = sorted(old.keys() | new.keys())
            yield from (f"{name}.{key}" for key in keys if old.get(key) != new.get(key))
        else:
            yield name
