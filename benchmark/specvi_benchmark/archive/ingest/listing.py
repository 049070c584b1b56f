"""Which files are to be ingested: those of a folder, of a list, or one; in an order that never changes."""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from specvi_benchmark.errors import UserError

FILES_AT_ONCE = 500
BYTES_AT_ONCE = 256 * 2**20
"""A step's files: what one process reads before anything is written; coadds of DESI come a few at a time."""


class Found(NamedTuple):
    """A file: absolute path, size, time of its last change."""

    file: str
    bytes: int
    mtime_ns: int


def list_files(source: Path) -> Iterator[Found]:
    """Yield the files of a folder and its folders, of a list (a path a line), or the one file that is named.

    Hidden files (a name with a leading dot, as unfinished downloads have) are passed over. Nothing is opened
    but the list.

    Raises
    ------
    UserError
        There is no such file or folder, or the list names one that is not there.
    """
    if source.is_dir():
        yield from _walk(str(source.resolve()))
    elif not source.exists():
        raise UserError("no such file or folder", where=source, fix="check the path")
    elif (paths := _as_list(source)) is not None:
        for number, path in paths:
            try:
                yield _found(str(path.resolve()), path.stat())
            except OSError as error:
                raise UserError(
                    "the list names a file that can't be read",
                    where=f"{source}, line {number}",
                    got=f"{path}: {error.strerror}",
                    fix="paths are relative to the list's own folder",
                ) from None
    else:
        yield _found(str(source.resolve()), source.stat())


def steps(files: Iterable[Found]) -> Iterator[list[Found]]:
    """Yield files in lists for one step each."""
    step: list[Found] = []
    size = 0
    for file in files:
        if step and (len(step) == FILES_AT_ONCE or size + file.bytes > BYTES_AT_ONCE):
            yield step
            step, size = [], 0
        step.append(file)
        size += file.bytes
    if step:
        yield step


def _walk(folder: str) -> Iterator[Found]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise UserError("the folder can't be read", where=folder, got=error.strerror) from None
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path)
        elif entry.is_file():
            yield _found(entry.path, entry.stat())


def _found(path: str, status: os.stat_result) -> Found:
    return Found(path, status.st_size, status.st_mtime_ns)


def _as_list(path: Path) -> list[tuple[int, Path]] | None:
    """Return the paths that a text file lists, with their lines; None where its first line names no file."""
    if not stat.S_ISREG(path.stat().st_mode):
        return None
    with path.open("rb") as stream:
        start = stream.read(4096)
    first = next((line for line in start.splitlines() if line.strip()), b"")
    try:
        if b"\0" in start or not (path.parent / first.decode().strip()).exists() or not first.strip():
            return None
        lines = path.read_text(encoding="utf-8").splitlines()
    except (UnicodeDecodeError, OSError):
        return None
    return [(number, path.parent / line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
