"""Which inspections of a run are to be rated, and the empty lines for a person to fill in."""

from collections.abc import Sequence

import numpy as np

from specvi_benchmark.rubric.families import family_of
from specvi_benchmark.rubric.ratings import Preference, Rated, Rater, Rating, trace_sha256
from specvi_benchmark.rubric.rubric import the_rubric
from specvi_benchmark.splits.split import candidate_seed
from specvi_benchmark.trace_page import RecordedRun
from specvi_benchmark.traces import TraceRecord


def draw(run: RecordedRun, number: int | None, seed: int) -> tuple[TraceRecord, ...]:
    """Return the first sample of ``number`` questions, drawn at random; the same ones in every run of a split."""
    keys = sorted(run.traces, key=lambda key: _draw_of(f"{key[0]} {key[1]}", seed))
    return tuple(run.traces[key][0] for key in keys[:number])


def rated(run: RecordedRun, trace: TraceRecord, family: str | None = None) -> Rated:
    """Name an inspection. ``family`` is that of the run's model, where its name does not tell."""
    return Rated(
        run=run.folder.resolve().name,
        vetter=run.record.vetter,
        family=family or family_of(run.record.vetter),
        task=trace.task,
        id=trace.id,
        sample=trace.sample,
        trace_sha256=trace_sha256(trace),
    )


def empty_ratings(run: RecordedRun, traces: Sequence[TraceRecord], name: str) -> list[Rating]:
    """Return a line for each inspection, levels open."""
    rater, version = Rater(name=name, kind="person"), the_rubric().version
    return [Rating(rubric_version=version, rater=rater, of=rated(run, trace)) for trace in traces]


def pairs(
    first: RecordedRun, second: RecordedRun, number: int | None, seed: int
) -> tuple[tuple[TraceRecord, TraceRecord], ...]:
    """Return the inspections that two runs made of the same questions, drawn at random."""
    shared = [trace for trace in draw(first, None, seed) if (trace.task, trace.id) in second.traces]
    return tuple((trace, second.traces[trace.task, trace.id][0]) for trace in shared[:number])


def empty_preferences(
    first: RecordedRun, second: RecordedRun, chosen: Sequence[tuple[TraceRecord, TraceRecord]], name: str
) -> list[Preference]:
    """Return a line for each pair, the choice open."""
    rater, version = Rater(name=name, kind="person"), the_rubric().version
    return [
        Preference(rubric_version=version, rater=rater, first=rated(first, one), second=rated(second, other))
        for one, other in chosen
    ]


def _draw_of(key: str, seed: int) -> int:
    return int(np.random.default_rng(candidate_seed(seed, key)).integers(2**62))
