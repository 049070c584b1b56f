"""Reads systems to compare: run folders and files of answers over the same candidates, and how they differ."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.files import canonical_json
from specvi_benchmark.runs.evaluate import match_file, match_log, rows_of
from specvi_benchmark.runs.matching import MatchedPredictions
from specvi_benchmark.runs.record import RunRecord, choose_split, load_split, read_run_record
from specvi_benchmark.scoring import Rows
from specvi_benchmark.splits import Part, Split
from specvi_benchmark.tasks.task import Track

NOT_RECORDED = "not recorded"


@dataclass(frozen=True, slots=True)
class Entrant:
    """One system to compare. ``settings`` are what its run recorded, flat: ``config.threshold`` → ``0.5``."""

    name: str
    rows: Rows
    settings: Mapping[str, str]


def read_entrants(
    targets: Sequence[Path],
    place: str | None = None,
    part: Part | None = None,
    *,
    track: Track | None = None,
    allow_partial: bool = False,
) -> tuple[Split, tuple[Entrant, ...]]:
    """Read every run folder and file, and match it with the one split they share.

    Parameters
    ----------
    targets
        Run folders, and files with id, task and answer.
    place
        The split: for files, and where that of the runs has moved. Without it files go with the split of
        the first run.
    part
        Part of the split, where there are files only; test, unless it is named.
    track
        Track that files of answers are about, where there are files only; see `choose_split`. Runs keep
        every track they have.
    allow_partial
        Admit missing rows and badly spelled answers, as `match` does.

    Raises
    ------
    UserError
        Fewer than two targets, the same one twice, runs over different candidates, no split for a file, or
        answers that do not fit.
    """
    _refuse_repeats(targets)
    records = {target: read_run_record(target) for target in targets if target.is_dir()}
    split = _shared_split(list(targets), records, place, part, track)
    matched = {
        target: match_log(target, split, allow_partial=allow_partial)
        if target in records
        else match_file(target, split, allow_partial=allow_partial)
        for target in targets
    }
    names = distinct_names(targets, records)
    return split, tuple(
        Entrant(names[target], rows_of(found), _settings(records.get(target), found))
        for target, found in matched.items()
    )


def settings_that_differ(entrants: Sequence[Entrant]) -> dict[str, dict[str, str]]:
    """Return setting → system → value, for every setting that is not the same for all."""
    keys = sorted({key for entrant in entrants for key in entrant.settings})
    listed = {key: {e.name: e.settings.get(key, NOT_RECORDED) for e in entrants} for key in keys}
    return {key: values for key, values in listed.items() if len(set(values.values())) > 1}


def _refuse_repeats(targets: Sequence[Path]) -> None:
    if len(targets) < 2:
        raise UserError("a comparison needs two systems or more", got=len(targets), fix="name another run")
    for target in targets:
        if not target.exists():
            raise UserError("no such run folder or file", where=target, fix="check the path")
    repeated = [path for path, number in Counter(t.resolve() for t in targets).items() if number > 1]
    if repeated:
        raise UserError("the same run is named twice", where=repeated[0], fix="name every run once")


def _shared_split(
    targets: list[Path],
    records: Mapping[Path, RunRecord],
    place: str | None,
    part: Part | None,
    track: Track | None,
) -> Split:
    prints: dict[str, list[str]] = {}
    for target, record in records.items():
        prints.setdefault(record.split.fingerprint, []).append(str(target))
    if len(prints) > 1:
        listed = (f"{fingerprint[:12]}…: {examples(names)}" for fingerprint, names in prints.items())
        raise UserError(
            "these runs did not answer the same candidates",
            expected="one split fingerprint",
            got="\n    ".join(["", *listed]),
            fix="compare runs over the same split, part and task",
        )
    if records and part:
        raise UserError("a run folder names its own part", got=f"--part {part}", fix="leave it out")
    if records:
        return load_split(next(iter(records.values())).split, place)
    if place is None:
        raise UserError(
            "files of answers do not say which split they are for",
            where=targets[0],
            fix="name the split: --split mini, a split folder, or an official parquet file",
        )
    return choose_split(place, part or "test", track=track)[0]


def shown_vetter(spec: str) -> str:
    """Return a spec string for a table: folders of this machine by their last names, ids of the Hub whole."""
    name, colon, argument = spec.partition(":")
    return name + colon + ",".join(_last_name(part) for part in argument.split(","))


def _last_name(part: str) -> str:
    path = Path(part)
    if not (path.is_absolute() or part.startswith((".", "~")) or len(path.parts) > 2):
        return part
    return path.parent.name if path.name == "model" and path.parent.name else path.name or part


def distinct_names(targets: Sequence[Path], records: Mapping[Path, RunRecord]) -> dict[Path, str]:
    """Name runs by vetter and files by file name; where several share one, with the folder or path."""
    short = {t: shown_vetter(records[t].vetter) if t in records else t.stem for t in targets}
    shared = Counter(short.values())
    names = {
        t: name if shared[name] == 1 else f"{name} ({t.resolve().name if t in records else t})"
        for t, name in short.items()
    }
    doubled = [name for name, number in Counter(names.values()).items() if number > 1]
    if doubled:
        raise UserError(
            "runs can't be told apart by vetter and folder name",
            got=examples(doubled),
            fix="rename a run folder",
        )
    return names


def _settings(record: RunRecord | None, matched: MatchedPredictions) -> dict[str, str]:
    settings = {
        "answers.missing": str(matched.missing),
        "answers.badly_spelled": str(matched.badly_spelled),
        "answers.outcomes_declared": "no" if matched.outcomes_undeclared else "yes",
    }
    if record is not None:
        for group in ("config", "versions", "environment"):
            values: Mapping[str, Any] = getattr(record, group)
            settings |= {f"{group}.{key}": _text(value) for key, value in values.items()}
        settings |= {
            "vetter": record.vetter,
            "seed": str(record.seed),
            "split": f"{record.split.name} {record.split.version}",
        }
    return settings


def _text(value: object) -> str:
    return value if isinstance(value, str) else canonical_json(value).decode()
