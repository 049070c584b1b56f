"""Which files are to be ingested: those of a folder, of a list, or one; in an order that never changes."""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from specvi_benchmark.archive.store.store import INFO
from specvi_benchmark.errors import UserError
from specvi_benchmark.files import path_text

FILES_AT_ONCE = 500
BYTES_AT_ONCE = 256 * 2**20
"""A step's files: what one process reads before anything is written; coadds of DESI come a few at a time."""


class Found(NamedTuple):
    """A file: absolute path, size, time of its last change."""

    file: str
    bytes: int
    mtime_ns: int

    @property
    def named(self) -> "Found":
        """Return the same with its path as text, as the archive writes it down."""
        return self._replace(file=path_text(self.file))


def list_files(source: Path) -> Iterator[Found]:
    """Yield the files of a folder and its folders, of a list (a path a line), or the one file that is named.

    Hidden files (a name with a leading dot, as unfinished downloads have) and archives are passed over. Links to folders are
    not followed, so no loop is endless; they are yielded, as are links to nothing: whoever reads them says why not.
    Nothing is opened but the list.

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
    if any(entry.name == INFO for entry in entries):
        return  # an archive, as this one may be: its own files are no spectra
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path)
        elif (status := _status(entry)) is not None:
            yield _found(entry.path, status)


def _status(entry: os.DirEntry[str]) -> os.stat_result | None:
    """Return the status of what an entry links to, else its own; None where it is gone since it was listed."""
    for follow in (True, False):
        try:
            return entry.stat(follow_symlinks=follow)
        except OSError:  # a link to nothing, or to itself
            continue
    return None


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
        if b"\0" in start or not first.strip():
            return None
        if not (path.parent / first.decode("utf-8-sig").strip()).exists():
            return None
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (UnicodeDecodeError, OSError):
        return None
    return [(number, path.parent / line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
