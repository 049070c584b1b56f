"""``split.json``: what a split folder claims about itself, checked when it is read."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from specvi_benchmark.files import StrictModel, parse_json, read_text, refuse_newer, validate
from specvi_benchmark.splits.split import Candidate, Part, Split
from specvi_benchmark.vetting import ANSWERS, Answer

SCHEMA_VERSION = 1
FILE_NAME = "split.json"

Counts = dict[Part, dict[str, dict[Answer, int]]]
"""Candidates by part, group (`Candidate.group`: task, and track where it is not the task's own) and truth."""


_FileName = Annotated[str, Field(pattern=r"^[^/\\\x00]+\.parquet$")]  # a plain name: files lie in the folder


class Manifest(StrictModel):
    """The content of ``split.json``. ``files`` are the parquet files of the split, in reading order.

    ``report`` is what the build found out; empty where no recipe built it.
    """

    schema_version: Literal[1]
    name: str
    version: str
    fingerprint: str
    counts: Counts
    files: tuple[_FileName, ...]
    recipe: Mapping[str, Any]
    report: Mapping[str, Any] = {}


def count(candidates: Iterable[Candidate]) -> Counts:
    """Return the candidates by part, group and truth; both truths are always named."""
    tally = Counter((c.part, c.group, c.truth) for c in candidates)
    counts: Counts = {}
    for part, group, _ in tally:
        counts.setdefault(part, {})[group] = {truth: tally[part, group, truth] for truth in ANSWERS}
    return counts


def describe(split: Split, files: Iterable[str]) -> Manifest:
    """Return the manifest of a split that is stored in ``files``."""
    return Manifest(
        schema_version=1,
        name=split.name,
        version=split.version,
        fingerprint=split.fingerprint,
        counts=count(split.candidates),
        files=tuple(files),
        recipe=split.recipe,
        report=split.report,
    )


def read_manifest(folder: Path) -> Manifest:
    """Read the ``split.json`` of a folder.

    Raises
    ------
    UserError
        It is missing, broken, or written by a newer version of the suite.
    """
    path = folder / FILE_NAME
    value = parse_json(read_text(path), path)
    refuse_newer(value, SCHEMA_VERSION, path)
    return validate(Manifest, value, path)
