"""Holds the claims of a run's traces against the flux of its candidates."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from specvi_benchmark.evidence.claims import EXTRACTOR_VERSION
from specvi_benchmark.evidence.inspected import Inspected, hold_against
from specvi_benchmark.evidence.measure import MEASURE_VERSION
from specvi_benchmark.evidence.score import Row, score_task
from specvi_benchmark.runs.matching import MatchedPredictions
from specvi_benchmark.runs.record import TRACES_FILE
from specvi_benchmark.scoring.evidence import Evidence
from specvi_benchmark.traces import read_traces

if TYPE_CHECKING:
    from specvi_benchmark.splits import Candidate
    from specvi_benchmark.traces import TraceRecord


def evidence_of(matched: MatchedPredictions, run: Path) -> Evidence | None:
    """Score the evidence of a run; None where it has no trace with text.

    Parameters
    ----------
    matched
        The run's predictions with their candidates.
    run
        Its folder, with ``traces.jsonl``.
    """
    path = run / TRACES_FILE
    if not path.is_file():
        return None
    traces = {(task, name): trace for (task, name, sample), trace in read_traces(path).items() if sample == 0}
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in _rows(matched, traces):
        groups.setdefault((row.candidate.track, row.candidate.task.key), []).append(row)
    tasks = tuple(score_task(rows[0].candidate.track, task, rows) for (_, task), rows in groups.items())
    if not any(task.n for task in tasks):
        return None
    return Evidence(extractor_version=EXTRACTOR_VERSION, measure_version=MEASURE_VERSION, tasks=tasks)


def _rows(matched: MatchedPredictions, traces: "dict[tuple[str, str], TraceRecord]") -> Iterator[Row]:
    for candidate, prediction in zip(matched.split.candidates, matched.predictions, strict=True):
        trace = traces.get((candidate.task.key, candidate.id))
        yield Row(candidate, prediction.answer, None if trace is None else _inspected(candidate, trace))


def _inspected(candidate: "Candidate", trace: "TraceRecord") -> Inspected:
    return hold_against(candidate.question, trace)
