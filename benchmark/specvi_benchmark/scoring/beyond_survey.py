"""Builds the sections about a survey: its prevalence, parts of the candidates, the same objects in two surveys."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from specvi_benchmark.scoring import beyond
from specvi_benchmark.scoring.answers import TaskAnswers
from specvi_benchmark.scoring.beyond import Breakdown
from specvi_benchmark.scoring.ledger import Group, Rows
from specvi_benchmark.scoring.measure import Measure, measure, number
from specvi_benchmark.scoring.metrics import FloatArray
from specvi_benchmark.scoring.prevalence import (
    SECONDS_A_LOOK,
    Draws,
    Rates,
    Screen,
    hours_saved,
    looks_per_member,
    opened,
    purity_at,
    rate_draws,
    survey_drop,
    through,
)

SPECTRA = 100_000
"""Hours saved are told for so many spectra."""

SNR_EDGES = (5.0, 10.0, 20.0, 50.0)
UNKNOWN = "not known"
_SNR_NAMES = ("below 5", "5 to 10", "10 to 20", "20 to 50", "50 and above")


class _Bin(NamedTuple):
    """One line of a breakdown: a value, and which candidates of which task have it."""

    task: int
    by: Breakdown
    value: str


def survey_section(
    tasks: Sequence[TaskAnswers], prevalence: float, screen: Screen, *, resamples: int, seed: int = 0
) -> beyond.Survey:
    """Say what a search would give where a share ``prevalence`` of all spectra are members."""
    rows = task_rows(tasks)
    yes = rate_draws(rows, queue_counts=False, resamples=resamples, seed=seed)
    queue = rate_draws(rows, queue_counts=True, resamples=resamples, seed=seed)
    rng = np.random.default_rng([seed, 1])
    let = Rates(*(share.draws(resamples, rng)[:, np.newaxis] for share in screen))
    first = Rates(*(np.array(share.value) for share in screen))
    before = Draws(first, let)
    yes, queue = _behind(yes, before), _behind(queue, before)
    made = {
        "purity": _pair(yes, lambda rates: purity_at(rates, prevalence)),
        "completeness": _pair(yes, lambda rates: rates.members),
        "completeness_with_queue": _pair(queue, lambda rates: rates.members),
        "false_alarms": _pair(yes, lambda rates: rates.others),
        "opened": _pair(queue, lambda rates: opened(rates, prevalence)),
        "looks_per_member": _pair(queue, lambda rates: looks_per_member(rates, prevalence)),
        "hours_saved": (
            hours_saved(opened(first, prevalence), opened(queue.point, prevalence), SPECTRA),
            hours_saved(opened(let, prevalence), opened(queue.drawn, prevalence), SPECTRA),
        ),
    }
    return beyond.Survey(
        prevalence=prevalence,
        screen_completeness=screen.members.value,
        screen_acceptance=screen.others.value,
        seconds_a_look=SECONDS_A_LOOK,
        spectra=SPECTRA,
        tasks=tuple(
            beyond.TaskSurvey(
                track=task.group.track,
                task=task.group.task,
                **{name: _measure(point[place], drawn[:, place]) for name, (point, drawn) in made.items()},
                undefined={
                    name: _reason(task, float(point[place]))
                    for name, (point, _) in made.items()
                    if not np.isfinite(point[place])
                },
            )
            for place, task in enumerate(tasks)
        ),
    )


def breakdown_section(
    tasks: Sequence[TaskAnswers],
    by: Sequence[Breakdown],
    prevalence: float | None,
    *,
    resamples: int,
    seed: int = 0,
) -> tuple[beyond.BreakdownRow, ...]:
    """Say how many members and others are called YES in each bin of signal to noise, subtype or survey."""
    made = []
    for way in by:
        bins, rows = _binned(tasks, way)
        rates = rate_draws(rows, queue_counts=False, resamples=resamples, seed=seed)
        purity = None if prevalence is None else _pair(rates, lambda found: purity_at(found, prevalence))
        for place, found in enumerate(bins):
            here = rows.group == place
            made.append(
                beyond.BreakdownRow(
                    track=tasks[found.task].group.track,
                    task=tasks[found.task].group.task,
                    by=way,
                    value=found.value,
                    positives=int(rows.positive[here].sum()),
                    completeness=_measure(rates.point.members[place], rates.drawn.members[:, place]),
                    negatives=int((~rows.positive[here]).sum()),
                    false_alarms=_measure(rates.point.others[place], rates.drawn.others[:, place]),
                    purity=(
                        measure(np.nan) if purity is None else _measure(purity[0][place], purity[1][:, place])
                    ),
                )
            )
    return tuple(made)


def drop_section(tasks: Sequence[TaskAnswers]) -> tuple[beyond.SurveyDrop, ...]:
    """Compare surveys on the objects that a task shows from both; the reference is the survey with most rows.

    Of surveys with equally many it is LAMOST, whose spectra systems learn from, else the first by name.
    Of several visits in one survey the first by id is taken. Empty where no task shows an object twice.
    """
    made = []
    for task in tasks:
        names, sizes = np.unique(np.asarray(task.survey, dtype=str), return_counts=True)
        rows = {str(name): int(size) for name, size in zip(names, sizes, strict=True) if name}
        ordered = sorted(rows, key=lambda name: (-rows[name], not name.endswith("lamost"), name))
        for other in ordered[1:]:
            made.extend(_drops(task, ordered[0], other))
    return tuple(made)


def _drops(task: TaskAnswers, reference: str, other: str) -> list[beyond.SurveyDrop]:
    of_survey = np.asarray(task.survey, dtype=str)
    by_id = np.argsort(np.asarray(task.id), kind="stable")
    firsts = []
    for survey in (reference, other):
        rows = by_id[of_survey[by_id] == survey]
        codes, first = np.unique(task.object_code[rows], return_index=True)
        firsts.append(dict(zip(codes.tolist(), rows[first].tolist(), strict=True)))
    both = sorted(firsts[0].keys() & firsts[1].keys())
    here, there = (np.array([rows[code] for code in both], dtype=np.int64) for rows in firsts)
    same = task.positive[here] == task.positive[there]  # a truth that differs is not one question
    here, there = here[same], there[same]
    if len(here) == 0:
        return []
    truth = task.positive[here]
    # Under the ranked rule a non-answer is wrong: YES on a negative, NO on a positive.
    wrong = np.where(task.answered, task.called_yes, ~task.positive)
    found = survey_drop(truth, wrong[here], wrong[there])
    return [
        beyond.SurveyDrop(
            track=task.group.track,
            task=task.group.task,
            metric=name,
            reference_survey=reference,
            other_survey=other,
            objects=len(here),
            positives=int(truth.sum()),
            reference=number(drop.reference),
            other=number(drop.other),
            drop=measure(drop.drop, drop.low, drop.high),
        )
        for name, drop in found.items()
    ]


def task_rows(tasks: Sequence[TaskAnswers]) -> Rows:
    """Return the answers of several tasks as rows, one group a task."""
    return Rows(
        groups=tuple(task.group for task in tasks),
        group=np.repeat(np.arange(len(tasks)), [len(task.positive) for task in tasks]),
        positive=np.concatenate([task.positive for task in tasks]),
        call=np.concatenate([task.call for task in tasks]),
        object_code=np.concatenate([task.object_code for task in tasks]),
    )


def _binned(tasks: Sequence[TaskAnswers], by: Breakdown) -> tuple[list[_Bin], Rows]:
    """Return the bins in order, and the rows with bins in place of tasks."""
    values = [_values(task, by) for task in tasks]
    order = (*_SNR_NAMES, UNKNOWN)
    bins = [
        _Bin(place, by, value)
        for place, column in enumerate(values)
        for value in sorted(set(column), key=lambda name: (order.index(name) if name in order else -1, name))
    ]
    number_of = {found: number for number, found in enumerate(bins)}
    rows = task_rows(tasks)
    group = np.array(
        [number_of[_Bin(place, by, value)] for place, column in enumerate(values) for value in column]
    )
    names = tuple(Group(tasks[found.task].group.track, tasks[found.task].group.task) for found in bins)
    return bins, Rows(names, group, rows.positive, rows.call, rows.object_code)


def _values(task: TaskAnswers, by: Breakdown) -> list[str]:
    if by == "snr":
        places = np.searchsorted(SNR_EDGES, task.snr, side="right")
        return [
            UNKNOWN if np.isnan(snr) else _SNR_NAMES[place]
            for snr, place in zip(task.snr, places, strict=True)
        ]
    return [value or UNKNOWN for value in (task.subtype if by == "subtype" else task.survey)]


def _reason(task: TaskAnswers, value: float) -> str:
    if not task.positive.any() or task.positive.all():
        return "no negative" if task.positive.any() else "no positive"
    return "no member is found" if np.isinf(value) else "nothing is passed on"


def _behind(draws: Draws, screen: Draws) -> Draws:
    return Draws(through(draws.point, *screen.point), through(draws.drawn, *screen.drawn))


def _pair(draws: Draws, value_of: Callable[[Rates], FloatArray]) -> tuple[FloatArray, FloatArray]:
    return value_of(draws.point), value_of(draws.drawn)


def _measure(point: float, drawn: FloatArray) -> Measure:
    """Return the point with the central 95 % of its draws; None where undefined or infinite."""
    if not np.isfinite(point):
        return measure(np.nan)
    finite = drawn[np.isfinite(drawn)]
    low, high = np.quantile(finite, [0.025, 0.975])
    return measure(float(point), min(float(low), float(point)), max(float(high), float(point)))
