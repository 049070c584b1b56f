"""Splits on disk: folders with ``split.json``, and official parquet files."""

import errno
import os
import re
import shutil
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.files import write_json
from specvi_benchmark.splits import manifest
from specvi_benchmark.splits.rows import Picture, to_candidates, to_table
from specvi_benchmark.splits.schema import (
    OFFICIAL,
    SCHEMA,
    missing_paths,
    official_suffix,
    surplus_paths,
    wrong_types,
)
from specvi_benchmark.splits.split import Candidate, Part, Split

_ROWS_A_GROUP = 100  # 100 spectra are about 10 MB: memory stays flat, and small reads stay small
_PART_OF_FILE = re.compile(r"(train|dev|cal|test)(?![A-Za-z0-9])")


def write_split(
    split: Split,
    folder: Path,
    *,
    picture: Picture | None = None,
    official_names: bool = False,
    replace: bool = False,
) -> manifest.Manifest:
    """Write a split as one parquet file per part, task and track, with ``split.json``.

    The track stands in a file's name where it is not the task's own: ``test_cv_extreme.parquet``.

    The folder appears whole: it is written under another name and renamed, so a kill leaves either no
    folder, or the whole split. What a killed build left beside it goes with the next build of that folder.

    Parameters
    ----------
    split
        What to write.
    folder
        Where; its parents are made.
    picture
        Makes the picture of a candidate that has no published one; None leaves the pictures out.
    official_names
        Name the files with the published task spellings, ``test_cc.parquet`` for ``test_cs.parquet``.
    replace
        Replace a split that is there. Nothing but a split is ever replaced, nor a split with other files
        in its folder.

    Raises
    ------
    UserError
        The folder holds something already, at the start or when the split is finished; the split is
        empty, or a spectrum has no good pixel.
    """
    with new_folder(folder, replace=replace) as building:
        return write_files(split, building, picture=picture, official_names=official_names)


def write_files(
    split: Split, folder: Path, *, picture: Picture | None, official_names: bool
) -> manifest.Manifest:
    """Write the files of a split into a folder that is there; see `write_split`."""
    if not split.candidates:
        raise UserError("an empty split can't be written", where=f"split {split.name}")
    _refuse_dark([c.id for c in split.candidates if not c.spectrum.good.any()], f"split {split.name}")
    files = [
        _write_group(folder, group, picture, official_names=official_names)
        for group in _groups(split.candidates)
    ]
    content = manifest.describe(split, files)
    write_json(folder / manifest.FILE_NAME, content.model_dump(mode="json"))
    return content


@contextmanager
def new_folder(folder: Path, *, replace: bool = False) -> Iterator[Path]:
    """Yield a folder beside ``folder``, which takes that name when all is written.

    A kill leaves either no folder or the whole one. What it left beside it goes with the next writing of that folder.

    Raises
    ------
    UserError
        The folder holds something already, at the start or at the end; with ``replace``, anything but a split.
    """
    folder = folder.resolve()  # a link stays a link: what it points to is written
    check_free(folder, replace=replace)
    folder.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(folder)
    building = _beside(folder)
    building.mkdir()
    try:
        yield building
        _move_into_place(building, folder, replace=replace)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def read_split(path: Path) -> Split:
    """Read a split folder, a folder of official parquet files, or one parquet file.

    A folder with ``split.json`` is checked against its fingerprint. Without it the split is named after
    the path, has version ``0``, and its recipe names the files and the columns that were left out.

    Raises
    ------
    UserError
        Nothing is there, a file is damaged or in another schema, or the content is not what
        ``split.json`` says.
    """
    if not path.exists():
        raise UserError(
            "no such split", where=path, fix="check the path, or build one: specvi split build mini"
        )
    if path.is_dir() and (path / manifest.FILE_NAME).exists():
        return _read_described(path)
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files:
        raise UserError(
            "no parquet file in the folder", where=path, expected=f"{manifest.FILE_NAME} or *.parquet"
        )
    left_out = sorted({column for file in files for column in _columns_left_out(file)})
    recipe: dict[str, Any] = {"files": [file.name for file in files], "columns_left_out": left_out}
    return Split(path.stem if path.is_file() else path.resolve().name, "0", _read_files(files), recipe)


def _read_described(folder: Path) -> Split:
    described = manifest.read_manifest(folder)
    files = [folder / name for name in described.files]
    unlisted = sorted(set(folder.glob("*.parquet")) - set(files))
    if unlisted:
        raise UserError(
            "a parquet file does not belong to the split",
            where=folder,
            expected=f"the files that {manifest.FILE_NAME} lists",
            got=examples(file.name for file in unlisted),
            fix="move it out of the folder",
        )
    candidates = _read_files(files)
    split = Split(described.name, described.version, candidates, described.recipe, described.report)
    claims = {"fingerprint": described.fingerprint, "count": described.counts}
    found = {"fingerprint": split.fingerprint, "count": manifest.count(split.candidates)}
    for name, claim in claims.items():
        if found[name] != claim:
            raise UserError(
                f"the split's {name} is not what {manifest.FILE_NAME} says",
                where=folder,
                expected=claim,
                got=found[name],
                fix="a file was changed: get the split again, or delete the folder and build it anew",
            )
    return split


def _read_files(files: Sequence[Path]) -> tuple[Candidate, ...]:
    return tuple(candidate for file in files for candidate in _read_file(file))


def _read_file(path: Path) -> Iterator[Candidate]:
    match = _PART_OF_FILE.match(path.name)
    part = cast("Part", match[1]) if match else None
    _columns_left_out(path)  # refuses a foreign schema before any row is read
    row, dark = 0, []
    with _damage_told(path), pq.ParquetFile(path, page_checksum_verification=True) as stream:
        names = [name for name in SCHEMA.names if name in stream.schema_arrow.names]
        for batch in stream.iter_batches(batch_size=_ROWS_A_GROUP, columns=names):
            for candidate in to_candidates(pa.Table.from_batches([batch]), str(path), part, row):
                if not candidate.spectrum.good.any():
                    dark.append(f"row {row} ({candidate.spectrum.name or candidate.id})")
                row += 1
                yield candidate
    _refuse_dark(dark, path)


def _refuse_dark(dark: Sequence[str], where: object) -> None:
    if dark:
        raise UserError(
            "a spectrum has no good pixel, so nothing can be asked about it",
            where=where,
            expected="at least one pixel that is finite and not masked",
            got=f"{len(dark)} without: {examples(dark)}",
            fix="leave those candidates out",
        )


def _columns_left_out(path: Path) -> list[str]:
    """Return the columns that reading leaves out; refuse a file that lacks some, or has its own specvi column.

    An official file may carry more than the published schema. A file of the suite may not: its column
    ``specvi`` is read whole or not at all.
    """
    with _damage_told(path):
        schema = pq.read_schema(path)
    ours = "specvi" in schema.names
    missing = missing_paths(schema, SCHEMA if ours else OFFICIAL)
    if missing:
        raise UserError(
            "not in the official schema",
            where=path,
            expected="columns " + ", ".join(OFFICIAL.names),
            got=f"without {examples(missing)}",
            fix="docs/splits.md lists every column and its type",
        )
    wrong = wrong_types(schema, SCHEMA if ours else OFFICIAL)
    if wrong:
        raise UserError(
            "a column has a type that is not in the schema",
            where=path,
            got=examples(wrong),
            fix="convert it; docs/splits.md lists every column and its type",
        )
    surplus = surplus_paths(schema, SCHEMA if ours else OFFICIAL)
    unknown = [name for name in surplus if name.startswith("specvi.")]
    if unknown:
        raise UserError(
            "the column specvi has values this version does not know",
            where=path,
            got=examples(unknown),
            fix="pip install --upgrade specvi-bench",
        )
    return surplus


@contextmanager
def _damage_told(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise UserError(
            "no such file", where=path, fix="get the split again; a file of it is missing"
        ) from None
    except (pa.ArrowException, OSError) as error:
        first_line = str(error).splitlines()[0]
        raise UserError(
            "not a readable parquet file",
            where=path,
            got=first_line,
            fix="it is damaged: get it again, or delete the folder and build it anew",
        ) from None


def _groups(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """Return the candidates of each part, task and track, in order of first appearance."""
    groups: dict[tuple[str, str], list[Candidate]] = {}
    for candidate in candidates:
        groups.setdefault((candidate.part, candidate.group), []).append(candidate)
    return list(groups.values())


def _write_group(
    folder: Path, group: Sequence[Candidate], picture: Picture | None, *, official_names: bool
) -> str:
    key, label = group[0].task.key, group[0].group
    spelling = label.replace(key, official_suffix(key), 1) if official_names else label
    name = f"{group[0].part}_{spelling}.parquet"
    path = folder / name
    # Numbers hardly repeat, so a dictionary costs time and gains nothing; labels and prompts do repeat.
    repeated = ["data_source", "prompt.list.element.content", "prompt.list.element.role", "agent_name"]
    with pq.ParquetWriter(
        path, SCHEMA, compression="zstd", use_dictionary=repeated, write_page_checksum=True
    ) as writer:
        for first in range(0, len(group), _ROWS_A_GROUP):
            writer.write_table(to_table(group[first : first + _ROWS_A_GROUP], picture))
    with path.open("rb+") as stream:
        os.fsync(stream.fileno())
    return name


def check_free(folder: Path, *, replace: bool = False) -> None:
    """Raise if a split can't be written to a folder, so that a long build need not find out at its end."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not (replace and _is_split(folder)):
        raise _occupied(folder)


def _is_split(folder: Path) -> bool:
    """Tell whether a folder is a split and holds nothing else."""
    try:
        listed = manifest.read_manifest(folder).files
    except UserError:
        return False
    names = {path.name for path in folder.iterdir()}
    return names <= {manifest.FILE_NAME, *listed, ".DS_Store"}  # the last one macOS puts into any folder


def _occupied(folder: Path) -> UserError:
    return UserError(
        "the folder is not empty",
        where=folder,
        expected="a new folder",
        fix="name another, or remove it first",
    )


def _beside(folder: Path) -> Path:
    """Return a free name beside a folder that tells which process made it, for `_remove_leftovers`."""
    return folder.parent / f".{folder.name}.{socket.gethostname()}.{os.getpid()}.{uuid4().hex[:8]}.tmp"


def _remove_leftovers(folder: Path) -> None:
    """Remove what builds of this folder left behind whose process, on this machine, no longer runs."""
    ours = re.compile(
        rf"\.{re.escape(folder.name)}\.{re.escape(socket.gethostname())}\.(\d{{1,9}})\.[0-9a-f]{{8}}\.tmp"
    )
    for path in folder.parent.iterdir():
        match = ours.fullmatch(path.name)
        if match and not _is_running(int(match[1])):
            shutil.rmtree(path, ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)  # sends nothing, asks only whether it could
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        return True
    return True


def _move_into_place(building: Path, folder: Path, *, replace: bool) -> None:
    """Rename a finished folder to its name.

    Renaming succeeds only onto nothing or an empty folder, so what came there during the build is never
    lost. A split to be replaced is first moved aside, and put back if it is no longer just a split.
    """
    aside = None
    if replace and folder.exists():
        aside = _beside(folder)
        folder.rename(aside)
        if any(aside.iterdir()) and not _is_split(aside):
            aside.rename(folder)
            raise _occupied(folder)
    try:
        building.rename(folder)
    except OSError as error:
        if error.errno in {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR}:
            raise _occupied(folder) from None
        raise
    if aside is not None:
        shutil.rmtree(aside)
    handle = os.open(folder.parent, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
