"""Labels of a catalogue brought to an archive: every shard gets its labels, every spectrum its object."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from specvi_benchmark.archive.catalogue.values import whole_numbers
from specvi_benchmark.archive.labels import Label, LabelSet, remove_set, write_labels, write_set
from specvi_benchmark.archive.objects import group_objects
from specvi_benchmark.archive.store import Store, only_writer
from specvi_benchmark.archive.store.shard import read_columns
from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.files import atomic_path

COLUMNS = ("id", "known_as")
OPTIONAL = ("evidence", "decidable", "random", "gaia_id")
_LIST = pa.schema(
    [
        ("id", pa.string()),
        ("survey", pa.string()),
        ("release", pa.string()),
        ("obsid", pa.int64()),
        ("survey_id", pa.string()),
        ("gaia_source_id", pa.int64()),
        ("ra", pa.float64()),
        ("dec", pa.float64()),
        ("mjd", pa.int32()),
        ("object_class", pa.string()),
        ("subclass", pa.string()),
        ("redshift", pa.float64()),
        ("file", pa.string()),
    ]
)
_TRUE, _FALSE = {"true", "1", "yes"}, {"false", "0", "no"}


@dataclass(frozen=True, slots=True)
class Known:
    """What a table says of one spectrum."""

    known_as: frozenset[str]
    evidence: Mapping[str, Any]
    decidable: bool = True
    random: bool = True
    gaia_id: int | None = None


@dataclass(frozen=True, slots=True)
class LabelReport:
    """What labelling did: spectra of the archive, those with a label, objects, and ids of the table that are not there."""

    spectra: int
    labelled: int
    objects: int
    not_there: tuple[str, ...]


def label_archive(
    archive: Path, name: str, label_source: str, known: Mapping[str, Known], classes: Iterable[str] = ()
) -> LabelReport:
    """Write a set of labels for every shard of an archive, in place of an older one of that name.

    A spectrum that ``known`` does not have is of an object that nobody has classified. Spectra of one object,
    see `group_objects`, share their classes: what one visit is catalogued as, the other is too. While it works,
    and after a kill, there is no set of that name: never one that is half old and half new.

    Parameters
    ----------
    known
        By id in the archive.
    classes
        Classes that could be given, beside those that are.

    Raises
    ------
    UserError
        There is no such archive, or another process is ingesting into it.
    """
    Store.open(archive)
    with only_writer(archive):
        return _label_archive(archive, name, label_source, known, classes)


def _label_archive(
    archive: Path, name: str, label_source: str, known: Mapping[str, Known], could_be: Iterable[str]
) -> LabelReport:
    store = Store.open(archive)
    tables = [
        read_columns(store.path(shard), ["id", "ra_deg", "dec_deg", "gaia_id"]) for shard in store.shards
    ]
    ids = [id_ for table in tables for id_ in table.column("id").to_pylist()]
    ra, dec = (
        np.array([v for t in tables for v in t.column(c).to_pylist()], dtype=np.float64)
        for c in ("ra_deg", "dec_deg")
    )
    own = (value for table in tables for value in table.column("gaia_id").to_pylist())
    gaia = [known[id_].gaia_id if id_ in known and known[id_].gaia_id else value
            for id_, value in zip(ids, own, strict=True)]  # fmt: skip
    objects = group_objects(ids, ra, dec, gaia)
    classes: dict[str, frozenset[str]] = {}
    for id_, object_id in zip(ids, objects.ids, strict=True):
        if id_ in known:
            classes[object_id] = classes.get(object_id, frozenset()) | known[id_].known_as
    first = 0
    remove_set(archive, name)
    for shard, table in zip(store.shards, tables, strict=True):
        rows = range(first, first + len(table))
        labels = [
            _label(known.get(ids[row]), Label(objects.ids[row], objects.sources[row]), classes)
            for row in rows
        ]
        write_labels(archive, name, shard.file, labels)
        first += len(table)
    named = sorted({*could_be, *(one for found in classes.values() for one in found)})
    write_set(archive, name, LabelSet(label_source=label_source, classes=tuple(named)))
    there = set(ids)
    missing = tuple(id_ for id_ in known if id_ not in there)
    return LabelReport(len(ids), len(known) - len(missing), len(set(objects.ids)), missing)


def _label(found: Known | None, bare: Label, classes: Mapping[str, frozenset[str]]) -> Label:
    known_as = classes.get(bare.object_id, frozenset())
    if found is None:
        return replace(bare, known_as=known_as)
    return replace(
        bare, known_as=known_as, evidence=found.evidence, decidable=found.decidable, random=found.random
    )


def read_known(path: Path) -> dict[str, Known]:
    """Read a table of labels, CSV or parquet: ``id``, ``known_as`` (classes parted by ``;``) and what is optional.

    Rows of one id are put together: an object may stand in several catalogues, whose evidence is kept side by side.

    Raises
    ------
    UserError
        Columns are missing or unknown in kind, a row has no id, or Gaia ids have lost digits.
    """
    try:
        table = pq.read_table(path) if path.suffix == ".parquet" else pa.csv.read_csv(
            path, convert_options=pa.csv.ConvertOptions(column_types={"id": pa.string(), "known_as": pa.string()})
        )  # fmt: skip
    except FileNotFoundError:
        raise UserError("no such file", where=path, fix="check the path") from None
    except (OSError, pa.ArrowInvalid) as error:
        raise UserError("the table can't be read", where=path, got=error) from None
    lacking = [name for name in COLUMNS if name not in table.column_names]
    if lacking:
        raise UserError(
            "the table lacks columns",
            where=path,
            expected=", ".join(COLUMNS),
            got=examples(table.column_names, limit=10),
            fix="specvi archive list gives the ids of an archive's spectra",
        )
    found: dict[str, Known] = {}
    wanted = [name for name in (*COLUMNS, *OPTIONAL) if name in table.column_names]
    gaia = _gaia_ids(table, path)
    for number, row in enumerate(table.select(wanted).to_pylist(), start=1):
        if not row["id"]:
            raise UserError(
                "a row without id", where=f"{path}, row {number}", fix="remove it or name its spectrum"
            )
        one = _known(row, gaia[number - 1] or None, f"{path}, row {number}")
        _add(found, row["id"], one)
    return found


def together(tables: Iterable[Mapping[str, Known]]) -> dict[str, Known]:
    """Return what several tables say: of one spectrum, the classes and the evidence of all."""
    found: dict[str, Known] = {}
    for table in tables:
        for id_, one in table.items():
            _add(found, id_, one)
    return found


def _add(found: dict[str, Known], id_: str, one: Known) -> None:
    other = found.get(id_)
    found[id_] = one if other is None else _both(other, one)


def _gaia_ids(table: pa.Table, path: Path) -> list[int]:
    """Return the Gaia id of every row, 0 where it has none: blank, zero, or a survey's sentinel."""
    if "gaia_id" not in table.column_names:
        return [0] * len(table)
    column = table.column("gaia_id")
    if pa.types.is_null(column.type):
        return [0] * len(table)
    ids, unusable = whole_numbers(pa.concat_arrays(column.chunks))
    if unusable:
        raise UserError(
            "cells that hold no Gaia id",
            where=f"{path}, column gaia_id",
            expected="whole numbers with all digits, or nothing",
            got=f"{unusable} that are text, or floating-point numbers that have lost their last digits",
            fix="write the column anew from its source, as whole numbers or text",
        )
    found: list[int] = ids.tolist()
    return found


def _known(row: Mapping[str, Any], gaia_id: int | None, where: str) -> Known:
    names = row["known_as"] or ""
    classes = names if isinstance(names, list) else [name.strip() for name in str(names).split(";")]
    return Known(
        frozenset(name for name in classes if name),
        _evidence(row.get("evidence")),
        decidable=_flag(row.get("decidable"), where, "decidable"),
        random=_flag(row.get("random"), where, "random"),
        gaia_id=gaia_id,
    )


def _both(one: Known, other: Known) -> Known:
    return Known(
        one.known_as | other.known_as,
        _side_by_side(one.evidence, other.evidence),
        decidable=one.decidable and other.decidable,
        random=one.random and other.random,
        gaia_id=one.gaia_id or other.gaia_id,
    )


def _side_by_side(one: Mapping[str, Any], other: Mapping[str, Any]) -> Mapping[str, Any]:
    """Put evidence together: what two catalogues say under one name becomes the list of both."""
    both = {**other, **one}
    for name in one.keys() & other.keys():
        lists = [value if isinstance(value, list) else [value] for value in (one[name], other[name])]
        together = lists[0] + [value for value in lists[1] if value not in lists[0]]
        both[name] = together if len(together) > 1 else one[name]
    return both


def _evidence(value: object) -> Mapping[str, Any]:
    """Return a JSON object as it is, and other text as a note."""
    if value is None or value == "":
        return {}
    try:
        parsed = json.loads(str(value), parse_constant=_refuse_constant)
    except ValueError:
        return {"note": str(value)}
    return parsed if isinstance(parsed, dict) else {"note": str(value)}


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _flag(value: object, where: str, name: str) -> bool:
    text = "true" if value is None else str(value).lower()
    if text not in _TRUE | _FALSE:
        raise UserError(
            "neither true nor false", where=f"{where}, {name}", expected="true or false", got=value
        )
    return text in _TRUE


def write_list(archive: Path, out: Path) -> int:
    """Write what an archive holds as a catalogue (parquet, or CSV by the name), for matching; return its rows.

    Column names are those that `read_catalogue` knows: ``obsid``, ``gaia_source_id``, ``ra``, ``dec``, ``file``.
    """
    store = Store.open(archive)
    with atomic_path(out) as temporary:
        writer = (
            pa.csv.CSVWriter(temporary, _LIST)
            if out.suffix == ".csv"
            else pq.ParquetWriter(temporary, _LIST, compression="zstd")
        )
        with writer:
            for table in _listed(store):
                writer.write_table(table)
    return store.spectra


def _listed(store: Store) -> Iterator[pa.Table]:
    names = ["id", "survey", "release", "survey_id", "gaia_id", "ra_deg", "dec_deg", "mjd", "object_class"]
    names += ["subclass", "redshift", "name"]
    for shard in store.shards:
        table = read_columns(store.path(shard), names)
        lamost = shard.survey.removeprefix("simulated-") == "lamost"
        obsid = [
            int(text) if lamost and text.isdigit() else None for text in table.column("survey_id").to_pylist()
        ]
        table = table.append_column("obsid", pa.array(obsid, pa.int64()))
        table = table.rename_columns(
            {"gaia_id": "gaia_source_id", "ra_deg": "ra", "dec_deg": "dec", "name": "file"}
        )
        yield table.select(_LIST.names).cast(_LIST)
