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
from specvi_benchmark.spectrum import BoolArray, FloatArray, Spectrum
from specvi_benchmark.splits.archive import Archive, Key, Record
from specvi_benchmark.splits.simulated import batches
from specvi_benchmark.splits.workers import Pool

BATCH = 100  # spectra in memory at once, a few MB each process

Report = Callable[[str, int, int], None]
"""Hears (what is being done, how much of it is done, how much there is)."""


SHARED = ("object_id", "known_as", "decidable", "random")
"""Columns of what is known of the spectra of a shard: `Archive.shard_labels`, else beside the features."""


@dataclass(frozen=True, slots=True, eq=False)
class Screened:
    """What is known of some spectra of an archive; all are ``(n,)``, in its order.

    Attributes
    ----------
    rows
        Numbers of the spectra in the whole archive.
    keys
        Their places.
    object_id, known_as, decidable, random
        As in `Record`.
    snr, bad_fraction
        Median signal to noise (NaN where there are no errors), share of bad pixels.
    """

    rows: NDArray[np.int64]
    keys: Sequence[Key]
    object_id: Sequence[str]
    known_as: Sequence[frozenset[str]]
    snr: FloatArray
    bad_fraction: FloatArray
    decidable: BoolArray
    random: BoolArray

    def at(self, rows: BoolArray) -> "Screened":
        """Return those of the spectra where ``(n,)`` is true."""
        places = np.flatnonzero(rows).tolist()
        return Screened(
            self.rows[rows],
            [self.keys[place] for place in places],
            [self.object_id[place] for place in places],
            [self.known_as[place] for place in places],
            self.snr[rows],
            self.bad_fraction[rows],
            self.decidable[rows],
            self.random[rows],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Screening:
    """A finished pass over an archive: a file a shard, read one by one, so that memory does not grow with them.

    Files hold what follows from the light. What is known of the objects is read from the archive, so that other
    labels need no other pass; an archive whose labels come with the spectra has them in the same files.
    """

    archive: Archive
    files: tuple[Path, ...]

    def shards(self) -> Iterator[Screened]:
        """Yield what is known of the spectra, shard by shard."""
        first = 0
        sets: dict[tuple[str, ...], frozenset[str]] = {}  # equal ones are one object: few, of many spectra
        for number, file in enumerate(self.files):
            labels = self.archive.shard_labels(number)
            table = _columns(file, ["snr", "bad_fraction", *(() if labels is not None else SHARED)])
            known = table if labels is None else labels
            size = len(table)
            if len(known) != size:
                raise UserError(
                    "the labels of a shard are not those of its spectra",
                    where=file,
                    expected=f"{size} rows",
                    got=len(known),
                    fix="label the archive again",
                )
            classes = map(tuple, known.column("known_as").to_pylist())
            yield Screened(
                rows=np.arange(first, first + size),
                keys=[Key(number, row) for row in range(size)],
                object_id=known.column("object_id").to_pylist(),
                known_as=[sets.setdefault(one, frozenset(one)) for one in classes],
                snr=table.column("snr").fill_null(np.nan).to_numpy(),
                bad_fraction=table.column("bad_fraction").to_numpy(),
                decidable=known.column("decidable").to_numpy(),
                random=known.column("random").to_numpy(),
            )
            first += size

    def features(self, shard: int) -> NDArray[np.float32]:
        """Return the ``(rows, columns)`` features of a shard."""
        column = _columns(self.files[shard], ["features"]).column(0).combine_chunks()
        values: NDArray[np.float32] = column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), -1)
        return values

    def of_objects(self, wanted: frozenset[str]) -> Screened:
        """Return the spectra of these objects."""
        parts: list[Screened] = []
        for part in self.shards():
            rows = np.array([name in wanted for name in part.object_id], dtype=np.bool_)
            if rows.any() or not parts:
                parts.append(part.at(rows))
        return Screened(
            np.concatenate([part.rows for part in parts]),
            [key for part in parts for key in part.keys],
            [name for part in parts for name in part.object_id],
            [classes for part in parts for classes in part.known_as],
            np.concatenate([part.snr for part in parts]),
            np.concatenate([part.bad_fraction for part in parts]),
            np.concatenate([part.decidable for part in parts]),
            np.concatenate([part.random for part in parts]),
        )


def screen(archive: Archive, folder: Path, pool: Pool, report: Report) -> Screening:
    """Screen every shard that has no file yet in ``folder``.

    A shard's file appears whole, so a killed pass goes on where it stopped; its content depends on the
    archive alone.

    Parameters
    ----------
    folder
        May hold the screening of other archives too: a shard's file has the name of its content, so an
        archive that has grown is screened where it is new, and one that has other labels nowhere.
    pool
        Shares the work out.
    """
    files = tuple(folder / f"{screening_name(archive, number)}.parquet" for number in range(archive.shards))
    waiting = [(archive, number, file) for number, file in enumerate(files) if not file.exists()]
    done = len(files) - len(waiting)
    report("Screening the archive", done, len(files))
    for more, _ in enumerate(pool.map(_screen_shard, waiting), start=1):
        report("Screening the archive", done + more, len(files))
    return Screening(archive, files)


def screening_name(archive: Archive, shard: int) -> str:
    """Return the name for the screening of this shard by these features."""
    what = {"shard": dict(archive.shard_identity(shard)), "selection_version": SELECTION_VERSION}
    return hashlib.sha256(canonical_json(what)).hexdigest()[:32]


def _screen_shard(work: tuple[Archive, int, Path]) -> None:
    archive, number, file = work
    labelled = archive.shard_labels(number) is not None
    if labelled:
        tables = [_light(batch) for batch in batches(archive.read_light(number), BATCH)]
    else:
        tables = [_table(batch) for batch in batches(archive.read_shard(number), BATCH)]
    content = io.BytesIO()
    pq.write_table(
        pa.concat_tables(tables),
        content,
        compression="zstd",
        use_dictionary=[] if labelled else ["object_id"],
        write_page_checksum=True,
    )
    write_bytes(file, content.getvalue())


def _table(records: Sequence[Record]) -> pa.Table:
    light = _light([record.spectrum for record in records])
    known = {
        "object_id": [record.object_id for record in records],
        "known_as": pa.array([sorted(record.known_as) for record in records], pa.list_(pa.string())),
        "decidable": [record.decidable for record in records],
        "random": [record.random for record in records],
    }
    return pa.table({**known, **dict(zip(light.column_names, light.columns, strict=True))})


def _light(spectra: Sequence[Spectrum]) -> pa.Table:
    features = selection_features(spectra)
    return pa.table(
        {
            "snr": pa.array([spectrum.snr for spectrum in spectra], pa.float64()),
            "bad_fraction": [spectrum.bad_fraction for spectrum in spectra],
            "features": pa.FixedSizeListArray.from_arrays(
                pa.array(features.ravel(), pa.float32()), len(selection_columns())
            ),
        }
    )


def _columns(file: Path, names: list[str]) -> pa.Table:
    try:
        return pq.read_table(file, columns=names, page_checksum_verification=True, use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise UserError(
            "what an earlier build found out about the archive can't be read",
            where=file,
            got=str(error).splitlines()[0],
            fix="delete that file and build again; the others are kept",
        ) from None
