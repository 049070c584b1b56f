"""Labels of an archive's spectra: beside the shards, a file for each, row by row; several sets may stand there."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

import pyarrow as pa
import pyarrow.parquet as pq

from specvi_benchmark.archive.store.shard import damaged
from specvi_benchmark.errors import UserError
from specvi_benchmark.files import StrictModel, atomic_path, read_json_model, write_json
from specvi_benchmark.splits.split import ObjectIdSource

SCHEMA = pa.schema(
    [
        ("object_id", pa.string()),
        ("object_id_source", pa.string()),
        ("known_as", pa.list_(pa.string())),
        ("evidence", pa.string()),  # JSON
        ("decidable", pa.bool_()),
        ("random", pa.bool_()),
    ]
)
SET_FILE = "labels.json"


class LabelSet(StrictModel):
    """What ``labels/NAME/labels.json`` holds: where the labels come from, and every class they name."""

    schema_version: Literal[1] = 1
    label_source: str
    classes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Label:
    """What is known of a spectrum's object; fields as in `specvi_benchmark.splits.archive.Record`."""

    object_id: str
    object_id_source: ObjectIdSource
    known_as: frozenset[str] = frozenset()
    evidence: Mapping[str, Any] = field(default_factory=dict)
    decidable: bool = True
    random: bool = True


def set_path(archive: Path, name: str) -> Path:
    """Return the file that says what a set of labels is."""
    return archive / "labels" / name / SET_FILE


def write_set(archive: Path, name: str, found: LabelSet) -> None:
    """Write what a set of labels is."""
    write_json(set_path(archive, name), found.model_dump(mode="json"))


def remove_set(archive: Path, name: str) -> None:
    """Take back what a set of labels is, before its files change."""
    set_path(archive, name).unlink(missing_ok=True)


def read_set(archive: Path, name: str) -> LabelSet:
    """Read what a set of labels is.

    Raises
    ------
    UserError
        There is no such set.
    """
    path = set_path(archive, name)
    if not path.exists():
        sets = sorted(found.parent.name for found in (archive / "labels").glob(f"*/{SET_FILE}"))
        raise UserError(
            "the archive has no such set of labels",
            where=archive,
            expected=f"one of {', '.join(sets)}" if sets else "an archive with labels",
            got=name,
            fix=f"specvi archive label {archive} TABLES --name {name} --source TEXT writes it",
        )
    return read_json_model(path, LabelSet)


def labels_path(archive: Path, name: str, shard: str) -> Path:
    """Return the file of one set of labels for one shard."""
    return archive / "labels" / name / shard


def write_labels(archive: Path, name: str, shard: str, labels: Sequence[Label]) -> None:
    """Write the labels of a shard's rows, in their order."""
    rows = [
        {
            "object_id": label.object_id,
            "object_id_source": label.object_id_source,
            "known_as": sorted(label.known_as),
            "evidence": json.dumps(dict(label.evidence), ensure_ascii=False, allow_nan=False),
            "decidable": label.decidable,
            "random": label.random,
        }
        for label in labels
    ]
    with atomic_path(labels_path(archive, name, shard)) as temporary:
        pq.write_table(pa.Table.from_pylist(rows, SCHEMA), temporary, compression="zstd")


def read_label_columns(path: Path, columns: Iterable[str]) -> pa.Table:
    """Return some columns of a shard's labels."""
    try:
        return pq.read_table(path, columns=list(columns))
    except (OSError, pa.ArrowInvalid) as error:
        raise damaged(path, error) from None


def read_labels(path: Path) -> list[Label]:
    """Return the labels of a shard's rows."""
    return [
        Label(
            row["object_id"],
            cast("ObjectIdSource", row["object_id_source"]),
            frozenset(row["known_as"]),
            json.loads(row["evidence"]),
            row["decidable"],
            row["random"],
        )
        for row in read_label_columns(path, SCHEMA.names).to_pylist()
    ]
