"""Tables of `specvi score` as CSV: one file a section, one line a row, undefined values empty."""

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from specvi_benchmark.files import StrictModel, write_text
from specvi_benchmark.runs.beyond import Beyond
from specvi_benchmark.scoring.calibration import shift_prior
from specvi_benchmark.scoring.ledger import CALLS
from specvi_benchmark.scoring.results import Results

Row = Mapping[str, Any]


def write_tables(folder: Path, results: Results, beyond: Beyond) -> list[Path]:
    """Write every section that has rows into ``folder``; return the files."""
    found = beyond.sections
    of_task = {"track", "task"}
    tables: dict[str, list[Row]] = {
        "scores": [_flat(task) for task in results.tasks],
        "probability": _nested(found.probability, "versions"),
        "reliability": [
            _kept(task, of_task) | {"version": made.version} | _flat(row)
            for task in found.probability
            for made in task.versions
            for row in made.bins
        ],
        "deferral": [
            _kept(task, of_task) | {"version": made.version, "mix": mix} | _flat(point)
            for task in found.deferral
            for made in task.versions
            for mix, points in (("set", made.points), ("prevalence", made.points_at_prevalence))
            for point in points
        ],
        "workload": [
            _kept(task, of_task) | {"order": order} | _flat(work)
            for task in found.deferral
            for order, works in (
                ("answer", task.workload_by_answer),
                *((made.version, made.workload) for made in task.versions),
            )
            for work in works
        ],
        "selection": [_flat(task) for task in found.promises],
        "thresholds": _nested(found.promises, "thresholds"),
        "survey": [_flat(task) for task in found.survey.tasks] if found.survey else [],
        "breakdown": [_flat(row) for row in found.breakdown],
        "survey_drops": [_flat(row) for row in found.survey_drops],
        "candidates": list(_candidates(beyond)),
    }
    written = []
    for name, rows in tables.items():
        if rows:
            path = folder / f"{name}.csv"
            write_text(path, _csv(rows))
            written.append(path)
    return written


def _candidates(beyond: Beyond) -> Iterable[Row]:
    """Yield every candidate with all versions of its P(YES), at the stated prevalence too where it is known."""
    prevalence = beyond.sections.prevalence
    for task, made in zip(beyond.tasks, beyond.probabilities, strict=True):
        columns: dict[str, np.ndarray] = {f"p_{version}": p for version, p in made.versions.items()}
        if made.pair:
            columns |= {"venn-abers_low": made.pair[0], "venn-abers_high": made.pair[1]}
        if prevalence is not None and made.declared and made.declared < 1:
            columns |= {
                f"{name}_at_prevalence": shift_prior(values, made.declared, prevalence)
                for name, values in columns.items()
                if name != "p_raw"  # a raw P(YES) does not say which share of positives it means
            }
        for place, name in enumerate(task.id):
            values = {column: _plain(values[place]) for column, values in columns.items()}
            yield {
                "track": task.group.track,
                "task": task.group.task,
                "id": name,
                "truth": "YES" if task.positive[place] else "NO",
                "call": CALLS[task.call[place]],
            } | values


def _nested(tasks: Iterable[StrictModel], inner: str) -> list[Row]:
    """Return one row for each member of a field, under what its task says."""
    return [_kept(task, {"track", "task"}) | _flat(row) for task in tasks for row in getattr(task, inner)]


def _kept(model: StrictModel, names: set[str]) -> dict[str, Any]:
    return model.model_dump(mode="json", include=names)


def _flat(model: StrictModel) -> dict[str, Any]:
    """Return a model as one row: inner values under joined names, a measure's own value under its name."""
    row: dict[str, Any] = {}

    def put(name: str, value: Any) -> None:
        if isinstance(value, dict):
            for inner, content in value.items():
                put(name if inner == "value" else f"{name}_{inner}", content)
        elif not isinstance(value, list):
            row[name] = value

    for name, value in model.model_dump(mode="json").items():
        put(name, value)
    return row


def _csv(rows: list[Row]) -> str:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
