"""The log of a run: pictures, then traces, then the prediction, so that what is logged is logged whole."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from specvi_benchmark.files import append_bytes, json_line, mend_log, write_once
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


def write_entry(folder: Path, entry: Entry) -> None:
    """Write an entry. A kill at any byte leaves it whole, or without its prediction: asked again."""
    for name, png in entry.pictures.items():
        write_once(folder / VIEWS_FOLDER / f"{name}.png", png)
    for line in entry.traces:
        append_bytes(folder / TRACES_FILE, line)
    append_bytes(folder / PREDICTIONS_FILE, entry.prediction)


def mend(folder: Path) -> None:
    """Remove what a kill left unfinished."""
    mend_log(folder / PREDICTIONS_FILE)
    mend_log(folder / TRACES_FILE)
    for unfinished in (folder / VIEWS_FOLDER).glob(".*.tmp"):
        unfinished.unlink()
