"""Finds recorded inspections in a run folder, each with its prediction and its pictures as they are on disk."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.runs.predictions import Prediction, read_run_predictions
from specvi_benchmark.runs.record import (
    PREDICTIONS_FILE,
    TRACES_FILE,
    VIEWS_FOLDER,
    RunRecord,
    read_run_record,
)
from specvi_benchmark.tasks import get_task
from specvi_benchmark.traces import TraceRecord, ViewRecord, read_traces

Key = tuple[str, str]
"""(task, id) of a question."""

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Shown:
    """A picture as it is on disk: its bytes, or why they can't be shown (``fault``, empty where they can)."""

    record: ViewRecord
    png: bytes
    fault: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """Everything a run holds on one question.

    ``samples`` are in the order of their numbers; ``pictures`` go by ``png_sha256``; ``prediction`` is None
    where a kill came between trace and prediction. ``truth`` is None unless it was looked up.
    """

    task: str
    id: str
    run: RunRecord
    prediction: Prediction | None
    samples: tuple[TraceRecord, ...]
    pictures: Mapping[str, Shown]
    truth: str | None = None


class RecordedRun:
    """The inspections of a run folder. Files are read when first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.record = read_run_record(folder)

    @cached_property
    def predictions(self) -> Mapping[Key, Prediction]:
        """Return the prediction of every question that has one."""
        path = self.folder / PREDICTIONS_FILE
        return read_run_predictions(path) if path.exists() else {}

    @cached_property
    def traces(self) -> Mapping[Key, tuple[TraceRecord, ...]]:
        """Return the samples of every question that has a trace.

        Raises
        ------
        UserError
            The run has no traces at all.
        """
        path = self.folder / TRACES_FILE
        if not path.exists():
            raise UserError(
                "this run has no traces",
                where=self.folder,
                expected=TRACES_FILE,
                fix="only systems that say what they looked at leave traces: rules, scripted, agents",
            )
        found: dict[Key, list[TraceRecord]] = {}
        for (task, question_id, _), trace in read_traces(path).items():
            found.setdefault((task, question_id), []).append(trace)
        return {key: tuple(sorted(traces, key=lambda one: one.sample)) for key, traces in found.items()}

    def find(self, wanted: str, task: str | None = None) -> Recorded:
        """Return the inspection of the question whose id is, or begins with, ``wanted``.

        Raises
        ------
        UserError
            No question, or more than one, is meant; or the one that is has no trace.
        """
        key = self._key(wanted, None if task is None else get_task(task).key)
        if key not in self.traces:
            raise UserError(
                "this question has a prediction, but no trace",
                where=f"{self.folder}, {key[0]} {key[1]}",
                fix="run the vetter again in a new folder, if it writes traces",
            )
        samples = self.traces[key]
        views = {view.png_sha256: view for one in samples for turn in one.turns for view in turn.views}
        pictures = {name: self._picture(view) for name, view in views.items()}
        return Recorded(*key, self.record, self.predictions.get(key), samples, pictures)

    def _key(self, wanted: str, task: str | None) -> Key:
        known = [key for key in {**self.predictions, **self.traces} if task in (None, key[0])]
        exact = [key for key in known if key[1] == wanted]
        meant = exact or [key for key in known if wanted and key[1].startswith(wanted)]
        if len(meant) == 1:
            return meant[0]
        where = f"{self.folder}, id {wanted!r}" + ("" if task is None else f", task {task}")
        if not meant:
            raise UserError(
                "no such question in this run",
                where=where,
                expected=f"for example {examples(key[1] for key in known)}"
                if known
                else "a run with verdicts",
                got=wanted,
                fix="`specvi trace RUN` lists what there is",
            )
        raise UserError(
            "more than one question is meant",
            where=where,
            got=examples((f"{key[1]} ({key[0]})" for key in meant), limit=5),
            fix="write more of the id, or name the task with --task",
        )

    def _picture(self, view: ViewRecord) -> Shown:
        """Read a picture and check that it is the one the trace names."""
        if not _SHA256.fullmatch(view.png_sha256):
            return Shown(view, b"", "the trace names a picture by something that is no SHA-256")
        name = f"{VIEWS_FOLDER}/{view.png_sha256}.png"
        try:
            png = (self.folder / name).read_bytes()
        except FileNotFoundError:
            return Shown(view, b"", f"{name} is missing")
        except OSError as error:
            return Shown(view, b"", f"{name} can't be read: {error.strerror}")
        found = hashlib.sha256(png).hexdigest()
        if found != view.png_sha256:
            return Shown(view, b"", f"{name} is damaged: its {len(png):,} bytes have SHA-256 {found}")
        return Shown(view, png, "")
