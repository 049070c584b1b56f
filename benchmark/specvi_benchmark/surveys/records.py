"""Files of records: parquet, Arrow (as Hugging Face datasets keep it), JSON and JSON lines.

A record is a row with named values, some of which are arrays. All kinds read the same here: numbers
and text as Python values, lists as numpy arrays, structures as dictionaries.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from specvi_benchmark.errors import UserError
from specvi_benchmark.surveys.packed import ALWAYS_ALLOWED, MOST_UNPACKED

if TYPE_CHECKING:
    import pyarrow as pa

    from specvi_benchmark.surveys.source import Source

_PARQUET, _ARROW_FILE, _ARROW_STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
_JSON = re.compile(r"\s*(?:\{\s*\"|\[\s*\{)")
_VALUE_BYTES = 8  # of each value once it is read
_ROWS_AT_ONCE = 64  # at 4000 pixels and five arrays some 10 MB, whatever the size of the file
_FIRST_RECORDS = 20  # enough to know the names: the first one may be a header with a status
_INSIDE = ("records", "results", "data", "rows")  # keys under which services put the list of records


class RecordFile(Protocol):
    """A file of records.

    Attributes
    ----------
    paths
        Names of the values, those inside structures with a dot: ``spectrum.flux``.
    """

    paths: frozenset[str]

    def rows(self, columns: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Yield the records in order, reduced to those of ``columns`` (outer names) that exist."""


class ArrowRecords:
    """Records of a parquet or Arrow file, decoded some rows at a time."""

    def __init__(self, source: "Source") -> None:
        import pyarrow as pa  # noqa: PLC0415  # slow to import, and few files need it
        import pyarrow.parquet as pq  # noqa: PLC0415

        self._source = source
        try:
            buffer = pa.BufferReader(source.content)
            if source.content.startswith(_PARQUET):
                self._file: Any = pq.ParquetFile(buffer)
                self.schema: pa.Schema = self._file.schema_arrow
            else:
                kind = pa.ipc.open_file if source.content.startswith(_ARROW_FILE) else pa.ipc.open_stream
                self._file = kind(buffer)
                self.schema = self._file.schema
            self.paths = frozenset(path for field in self.schema for path in _paths(field.name, field.type))
        except Exception as error:  # noqa: BLE001  # Arrow raises many kinds on damaged files
            raise self._damaged(error) from None
        self._check_size()

    def rows(self, columns: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Yield the records in order, reduced to those of ``columns`` that exist."""
        for batch in self.batches(columns):
            values = {name: _python(batch.column(name)) for name in batch.schema.names}
            for row in range(batch.num_rows):
                yield {name: column[row] for name, column in values.items()}

    def batches(self, columns: Iterable[str]) -> "Iterator[pa.RecordBatch]":
        """Yield some rows at a time, reduced to those of ``columns`` that exist.

        Raises
        ------
        UserError
            The file is damaged.
        """
        wanted = [name for name in dict.fromkeys(columns) if name in self.schema.names]
        batches = self._batches(wanted)
        while True:
            try:
                batch = next(batches, None)
                if batch is None:
                    return
                batch.validate(full=True)  # offsets, lengths, UTF-8
            except Exception as error:  # noqa: BLE001  # Arrow raises many kinds on damaged files
                raise self._damaged(error) from None
            yield batch

    def _batches(self, wanted: list[str]) -> "Iterator[pa.RecordBatch]":
        if hasattr(self._file, "iter_batches"):  # parquet
            yield from self._file.iter_batches(_ROWS_AT_ONCE, columns=wanted, use_threads=False)
        elif hasattr(self._file, "get_batch"):  # an Arrow file
            for number in range(self._file.num_record_batches):
                yield self._file.get_batch(number).select(wanted)
        else:  # an Arrow stream
            for batch in self._file:
                yield batch.select(wanted)

    def _check_size(self) -> None:
        """Refuse a parquet file whose values could not be held: a few bytes can announce billions."""
        if not hasattr(self._file, "metadata"):
            return
        groups = [self._file.metadata.row_group(number) for number in range(self._file.num_row_groups)]
        values = sum(
            group.column(number).num_values for group in groups for number in range(group.num_columns)
        )
        if values * _VALUE_BYTES > max(MOST_UNPACKED * len(self._source.content), ALWAYS_ALLOWED):
            raise self._source.fault(
                "the file announces more values than spectra of its size can have",
                got=f"{values} values in {len(self._source.content)} bytes",
                fix="write it anew, in files of some thousand rows",
            )

    def _damaged(self, error: Exception) -> UserError:
        return self._source.fault(
            "the file is truncated or damaged",
            expected="a parquet or Arrow file",
            got=" ".join(str(error).split())[:200],
            fix="fetch the file again",
        )


class JsonRecords:
    """Records of a JSON file: one object, a list of them, or one a line."""

    def __init__(self, records: list[dict[str, Any]]) -> None:
        self._records = records
        first = records[:_FIRST_RECORDS]
        self.paths = frozenset(path for record in first for path in _json_paths(record))

    def rows(self, columns: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Yield the records in order, reduced to those of ``columns`` that exist."""
        wanted = list(columns)
        for record in self._records:
            yield {name: _from_json(record[name]) for name in wanted if name in record}


def record_file(source: "Source") -> RecordFile | None:
    """Return a file as records, None where it is no such file.

    Raises
    ------
    UserError
        It is one, and damaged.
    """
    if source.content.startswith((_PARQUET, _ARROW_FILE, _ARROW_STREAM)):
        return ArrowRecords(source)
    text = source.text
    if text is None or not _JSON.match(text):
        return None
    return JsonRecords(_records(_parse(text, source)))


def numbers(value: Any) -> np.ndarray | None:
    """Return a list of a record as a flat float64 array, None where it holds no numbers."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    return array.ravel() if array.ndim else None


def _parse(text: str, source: "Source") -> Any:
    """Return a JSON document; of JSON lines, the list of them."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        lines = [line for line in text.splitlines() if line.strip()]
        try:
            first = json.loads(lines[0])
        except (ValueError, RecursionError):
            first = None
        if not isinstance(first, dict) or len(lines) == 1:
            raise source.fault(
                "not valid JSON", got=str(error)[:200], fix="the file is cut or damaged; fetch it again"
            ) from None
    found = [first]
    for number, line in enumerate(lines[1:], start=2):
        try:
            found.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise source.fault(
                f"record {number} is not valid JSON", got=str(error)[:200], fix="mend or remove that line"
            ) from None
    return found


def _records(document: Any) -> list[dict[str, Any]]:
    """Return the records of a document."""
    if isinstance(document, dict):
        inside = next((document[key] for key in _INSIDE if isinstance(document.get(key), list)), None)
        if inside is not None and any(isinstance(record, dict) for record in inside):
            document = inside
        else:
            document = [document]
    return [record for record in document if isinstance(record, dict)]


def _from_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _from_json(inner) for name, inner in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict):  # a list of structures
        return {name: [inner.get(name) for inner in value if isinstance(inner, dict)] for name in value[0]}
    return value


def _json_paths(record: Mapping[str, Any]) -> Iterator[str]:
    for name, value in record.items():
        shown = _from_json(value[:1]) if isinstance(value, list) else value
        if isinstance(shown, dict):
            yield from (f"{name}.{inner}" for inner in shown)
        else:
            yield name


def _paths(name: str, kind: Any) -> list[str]:
    import pyarrow as pa  # noqa: PLC0415

    while pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        kind = kind.value_type
    if pa.types.is_struct(kind):
        return [path for field in kind for path in _paths(f"{name}.{field.name}", field.type)]
    return [name]


def _python(column: Any) -> list[Any]:
    """Return an Arrow array as a list: numbers, text, numpy arrays, dictionaries; None for null."""
    import pyarrow as pa  # noqa: PLC0415

    kind = column.type
    if isinstance(column, pa.ExtensionArray):
        return _python(column.storage)
    if pa.types.is_struct(kind):
        inner = [(field.name, _python(column.field(number))) for number, field in enumerate(kind)]
        valid = column.is_valid().to_pylist()
        return [
            {name: values[row] for name, values in inner} if good else None for row, good in enumerate(valid)
        ]
    if pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        column = column.cast(pa.list_(kind.value_type))
    if not pa.types.is_list(column.type):
        return list(column.to_pylist())
    if pa.types.is_struct(column.type.value_type):  # a list of structures
        fields = {field.name: number for number, field in enumerate(column.type.value_type)}
        return _pieces(column, {name: column.values.field(number) for name, number in fields.items()})
    return [piece and piece[""] for piece in _pieces(column, {"": column.values})]


def _pieces(column: Any, values: Mapping[str, Any]) -> list[Any]:
    """Cut flat values of a list column into one dictionary of arrays a row; None for null."""
    flat = {name: _flat(array) for name, array in values.items()}
    offsets = column.offsets.to_numpy()
    valid = column.is_valid().to_pylist()
    return [
        {name: array[first:last] for name, array in flat.items()} if good else None
        for good, first, last in zip(valid, offsets[:-1], offsets[1:], strict=True)
    ]


def _flat(array: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type) or pa.types.is_boolean(array.type):
        return array.to_numpy(zero_copy_only=False)
    return np.array(array.to_pylist(), dtype=object)
