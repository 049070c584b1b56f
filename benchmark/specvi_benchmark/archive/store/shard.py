"""One shard: a parquet file of at most a few hundred spectra of one survey, which appears whole."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from specvi_benchmark.archive.store.packing import PIXEL_COLUMNS, unpack
from specvi_benchmark.errors import UserError
from specvi_benchmark.files import atomic_path
from specvi_benchmark.spectrum import Spectrum

ROWS = 500
"""Spectra in a shard at most: about a second of work, so that a killed job loses little."""

ROW_GROUP = 100
"""Spectra that are read at once: some 3 MB of LAMOST."""

_RAW = ("flux", "ivar", "mask")  # noise does not shrink: stored as it is, and read by mapping
_MOST_GRIDS = 2**30  # bytes of a dictionary; wavelengths never leave it, as they would in files of odd grids


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard as the archive lists it.

    ``digest`` is a SHA-256 over ids and checksums: equal digests, equal spectra.
    """

    file: str
    survey: str
    rows: int
    digest: str


def digest_of(ids: Sequence[str], checksums: Sequence[str]) -> str:
    """Return the digest of a shard with these rows."""
    lines = "".join(f"{id_}\t{checksum}\n" for id_, checksum in zip(ids, checksums, strict=True))
    return hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()


def write_shard(path: Path, table: pa.Table) -> None:
    """Write a table of `packing.pack` atomically; pages carry checksums."""
    compression = {name: "none" if name in _RAW else "zstd" for name in _leaves(table)}
    with atomic_path(path) as temporary:
        pq.write_table(
            table,
            temporary,
            row_group_size=ROW_GROUP,
            compression=compression,
            use_dictionary=["wavelength_AA", "survey", "release", "format", "object_class", "subclass"],
            dictionary_pagesize_limit=_MOST_GRIDS,
            write_statistics=["id"],
            write_page_checksum=True,
        )


def read_shard(path: Path, *, rows: Sequence[int] | None = None) -> Iterator[Spectrum]:
    """Yield the spectra of a shard, or those of these rows, ascending; a row group is in memory at a time.

    Raises
    ------
    UserError
        The file is missing or damaged.
    """
    for table in read_tables(path, rows=rows):
        yield from unpack(table)


def read_tables(path: Path, *, rows: Sequence[int] | None = None) -> Iterator[pa.Table]:
    """Yield the row groups of a shard as tables, cut to ``rows`` where these are given."""
    try:
        with open_shard(path) as file:
            first = 0
            for group in range(file.num_row_groups):
                count = file.metadata.row_group(group).num_rows
                wanted = (
                    None if rows is None else [row - first for row in rows if first <= row < first + count]
                )
                if wanted is None or wanted:
                    table = file.read_row_group(group, use_threads=False)
                    yield table if wanted is None else table.take(wanted)
                first += count
    except (OSError, pa.ArrowInvalid) as error:
        raise damaged(path, error) from None


def open_shard(path: Path) -> pq.ParquetFile:
    """Open a shard by mapping, with checksums compared."""
    return pq.ParquetFile(
        path, memory_map=True, read_dictionary=["wavelength_AA"], page_checksum_verification=True
    )


def read_columns(path: Path, names: Sequence[str]) -> pa.Table:
    """Return a few columns of metadata of a shard."""
    assert not set(names) & set(PIXEL_COLUMNS)
    try:
        with open_shard(path) as file:
            return file.read(list(names), use_threads=False)
    except (OSError, pa.ArrowInvalid) as error:
        raise damaged(path, error) from None


def damaged(path: Path, error: Exception) -> UserError:
    """Return the refusal of a shard that can't be read."""
    said = " ".join(str(error).split())[:200]
    fix = "remove the archive's folder and ingest again, or bring the file back from a copy"
    return UserError("a shard of the archive is missing or damaged", where=path, got=said, fix=fix)


def _leaves(table: pa.Table) -> list[str]:
    """Return the names of the columns as parquet counts them: a map has two."""
    names = [name for name in table.column_names if name != "header_snr"]
    return [*names, "header_snr.key_value.key", "header_snr.key_value.value"]
