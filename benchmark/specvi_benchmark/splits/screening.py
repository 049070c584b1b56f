"""One pass over an archive: features and metadata of every spectrum, shard by shard, resumable."""

import hashlib
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from specvi_benchmark.errors import UserError
from specvi_benchmark.features import SELECTION_VERSION, selection_columns, selection_features
from specvi_benchmark.files import canonical_json, write_bytes
from specvi_benchmark.spectrum import BoolArray, FloatArray
from specvi_benchmark.splits.archive import Archive, Key, Record
from specvi_benchmark.splits.simulated import batches
from specvi_benchmark.splits.workers import Workers

BATCH = 100  # spectra in memory at once, a few MB each process

Report = Callable[[str, int, int], None]
"""Hears (what is being done, how much of it is done, how much there is)."""


@dataclass(frozen=True, slots=True, eq=False)
class Screened:
    """What a pass found out about every spectrum, without the features: these stay on disk, see `features`.

    All are ``(n,)``, in the order of the archive.
    """

    files: tuple[Path, ...]
    keys: tuple[Key, ...]
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
            column = _columns(file, ["features"]).column(0).combine_chunks()
            values = column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), -1)
            yield slice(first, first + len(column)), values
            first += len(column)


def screen(archive: Archive, folder: Path, pool: Workers, report: Report) -> Screened:
    """Screen every shard that has no file yet in ``folder``, and return what all of them hold.

    A shard's file appears whole, so a killed pass goes on where it stopped; its content depends on the
    archive alone.

    Parameters
    ----------
    folder
        Belongs to this archive and these features alone; see `screening_name`.
    pool
        Shares the work out.
    """
    files = tuple(folder / f"shard-{number:05d}.parquet" for number in range(archive.shards))
    waiting = [(archive, number, file) for number, file in enumerate(files) if not file.exists()]
    done = len(files) - len(waiting)
    report("Screening the archive", done, len(files))
    for more, _ in enumerate(pool.map(_screen_shard, waiting), start=1):
        report("Screening the archive", done + more, len(files))
    return _read(files)


def screening_name(archive: Archive) -> str:
    """Return a folder name for the screening of this archive by these features."""
    what = {"archive": dict(archive.identity), "selection_version": SELECTION_VERSION}
    return hashlib.sha256(canonical_json(what)).hexdigest()[:16]


def _screen_shard(work: tuple[Archive, int, Path]) -> None:
    archive, number, file = work
    tables = [_table(batch) for batch in batches(archive.read_shard(number), BATCH)]
    content = io.BytesIO()
    pq.write_table(
        pa.concat_tables(tables),
        content,
        compression="zstd",
        use_dictionary=["object_id"],
        write_page_checksum=True,
    )
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


def _columns(file: Path, names: list[str]) -> pa.Table:
    try:
        return pq.read_table(file, columns=names, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        raise UserError(
            "what an earlier build found out about the archive can't be read",
            where=file,
            got=str(error).splitlines()[0],
            fix="delete that file and build again; the others are kept",
        ) from None


def _read(files: Sequence[Path]) -> Screened:
    names = ["object_id", "known_as", "snr", "bad_fraction", "decidable", "random"]
    tables = [_columns(file, names) for file in files]
    whole = pa.concat_tables(tables)
    return Screened(
        files=tuple(files),
        keys=tuple(Key(shard, row) for shard, table in enumerate(tables) for row in range(len(table))),
        object_id=tuple(whole.column("object_id").to_pylist()),
        known_as=tuple(frozenset(classes) for classes in whole.column("known_as").to_pylist()),
        snr=whole.column("snr").fill_null(np.nan).to_numpy(),
        bad_fraction=whole.column("bad_fraction").to_numpy(),
        decidable=whole.column("decidable").to_numpy(),
        random=whole.column("random").to_numpy(),
    )
