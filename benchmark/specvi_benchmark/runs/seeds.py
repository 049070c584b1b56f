"""What a training gives over several seeds: mean and spread, so that nobody reports the best one."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.files import StrictModel
from specvi_benchmark.runs.evaluate import match_log, score_matched
from specvi_benchmark.runs.record import load_split, read_run_record
from specvi_benchmark.scoring import Results
from specvi_benchmark.scoring.measure import Measure

MACRO = "macro"


class Seeds(StrictModel):
    """F1 of one vetter on one track and task (or ``macro``) over the seeds of its runs.

    ``f1`` has ``mean``, ``sd`` (of the sample, n − 1), ``least``, ``most``, and ``low`` and ``high``, the ends
    of the 95 % interval by objects, each averaged over the seeds. None where a run's F1 is undefined, or (sd) where
    there is one seed.
    """

    vetter: str
    track: str
    task: str
    seeds: tuple[int, ...]
    f1: Mapping[str, float | None]


def over_seeds(folders: Sequence[Path]) -> tuple[Seeds, ...]:
    """Score runs, and put those of one vetter together; a run counts once for its seed.

    A run with too many errors in a task is left out of it and of its track's macro average, as from any ranking.

    Raises
    ------
    UserError
        Runs over different candidates, or two runs of one vetter with one seed.
    """
    records = {folder: read_run_record(folder) for folder in folders}
    splits = {record.split.fingerprint for record in records.values()}
    if len(splits) > 1:
        raise UserError(
            "the runs are not over the same candidates",
            where=examples([str(folder) for folder in folders]),
            expected="one split fingerprint",
            got=f"{len(splits)}",
        )
    split = load_split(next(iter(records.values())).split)
    groups: dict[str, dict[int, Results]] = {}
    for folder, record in records.items():
        seeds = groups.setdefault(record.vetter.partition(":")[0], {})
        if record.seed in seeds:
            raise UserError(
                "two runs of one vetter have one seed",
                where=folder,
                got=f"{record.vetter}, seed {record.seed}",
            )
        seeds[record.seed] = score_matched(match_log(folder, split))
    return tuple(row for vetter, runs in groups.items() for row in _rows(vetter, runs))


def _rows(vetter: str, runs: Mapping[int, Results]) -> list[Seeds]:
    measures: dict[tuple[str, str], dict[int, Measure]] = {}
    for seed, results in runs.items():
        failed = {name.partition("/")[0] for name in results.incomplete}
        for macro in results.macro:
            if macro.track not in failed:
                measures.setdefault((macro.track, MACRO), {})[seed] = macro.ranked.f1
        for task in results.tasks:
            if f"{task.track}/{task.task}" not in results.incomplete:
                measures.setdefault((task.track, task.task), {})[seed] = task.ranked.f1
    return [
        Seeds(
            vetter=vetter,
            track=track,
            task=task,
            seeds=tuple(sorted(found)),
            f1=_spread(tuple(found.values())),
        )
        for (track, task), found in measures.items()
    ]


def _spread(f1: Sequence[Measure]) -> dict[str, float | None]:
    values = np.array([np.nan if measure.value is None else measure.value for measure in f1])
    low, high = (
        np.mean([np.nan if (end := getattr(measure, name)) is None else end for measure in f1])
        for name in ("low", "high")
    )
    found = {
        "mean": values.mean(),
        "sd": values.std(ddof=1) if len(values) > 1 else np.nan,
        "least": values.min(),
        "most": values.max(),
        "low": low,
        "high": high,
    }
    return {name: float(value) if np.isfinite(value) else None for name, value in found.items()}
