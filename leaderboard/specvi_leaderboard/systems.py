"""The lines of a leaderboard: every run scored anew from its predictions and its split."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.files import canonical_json, sha256_file
from specvi_benchmark.runs.compared import distinct_names
from specvi_benchmark.runs.evaluate import match_log
from specvi_benchmark.runs.record import (
    PREDICTIONS_FILE,
    TRACES_FILE,
    RunRecord,
    SplitReference,
    read_run_record,
)
from specvi_leaderboard.always import added, reasons
from specvi_leaderboard.entry import KINDS, OWN_RUN, TRIVIAL, About, Entry, System, slug, vetter_name
from specvi_leaderboard.scored import SplitPlace, kept_score, score_all


def read_systems(folders: Sequence[Path], split_place: str | None = None) -> tuple[Entry, ...]:
    """Score run folders anew, and add the trivial systems and `rules`, which no table is without.

    What has no run is run here and now, see `specvi_leaderboard.always`; where that can't be done the row is left
    out, and `lacking` says why. A run's ``results.json`` is never read. An unfinished run is taken as it is: what
    is missing counts as `error`.

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
    reference = next(iter(records.values())).split
    place = SplitPlace(split_place or reference.path)
    runs = run_entries(records, place)
    return (*runs, *added(runs, reference, place))


def lacking(systems: Iterable[Entry], run: Path, split_place: str | None = None) -> tuple[str, ...]:
    """Say of every system that each table should show, and this one can't, why not; ``run`` is one of its runs."""
    reference = read_run_record(run).split
    return reasons(systems, reference, SplitPlace(split_place or reference.path))


def run_entries(records: Mapping[Path, RunRecord], place: SplitPlace) -> tuple[Entry, ...]:
    """Score run folders over one split; what is in the cache is not scored again."""
    names = _names(records)
    return tuple(_of_run(names[folder], folder, record, place) for folder, record in records.items())


def _names(records: Mapping[Path, RunRecord]) -> dict[Path, str]:
    """Name runs by vetter; a trivial one by its bare name, since what it was told is no choice of its maker."""
    names = distinct_names(list(records), records)
    bare = {folder: vetter_name(record.vetter) for folder, record in records.items()}
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


def _of_run(name: str, folder: Path, record: RunRecord, place: SplitPlace) -> Entry:
    log, traces = folder / PREDICTIONS_FILE, folder / TRACES_FILE
    what = {
        "answers": sha256_file(log) if log.is_file() else None,
        "traces": sha256_file(traces) if traces.is_file() else None,
        "split": place.digest(record.split),
    }
    made = kept_score(
        what, lambda: score_all(match_log(folder, place.chosen(record.split), allow_partial=True), folder)
    )
    bare = vetter_name(record.vetter)
    system = System(
        name=name,
        about=About(
            id=_run_id(folder, record),
            kind=KINDS.get(bare),
            status="verified",
            how=OWN_RUN,
            date=(record.ended or record.started)[:10],
        ),
        vetter=record.vetter,
        trivial=bare in TRIVIAL,
        config=record.config,
        seed=record.seed,
        suite=record.environment.get("specvi-bench"),
        started=record.started,
        ended=record.ended,
        seconds=made.seconds,
        cost_usd=made.cost_usd,
        results=made.results,
    )
    return Entry(system, made.rows)


def _run_id(folder: Path, record: RunRecord) -> str:
    """Return an id that hangs on the run alone, not on what else stands in the table."""
    made = [record.vetter, dict(record.config), record.split.fingerprint, record.seed, record.started]
    digest = hashlib.sha256(canonical_json([*made, folder.resolve().name])).hexdigest()
    return f"{slug(vetter_name(record.vetter))}-{digest[:8]}"
