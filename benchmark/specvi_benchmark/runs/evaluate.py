"""Scores a run folder or a file of answers: reads, matches, and hands arrays to `specvi_benchmark.scoring`."""

from collections import Counter
from pathlib import Path
from typing import get_args

import numpy as np

from specvi_benchmark.runs.foreign import PredictionFile, Row, read_foreign_predictions
from specvi_benchmark.runs.matching import MatchedPredictions, match
from specvi_benchmark.runs.predictions import read_run_predictions
from specvi_benchmark.runs.record import PREDICTIONS_FILE, load_split, read_run_record
from specvi_benchmark.scoring import CALLS, Group, Results, Rows, ScoredSplit, score
from specvi_benchmark.scoring.ledger import IntArray
from specvi_benchmark.scoring.results import Admitted
from specvi_benchmark.splits import Split
from specvi_benchmark.tasks import TASK_KEYS
from specvi_benchmark.tasks.task import Track
from specvi_benchmark.vetting import Outcome


def match_run(folder: Path, split: str | None = None, *, allow_partial: bool = False) -> MatchedPredictions:
    """Read a run's predictions against the split it was made on; ``split`` names where that lies now.

    Raises
    ------
    UserError
        Not a run folder, another split, or a run that is not finished.
    """
    chosen = load_split(read_run_record(folder).split, split)
    return match_log(folder, chosen, allow_partial=allow_partial)


def match_log(folder: Path, split: Split, *, allow_partial: bool = False) -> MatchedPredictions:
    """Read a run's predictions against a split that is already read; see `match_run`."""
    path = folder / PREDICTIONS_FILE
    lines = read_run_predictions(path) if path.exists() else {}
    file = PredictionFile(
        where=str(path),
        rows=tuple(Row(f"answer {number}", line) for number, line in enumerate(lines.values(), start=1)),
        faults={},
    )
    return match(
        file,
        split,
        allow_partial=allow_partial,
        fix_missing="finish the run: type its `specvi run` command again",
    )


def match_file(
    path: Path, split: Split, task: str | None = None, *, allow_partial: bool = False
) -> MatchedPredictions:
    """Read a file of answers, made anywhere, against a split; with ``task``, its key, no row of another."""
    return match(read_foreign_predictions(path, task), split, allow_partial=allow_partial)


def score_matched(matched: MatchedPredictions) -> Results:
    """Score predictions that fit their split."""
    split = matched.split
    admitted = matched.missing or matched.badly_spelled
    return score(
        rows_of(matched),
        ScoredSplit(
            name=split.name,
            version=split.version,
            fingerprint=split.fingerprint,
            parts=tuple(sorted({candidate.part for candidate in split.candidates})),
            object_id_sources=Counter(candidate.object_id_source for candidate in split.candidates),
        ),
        partial=Admitted(missing=matched.missing, badly_spelled=matched.badly_spelled) if admitted else None,
        outcomes_undeclared=matched.outcomes_undeclared,
        lenient=lenient_calls(matched),
    )


def lenient_calls(matched: MatchedPredictions) -> IntArray | None:
    """Return ``(n,)`` calls of the lenient reading; None where no prediction has one.

    A candidate without a lenient answer keeps its outcome. Where there is a strict answer all the same, the
    lenient reading found a contradiction: it counts as `unparsed`.
    """
    if all(prediction.answer_lenient is None for prediction in matched.predictions):
        return None
    calls = [
        prediction.answer_lenient or (Outcome.UNPARSED if prediction.answer else prediction.outcome).value
        for prediction in matched.predictions
    ]
    return np.array([CALLS.index(call) for call in calls])


def rows_of(matched: MatchedPredictions) -> Rows:
    """Return the arrays to score; tracks and tasks in their own fixed order."""
    candidates = matched.split.candidates
    present = {(candidate.track, candidate.task.key) for candidate in candidates}
    groups = tuple(
        Group(track, task) for track in get_args(Track) for task in TASK_KEYS if (track, task) in present
    )
    place = {group: number for number, group in enumerate(groups)}
    calls = [prediction.answer or prediction.outcome.value for prediction in matched.predictions]
    return Rows(
        groups=groups,
        group=np.array([place[Group(c.track, c.task.key)] for c in candidates]),
        positive=np.array([c.truth == "YES" for c in candidates]),
        call=np.array([CALLS.index(call) for call in calls]),
        object_code=np.unique([c.object_id for c in candidates], return_inverse=True)[1],
        p_yes=np.array(
            [np.nan if p.p_yes is None else p.p_yes for p in matched.predictions], dtype=np.float64
        ),
    )
