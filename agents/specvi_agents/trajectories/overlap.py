"""What trajectories share with candidates that models are measured on: the same file, or the same object."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from specvi_agents.trajectories.records import Record
from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.splits import Candidate, Split
from specvi_benchmark.splits.duplicates import By, keys_of_name

Key = tuple[By, str]

ALLOW = "--allow-overlap takes them all the same: whoever trains on them can't be measured on those candidates, and the card says so"


@dataclass(frozen=True, slots=True)
class Overlap:
    """A trajectory, and a candidate outside of the train part with the same ``by``: file, fibre, position or object."""

    id: str
    by: By
    candidate: str
    part: str
    split: str

    def __str__(self) -> str:
        """Say it in words."""
        return f"{self.id} has the {self.by} of {self.candidate} ({self.split}, {self.part})"


def overlaps(records: Iterable[Record], splits: Sequence[Split]) -> list[Overlap]:
    """Return what records share with the parts of splits that are not ``train``, one entry a record at most.

    A name of a file may also tell the target (the same fibre of a plan on another night) or the position. An imported
    record knows only its file: its object is that of a candidate with this file, in any part.
    """
    held_out: dict[Key, tuple[Candidate, Split]] = {}
    objects_of: dict[Key, list[Key]] = {}  # splits may know one file by several
    for split in splits:
        for candidate in split.candidates:
            keys = keys_of_name(candidate.spectrum.name)
            known: Key = ("object", candidate.object_id)
            for key in keys:
                objects_of.setdefault(key, []).append(known)
            if candidate.part != "train":
                for key in (*keys, known):
                    held_out.setdefault(key, (candidate, split))
    found = []
    for record in records:
        keys = keys_of_name(record.source_name)
        objects: list[Key] = [("object", record.object_id)] if record.object_id else []
        objects += [known for key in keys for known in objects_of.get(key, ())]
        shared = next((key for key in (*keys, *objects) if key in held_out), None)
        if shared:
            candidate, split = held_out[shared]
            found.append(Overlap(record.id, shared[0], candidate.id, candidate.part, split.name))
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
