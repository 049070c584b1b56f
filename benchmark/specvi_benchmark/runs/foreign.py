"""Reads answers from files made elsewhere: JSON lines, CSV or parquet with at least id, task and answer."""

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet
from pydantic import ValidationError

from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.files import parse_json
from specvi_benchmark.runs.predictions import Prediction
from specvi_benchmark.tasks import get_task
from specvi_benchmark.vetting import ANSWERS, Outcome

NEEDED = ("id", "task", "answer")
FURTHER = tuple(name for name in Prediction.model_fields if name not in NEEDED)
NUMBERS = frozenset({"p_yes", "tool_calls", "tokens_in", "tokens_out", "cost_usd", "seconds"})
_EXAMPLE = '{"id": "…", "task": "cv", "answer": "YES"}'
_END = "\0"  # stands in no text file: see `_decode`
_GZIP = b"\x1f\x8b"
_CELL_LIMIT = 2**31 - 1  # characters; a longer limit does not fit the csv module on every platform


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
    found; ``faulty_ids`` are the ids that such rows name. ``outcomes_undeclared`` is True where a row has
    no outcome of its own: a missing answer can then only count as `unparsed`. ``ignored_columns`` had no
    part in anything, ``other_tasks`` rows neither. ``superseded`` rows of a run's log are `error` and were
    tried again.
    """

    where: str
    rows: tuple[Row, ...]
    faults: Mapping[str, tuple[str, ...]]
    outcomes_undeclared: bool = False
    ignored_columns: tuple[str, ...] = ()
    faulty_ids: frozenset[str] = frozenset()
    other_tasks: int = 0
    superseded: int = 0


class _Table(NamedTuple):
    columns: tuple[str, ...]
    rows: list[tuple[str, dict[str, Any]]]  # where, and column → value
    broken: Mapping[str, list[str]]  # kind of fault → where, of rows that are no rows
    is_log: bool = False  # each row has just the fields that a run writes


class _RowError(Exception):
    def __init__(self, kind: str, found: object) -> None:
        super().__init__(kind)
        self.kind = kind
        self.found = found


def read_foreign_predictions(path: Path, task: str | None = None) -> PredictionFile:
    """Read a file of answers. The format is told by content, not by the file's name.

    Answers may be in any case with white space around; an empty one is a missing answer. Tasks may be
    in any official spelling. Columns that `Prediction` knows are used, others are named and ignored.
    The file is read once and from its start, so that it may be a pipe.

    Parameters
    ----------
    path
        The file.
    task
        Key of the only task to read: rows of others are left out, whatever they hold.

    Raises
    ------
    UserError
        Nothing can be read from it: no file, empty, not one of the formats, a needed column missing.
        Faults of single rows are collected instead.
    """
    try:
        content = path.read_bytes()  # once: a pipe can't be opened a second time
    except FileNotFoundError:
        raise UserError("no such file", where=path, fix="check the path") from None
    except OSError as error:
        raise UserError("the file can't be read", where=path, got=error.strerror) from None
    return parse_foreign_predictions(content, path, task)


def parse_foreign_predictions(content: bytes, path: Path, task: str | None = None) -> PredictionFile:
    """Understand the bytes of a file of answers; ``path`` names it in messages. See `read_foreign_predictions`."""
    table = _read_table(content, path)
    _check_columns(table, path)
    rows: list[Row] = []
    faults = {kind: list(places) for kind, places in table.broken.items()}
    faulty_ids: set[str] = set()
    undeclared = False
    other_tasks = 0
    for place, cells in table.rows:
        try:
            if task is not None and _task(cells.get("task")) != task:
                other_tasks += 1
                continue
            rows.append(_row(place, cells))
        except _RowError as fault:
            faults.setdefault(fault.kind, []).append(f"{fault.found} ({place})")
            if _names_candidate(cells.get("id")):
                faulty_ids.add(_id(cells.get("id")))
        undeclared |= _is_empty(cells.get("outcome"))
    kept = _last_tries(rows) if table.is_log else rows
    return PredictionFile(
        where=str(path),
        rows=tuple(kept),
        faults={kind: tuple(found) for kind, found in faults.items()},
        outcomes_undeclared=undeclared,
        ignored_columns=tuple(
            dict.fromkeys(name for name in table.columns if name and name not in Prediction.model_fields)
        ),
        faulty_ids=frozenset(faulty_ids),
        other_tasks=other_tasks,
        superseded=len(rows) - len(kept),
    )


def _last_tries(rows: Sequence[Row]) -> list[Row]:
    """Leave out `error` rows of a log that a later row of the same candidate follows, as `specvi run` does."""
    last = {row.prediction.key: number for number, row in enumerate(rows)}
    return [
        row
        for number, row in enumerate(rows)
        if row.prediction.outcome is not Outcome.ERROR or last[row.prediction.key] == number
    ]


def _read_table(content: bytes, path: Path) -> _Table:
    if content.startswith(b"PAR1"):
        return _read_parquet(content, path)
    text = _decode(content, path)
    if not text.strip():
        raise UserError("the file is empty", where=path, expected="a row for each candidate", got="no text")
    if text.lstrip()[0] == "[":
        raise UserError(
            "one JSON list, not JSON lines",
            where=path,
            expected=f"one object a line, as {_EXAMPLE}",
            got="[",
            fix="write each element of the list on a line of its own, without commas between",
        )
    return _read_jsonl(text, path) if text.lstrip()[0] == "{" else _read_csv(text, path)


def _decode(content: bytes, path: Path) -> str:
    if content.startswith(_GZIP):
        raise UserError("a compressed file", where=path, got="gzip", fix=f"unpack it first: gunzip {path}")
    found = "zero bytes"
    try:
        text = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig").read()
        if _END not in text:
            return text
    except UnicodeDecodeError as error:
        found = f"byte {error.start} is not UTF-8"
    raise UserError("not a text file", where=path, expected="UTF-8 text", got=found, fix="save as UTF-8")


def _read_parquet(content: bytes, path: Path) -> _Table:
    try:
        file = pa.parquet.ParquetFile(pa.BufferReader(content))
        columns = tuple(file.schema_arrow.names)
        used = [name for name in columns if name in Prediction.model_fields]
        cells = file.read(columns=used).to_pylist()
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(
            "not a whole parquet file", where=path, got=reason, fix="write or copy the file again"
        ) from None
    return _Table(columns, [(f"row {number}", row) for number, row in enumerate(cells, start=1)], {})


def _read_jsonl(text: str, path: Path) -> _Table:
    rows: list[tuple[str, dict[str, Any]]] = []
    broken: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = parse_json(line, f"{path}, line {number}", each_key_once=True)
        except UserError as error:
            broken.append(f"{_short(error.got or error.what)} (line {number})")
            continue
        if isinstance(value, dict):
            rows.append((f"line {number}", value))
        else:
            broken.append(f"{_short(line.strip())} (line {number})")
    if not rows:
        raise UserError(
            "no line is a JSON object",
            where=path,
            expected=f"one object a line, as {_EXAMPLE}",
            got=examples(broken),
            fix="write each object on one line of its own",
        )
    return _Table(
        columns=tuple(dict.fromkeys(name for _, row in rows for name in row)),
        rows=rows,
        broken={"lines that are not a JSON object": broken} if broken else {},
        is_log=all(row.keys() == Prediction.model_fields.keys() for _, row in rows),
    )


def _read_csv(text: str, path: Path) -> _Table:
    header_line = text.lstrip().split("\n", 1)[0]
    delimiter = max(",;\t", key=header_line.count)
    with _long_cells():
        lines = list(_csv_lines(text, delimiter))
    if not lines:
        raise UserError(
            "the file is empty", where=path, expected=f"a header: {', '.join(NEEDED)}", got="empty cells only"
        )
    columns = tuple(cell.strip() for cell in lines[0][2])
    rows: list[tuple[str, dict[str, Any]]] = []
    broken: list[str] = []
    for first, last, cells in lines[1:]:
        if cells[-1].endswith(_END):
            broken.append(f"line {first}: a quote is left open and swallows all that follows")
        elif len(cells) == len(columns):
            rows.append((f"line {first}", dict(zip(columns, cells, strict=True))))
        else:
            quote = f" and runs to line {last}: is a quote left open?" if last > first else ""
            broken.append(f"line {first} has {len(cells)} of {len(columns)}{quote}")
    return _Table(
        columns, rows, {"rows that can't be split into the header's columns": broken} if broken else {}
    )


def _csv_lines(text: str, delimiter: str) -> Iterator[tuple[int, int, list[str]]]:
    """Yield the first and last line and the cells of each row that is not blank.

    The reader takes a file that ends within quotes for whole. So a mark is read after the text: by itself it is
    dropped, and where a quote was left open it ends the last cell.
    """
    marked = chain(io.StringIO(f"{text}\n"), (_END,))
    lines = csv.reader(marked, delimiter=delimiter, skipinitialspace=True)
    first = 1
    for cells in lines:
        if cells != [_END] and any(cell.strip() for cell in cells):
            yield first, lines.line_num, cells
        first = lines.line_num + 1


@contextmanager
def _long_cells() -> Iterator[None]:
    """Let a CSV cell be of any length: a column of whole model outputs is common, and ignored."""
    before = csv.field_size_limit(_CELL_LIMIT)
    try:
        yield
    finally:
        csv.field_size_limit(before)


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
    used = [name for name in table.columns if name in Prediction.model_fields]
    doubled = sorted({name for name in used if used.count(name) > 1})
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
        raise _RowError("rows with a value that is not allowed", _fault(error)) from None
    return Row(place, prediction, badly_spelled)


def _fault(error: ValidationError) -> str:
    """Return the first fault as ``column value: what is wrong``; a fault of the whole row names its values."""
    first = error.errors()[0]
    what = first["msg"].removeprefix("Value error, ")
    if not first["loc"]:
        return what
    return f"{'.'.join(str(part) for part in first['loc'])} {_short(repr(first['input']))}: {what}"


def _stated(cells: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the further columns that hold something; CSV gives them as text."""
    for name in FURTHER:
        value = cells.get(name)
        if _is_empty(value):
            continue
        if name == "votes" and isinstance(value, str):
            yield name, value.split()
        elif name in NUMBERS and isinstance(value, str) and value.strip().lower() == "nan":
            continue  # what some programs write for a missing number, as NaN is one in the other formats
        else:
            yield name, value.strip() if isinstance(value, str) else value


def _names_candidate(value: Any) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    return isinstance(value, int) and not isinstance(value, bool)


def _id(value: Any) -> str:
    if not _names_candidate(value):
        raise _RowError("rows without an id", _short(repr(value)))
    return str(value).strip()


def _task(value: Any) -> str:
    try:
        return get_task(str(value)).key
    except UserError:
        raise _RowError("unknown tasks", _short(repr(value))) from None


def _answer(value: Any) -> tuple[str | None, str | None]:
    """Return the answer, and what stood there if it is neither YES nor NO nor empty."""
    if _is_empty(value):
        return None, None
    if isinstance(value, str) and value.strip().isascii() and value.strip().upper() in ANSWERS:
        return value.strip().upper(), None
    return None, _short(repr(value))


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"


def _is_empty(value: Any) -> bool:
    return (
        value is None
        or value == ""
        or (isinstance(value, float) and math.isnan(value))
        or (isinstance(value, str) and not value.strip())
    )
