"""The lines of a leaderboard: every run scored anew from its predictions and its split."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.files import StrictModel
from specvi_benchmark.runs.ask import verdicts
from specvi_benchmark.runs.compared import distinct_names
from specvi_benchmark.runs.evaluate import match_log, rows_of, score_matched
from specvi_benchmark.runs.matching import MatchedPredictions
from specvi_benchmark.runs.predictions import Prediction, prediction_of
from specvi_benchmark.runs.record import RunRecord, SplitReference, load_split, read_run_record
from specvi_benchmark.scoring import Results, Rows
from specvi_benchmark.splits import Split
from specvi_benchmark.vetting import load_vetter

TRIVIAL = ("always-yes", "always-no", "metadata-only", "inverted-weak")
"""Vetters that look at no spectrum, or at nothing but the selection: what a system has to beat."""

ALWAYS_SHOWN = ("always-yes", "always-no")
"""Trivial vetters that cost nothing to run: added to a table whose runs lack them."""


class System(StrictModel):
    """One system on one split.

    ``name`` is unique within a leaderboard. ``seconds`` and ``cost_usd`` are means over the candidates
    with a verdict, None where no run measured them. ``seed``, ``suite``, ``started`` and ``ended`` are
    those of the run, None for a trivial system that was added.
    """

    name: str
    vetter: str
    trivial: bool
    config: Mapping[str, Any]
    seed: int | None
    suite: str | None
    started: str | None
    ended: str | None
    seconds: float | None
    cost_usd: float | None
    results: Results


class Entry(NamedTuple):
    """A system, and its answers candidate by candidate: what a paired comparison needs, and no page shows."""

    system: System
    rows: Rows


def read_systems(folders: Sequence[Path], split_place: str | None = None) -> tuple[Entry, ...]:
    """Score run folders anew, and add the trivial systems that no run stands for.

    A run's ``results.json`` is never read. An unfinished run is taken as it is: what is missing counts
    as `error`.

    Parameters
    ----------
    folders
        Run folders, all over the same candidates.
    split_place
        Name or path of their split, where it has moved since.

    Raises
    ------
    UserError
        No folder, one that holds no run, the same one twice, or runs over different candidates.
    """
    records = _records(folders)
    split = load_split(next(iter(records.values())).split, split_place)
    names = distinct_names(list(records), records)
    runs = [_of_run(names[folder], folder, record, split) for folder, record in records.items()]
    vetters = {_vetter_name(record.vetter) for record in records.values()}
    added = [_of_trivial(name, split) for name in ALWAYS_SHOWN if name not in vetters]
    return (*runs, *added)


def _records(folders: Iterable[Path]) -> dict[Path, RunRecord]:
    records: dict[Path, RunRecord] = {}
    for folder in folders:
        if folder.resolve() in {known.resolve() for known in records}:
            raise UserError("the same run is named twice", where=folder, fix="name every run once")
        records[folder] = read_run_record(folder)
    if not records:
        raise UserError("no run to show", expected="one or more run folders", fix="specvi run --vetter rules")
    refuse_mixed(
        "split fingerprint",
        {str(folder): record.split.fingerprint for folder, record in records.items()},
        {record.split.fingerprint: _described(record.split) for record in records.values()},
    )
    return records


def refuse_mixed(what: str, values: Mapping[str, object], labels: Mapping[object, str] | None = None) -> None:
    """Raise unless the value is the same for every system: one table compares like with like.

    Parameters
    ----------
    what
        Name of the value, as it stands in the message.
    values
        Run or system → value.
    labels
        Value → how the message names it; by default the value itself.
    """
    named = labels or {}
    groups: dict[object, list[str]] = {}
    for name, value in values.items():
        groups.setdefault(value, []).append(name)
    if len(groups) > 1:
        raise UserError(
            f"the runs can't stand in one table: more than one {what}",
            expected=f"one {what}",
            got="\n    ".join(
                ["", *(f"{named.get(value, value)}: {examples(names)}" for value, names in groups.items())]
            ),
            fix="build one leaderboard for each",
        )


def _described(split: SplitReference) -> str:
    """Say in a few words which candidates a reference means."""
    chosen = f"{split.part or 'all parts'}, {split.task or 'all tasks'}"
    return f"{split.name} {split.version} ({chosen}; fingerprint {split.fingerprint[:12]}…)"


def _of_run(name: str, folder: Path, record: RunRecord, split: Split) -> Entry:
    matched = match_log(folder, split, allow_partial=True)
    system = System(
        name=name,
        vetter=record.vetter,
        trivial=_vetter_name(record.vetter) in TRIVIAL,
        config=record.config,
        seed=record.seed,
        suite=record.environment.get("specvi-bench"),
        started=record.started,
        ended=record.ended,
        seconds=_mean(prediction.seconds for prediction in matched.predictions),
        cost_usd=_mean(prediction.cost_usd for prediction in matched.predictions),
        results=score_matched(matched),
    )
    return Entry(system, rows_of(matched))


def _of_trivial(name: str, split: Split) -> Entry:
    """Let a trivial vetter answer here and now; it takes no time worth measuring."""
    vetter = load_vetter(name)
    answers: dict[str, Prediction] = {
        verdict.id: prediction_of(verdict)
        for verdict in verdicts(vetter, [c.question for c in split.candidates])
    }
    matched = MatchedPredictions(
        split=split,
        predictions=tuple(answers[candidate.id] for candidate in split.candidates),
        missing=0,
        badly_spelled=0,
        repeated=0,
        outcomes_undeclared=False,
        ignored_columns=(),
    )
    system = System(
        name=name,
        vetter=name,
        trivial=True,
        config=vetter.config,
        seed=None,
        suite=None,
        started=None,
        ended=None,
        seconds=None,
        cost_usd=None,
        results=score_matched(matched),
    )
    return Entry(system, rows_of(matched))


def _vetter_name(spec: str) -> str:
    return spec.partition(":")[0]


def _mean(values: Iterable[float | None]) -> float | None:
    stated = [value for value in values if value is not None]
    return sum(stated) / len(stated) if stated else None
