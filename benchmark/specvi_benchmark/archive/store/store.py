"""The store: an archive's folder, read shard by shard, by place or by id. It holds no spectra itself.

::

    ARCHIVE/archive.json               schema_version
            blocks/000012.parquet      files that were looked at; names the shards of the step
            shards/000012-lamost-0.parquet
            labels/NAME/000012-lamost-0.parquet
            index-000013.npy           where each id stands, made anew when blocks came
"""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, islice
from pathlib import Path
from typing import Literal

from specvi_benchmark.archive.store.blocks import Block, read_blocks
from specvi_benchmark.archive.store.index import find, write_index
from specvi_benchmark.archive.store.shard import Shard, read_columns, read_shard
from specvi_benchmark.errors import UserError
from specvi_benchmark.files import StrictModel, parse_json, read_text, refuse_newer, validate, write_json
from specvi_benchmark.spectrum import Spectrum

SCHEMA_VERSION = 1
INFO = "archive.json"


class ArchiveInfo(StrictModel):
    """What ``archive.json`` holds."""

    schema_version: Literal[1]


def spectrum_key(spectrum: Spectrum, row: int) -> str:
    """Return the id of a spectrum in an archive: ``survey:release:id``, else ``file:name:row``."""
    return key_of(spectrum.survey, spectrum.release, spectrum.survey_id, spectrum.name, row)


def key_of(survey: str, release: str | None, survey_id: str, name: str, row: int = 0) -> str:
    """Return `spectrum_key` of a spectrum of which this is known."""
    return f"{survey}:{release or ''}:{survey_id}" if survey and survey_id else f"file:{name}:{row}"


@dataclass(frozen=True)
class Store:
    """An archive's folder. Pickled to other processes, it carries the path alone."""

    folder: Path
    blocks_read: int | None = None
    """How many blocks are looked at; None: those that are there."""

    @classmethod
    def create(cls, folder: Path) -> "Store":
        """Make an archive in a new or empty folder, or open the one that is there."""
        if (folder / INFO).exists():
            return cls.open(folder)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UserError(
                "the folder holds something else",
                where=folder,
                expected=f"a new or empty folder, or an archive ({INFO} in it)",
                fix="name another folder",
            )
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / INFO, {"schema_version": SCHEMA_VERSION})
        return cls.open(folder)

    @classmethod
    def open(cls, folder: Path) -> "Store":
        """Open an archive.

        Raises
        ------
        UserError
            It is none, or was written by a newer version.
        """
        path = folder / INFO
        if not path.exists():
            raise UserError(
                "not an archive of spectra",
                where=folder,
                expected=f"a folder with {INFO}",
                fix="specvi archive ingest FILES --into FOLDER makes one",
            )
        content = parse_json(read_text(path), path)
        refuse_newer(content, SCHEMA_VERSION, path)
        validate(ArchiveInfo, content, path)
        return cls(folder)

    def __reduce__(self) -> tuple[object, ...]:
        return Store, (self.folder, self.blocks_read)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Return what was ingested, as it stood when this was first asked."""
        return tuple(islice(read_blocks(self.folder), self.blocks_read))

    @cached_property
    def shards(self) -> tuple[Shard, ...]:
        """Return every shard, in the order of ingesting."""
        return tuple(shard for block in self.blocks for shard in block.shards)

    @property
    def spectra(self) -> int:
        """Return how many spectra there are."""
        return sum(shard.rows for shard in self.shards)

    def path(self, shard: Shard) -> Path:
        """Return the file of a shard."""
        return self.folder / "shards" / shard.file

    def read_shard(self, number: int) -> Iterator[Spectrum]:
        """Yield the spectra of a shard."""
        yield from read_shard(self.path(self.shards[number]))

    def read(self, places: Sequence[tuple[int, int]]) -> Iterator[Spectrum]:
        """Yield the spectra at (shard, row), in this order; each row group is read once a run of its shard."""
        for number, group in groupby(places, key=lambda place: place[0]):
            rows = [row for _, row in group]
            wanted = sorted(set(rows))
            found = dict(zip(wanted, read_shard(self.path(self.shards[number]), rows=wanted), strict=True))
            yield from (found[row] for row in rows)

    def place(self, id_: str) -> tuple[int, int] | None:
        """Return (shard, row) of an id, None where there is none."""
        for shard, row in find(self.index, id_):
            ids = read_columns(self.path(self.shards[shard]), ["id"]).column("id")
            if ids[row].as_py() == id_:
                return shard, row
        return None

    def get(self, id_: str) -> Spectrum:
        """Return the spectrum of this id.

        Raises
        ------
        UserError
            There is none.
        """
        place = self.place(id_)
        if place is None:
            raise UserError(
                "no such spectrum in the archive",
                where=self.folder,
                expected="an id such as survey:release:survey_id",
                got=id_,
            )
        (spectrum,) = self.read([place])
        return spectrum

    @property
    def index(self) -> Path:
        """Return the file of the index, made anew where blocks came since the last."""
        path = self.folder / f"index-{len(self.blocks):06d}.npy"
        if not path.exists():
            write_index(path, self.ids())
            for older in self.folder.glob("index-*.npy"):
                if older != path:
                    older.unlink(missing_ok=True)
        return path

    def ids(self) -> Iterator[list[str]]:
        """Yield the ids of every shard."""
        for shard in self.shards:
            yield read_columns(self.path(shard), ["id"]).column("id").to_pylist()


@contextmanager
def only_writer(archive: Path) -> Iterator[None]:
    """Hold the lock of those who add spectra or labels; the system lets go of it when the process dies, however it dies.

    Raises
    ------
    UserError
        Another process holds it.
    """
    handle = os.open(archive / ".lock", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UserError(
            "another process is ingesting into this archive, or labelling it",
            where=archive,
            fix="wait for it to end",
        ) from None
    else:
        yield
    finally:
        os.close(handle)
