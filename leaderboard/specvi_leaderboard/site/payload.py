"""What the pages know, as small as it can be said: shares as whole ten-thousandths, calls as single digits."""

import base64
import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from specvi_benchmark.evidence.decisive import DECISIVE
from specvi_benchmark.lines import all_bands, all_lines
from specvi_benchmark.scoring import CALLS, Results
from specvi_benchmark.scoring.beyond import ProbabilityScore
from specvi_benchmark.scoring.beyond_probability import DEFERRED
from specvi_benchmark.scoring.measure import Measure
from specvi_benchmark.scoring.results import TaskScore
from specvi_benchmark.tasks import TASK_KEYS, get_task
from specvi_leaderboard.board import Board, OtherMetric, Standing, TrackTable
from specvi_leaderboard.entry import System
from specvi_leaderboard.published import board_id
from specvi_leaderboard.site.page import of_selector_family

UNITS = 10_000
"""A share of 1 in the pages' data."""

ERROR_UNITS = 100_000
"""A standard error of 1 there."""


def script(name: str, value: object) -> str:
    """Return the file that gives a page some data: a script, since pages opened from disk may not fetch.

    Nothing in it can end the script or begin a comment: what a browser could take for markup is written as an escape.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return f"SpecVI.put({json.dumps(name)},{text});\n"


def site_data(title: str, boards: Sequence[Board], withdrawn: Iterable[object]) -> dict[str, Any]:
    """Return what every page knows: the boards, and how calls are numbered."""
    return {
        "title": title,
        "calls": CALLS,
        "units": UNITS,
        "errorUnits": ERROR_UNITS,
        "tasks": {key: get_task(key).class_name for key in TASK_KEYS},
        "withdrawn": list(withdrawn),
        "boards": [
            {
                "id": board_id(board),
                "name": board.split.name,
                "version": board.split.version,
                "systems": len(board.systems),
                "simulated": board.simulated,
            }
            for board in boards
        ],
    }


def tasks_data() -> dict[str, Any]:
    """Return the task files, which lines decide each, and the lists of lines and bands."""
    return {
        "tasks": {
            key: get_task(key).model_dump(mode="json")
            | {"decisive": [item.species for item in DECISIVE[key]]}
            for key in TASK_KEYS
        },
        "lines": [[line.name, line.vacuum_AA, line.groups] for line in all_lines()],
        "bands": [[band.name, band.vacuum_AA, band.species] for band in all_bands()],
    }


def board_data(board: Board, traced: Iterable[str], example: object) -> dict[str, Any]:
    """Return the main table: every system once, and its scores in each track.

    ``traced`` are ids of systems with recorded inspections; ``example`` is the one to look at first, or None.
    """
    places = {system.name: place for place, system in enumerate(board.systems)}
    traces = set(traced)
    return {
        "id": board_id(board),
        "split": board.split.model_dump(mode="json"),
        "simulated": board.simulated,
        "rule": board.rule,
        "scoring": board.scoring_version,
        "date": board.date,
        "lacking": board.lacking,
        "deferred": DEFERRED,
        "example": example,
        "systems": [_system(system) | {"traced": system.about.id in traces} for system in board.systems],
        "tracks": [_track(board, table, places) for table in board.tracks],
    }


def errors_data(board: Board) -> dict[str, list[int]]:
    """Return track → standard errors of the differences between its ranked systems, in the order of `TrackTable.errors`."""
    return {table.track: _error_units(table.errors) for table in board.tracks}


def ranking_data(board: Board, metric: OtherMetric) -> dict[str, Any]:
    """Return track → its ranking by another metric: systems in order, ranks, ties and errors; and why others have none."""
    places = {system.name: place for place, system in enumerate(board.systems)}
    return {
        table.track: {
            "s": [places[row.system] for row in ranking.ranked],
            "ranks": [[row.rank_best, row.rank_worst] for row in ranking.ranked],
            "ties": _ties(ranking.ranked),
            "errors": _error_units(ranking.errors),
            "why": {places[row.system]: row.reason for row in ranking.unranked},
        }
        for table in board.tracks
        for ranking in table.others
        if ranking.metric == metric
    }


def deferral_data(board: Board) -> dict[str, list[list[list[int | None] | None]]]:
    """Return track → system, in the order of the board → task → purity at each share in people's hands."""
    return {
        table.track: [
            [_purities(system.results, board.task(table.track, key, system.name)) for key in table.tasks]
            for system in board.systems
        ]
        for table in board.tracks
    }


def system_data(system: System) -> dict[str, Any]:
    """Return everything the page of one system shows beside what the main table knows."""
    results = system.results
    return {
        "id": system.about.id,
        "config": dict(system.config),
        "seed": system.seed,
        "suite": system.suite,
        "started": system.started,
        "ended": system.ended,
        "incomplete": results.incomplete,
        "partial": results.partial.model_dump(mode="json") if results.partial else None,
        "outcomesUndeclared": results.outcomes_undeclared,
        "macro": [score.model_dump(mode="json") for score in results.macro],
        "tasks": [_task(results, score) for score in results.tasks],
    }


def shares(measure: Measure | None) -> list[int | None]:
    """Return value and ends of the interval; three times None where there is nothing."""
    return (
        [None, None, None]
        if measure is None
        else [units(measure.value), units(measure.low), units(measure.high)]
    )


def units(value: float | None) -> int | None:
    """Return a share in the pages' units."""
    return None if value is None else round(value * UNITS)


def _system(system: System) -> dict[str, Any]:
    about = system.about.model_dump(mode="json")
    return {key: value for key, value in about.items() if value not in (None, [], {})} | {
        "name": system.name,
        "trivial": system.trivial,
        "selector": of_selector_family(system.config),
        "seconds": system.seconds,
        "usd": None if system.cost_usd is None else 1000 * system.cost_usd,
    }


def _track(board: Board, table: TrackTable, places: dict[str, int]) -> dict[str, Any]:
    first = [board.task(table.track, key, board.systems[0].name) for key in table.tasks]
    standings = {row.system: row for row in table.ranked}
    reasons = {row.system: row.reason for row in table.unranked}
    lines = []
    for name in table.order:
        standing, results = standings.get(name), board.system(name).results
        macro = board.macro(table.track, name).ranked
        scores = [board.task(table.track, key, name) for key in table.tasks]
        lines.append(
            {
                "s": places[name],
                "rank": [standing.rank_best, standing.rank_worst] if standing else None,
                "why": reasons.get(name),
                "f1": shares(macro.f1),
                "acc": shares(macro.accuracy),
                "cells": [_cell(results, score) for score in scores],
            }
        )
    return {
        "track": table.track,
        "tasks": table.tasks,
        "n": [score.n for score in first],
        "positives": [score.positives for score in first],
        "ties": _ties(table.ranked),
        "lines": lines,
    }


def _error_units(errors: Iterable[float]) -> list[int]:
    return [round(error * ERROR_UNITS) for error in errors]


def _ties(ranked: Sequence[Standing]) -> str:
    """Return a bit for each pair of ranked systems, set where they are tied: of the first with each below it, and so on."""
    names = [row.system for row in ranked]
    tied = {row.system: set(row.tied_with) for row in ranked}
    bits = [names[j] in tied[names[i]] for i in range(len(names)) for j in range(i + 1, len(names))]
    return base64.b64encode(np.packbits(np.array(bits, dtype=bool)).tobytes()).decode("ascii")


def _cell(results: Results, score: TaskScore) -> list[int | None]:
    """Return F1 and accuracy, the YES among positives and among negatives, Brier, and the share of decisive evidence."""
    probability = _raw(results, score)
    yes = [score.ledger[truth]["YES"] for truth in ("YES", "NO")]
    evidence = [
        part.decisive
        for part in (results.evidence.tasks if results.evidence else ())
        if (part.track, part.task) == (score.track, score.task)
    ]
    decisive = [evidence[0].found, evidence[0].n] if evidence else [None, None]
    return [
        *shares(score.ranked.f1),
        *shares(score.ranked.accuracy),
        *yes,
        *shares(probability.brier if probability else None),
        *decisive,
    ]


def _purities(results: Results, score: TaskScore) -> list[int | None] | None:
    """Return the catalogue's purity at each share in people's hands; None without probabilities."""
    for part in results.beyond.deferral if results.beyond else ():
        if (part.track, part.task) == (score.track, score.task):
            for version in part.versions:
                if version.version == "raw":
                    return [units(point.purity) for point in version.points]
    return None


def _raw(results: Results, score: TaskScore) -> ProbabilityScore | None:
    for part in results.beyond.probability if results.beyond else ():
        if (part.track, part.task) == (score.track, score.task):
            return next((made for made in part.versions if made.version == "raw"), None)
    return None


def _task(results: Results, score: TaskScore) -> dict[str, Any]:
    here = (score.track, score.task)
    probability = _raw(results, score)
    beyond, evidence = results.beyond, results.evidence
    deferral = (
        next((part for part in beyond.deferral if (part.track, part.task) == here), None) if beyond else None
    )
    held = (
        next((part for part in evidence.tasks if (part.track, part.task) == here), None) if evidence else None
    )
    raw = next((made for made in deferral.versions if made.version == "raw"), None) if deferral else None
    return score.model_dump(mode="json") | {
        "probability": probability.model_dump(mode="json") if probability else None,
        "deferral": [list(point.model_dump().values()) for point in raw.points] if raw else None,
        "evidence": held.model_dump(mode="json") if held else None,
    }
