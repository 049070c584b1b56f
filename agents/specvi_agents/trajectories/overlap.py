"""What trajectories share with candidates that models are measured on: the same file, or the same object."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from specvi_agents.trajectories.candidates import file_stem
from specvi_agents.trajectories.records import Record
from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.splits import Candidate, Split

ALLOW = "--allow-overlap takes them all the same: whoever trains on them can't be measured on those candidates, and the card says so"


@dataclass(frozen=True, slots=True)
class Overlap:
    """A trajectory, and a candidate outside of the train part that shares its file or object."""

    id: str
    by: Literal["file", "object"]
    candidate: str
    part: str
    split: str

    def __str__(self) -> str:
        """Say it in words."""
        return f"{self.id} has the {self.by} of {self.candidate} ({self.split}, {self.part})"


def overlaps(records: Iterable[Record], splits: Sequence[Split]) -> list[Overlap]:
    """Return what records share with the parts of splits that are not ``train``, one entry a record at most.

    An imported record knows only its file: its object is that of a candidate with this file, in any part.
    """
    files: dict[str, tuple[Candidate, Split]] = {}
    objects: dict[str, tuple[Candidate, Split]] = {}
    object_of: dict[str, str] = {}
    for split in splits:
        for candidate in split.candidates:
            stem = file_stem(candidate.spectrum.name) if candidate.spectrum.name else ""
            object_of.setdefault(stem, candidate.object_id)
            if candidate.part != "train":
                files.setdefault(stem, (candidate, split))
                objects.setdefault(candidate.object_id, (candidate, split))
    files.pop("", None)
    object_of.pop("", None)
    found = []
    for record in records:
        stem = file_stem(record.source_name)
        known = record.object_id or object_of.get(stem)
        by: Literal["file", "object"] = "file" if stem in files else "object"
        hit = files.get(stem) or (objects.get(known) if known else None)
        if hit:
            candidate, split = hit
            found.append(Overlap(record.id, by, candidate.id, candidate.part, split.name))
    return found


def require_splits(splits: Sequence[Split], where: object, *, allowed: bool) -> None:
    """Raise where there is nothing to compare with, unless that is allowed."""
    if not splits and not allowed:
        raise UserError(
            "which candidates are models measured on?",
            where=where,
            expected="--against SPLIT: trajectories may share neither file nor object with its test part",
            fix=f"name the split; or {ALLOW}",
        )


def refuse(found: Sequence[Overlap], where: object) -> None:
    """Raise where anything is shared."""
    if found:
        raise UserError(
            f"{len(found)} trajectories show what models are measured on",
            where=where,
            expected="no file and no object of a dev, cal or test part",
            got=examples(map(str, found)),
            fix=f"reject them with `specvi trajectories review`; or {ALLOW}",
        )
