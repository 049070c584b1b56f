"""The log of a run: pictures, then traces, then the prediction, so that what is logged is logged whole."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from specvi_benchmark.files import json_line, mend_log, write_all
from specvi_benchmark.runs.predictions import prediction_of
from specvi_benchmark.runs.record import PREDICTIONS_FILE, TRACES_FILE, VIEWS_FOLDER
from specvi_benchmark.traces import TraceRecord
from specvi_benchmark.vetting import Verdict


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A verdict as it will be logged: nothing in it can fail any more but the disk."""

    verdict: Verdict
    prediction: bytes
    traces: tuple[bytes, ...]
    pictures: Mapping[str, bytes]


def entry_of(verdict: Verdict) -> Entry:
    """Return the entry of a verdict.

    Raises
    ------
    ValueError, TypeError
        It can't be logged: no JSON, or a view whose picture is missing or another one.
    """
    pictures: dict[str, bytes] = {}
    records: list[TraceRecord] = []
    for trace in verdict.traces:
        record = trace.record(verdict.task, verdict.id)
        for view in (view for turn in record.turns for view in turn.views):
            if view.png_sha256 not in trace.pictures:
                raise ValueError(f"a view without its picture: {view.png_sha256}")
            pictures[view.png_sha256] = trace.pictures[view.png_sha256]
        if records and record.sample <= records[-1].sample:
            raise ValueError(f"samples are numbered in growing order, got {record.sample}")
        records.append(record)
    for name, png in pictures.items():
        if hashlib.sha256(png).hexdigest() != name:
            raise ValueError(f"a picture under a wrong name: {name}")
    return Entry(
        verdict=verdict,
        prediction=json_line(prediction_of(verdict).model_dump(mode="json")),
        traces=tuple(json_line(record.model_dump(mode="json")) for record in records),
        pictures=pictures,
    )


class Log:
    """Writes entries into a run folder. A kill at any byte leaves an entry whole, or to be asked again.

    A picture may be left in part then, but under a name that no trace holds yet; it is written anew.
    """

    def __init__(self, folder: Path) -> None:
        self._views = folder / VIEWS_FOLDER
        self._traces, self._predictions = (
            os.open(folder / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            for name in (TRACES_FILE, PREDICTIONS_FILE)
        )

    def write(self, entry: Entry) -> None:
        """Write pictures, then traces, then the prediction."""
        for name, png in entry.pictures.items():
            self._keep(name, png)
        for line in entry.traces:
            write_all(self._traces, line)
        write_all(self._predictions, entry.prediction)

    def close(self) -> None:
        """Close the files."""
        os.close(self._traces)
        os.close(self._predictions)

    def __enter__(self) -> Self:
        """Return the log."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the files."""
        self.close()

    def _keep(self, name: str, png: bytes) -> None:
        path = f"{self._views}/{name}.png"
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        except FileNotFoundError:
            self._views.mkdir(exist_ok=True)
            self._keep(name, png)
            return
        except FileExistsError:
            if os.stat(path).st_size == len(png):  # noqa: PTH116  # the name says what is in it
                return
            handle = os.open(path, os.O_WRONLY | os.O_TRUNC)
        try:
            write_all(handle, png)
        finally:
            os.close(handle)


def mend(folder: Path) -> None:
    """Cut what a kill left unfinished at the ends of the logs."""
    mend_log(folder / PREDICTIONS_FILE)
    mend_log(folder / TRACES_FILE)
