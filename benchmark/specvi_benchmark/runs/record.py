"""``run.json``: what was run, on what, with which versions."""

import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import (
    StrictModel,
    canonical_json,
    parse_json,
    read_text,
    refuse_newer,
    validate,
    write_json,
)
from specvi_benchmark.splits import Part, Split
from specvi_benchmark.splits.named import NAMED, find_split
from specvi_benchmark.tasks.task import AskedTrack, Track

SCHEMA_VERSION: Literal[1] = 1
RUN_FILE = "run.json"
PREDICTIONS_FILE = "predictions.jsonl"
TRACES_FILE = "traces.jsonl"
VIEWS_FOLDER = "views"
MODEL_FOLDER = "model"
"""Folder of what was fitted for the run (`specvi run --train`), inside the run folder."""


class SplitReference(StrictModel):
    """Which candidates: the fingerprint of the selected part, task and track decides, the path helps to find them.

    ``track`` is None where every track was taken.
    """

    name: str
    version: str
    path: str
    part: Part | None
    task: str | None
    track: Track | None = None
    fingerprint: str


class RunRecord(StrictModel):
    """The content of ``run.json``. ``ended`` and ``counts`` are None until every question has a verdict."""

    schema_version: Literal[1]
    vetter: str
    config: Mapping[str, Any]
    split: SplitReference
    versions: Mapping[str, int]
    environment: Mapping[str, str]
    seed: int
    started: str
    ended: str | None = None
    counts: Mapping[str, int] | None = None


def read_run_record(folder: Path) -> RunRecord:
    """Read a run folder's ``run.json``."""
    path = folder / RUN_FILE
    if not path.is_file():
        raise UserError(
            "not a run folder", where=folder, expected=RUN_FILE, fix="name a folder that `specvi run` wrote"
        )
    content = parse_json(read_text(path), path)
    refuse_newer(content, SCHEMA_VERSION, path)
    return validate(RunRecord, content, path)


def write_run_record(folder: Path, record: RunRecord) -> None:
    """Write a run folder's ``run.json`` atomically."""
    write_json(folder / RUN_FILE, record.model_dump(mode="json"))


def refuse_other_run(known: RunRecord, asked: RunRecord, folder: Path) -> None:
    """Raise unless both records describe the same run: vetter, config, split, versions and seed.

    Two configurations under one name would give a score that belongs to neither. The scoring version
    is left out: it changes no verdict.
    """
    was, now = _decisive(known), _decisive(asked)
    differences = [
        f"{name} {_short(was.get(name, 'unset'))} → {_short(now.get(name, 'unset'))}"
        for name in sorted(was.keys() | now.keys())
        if canonical_json(was.get(name)) != canonical_json(now.get(name)) or (name in was) != (name in now)
    ]
    if differences:
        raise UserError(
            "this folder holds another run",
            where=folder,
            expected="the same vetter, config, split, versions and seed",
            got="; ".join(differences),
            fix="name another folder with --out",
        )


def choose_split(
    place: str, part: Part | None = "test", task: str | None = None, track: AskedTrack | None = None
) -> tuple[Split, SplitReference]:
    """Read a split by name or path, select a part, task and track, and return it with its reference.

    Without a track it is ``main`` where part and task have several and this one among them, else every
    track; ``all`` asks for every track.

    Raises
    ------
    UserError
        The split has no candidate of that track.
    """
    asked = find_split(place).select(part=part, task=task)
    chosen = _track(asked, track, place)
    split = asked.select(track=chosen)
    recorded = place if place in NAMED else str(Path(place).expanduser().resolve())
    return split, SplitReference(
        name=split.name,
        version=split.version,
        path=recorded,
        part=part,
        task=task,
        track=chosen,
        fingerprint=split.fingerprint,
    )


def _track(split: Split, asked: AskedTrack | None, place: str) -> Track | None:
    if asked == "all" or (asked is None and ("main" not in split.tracks or len(split.tracks) == 1)):
        return None
    if asked is not None and asked not in split.tracks:
        raise UserError(
            "the split has no such track",
            where=place,
            expected=f"one of {', '.join(split.tracks)}, or all"
            if split.candidates
            else "a part and task it has",
            got=asked,
        )
    return asked or "main"


def load_split(reference: SplitReference, instead: str | None = None) -> Split:
    """Read the candidates a run was made on and check their fingerprint.

    Parameters
    ----------
    reference
        The run's own reference.
    instead
        Name or path of the split to read in place of the recorded path, where that has moved.
    """
    place = instead or reference.path
    if instead is None and Path(place).is_absolute() and not Path(place).exists():
        raise UserError(
            "the split of this run is no longer where it was",
            where=place,
            fix="name where it is now with --split",
        )
    split = find_split(place).select(part=reference.part, task=reference.task, track=reference.track)
    if split.fingerprint != reference.fingerprint:
        raise UserError(
            "the split is not the one this run was made on",
            where=place,
            expected=f"fingerprint {reference.fingerprint}",
            got=split.fingerprint,
            fix="name the right split with --split, or run the vetter again on this one",
        )
    return split


def environment() -> dict[str, str]:
    """Return the versions that can change a result, and the kind of machine. Nothing that names it."""
    packages = ("specvi-bench", "numpy", "scipy", "astropy", "numba", "isal", "matplotlib", "pillow")
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        **{name: version(name) for name in packages},
    }


def _decisive(record: RunRecord) -> dict[str, Any]:
    """Return what makes a run this run, each setting under its dotted name."""
    versions = {name: number for name, number in record.versions.items() if name != "scoring_version"}
    what = {
        "vetter": record.vetter,
        "config": record.config,
        "split": record.split.fingerprint,
        "versions": versions,
        "seed": record.seed,
    }
    return dict(_dotted("", what))


def _dotted(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, Mapping) or not value:
        yield name, value
        return
    for key, inner in value.items():
        yield from _dotted(f"{name}.{key}" if name else key, inner)


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:28]}…{text[-28:]}"
