"""The published set: where it lies, what it must hold, and how a copy is checked against that."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from specvi_benchmark.files import StrictModel, sha256_file
from specvi_benchmark.splits.schema import OFFICIAL

HUB_ID = "Maxwell-Jia/SpecVI-Bench"
REVISION = "0e003e00ac128c665acd702af3dc0992c4161637"
"""The commit that an independent reproduction (github KMnO4-zx/agentic-rl-lab, 09-spec-o3) worked with."""

COLD_START_ID = "Maxwell-Jia/Spec-o3-ColdStartSFT"
COLD_START_REVISION = "7ea73e408ffe6a0b25e5f738e517a71217eb7fbc"

PINNED: Mapping[str, str] = {HUB_ID: REVISION, COLD_START_ID: COLD_START_REVISION}
"""The revision of a published dataset that is taken where none is asked for."""

ROWS: Mapping[str, int] = {
    "train_cc": 671,
    "train_cv": 711,
    "train_gm": 658,
    "train_ss": 706,
    "train_wd": 618,
    "test_cc": 1321,
    "test_cv": 1458,
    "test_gm": 1321,
    "test_ss": 1442,
    "test_wd": 1212,
}
"""Rows of every published file (dataset card of `HUB_ID`)."""

SPELLINGS: Mapping[str, str] = {"cc": "carbon", "cv": "cv", "gm": "gm", "ss": "ss", "wd": "wd"}
"""``data_source`` by the task suffix in a file's name (dataset card of `HUB_ID`)."""

NULL_REDSHIFTS: Mapping[str, int] = {"train_cc": 87}
"""Rows without redshift, as far as anyone has published them (the same reproduction)."""

POSITIVES: Mapping[str, int] = {"train_cv": 343, "test_cv": 229}
"""Rows with YES, as far as published; over all tasks 1681 of 3364 and 1122 of 6754."""

_ROWS_AT_ONCE = 200
_REDSHIFT = ("tools_kwargs", "spectral_visualization_tool", "create_kwargs", "redshift")


class Published(StrictModel):
    """One published figure and what a copy has in its place."""

    what: str
    found: str
    published: str

    @property
    def holds(self) -> bool:
        """Return whether they agree."""
        return self.found == self.published


class FileReport(StrictModel):
    """What one official file holds. ``spellings``: every value of ``data_source``, with its number of rows."""

    name: str
    rows: int
    yes: int
    null_redshifts: int
    spellings: Mapping[str, int]
    sha256: str

    @property
    def checks(self) -> tuple[Published, ...]:
        """Return every published figure of a file of this name, beside the one that was found."""
        stem = self.name.removesuffix(".parquet")
        suffix = stem.partition("_")[2]
        compared: list[tuple[str, object, object | None]] = [
            ("rows", self.rows, ROWS.get(stem)),
            ("data_source", ", ".join(self.spellings), SPELLINGS.get(suffix) if stem in ROWS else None),
            ("rows without redshift", self.null_redshifts, NULL_REDSHIFTS.get(stem)),
            ("YES", self.yes, POSITIVES.get(stem)),
        ]
        return tuple(
            Published(what=f"{self.name}: {what}", found=str(found), published=str(published))
            for what, found, published in compared
            if published is not None
        )


def describe_file(path: Path) -> FileReport:
    """Count rows, truths, spellings and null redshifts of an official file, without reading its spectra."""
    columns = ["data_source", "reward_model.ground_truth", ".".join(("extra_info", *_REDSHIFT))]
    with pq.ParquetFile(path) as file:
        table = file.read(columns=columns)
    truth = pc.struct_field(table.column("reward_model").combine_chunks(), "ground_truth")
    redshift = pc.struct_field(table.column("extra_info").combine_chunks(), list(_REDSHIFT))
    spelled = table.column("data_source").value_counts().to_pylist()
    return FileReport(
        name=path.name,
        rows=len(table),
        yes=pc.sum(pc.equal(truth, "YES")).as_py() or 0,
        null_redshifts=redshift.null_count + (pc.sum(pc.is_nan(redshift)).as_py() or 0),
        spellings={
            str(item["values"]): item["counts"] for item in sorted(spelled, key=lambda i: str(i["values"]))
        },
        sha256=sha256_file(path),
    )


def is_official(path: Path) -> bool:
    """Tell whether a file has a published name and no column of the suite: it claims to be one of the ten."""
    return path.stem in ROWS and "specvi" not in pq.read_schema(path).names


def missing_files(names: Sequence[str]) -> list[str]:
    """Return the published files that are not among these."""
    return [f"{stem}.parquet" for stem in ROWS if f"{stem}.parquet" not in set(names)]


def losses(original: Path, written: Path) -> list[str]:
    """Return the official columns in which a written file differs from the one it was imported from.

    Values are compared row by row: numbers as float64 with NaN equal to NaN and to a null inside a list,
    texts, and picture bytes. Empty: nothing was lost.
    """
    found = []
    with pq.ParquetFile(original) as before, pq.ParquetFile(written) as after:
        if before.metadata.num_rows != after.metadata.num_rows:
            return [f"{before.metadata.num_rows} rows became {after.metadata.num_rows}"]
        for name in OFFICIAL.names:
            pairs = zip(_batches(before, name), _batches(after, name), strict=True)
            if not all(_equal(first, second, OFFICIAL.field(name).type) for first, second in pairs):
                found.append(name)
    return found


def _batches(file: pq.ParquetFile, column: str) -> Iterator[pa.Array]:
    for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE, columns=[column]):
        yield batch.column(0)


def _equal(first: pa.Array, second: pa.Array, kind: pa.DataType) -> bool:
    """Compare two arrays by the kinds of the published schema, whatever the precision and order of fields."""
    if pa.types.is_dictionary(first.type):
        return _equal(first.dictionary_decode(), second, kind)
    if pa.types.is_struct(kind):
        if not pa.types.is_struct(first.type):  # a list that is empty in every row has no fields
            return len(first) == len(second) == 0
        return all(
            _equal(pc.struct_field(first, field.name), pc.struct_field(second, field.name), field.type)
            for field in kind
        )
    if pa.types.is_list(kind):
        lengths = [pc.fill_null(pc.list_value_length(array), 0).cast(pa.int64()) for array in (first, second)]
        return bool(lengths[0].equals(lengths[1])) and _equal(
            pc.list_flatten(first), pc.list_flatten(second), kind.value_type
        )
    if pa.types.is_floating(kind):
        values = [array.cast(pa.float64()).to_numpy(zero_copy_only=False) for array in (first, second)]
        return bool(np.array_equal(values[0], values[1], equal_nan=True))
    return bool(first.cast(kind).equals(second.cast(kind)))
