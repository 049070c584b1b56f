"""Scores what lies beyond accuracy: reads the calibration run, and hands arrays to `specvi_benchmark.scoring`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.runs.evaluate import match_run, rows_of
from specvi_benchmark.runs.matching import MatchedPredictions
from specvi_benchmark.runs.record import read_run_record
from specvi_benchmark.scoring.answers import TaskAnswers
from specvi_benchmark.scoring.beyond import BeyondAccuracy, Breakdown, CalibrationSource
from specvi_benchmark.scoring.beyond_probability import (
    Probabilities,
    deferral_section,
    probabilities,
    probability_section,
    promise_section,
)
from specvi_benchmark.scoring.beyond_survey import breakdown_section, drop_section, survey_section
from specvi_benchmark.scoring.intervals import RESAMPLES
from specvi_benchmark.scoring.ledger import Group
from specvi_benchmark.scoring.prevalence import NO_SCREEN, Screen
from specvi_benchmark.splits import Candidate

FALSE_SHARE = 0.1
_PARTS = ("cal", "dev")


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """A run whose labels may be used: probabilities are mended and promises made on it."""

    source: CalibrationSource
    tasks: Mapping[Group, TaskAnswers]
    objects: frozenset[str]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a user wants to know beyond accuracy; see `specvi_benchmark.scoring.beyond` for the words."""

    prevalence: float | None = None
    trained_at: float | None = None
    screen: Screen = NO_SCREEN
    calibration: Calibration | None = None
    q: float = FALSE_SHARE
    by: tuple[Breakdown, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Beyond:
    """The sections for ``results.json``, with the arrays that tables and figures are made of."""

    sections: BeyondAccuracy
    tasks: tuple[TaskAnswers, ...]
    probabilities: tuple[Probabilities, ...]


def beyond_accuracy(matched: MatchedPredictions, asked: Asked, *, resamples: int = RESAMPLES) -> Beyond:
    """Answer everything beyond accuracy that the predictions and the options allow."""
    tasks = answers_of(matched)
    calibration = asked.calibration
    balanced = calibration is not None and calibration.source.part != "cal"
    twins = [None if calibration is None else calibration.tasks.get(task.group) for task in tasks]
    found = tuple(
        probabilities(task, twin, trained_at=asked.trained_at, balanced=balanced)
        for task, twin in zip(tasks, twins, strict=True)
    )
    sections = BeyondAccuracy(
        trained_at=asked.trained_at,
        prevalence=asked.prevalence,
        probability=tuple(map(probability_section, tasks, found)),
        deferral=tuple(
            deferral_section(task, made, asked.prevalence) for task, made in zip(tasks, found, strict=True)
        ),
        calibration=None if calibration is None else _with_warnings(calibration, matched),
        promises=()
        if calibration is None
        else tuple(
            promise_section(task, twin, q=asked.q, prevalence=asked.prevalence, balanced=balanced)
            for task, twin in zip(tasks, twins, strict=True)
        ),
        survey=None
        if asked.prevalence is None
        else survey_section(tasks, asked.prevalence, asked.screen, resamples=resamples),
        breakdown=breakdown_section(tasks, asked.by, asked.prevalence, resamples=resamples),
        survey_drops=drop_section(tasks),
    )
    return Beyond(sections, tasks, found)


def read_calibration(folder: Path, scored: MatchedPredictions, run: Path | None) -> Calibration:
    """Read a run over the cal or dev part.

    Parameters
    ----------
    scored
        The predictions to be scored: none of their candidates may be calibrated on.
    run
        Their run folder; both runs must be of one system. None for a file, of which nothing is known.

    Raises
    ------
    UserError
        Another part, another system, or candidates in common.
    """
    record = read_run_record(folder)
    part = record.split.part
    if part not in _PARTS:
        raise UserError(
            "this run can't calibrate",
            where=folder,
            expected="a run over the part cal (or dev), which is neither trained on nor scored",
            got=part or "all parts",
            fix="specvi run --part cal with the same vetter",
        )
    if run is not None:
        other = read_run_record(run)
        if (other.vetter, other.config) != (record.vetter, record.config):
            raise UserError(
                "the calibration run is of another system",
                where=folder,
                expected=f"vetter {other.vetter} with the same configuration",
                got=f"vetter {record.vetter}",
                fix="run the same vetter, with the same options, over the part cal",
            )
    matched = match_run(folder)
    if shared := _ids(matched) & _ids(scored):
        raise UserError(
            "candidates are both scored and calibrated on", where=folder, got=examples(sorted(shared))
        )
    source = CalibrationSource(
        run=folder.name,
        part=part,
        fingerprint=matched.split.fingerprint,
        surveys=_surveys(matched),
        warnings=(),
    )
    tasks = {task.group: task for task in answers_of(matched)}
    return Calibration(source, tasks, _objects(matched))


def answers_of(matched: MatchedPredictions) -> tuple[TaskAnswers, ...]:
    """Return the arrays of each task, in the order of the score's own tables."""
    rows = rows_of(matched)
    candidates = matched.split.candidates
    snr = np.array([np.nan if (found := c.spectrum.snr) is None else found for c in candidates])
    tasks = []
    for place, group in enumerate(rows.groups):
        here = np.flatnonzero(rows.group == place)
        members = [candidates[row] for row in here]
        tasks.append(
            TaskAnswers(
                group=group,
                id=[c.id for c in members],
                positive=rows.positive[here],
                call=rows.call[here],
                p_yes=rows.p_yes_or_nan[here],
                object_code=rows.object_code[here],
                snr=snr[here],
                survey=[c.spectrum.survey for c in members],
                subtype=[subtype_of(c) for c in members],
            )
        )
    return tuple(tasks)


def _with_warnings(calibration: Calibration, scored: MatchedPredictions) -> CalibrationSource:
    """Return the source with what makes its promises doubtful on these candidates."""
    source = calibration.source
    warnings = []
    if others := sorted(set(_surveys(scored)) - set(source.surveys)):
        warnings.append(
            f"calibrated on {', '.join(source.surveys) or 'no named survey'}, scored also on "
            f"{', '.join(others)}: candidates of two surveys are not exchangeable, and no promise holds there"
        )
    if shared := len(calibration.objects & _objects(scored)):
        warnings.append(f"{shared} objects are both calibrated on and scored: promises are too good there")
    if source.part != "cal":
        warnings.append(
            "the part dev has another share of positives by design: mended probabilities are shifted to the "
            "share in the scored set, and no purity is promised"
        )
    return source.model_copy(update={"warnings": tuple(warnings)})


def _ids(matched: MatchedPredictions) -> set[str]:
    return {candidate.id for candidate in matched.split.candidates}


def _objects(matched: MatchedPredictions) -> frozenset[str]:
    return frozenset(candidate.object_id for candidate in matched.split.candidates)


def _surveys(matched: MatchedPredictions) -> tuple[str, ...]:
    return tuple(sorted({candidate.spectrum.survey for candidate in matched.split.candidates} - {""}))


def subtype_of(candidate: Candidate) -> str:
    """Return the subtype that the label's evidence names, under ``subtype`` or ``kind``; "" without."""
    for name in ("subtype", "kind"):
        if isinstance(value := candidate.label_evidence.get(name), str):
            return value
    return ""
