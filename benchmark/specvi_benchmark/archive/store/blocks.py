"""Blocks: what one step of ingesting did, as one file that appears whole and so commits the step's shards.

``blocks/000012.parquet`` lists the files that were looked at, with what came of each; its metadata names the
shards that the step wrote. A shard that no block names does not belong to the archive.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from specvi_benchmark.archive.store.shard import Shard, damaged
from specvi_benchmark.files import atomic_path

_SCHEMA = pa.schema(
    [
        ("file", pa.string()),
        ("bytes", pa.int64()),
        ("mtime_ns", pa.int64()),
        ("spectra", pa.int32()),  # that entered the archive; 0 where the file was refused
        ("reason", pa.string()),  # why it was refused
        (
            "left_out",
            pa.list_(pa.string()),
        ),  # rows that hold no usable spectrum, or one that is there already
        ("notes", pa.list_(pa.string())),  # what was taken for granted
    ]
)
_SHARDS = b"specvi_shards"
_NAME = re.compile(r"^\d{6}\.parquet$")


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file that was looked at, and what came of it."""

    file: str
    bytes: int
    mtime_ns: int
    spectra: int = 0
    reason: str | None = None
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """A finished step."""

    number: int
    shards: tuple[Shard, ...]


def block_path(archive: Path, number: int) -> Path:
    """Return where a block stands."""
    return archive / "blocks" / f"{number:06d}.parquet"


def write_block(archive: Path, number: int, entries: Sequence[FileEntry], shards: Sequence[Shard]) -> None:
    """Commit a step."""
    listed = json.dumps([asdict(shard) for shard in shards]).encode()
    table = pa.Table.from_pylist([asdict(entry) for entry in entries], _SCHEMA)
    with atomic_path(block_path(archive, number)) as temporary:
        pq.write_table(table.replace_schema_metadata({_SHARDS: listed}), temporary, compression="zstd")


def read_blocks(archive: Path) -> Iterator[Block]:
    """Yield every block, by number."""
    for path in _paths(archive):
        try:
            listed = json.loads(pq.read_schema(path).metadata[_SHARDS])
        except (OSError, pa.ArrowInvalid, KeyError, TypeError) as error:
            raise damaged(path, error) from None
        yield Block(int(path.stem), tuple(Shard(**shard) for shard in listed))


def read_entries(archive: Path, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """Yield the files of every block as a table, by number of the block."""
    for path in _paths(archive):
        try:
            yield pq.read_table(path, columns=None if columns is None else list(columns))
        except (OSError, pa.ArrowInvalid) as error:
            raise damaged(path, error) from None


def _paths(archive: Path) -> list[Path]:
    folder = archive / "blocks"
    return sorted(path for path in folder.glob("*.parquet") if _NAME.match(path.name))
