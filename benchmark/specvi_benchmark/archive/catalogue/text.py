"""Tables as text: separated by commas, pipes, tabs or semicolons, and what VizieR writes around them."""

import codecs
import csv
import gzip
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from specvi_benchmark.archive.catalogue.roles import roles_of
from specvi_benchmark.archive.catalogue.values import WORDS_FOR_NOTHING, described, typed, without_sentinels
from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.surveys.text import decoded

_SEPARATORS = {",": "comma", "|": "pipe", "\t": "tab", ";": "semicolon"}
_NUMBER = re.compile(r"^[+-]?\d+(\.\d*)?([eE][+-]?\d+)?$")
_SPECTRUM = re.compile(r"spec-\d|spSpec-\d")
_DASHES = re.compile(r"^-+$")
_BLOCK = 2**24  # bytes that are parsed at once


def read_text_table(
    path: Path, head: bytes, *, packed: bool, roles: Collection[str] | None
) -> tuple[str, pa.Table, tuple[str, ...]]:
    """Read a text table; return its form, its columns and notes.

    Parameters
    ----------
    path
        The file.
    head
        Its first bytes, unpacked.
    packed
        Whether it is gzipped.
    roles
        Read only the columns of these roles.

    Raises
    ------
    UserError
        It is no table.
    """
    text = decoded(head[: head.rfind(b"\n") + 1] or head)  # not the beginning of a line, nor of a letter
    if text is None:
        raise UserError(
            "not a table", where=path, expected="FITS, VOTable, ECSV, MRT, parquet or text", got=head[:12]
        )
    lines = [line for line in text.splitlines() if line.strip()]
    if lines[0].lstrip().lower().startswith(("<!doctype html", "<html")):
        raise UserError("a web page, no table", where=path, fix="fetch the file itself")
    if _is_vizier(lines):
        return "vizier", *_read_vizier(path, packed=packed, roles=roles)
    start = _start(text.splitlines())
    lines = [line for line in text.splitlines()[start:] if line.strip()]
    separator = _separator(lines[0])
    names, has_header = _names(lines[0], separator, path)
    if len(names) == 1 and len(lines[-2:][0].split()) > 2:  # words of one name or path
        raise UserError(
            "no separator between columns",
            where=path,
            expected="commas, pipes, tabs or semicolons",
            got=lines[0][:60],
            fix="write the table anew, for instance with astropy, as CSV or FITS",
        )
    playing = None if roles is None else {name for role, name in roles_of(names).items() if role in roles}
    wanted = [name for name in names if name and (playing is None or name in playing)]
    kinds = _kinds(lines[has_header:], separator, names, wanted)
    layout = _Layout(separator, tuple(names), skipped=start + has_header, packed=packed)
    table, notes = _read_separated(path, layout, kinds)
    return _SEPARATORS[separator], table, notes


@dataclass(frozen=True, slots=True)
class _Layout:
    """How a text table is laid out; ``skipped`` lines stand before its first row."""

    separator: str
    names: tuple[str, ...]
    skipped: int
    packed: bool


def _kinds(
    lines: Sequence[str], separator: str, names: Sequence[str], wanted: Sequence[str]
) -> dict[str, pa.DataType]:
    """Return the type of each wanted column by the first lines: whole numbers, numbers, or text."""
    rows = [row for row in csv.reader(lines, delimiter=separator) if len(row) == len(names)]
    places = {name: place for place, name in enumerate(names)}
    columns = {name: pa.array([row[places[name]] for row in rows], pa.string()) for name in wanted}
    return {name: typed(column).type for name, column in columns.items()}


def _separator(line: str) -> str:
    """Return what separates the cells: the sign that stands most often outside quotes."""
    outside = re.sub(r'"[^"]*"', "", line)
    return max(_SEPARATORS, key=outside.count)


def _start(lines: Sequence[str]) -> int:
    """Return the line where a table begins: with its names, which may follow ``#``, after comments and blank lines."""
    marked = [number for number, line in enumerate(lines) if line.strip()]
    first = next((number for number in marked if not lines[number].lstrip().startswith("#")), None)
    before = [number for number in marked if first is None or number < first]
    if first is None or not before:
        return marked[0]
    separator = _separator(lines[first])
    cells = lines[first].count(separator)
    return before[-1] if cells and lines[before[-1]].count(separator) == cells else first


def _names(line: str, separator: str, path: Path) -> tuple[list[str], bool]:
    """Return the names of the columns, and whether the first line gives them."""
    cells = [cell.strip() for cell in next(csv.reader([line], delimiter=separator))]
    cells[0] = cells[0].removeprefix("#").strip()
    if any(_NUMBER.match(cell) or _SPECTRUM.search(cell) for cell in cells):
        numbered = enumerate(cells, start=1)
        return [
            "filename" if _SPECTRUM.search(cell) else f"column{number}" for number, cell in numbered
        ], False
    doubled = {name for name in cells if cells.count(name) > 1}
    if doubled:
        raise UserError("column names stand there twice", where=path, got=examples(sorted(doubled)))
    return cells, True


def _read_separated(
    path: Path, layout: _Layout, kinds: Mapping[str, pa.DataType]
) -> tuple[pa.Table, tuple[str, ...]]:
    """Read a file of any length; only the columns of ``kinds`` stay in memory.

    Where a later line breaks what the first ones promise, the column types are told from the whole table.
    """
    texts = dict.fromkeys(kinds, pa.string())
    for types in (kinds, texts):
        broken: list[str] = []
        try:
            table = _parse(path, layout, types, _encoding(path, packed=layout.packed), broken)
            break
        except (pa.ArrowInvalid, OSError) as error:
            told = " ".join(str(error).split())[:200]
    else:
        raise UserError("the table can't be read", where=path, got=told)
    columns = {name: table.column(name).combine_chunks() for name in kinds}
    columns = {
        name: typed(column) if types is texts else without_sentinels(column)
        for name, column in columns.items()
    }
    if not broken:
        return pa.table(columns), ()
    expected = len(layout.names)
    note = f"{len(broken)} lines left out, of another number of cells than {expected}: {examples(broken)}"
    return pa.table(columns), (note,)


def _encoding(path: Path, *, packed: bool) -> str:
    """Return UTF-8 where the whole file is, else Latin-1: pyarrow fails on other bytes in a line it is to leave out."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with pa.input_stream(str(path), compression="gzip" if packed else None) as stream:
        try:
            while block := stream.read(_BLOCK):
                decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "latin-1"
    return "utf8"


def _parse(
    path: Path, layout: _Layout, types: Mapping[str, pa.DataType], encoding: str, broken: list[str]
) -> pa.Table:
    def skip(row: pyarrow.csv.InvalidRow) -> str:
        broken.append(f"{row.actual_columns} cells in {row.text[:40]!r}")
        return "skip"

    with pa.input_stream(str(path), compression="gzip" if layout.packed else None) as stream:
        return pyarrow.csv.read_csv(
            stream,
            read_options=pyarrow.csv.ReadOptions(
                column_names=list(layout.names),
                skip_rows=layout.skipped,
                block_size=_BLOCK,
                encoding=encoding,
            ),
            parse_options=pyarrow.csv.ParseOptions(delimiter=layout.separator, invalid_row_handler=skip),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict(types),
                include_columns=list(types),
                null_values=list(WORDS_FOR_NOTHING),
                strings_can_be_null=False,
            ),
        )


def _is_vizier(lines: Sequence[str]) -> bool:
    """Return whether this is VizieR's form: comments, names, units (blank where no column has one), dashes, rows."""
    body = [line for line in lines if not line.startswith("#")]
    return len(body) >= 2 and lines[0].startswith("#") and any(map(_is_ruler, body[1:3]))


def _is_ruler(line: str) -> bool:
    cells = re.split(r"[\t|;]", line)
    return all(_DASHES.match(cell.strip()) for cell in cells)


def _read_vizier(
    path: Path, *, packed: bool, roles: Collection[str] | None
) -> tuple[pa.Table, tuple[str, ...]]:
    """Read the first table of a VizieR answer."""
    content = gzip.decompress(path.read_bytes()) if packed else path.read_bytes()
    whole = (decoded(content) or "").splitlines()
    lines = [line for line in whole if not line.startswith("#")]
    start = next(number for number, line in enumerate(lines) if line.strip())
    separator = max("\t|;", key=lines[start].count)
    names = [cell.strip() for cell in lines[start].split(separator)]
    rows: list[list[str]] = []
    notes: tuple[str, ...] = ()
    ruler = next(number for number in (start + 1, start + 2) if _is_ruler(lines[number]))
    for number, line in enumerate(lines[ruler + 1 :], start=ruler + 1):
        if not line.strip():
            if any(later.strip() for later in lines[number:]):
                notes = ("further tables of the file left out: give each its own file",)
            break
        cells = [cell.strip() for cell in line.split(separator)]
        rows.append((cells + [""] * len(names))[: len(names)])
    playing = None if roles is None else {name for role, name in roles_of(names).items() if role in roles}
    columns = {
        name: typed(pa.array([row[number] for row in rows], pa.string()))
        for number, name in enumerate(names)
        if playing is None or name in playing
    }
    told_units = lines[start + 1].split(separator) if ruler == start + 2 else ()
    units = dict(zip(names, (cell.strip() for cell in told_units), strict=False))
    told = (line.split("\t") for line in whole if line.startswith("#Column\t"))
    about = {cells[1].strip(): " ".join(cells[3:]) for cells in told if len(cells) > 3}
    return described(pa.table(columns), units, about), notes
