"""Reads answers from files made elsewhere: JSON lines, CSV or parquet with at least id, task and answer."""

import csv
import io
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet
from pydantic import ValidationError

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import parse_json, read_text
from specvi_benchmark.runs.predictions import Prediction
from specvi_benchmark.tasks import get_task
from specvi_benchmark.vetting import ANSWERS, Outcome

NEEDED = ("id", "task", "answer")
FURTHER = tuple(name for name in Prediction.model_fields if name not in NEEDED)
_EXAMPLE = '{"id": "…", "task": "cv", "answer": "YES"}'


@dataclass(frozen=True, slots=True)
class Row:
    """A row that names a candidate. ``badly_spelled`` is its answer where that is neither YES nor NO."""

    place: str
    prediction: Prediction
    badly_spelled: str | None = None


@dataclass(frozen=True, slots=True)
class PredictionFile:
    """What a file says, before it is held against a split.

    ``faults`` are rows that name no candidate or break a rule: kind of fault → where, with what was
    found. ``outcomes_undeclared`` is True where a row has no outcome of its own: a missing answer
    can then only count as `unparsed`. ``ignored_columns`` had no part in anything.
    """

    where: str
    rows: tuple[Row, ...]
    faults: Mapping[str, tuple[str, ...]]
    outcomes_undeclared: bool = False
    ignored_columns: tuple[str, ...] = ()


class _Table(NamedTuple):
    columns: tuple[str, ...]
    rows: list[tuple[str, dict[str, Any]]]  # where, and column → value
    broken: list[str]


class _RowError(Exception):
    def __init__(self, kind: str, found: object) -> None:
        super().__init__(kind)
        self.kind = kind
        self.found = found


def read_foreign_predictions(path: Path) -> PredictionFile:
    """Read a file of answers. The format is told by content, not by the file's name.

    Answers may be in any case with white space around; an empty one is a missing answer. Tasks may be
    in any official spelling. Columns that `Prediction` knows are used, others are named and ignored.

    Raises
    ------
    UserError
        Nothing can be read from it: no file, empty, not one of the formats, a needed column missing.
        Faults of single rows are collected instead.
    """
    table = _read_table(path)
    _check_columns(table, path)
    rows: list[Row] = []
    faults: dict[str, list[str]] = {}
    if table.broken:
        faults["rows that can't be split into the header's columns"] = table.broken
    undeclared = False
    for place, cells in table.rows:
        try:
            rows.append(_row(place, cells))
        except _RowError as fault:
            faults.setdefault(fault.kind, []).append(f"{fault.found} ({place})")
        undeclared |= _is_empty(cells.get("outcome"))
    return PredictionFile(
        where=str(path),
        rows=tuple(rows),
        faults={kind: tuple(found) for kind, found in faults.items()},
        outcomes_undeclared=undeclared,
        ignored_columns=tuple(name for name in table.columns if name not in Prediction.model_fields),
    )


def _read_table(path: Path) -> _Table:
    try:
        with path.open("rb") as stream:
            start = stream.read(4)
    except FileNotFoundError:
        raise UserError("no such file", where=path, fix="check the path") from None
    except OSError as error:
        raise UserError("the file can't be read", where=path, got=error.strerror) from None
    if start == b"PAR1":
        return _read_parquet(path)
    text = read_text(path)
    if not text.strip():
        raise UserError("the file is empty", where=path, expected="a row for each candidate", got="no text")
    if "\0" in text:
        raise UserError(
            "not a text file", where=path, expected="UTF-8 text", got="zero bytes", fix="save as UTF-8"
        )
    if text.lstrip()[0] == "[":
        raise UserError(
            "one JSON list, not JSON lines",
            where=path,
            expected=f"one object a line, as {_EXAMPLE}",
            got="[",
            fix="write each element of the list on a line of its own, without commas between",
        )
    return _read_jsonl(text, path) if text.lstrip()[0] == "{" else _read_csv(text)


def _read_parquet(path: Path) -> _Table:
    try:
        file = pa.parquet.ParquetFile(path)
        columns = tuple(file.schema_arrow.names)
        used = [name for name in columns if name in Prediction.model_fields]
        cells = file.read(columns=used).to_pylist()
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(
            "not a whole parquet file", where=path, got=reason, fix="write or copy the file again"
        ) from None
    return _Table(columns, [(f"row {number}", row) for number, row in enumerate(cells, start=1)], [])


def _read_jsonl(text: str, path: Path) -> _Table:
    rows: list[tuple[str, dict[str, Any]]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            value = parse_json(line, f"{path}, line {number}")
            if not isinstance(value, dict):
                raise UserError(
                    "a line is not a JSON object",
                    where=f"{path}, line {number}",
                    expected=_EXAMPLE,
                    got=line[:60],
                )
            rows.append((f"line {number}", value))
    return _Table(tuple(dict.fromkeys(name for _, row in rows for name in row)), rows, [])


def _read_csv(text: str) -> _Table:
    header_line = text.lstrip().split("\n", 1)[0]
    delimiter = max(",;\t", key=header_line.count)
    lines = csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True)
    filled = ((lines.line_num, cells) for cells in lines if any(cell.strip() for cell in cells))
    columns = tuple(cell.strip() for cell in next(filled)[1])
    rows: list[tuple[str, dict[str, Any]]] = []
    broken: list[str] = []
    for number, cells in filled:
        if len(cells) == len(columns):
            rows.append((f"line {number}", dict(zip(columns, cells, strict=True))))
        else:
            broken.append(f"line {number} has {len(cells)} of {len(columns)}")
    return _Table(columns, rows, broken)


def _check_columns(table: _Table, path: Path) -> None:
    missing = [name for name in NEEDED if name not in table.columns]
    if missing:
        raise UserError(
            f"missing column{'s' if len(missing) > 1 else ''}: {', '.join(missing)}",
            where=path,
            expected=", ".join(NEEDED),
            got=", ".join(table.columns) or "no columns",
            fix="name the columns so; the first line of a CSV file is its header",
        )
    doubled = sorted({name for name in table.columns if table.columns.count(name) > 1})
    if doubled:
        raise UserError(
            "a column appears twice", where=path, got=", ".join(doubled), fix="remove one of them"
        )
    if not table.rows and not table.broken:
        raise UserError(
            "the file has no rows", where=path, expected="a row for each candidate", got="a header only"
        )


def _row(place: str, cells: Mapping[str, Any]) -> Row:
    candidate, task = _id(cells.get("id")), _task(cells.get("task"))
    answer, badly_spelled = _answer(cells.get("answer"))
    stated = dict(_stated(cells))
    if badly_spelled is not None:
        stated["outcome"] = Outcome.UNPARSED
    elif "outcome" not in stated:
        stated["outcome"] = Outcome.ANSWERED if answer else Outcome.UNPARSED
    try:
        prediction = Prediction.model_validate({"id": candidate, "task": task, "answer": answer, **stated})
    except ValidationError as error:
        first = error.errors()[0]
        column = ".".join(str(part) for part in first["loc"])
        raise _RowError("rows with a value that is not allowed", f"{column} {first['msg']}".strip()) from None
    return Row(place, prediction, badly_spelled)


def _stated(cells: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the further columns that hold something; CSV gives them as text."""
    for name in FURTHER:
        value = cells.get(name)
        if _is_empty(value):
            continue
        if name == "votes" and isinstance(value, str):
            yield name, value.split()
        else:
            yield name, value.strip() if isinstance(value, str) else value


def _id(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise _RowError("rows without an id", repr(value))
    return value.strip()


def _task(value: Any) -> str:
    try:
        return get_task(str(value)).key
    except UserError:
        raise _RowError("unknown tasks", repr(value)) from None


def _answer(value: Any) -> tuple[str | None, str | None]:
    """Return the answer, and what stood there if it is neither YES nor NO nor empty."""
    if _is_empty(value):
        return None, None
    if isinstance(value, str) and value.strip().upper() in ANSWERS:
        return value.strip().upper(), None
    return None, repr(value)


def _is_empty(value: Any) -> bool:
    return (
        value is None
        or value == ""
        or (isinstance(value, float) and math.isnan(value))
        or (isinstance(value, str) and not value.strip())
    )
