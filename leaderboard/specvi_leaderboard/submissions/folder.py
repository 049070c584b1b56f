"""Reads the files of a submission: known names, regular files, bounded sizes; nothing else is opened."""

import os
import re
import stat
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from specvi_benchmark.errors import UserError
from specvi_leaderboard.submissions.text import shown

METADATA = "submission.yaml"
PREDICTIONS = ("predictions.jsonl", "predictions.csv")
TRAINING_OBJECTS = "training-objects.txt"
LIMITS = {METADATA: 64_000, TRAINING_OBJECTS: 16_000_000} | dict.fromkeys(PREDICTIONS, 64_000_000)
"""Largest size of each file that may be there, in bytes."""

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class SubmittedFiles(NamedTuple):
    """The bytes of a submission. ``id`` is the folder's name, ``predictions_name`` one of `PREDICTIONS`."""

    id: str
    metadata: bytes
    predictions_name: str
    predictions: bytes
    training_objects: bytes | None


def read_folder(folder: Path) -> SubmittedFiles:
    """Read a submission's files, each once and through one handle, so that none can be exchanged meanwhile.

    Raises
    ------
    UserError
        Not a folder of that kind: a wrong name, an unknown file, a link, a pipe, a device, a file too large.
    """
    whole = Path(os.path.abspath(folder))  # noqa: PTH100  # resolve() would follow a link
    if not _ID.fullmatch(whole.name) or len(whole.name) > 60:
        raise UserError(
            "the folder's name is not the id of a submission",
            where=shown(whole.name),
            expected="small letters, digits and single hyphens, at most 60",
        )
    try:
        handle = os.open(whole, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        raise UserError(
            "not a folder of a submission", where=whole, got=error.strerror, fix="name a folder, not a link"
        ) from None
    try:
        names = _names(handle, whole)
        given = [name for name in PREDICTIONS if name in names]
        if METADATA not in names or len(given) != 1:
            raise UserError(
                "a submission is its metadata and one file of answers",
                where=whole,
                expected=f"{METADATA} and {' or '.join(PREDICTIONS)}",
                got=", ".join(names) or "an empty folder",
            )
        return SubmittedFiles(
            id=whole.name,
            metadata=_read(handle, METADATA, whole),
            predictions_name=given[0],
            predictions=_read(handle, given[0], whole),
            training_objects=_read(handle, TRAINING_OBJECTS, whole) if TRAINING_OBJECTS in names else None,
        )
    finally:
        os.close(handle)


def _names(handle: int, folder: Path) -> list[str]:
    with os.scandir(handle) as entries:
        names = sorted(entry.name for entry in islice(entries, 20))
    strange = [name for name in names if name not in LIMITS]
    if strange:
        raise UserError(
            "a file that has no place in a submission",
            where=folder,
            expected=f"only {', '.join(LIMITS)}",
            got=shown(strange[0]),
            fix="remove it; code, weights and archives stay where they are published",
        )
    return names


def _read(folder_handle: int, name: str, folder: Path) -> bytes:
    where = folder / name
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder_handle)
    except OSError as error:
        raise UserError(
            "only regular files are read, no links",
            where=where,
            got=error.strerror,
            fix="put the file itself there",
        ) from None
    found, limit = os.fstat(handle), LIMITS[name]
    if not stat.S_ISREG(found.st_mode):
        os.close(handle)
        raise UserError("only regular files are read, no folders, pipes or devices", where=where)
    with os.fdopen(handle, "rb") as stream:
        content = stream.read(limit + 1) if found.st_size <= limit else b""
    if found.st_size > limit or len(content) > limit:
        raise UserError(
            "the file is too large", where=where, expected=f"up to {limit:,} bytes", got=f"{found.st_size:,}"
        )
    return content
