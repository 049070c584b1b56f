"""One pass over an archive: features and metadata of every spectrum, shard by shard, resumable."""

import hashlib
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from specvi_benchmark.features import SELECTION_VERSION, selection_columns, selection_features
from specvi_benchmark.files import canonical_json, write_bytes
from specvi_benchmark.spectrum import BoolArray, FloatArray
from specvi_benchmark.splits.archive import Archive, Key, Record
from specvi_benchmark.splits.simulated import batches
from specvi_benchmark.splits.workers import Pool

BATCH = 100  # spectra in memory at once, a few MB each process

Report = Callable[[str, int, int], None]
"""Hears (what is being done, how much of it is done, how much there is)."""


class Keys(Sequence[Key]):
    """The places of all spectra, told from where each shard begins; ``(shards + 1,)`` starts."""

    def __init__(self, starts: NDArray[np.int64]) -> None:
        self._starts = starts

    def __len__(self) -> int:
        return int(self._starts[-1])

    @overload
    def __getitem__(self, row: int) -> Key: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[Key]: ...
    def __getitem__(self, row: int | slice) -> Key | Sequence[Key]:
        """Return the place of one spectrum, or of several."""
        if isinstance(row, slice):
            return [self[one] for one in range(*row.indices(len(self)))]
        if not 0 <= row < len(self):
            raise IndexError(row)
        shard = int(np.searchsorted(self._starts, row, side="right")) - 1
        return Key(shard, int(row - self._starts[shard]))


@dataclass(frozen=True, slots=True, eq=False)
class Screened:
    """What a pass found out about every spectrum, without the features: these stay on disk, see `features`.

    All are ``(n,)``, in the order of the archive.
    """

    files: tuple[Path, ...]
    keys: Sequence[Key]
    object_id: tuple[str, ...]
    known_as: tuple[frozenset[str], ...]
    snr: FloatArray
    bad_fraction: FloatArray
    decidable: BoolArray
    random: BoolArray

    def features(self) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """Yield shard after shard: which rows these are, and their ``(rows, columns)`` features."""
        first = 0
        for file in self.files:
            column = pq.read_table(file, columns=["features"]).column(0).combine_chunks()
            values = column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), -1)
            yield slice(first, first + len(column)), values
            first += len(column)


def screen(archive: Archive, folder: Path, pool: Pool, report: Report) -> Screened:
    """Screen every shard that has no file yet in ``folder``, and return what all of them hold.

    A shard's file appears whole, so a killed pass goes on where it stopped; its content depends on the
    archive alone.

    Parameters
    ----------
    folder
        May hold the screening of other archives too: a shard's file has the name of its content, so an
        archive that has grown is screened where it is new.
    pool
        Shares the work out.
    """
    files = tuple(folder / f"{screening_name(archive, number)}.parquet" for number in range(archive.shards))
    waiting = [(archive, number, file) for number, file in enumerate(files) if not file.exists()]
    done = len(files) - len(waiting)
    report("Screening the archive", done, len(files))
    for more, _ in enumerate(pool.map(_screen_shard, waiting), start=1):
        report("Screening the archive", done + more, len(files))
    return _read(files)


def screening_name(archive: Archive, shard: int) -> str:
    """Return the name for the screening of this shard by these features."""
    what = {"shard": dict(archive.shard_identity(shard)), "selection_version": SELECTION_VERSION}
    return hashlib.sha256(canonical_json(what)).hexdigest()[:32]


def _screen_shard(work: tuple[Archive, int, Path]) -> None:
    archive, number, file = work
    tables = [_table(batch) for batch in batches(archive.read_shard(number), BATCH)]
    content = io.BytesIO()
    pq.write_table(pa.concat_tables(tables), content, compression="zstd", use_dictionary=["object_id"])
    write_bytes(file, content.getvalue())


def _table(records: Sequence[Record]) -> pa.Table:
    features = selection_features([record.spectrum for record in records])
    snr = [record.spectrum.snr for record in records]
    return pa.table(
        {
            "object_id": [record.object_id for record in records],
            "known_as": pa.array([sorted(record.known_as) for record in records], pa.list_(pa.string())),
            "snr": pa.array(snr, pa.float64()),
            "bad_fraction": [record.spectrum.bad_fraction for record in records],
            "decidable": [record.decidable for record in records],
            "random": [record.random for record in records],
            "features": pa.FixedSizeListArray.from_arrays(
                pa.array(features.ravel(), pa.float32()), len(selection_columns())
            ),
        }
    )


def _known_as(tables: Sequence[pa.Table]) -> Iterator[frozenset[str]]:
    """Yield the classes of every spectrum; equal sets are one object, for there are few and many spectra."""
    sets: dict[tuple[str, ...], frozenset[str]] = {}
    for table in tables:
        for classes in table.column("known_as").to_pylist():
            yield sets.setdefault(tuple(classes), frozenset(classes))


def _read(files: Sequence[Path]) -> Screened:
    names = ["object_id", "known_as", "snr", "bad_fraction", "decidable", "random"]
    tables = [pq.read_table(file, columns=names) for file in files]
    whole = pa.concat_tables(tables)
    return Screened(
        files=tuple(files),
        keys=Keys(np.cumsum([0, *map(len, tables)])),
        object_id=tuple(whole.column("object_id").to_pylist()),
        known_as=tuple(_known_as(tables)),
        snr=whole.column("snr").fill_null(np.nan).to_numpy(),
        bad_fraction=whole.column("bad_fraction").to_numpy(),
        decidable=whole.column("decidable").to_numpy(),
        random=whole.column("random").to_numpy(),
    )
