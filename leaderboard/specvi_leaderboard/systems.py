"""The lines of a leaderboard: every run scored anew from its predictions and its split."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.files import StrictModel
from specvi_benchmark.runs.ask import verdicts
from specvi_benchmark.runs.compared import distinct_names
from specvi_benchmark.runs.evaluate import match_log, rows_of, score_matched
from specvi_benchmark.runs.fitting import fit, load_system
from specvi_benchmark.runs.matching import MatchedPredictions
from specvi_benchmark.runs.predictions import Prediction, prediction_of
from specvi_benchmark.runs.record import RunRecord, SplitReference, load_split, read_run_record
from specvi_benchmark.scoring import Results, Rows
from specvi_benchmark.splits import Split
from specvi_benchmark.vetting import AnyVetter

TRIVIAL = ("always-yes", "always-no", "metadata-only", "inverted-weak")
"""Vetters that look at no spectrum, or at nothing but the selection: what a system has to beat."""

RULES = "rules"
"""Not trivial, and no learner either: what fixed thresholds reach."""

ALWAYS_SHOWN = (*TRIVIAL, RULES)
"""What no table is without; a system that has no run is run when the table is made."""


class System(StrictModel):
    """One system on one split.

    ``name`` is unique within a leaderboard. ``seconds`` and ``cost_usd`` are means over the candidates
    with a verdict, None where no run measured them. ``seed``, ``suite``, ``started`` and ``ended`` are
    those of the run, None for a system that was added.
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
    """Score run folders anew, and add the trivial systems and `rules`, which no table is without.

    What has no run is run here and now: `metadata-only` trained on the train part of the same split,
    `inverted-weak` with its selection scores; where the split has none of these, the row is left out, and
    `lacking` says why. A run's ``results.json`` is never read. An unfinished run is taken as it is: what is missing counts
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
    names = _names(records)
    runs = [_of_run(names[folder], folder, record, split) for folder, record in records.items()]
    vetters = {_vetter_name(record.vetter) for record in records.values()}
    place = split_place or next(iter(records.values())).split.path
    wanted = [name for name in ALWAYS_SHOWN if name not in vetters]
    added = [_added(name, split, place) for name in wanted]
    return (*runs, *(entry for entry in added if isinstance(entry, Entry)))


def lacking(systems: Iterable[Entry], run: Path, split_place: str | None = None) -> tuple[str, ...]:
    """Say of every system that each table should show, and this one can't, why not; ``run`` is one of its runs."""
    place = split_place or read_run_record(run).split.path
    shown = {_vetter_name(entry.system.vetter) for entry in systems}
    reasons = [(name, _reason(name, place)) for name in ALWAYS_SHOWN if name not in shown]
    return tuple(f"{name}: {reason}" for name, reason in reasons)


def _names(records: Mapping[Path, RunRecord]) -> dict[Path, str]:
    """Name runs by vetter; a trivial one by its bare name, since what it was told is no choice of its maker."""
    names = distinct_names(list(records), records)
    bare = {folder: _vetter_name(record.vetter) for folder, record in records.items()}
    once = Counter(bare.values())
    return {
        folder: bare[folder] if bare[folder] in TRIVIAL and once[bare[folder]] == 1 else name
        for folder, name in names.items()
    }


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
    chosen = f"{split.part or 'all parts'}, {split.task or 'all tasks'}, {split.track or 'all tracks'}"
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


def _reason(name: str, place: str) -> str:
    try:
        with _ready(name, place):
            return f"no run of it is here; specvi run --vetter {name}"
    except UserError as error:
        return error.what


@contextmanager
def _ready(name: str, place: str) -> Iterator[AnyVetter]:
    """Give the vetter of that name, trained on the split or told of it where it needs that."""
    if name == "metadata-only":
        with TemporaryDirectory() as folder:
            yield load_system(fit(name, place, Path(folder) / "model"))
    else:
        yield load_system(f"{name}:{place}" if name == "inverted-weak" else name)


def _added(name: str, split: Split, place: str) -> Entry | None:
    """Let a vetter answer here and now; None where the split has not what it needs."""
    try:
        with _ready(name, place) as vetter:
            return _answered(name, vetter, split)
    except UserError:
        return None


def _answered(name: str, vetter: AnyVetter, split: Split) -> Entry:
    questions = [candidate.question for candidate in split.candidates]
    answers: dict[str, Prediction] = {
        verdict.id: prediction_of(verdict) for verdict in verdicts(vetter, questions)
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
        trivial=name in TRIVIAL,
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
