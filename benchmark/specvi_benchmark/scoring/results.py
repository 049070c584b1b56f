"""Everything a score says, frozen; it is also what ``results.json`` holds."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from specvi_benchmark.files import StrictModel, parse_json, read_text, refuse_newer, validate, write_json
from specvi_benchmark.scoring.beyond import BeyondAccuracy
from specvi_benchmark.scoring.evidence import Evidence
from specvi_benchmark.scoring.intervals import LEVEL, RESAMPLES, Method, draw_tables, interval, recentred
from specvi_benchmark.scoring.ledger import CALLS, NEGATIVE, POSITIVE, Group, IntArray, Rows, ledgers
from specvi_benchmark.scoring.measure import Measure, number
from specvi_benchmark.scoring.metrics import (
    ERROR_LIMIT,
    FN,
    FP,
    RULE,
    TN,
    TP,
    Metrics,
    Rule,
    error_share,
    macro,
    metrics,
    tables,
)
from specvi_benchmark.tasks.task import Track

SCHEMA_VERSION = 3
"""2: `Results.beyond`; 3: `Results.evidence`. An older file is read as one without them."""
SCORING_VERSION = 1
"""Raised when the same predictions would get another number. Scores of two versions are not compared."""


class Measures(StrictModel):
    """The four metrics with intervals."""

    accuracy: Measure
    precision: Measure
    recall: Measure
    f1: Measure


class Values(StrictModel):
    """The four metrics as numbers; None where undefined."""

    accuracy: float | None
    precision: float | None
    recall: float | None
    f1: float | None


class TaskScore(StrictModel):
    """One task of one track.

    ``ledger`` is truth (YES, NO) → call → count, over all of `CALLS`; ``tp`` … ``tn`` follow from it by the
    ranked rule. ``non_answer_is_no`` and ``best`` are the same metrics under the other two rules; ``lenient``
    are those of the lenient reading of the answers under the ranked rule, None where nothing was read leniently.
    """

    track: Track
    task: str
    n: int
    positives: int
    ledger: Mapping[str, Mapping[str, int]]
    tp: int
    fp: int
    fn: int
    tn: int
    ranked: Measures
    interval_method: Method
    non_answer_is_no: Values
    best: Values
    lenient: Values | None = None


class MacroScore(StrictModel):
    """The mean over the tasks of one track; undefined where a part is."""

    track: Track
    tasks: tuple[str, ...]
    ranked: Measures
    non_answer_is_no: Values
    best: Values
    lenient: Values | None = None


class ScoredSplit(StrictModel):
    """Which candidates were scored, and what tells their objects apart.

    ``object_id_sources`` counts candidates by where their object id comes from: the intervals take two
    candidates for one object when their ids are equal.
    """

    name: str
    version: str
    fingerprint: str
    parts: tuple[str, ...]
    object_id_sources: Mapping[str, int]


class Admitted(StrictModel):
    """Rows a partial score let pass: missing ones count as `error`, badly spelled ones as `unparsed`."""

    missing: int
    badly_spelled: int


class Intervals(StrictModel):
    """How the intervals were made."""

    level: float
    resamples: int
    seed: int
    objects: int


class Results(StrictModel):
    """The score of one system on one split.

    ``incomplete`` lists the tasks with too many errors (track/task): such a result is not ranked.
    ``partial`` is there when faults were admitted. ``outcomes_undeclared``: the answers came without
    outcomes, so that every empty one counts as `unparsed`. ``beyond`` is what `specvi score` adds: probability,
    deferral and the survey; ``evidence`` holds the claims in the traces against the flux.
    """

    schema_version: Literal[3] = 3
    scoring_version: int
    split: ScoredSplit
    rule: str
    incomplete: tuple[str, ...]
    partial: Admitted | None
    outcomes_undeclared: bool
    intervals: Intervals
    tasks: tuple[TaskScore, ...]
    macro: tuple[MacroScore, ...]
    beyond: BeyondAccuracy | None = None
    evidence: Evidence | None = None

    @property
    def rankable(self) -> bool:
        """Return whether this result may stand in a ranking."""
        return not self.incomplete


def score(
    rows: Rows,
    split: ScoredSplit,
    *,
    partial: Admitted | None = None,
    outcomes_undeclared: bool = False,
    lenient: IntArray | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Results:
    """Score the answers of one system. The same arguments give the same results, to the last digit.

    Parameters
    ----------
    rows
        What the system answered, and the truth.
    split, partial, outcomes_undeclared
        What stands in the results about where the rows come from.
    lenient
        ``(n,)`` the calls of the lenient reading, as `Rows.call`; reported and never ranked.
    resamples, seed
        Of the intervals.
    """
    counts = ledgers(rows)
    draws, methods = draw_tables(rows, resamples=resamples, seed=seed)
    by_rule = {rule: metrics(tables(counts, rule)) for rule in Rule}
    drawn = metrics(draws)
    read_leniently = None
    if lenient is not None:
        read_leniently = metrics(tables(ledgers(replace(rows, call=lenient)), Rule.RANKED))
    incomplete = np.flatnonzero(error_share(counts) > ERROR_LIMIT)
    return Results(
        scoring_version=SCORING_VERSION,
        split=split,
        rule=RULE,
        incomplete=tuple("/".join(rows.groups[place]) for place in incomplete),
        partial=partial,
        outcomes_undeclared=outcomes_undeclared,
        intervals=Intervals(
            level=LEVEL, resamples=resamples, seed=seed, objects=len(np.unique(rows.object_code))
        ),
        tasks=tuple(
            _task_score(
                group,
                counts[place],
                _at(by_rule, place),
                _place(drawn, place),
                methods[place],
                _lenient(read_leniently, [place]),
            )
            for place, group in enumerate(rows.groups)
        ),
        macro=tuple(_macro_scores(rows.groups, by_rule, drawn, read_leniently)),
    )


def read_results(path: Path) -> Results:
    """Read a ``results.json``."""
    return validate(Results, _migrated(parse_json(read_text(path), path), path), path)


def _migrated(content: Any, path: Path) -> Any:
    """Return an older file's content in the present schema; refuse a newer one."""
    refuse_newer(content, SCHEMA_VERSION, path)
    version = content.get("schema_version") if isinstance(content, dict) else None
    return content | {"schema_version": SCHEMA_VERSION} if version in {1, 2} else content


def write_results(path: Path, results: Results) -> None:
    """Write a ``results.json`` atomically."""
    write_json(path, results.model_dump(mode="json"))


def _task_score(
    group: Group,
    counts: IntArray,
    by_rule: Mapping[Rule, Metrics],
    drawn: Metrics,
    method: Method,
    lenient: Values | None,
) -> TaskScore:
    table = tables(counts, Rule.RANKED)
    return TaskScore(
        track=group.track,
        task=group.task,
        n=int(counts.sum()),
        positives=int(counts[POSITIVE].sum()),
        ledger={
            truth: dict(zip(CALLS, counts[row].tolist(), strict=True))
            for truth, row in (("YES", POSITIVE), ("NO", NEGATIVE))
        },
        tp=int(table[TP]),
        fp=int(table[FP]),
        fn=int(table[FN]),
        tn=int(table[TN]),
        ranked=_measures(by_rule[Rule.RANKED], drawn),
        interval_method=method,
        non_answer_is_no=_values(by_rule[Rule.NON_ANSWER_IS_NO]),
        best=_values(by_rule[Rule.BEST]),
        lenient=lenient,
    )


def _macro_scores(
    groups: tuple[Group, ...], by_rule: Mapping[Rule, Metrics], drawn: Metrics, lenient: Metrics | None
) -> list[MacroScore]:
    found = []
    for track in get_args(Track):
        members = [place for place, group in enumerate(groups) if group.track == track]
        if members:
            means = {rule: macro(values, members) for rule, values in by_rule.items()}
            mean_draws = macro(drawn, members)
            if len(members) > 1:  # the mean over one task is that task
                mean_draws = recentred(means[Rule.RANKED], mean_draws)
            found.append(
                MacroScore(
                    track=track,
                    tasks=tuple(groups[place].task for place in members),
                    ranked=_measures(means[Rule.RANKED], mean_draws),
                    non_answer_is_no=_values(means[Rule.NON_ANSWER_IS_NO]),
                    best=_values(means[Rule.BEST]),
                    lenient=_lenient(lenient, members),
                )
            )
    return found


def _lenient(values: Metrics | None, members: list[int]) -> Values | None:
    return None if values is None else _values(macro(values, members))


def _at(by_rule: Mapping[Rule, Metrics], place: int) -> dict[Rule, Metrics]:
    return {rule: _place(values, place) for rule, values in by_rule.items()}


def _place(values: Metrics, place: int) -> Metrics:
    return Metrics(*(array[..., place] for array in values))


def _measures(points: Metrics, drawn: Metrics) -> Measures:
    made = {}
    for name, point, draws in zip(Metrics._fields, points, drawn, strict=True):
        low, high = interval(float(point), draws)
        made[name] = Measure(value=number(point), low=number(low), high=number(high))
    return Measures(**made)


def _values(points: Metrics) -> Values:
    return Values(**{name: number(point) for name, point in zip(Metrics._fields, points, strict=True)})
