"""The one table of an ablation: F1 of each arm, a mean over tasks and seeds, with what chance could have made of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from specvi_benchmark.runs.evaluate import match_log, rows_of
from specvi_benchmark.runs.record import load_split, read_run_record
from specvi_benchmark.scoring import CALLS, Rows
from specvi_benchmark.scoring.metrics import metrics
from specvi_benchmark.splits import Split
from specvi_training.ablate.plan import Scored

RESAMPLES = 2000
LEVEL = 0.95

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Line:
    """One arm.

    Attributes
    ----------
    f1, low, high
        Mean over tasks and seeds, and a 95 % interval of it.
    by_task, by_seed
        Means over the rest.
    answered
        Share of candidates with an answer; the others count as wrong.
    calls
        Of the tool, a candidate.
    """

    arm: str
    f1: float
    low: float
    high: float
    by_task: Mapping[str, float]
    by_seed: Mapping[int, float]
    answered: float
    calls: float


def lines(runs: Sequence[Scored]) -> list[Line]:
    """Return a line for each arm, in the order of the runs.

    Intervals are percentiles of 2000 draws. In each, objects are drawn with replacement, the same ones for every seed
    of a task; then seeds are (Efron & Tibshirani 1993, chapter 8). With three seeds the latter is coarse.
    """
    splits: dict[str, Split] = {}
    return [
        _line(arm, [run for run in runs if run.arm == arm], splits)
        for arm in dict.fromkeys(r.arm for r in runs)
    ]


def _line(arm: str, runs: Sequence[Scored], splits: dict[str, Split]) -> Line:
    tasks = tuple(dict.fromkeys(run.task for run in runs))
    seeds = tuple(dict.fromkeys(run.seed for run in runs))
    points = np.zeros((len(tasks), len(seeds)))
    draws = np.zeros((RESAMPLES, len(tasks), len(seeds)))
    answered: list[float] = []
    calls: list[float] = []
    for run in runs:
        rows, used = _read(run.run, splits)
        place = tasks.index(run.task), seeds.index(run.seed)
        points[place] = _f1(rows, np.ones((1, len(rows.call))))[0]
        draws[:, *place] = _f1(rows, _weights(rows, seed=place[0]))
        answered.append(float(np.isin(rows.call, [CALLS.index("YES"), CALLS.index("NO")]).mean()))
        calls.append(used)
    drawn = np.random.default_rng(len(tasks)).integers(len(seeds), size=(RESAMPLES, len(seeds)))
    means = draws.mean(axis=1)[np.arange(RESAMPLES)[:, None], drawn].mean(axis=1)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Line(
        arm=arm,
        f1=float(points.mean()),
        low=float(low),
        high=float(high),
        by_task=dict(zip(tasks, points.mean(axis=1).tolist(), strict=True)),
        by_seed=dict(zip(seeds, points.mean(axis=0).tolist(), strict=True)),
        answered=float(np.mean(answered)),
        calls=float(np.mean(calls)),
    )


def _read(folder: Path, splits: dict[str, Split]) -> tuple[Rows, float]:
    reference = read_run_record(folder).split
    split = splits.setdefault(reference.fingerprint, load_split(reference))
    matched = match_log(folder, split)
    used = [prediction.tool_calls or 0 for prediction in matched.predictions]
    return rows_of(matched), float(np.mean(used))


def _weights(rows: Rows, seed: int) -> Floats:
    """Return how often each row is drawn, (resamples, rows): objects with replacement, within either truth."""
    rng = np.random.default_rng(seed)
    weights = np.zeros((RESAMPLES, len(rows.call)))
    for truth in (True, False):
        chosen = rows.positive == truth
        names, place = np.unique(rows.object_code[chosen], return_inverse=True)
        times = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size=RESAMPLES)
        weights[:, chosen] = times[:, place]
    return weights


def _f1(rows: Rows, weights: Floats) -> Floats:
    """Return F1 of YES in each draw; a candidate without an answer counts as wrong."""
    said_yes, said_no = rows.call == CALLS.index("YES"), rows.call == CALLS.index("NO")
    positive = rows.positive
    cells = [positive & said_yes, ~positive & ~said_no, positive & ~said_yes, ~positive & said_no]
    return np.nan_to_num(metrics(weights @ np.stack(cells, axis=1).astype(float)).f1)


def markdown(found: Sequence[Line]) -> str:
    """Return the table."""
    tasks = tuple(found[0].by_task)
    head = ["arm", "F1 [95 %]", *(f"F1 {task}" for task in tasks), "each seed", "answered", "calls"]
    body = [
        [
            line.arm,
            f"{line.f1:.3f} [{line.low:.3f}, {line.high:.3f}]",
            *(f"{line.by_task[task]:.3f}" for task in tasks),
            ", ".join(f"{value:.3f}" for value in line.by_seed.values()),
            f"{line.answered:.1%}",
            f"{line.calls:.2f}",
        ]
        for line in found
    ]
    rule = ["---"] * len(head)
    return "".join(f"| {' | '.join(row)} |\n" for row in [head, rule, *body])
