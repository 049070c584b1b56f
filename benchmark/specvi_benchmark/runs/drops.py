"""What systems lose from the survey they know to others, on the same objects, averaged over tasks."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from specvi_benchmark.files import StrictModel
from specvi_benchmark.runs.beyond import answers_of
from specvi_benchmark.runs.compared import distinct_names
from specvi_benchmark.runs.evaluate import match_run
from specvi_benchmark.runs.record import read_run_record
from specvi_benchmark.scoring.beyond import SurveyDrop
from specvi_benchmark.scoring.beyond_survey import drop_section


class MacroDrop(StrictModel):
    """Mean F1 over tasks on the objects that two surveys saw, and what is lost from one to the other.

    ``low`` and ``high`` are the ends of the 95 % interval of ``drop``.
    """

    system: str
    reference_survey: str
    other_survey: str
    tasks: tuple[str, ...]
    objects: int
    reference: float
    other: float
    drop: float
    low: float
    high: float


def macro_drops(folders: Sequence[Path]) -> tuple[MacroDrop, ...]:
    """Return the drops of each run, survey by survey; none for a run that shows no object twice.

    Raises
    ------
    UserError
        Not a finished run.
    """
    names = distinct_names(folders, {folder: read_run_record(folder) for folder in folders})
    found = []
    for folder in folders:
        rows = [row for row in drop_section(answers_of(match_run(folder))) if row.metric == "f1"]
        pairs = dict.fromkeys((row.reference_survey, row.other_survey) for row in rows)
        for pair in pairs:
            here = [row for row in rows if (row.reference_survey, row.other_survey) == pair]
            if (made := _averaged(names[folder], here)) is not None:
                found.append(made)
    return tuple(found)


def _averaged(system: str, rows: Sequence[SurveyDrop]) -> MacroDrop | None:
    """Average a pair of surveys over tasks.

    Tasks show different objects, so their errors are independent: half widths of the mean add in quadrature.
    Each side by itself, as the intervals of shares are lopsided.
    """
    parts = [(row.reference, row.other, row.drop.value, row.drop.low, row.drop.high) for row in rows]
    known = np.array([part for part in parts if None not in part], dtype=np.float64)
    if len(known) < len(rows) or not len(rows):
        return None
    reference, other, drop, low, high = known.T
    size = len(rows)
    return MacroDrop(
        system=system,
        reference_survey=rows[0].reference_survey,
        other_survey=rows[0].other_survey,
        tasks=tuple(row.task for row in rows),
        objects=sum(row.objects for row in rows),
        reference=float(reference.mean()),
        other=float(other.mean()),
        drop=float(drop.mean()),
        low=float(drop.mean() - np.hypot.reduce(drop - low) / size),
        high=float(drop.mean() + np.hypot.reduce(high - drop) / size),
    )
