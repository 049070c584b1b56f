"""Holds predictions against a split: every candidate gets exactly one, or the user hears every fault at once."""

from collections.abc import Mapping
from dataclasses import dataclass

from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.runs.foreign import PredictionFile, Row
from specvi_benchmark.runs.predictions import Prediction
from specvi_benchmark.splits import Split
from specvi_benchmark.vetting import Outcome

MISSING = "candidates without a row"
BADLY_SPELLED = "badly spelled answers"
UNKNOWN_ID = "ids that are not in the split"
OTHER_TASK = "ids that belong to another task"
CONFLICT = "candidates with rows that contradict each other"
ADMISSIBLE = frozenset({MISSING, BADLY_SPELLED})  # what --allow-partial lets pass


@dataclass(frozen=True, slots=True)
class MatchedPredictions:
    """One prediction for each candidate of ``split``, in its order.

    ``missing`` of them stand for absent rows (`error`), ``badly_spelled`` for answers that are neither
    YES nor NO (`unparsed`); both are 0 unless faults were admitted. ``repeated`` rows said the same as
    an earlier one. Rows of ``other_tasks`` were left out since one task was asked for; ``superseded``
    `error` rows of a run's log were tried again.
    """

    split: Split
    predictions: tuple[Prediction, ...]
    missing: int
    badly_spelled: int
    repeated: int
    outcomes_undeclared: bool
    ignored_columns: tuple[str, ...]
    other_tasks: int = 0
    superseded: int = 0


def match(
    file: PredictionFile,
    split: Split,
    *,
    allow_partial: bool = False,
    fix_missing: str = "add the missing rows",
) -> MatchedPredictions:
    """Give every candidate of the split its prediction.

    Parameters
    ----------
    file
        The rows as read.
    split
        The candidates; their task and id are the key.
    allow_partial
        Admit missing rows, which count as `error`, and badly spelled answers, which count as
        `unparsed`. Unknown ids and tasks, rows that contradict each other and rows that break a rule
        are refused always.
    fix_missing
        What the message advises where rows are missing.

    Raises
    ------
    UserError
        One message with every kind of fault, how often, and examples.
    """
    if not split.candidates:
        raise UserError(
            "no candidate to score",
            where=f"split {split.name}",
            fix="choose a part or task that has candidates",
        )
    found, repeated, faults = _sort_rows(file, split)
    lost = {kind: places for kind, places in faults.items() if not (allow_partial and kind in ADMISSIBLE)}
    if lost:
        wrong_split = UNKNOWN_ID in faults and len(faults.get(MISSING, ())) == len(split.candidates)
        raise _refusal(file, split, lost, fix_missing, wrong_split=wrong_split)
    return MatchedPredictions(
        split=split,
        predictions=tuple(
            found[c.id].prediction
            if c.id in found
            else Prediction(id=c.id, task=c.task.key, answer=None, outcome=Outcome.ERROR)
            for c in split.candidates
        ),
        missing=len(faults.get(MISSING, ())),
        badly_spelled=len(faults.get(BADLY_SPELLED, ())),
        repeated=repeated,
        outcomes_undeclared=file.outcomes_undeclared,
        ignored_columns=file.ignored_columns,
        other_tasks=file.other_tasks,
        superseded=file.superseded,
    )


def _sort_rows(file: PredictionFile, split: Split) -> tuple[dict[str, Row], int, dict[str, list[str]]]:
    """Return id → row, the number of repeated rows, and kind of fault → where."""
    task_of = {candidate.id: candidate.task.key for candidate in split.candidates}
    found: dict[str, Row] = {}
    repeated = 0
    faults = {kind: list(places) for kind, places in file.faults.items()}
    named = set(file.faulty_ids)  # a row that is wrong is told once, not as a missing one too
    for row in file.rows:
        task, name = row.prediction.key
        named.add(name)
        if name not in task_of:
            faults.setdefault(UNKNOWN_ID, []).append(f"{name} ({row.place})")
        elif task_of[name] != task:
            faults.setdefault(OTHER_TASK, []).append(f"{name} is {task_of[name]}, not {task} ({row.place})")
        elif (first := found.setdefault(name, row)) is not row:
            if (first.prediction, first.badly_spelled) == (row.prediction, row.badly_spelled):
                repeated += 1
            else:
                faults.setdefault(CONFLICT, []).append(f"{task} {name} ({first.place}, {row.place})")
    badly_spelled = [f"{row.badly_spelled} ({row.place})" for row in found.values() if row.badly_spelled]
    missing = [f"{task} {name}" for name, task in task_of.items() if name not in named]
    return found, repeated, faults | _filled({BADLY_SPELLED: badly_spelled, MISSING: missing})


def _filled(faults: Mapping[str, list[str]]) -> dict[str, list[str]]:
    return {kind: places for kind, places in faults.items() if places}


def _refusal(
    file: PredictionFile,
    split: Split,
    faults: Mapping[str, list[str]],
    fix_missing: str,
    *,
    wrong_split: bool,
) -> UserError:
    lines = [f"{kind} ({len(places)}): {examples(places)}" for kind, places in faults.items()]
    advice = ["correct the rows"] if faults.keys() - {MISSING} else []
    advice += [fix_missing] if MISSING in faults else []
    if faults.keys() <= ADMISSIBLE:
        advice.append("or score what is there with --allow-partial (missing: error, badly spelled: unparsed)")
    elif wrong_split:
        advice = ["no row fits: check that this is the split the answers were made for"]
    return UserError(
        "the predictions do not fit the split",
        where=file.where,
        expected=f"one row for each of the {len(split.candidates)} candidates of split {split.name} "
        f"({', '.join(split.tasks)})",
        got="\n    ".join(["", *lines]),
        fix="; ".join(advice),
    )
