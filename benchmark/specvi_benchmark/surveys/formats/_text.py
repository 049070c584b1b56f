"""Text tables: comments, header, delimiter, rows; every fault is named by its line."""

import csv
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from specvi_benchmark.errors import UserError
from specvi_benchmark.spectrum import FloatArray
from specvi_benchmark.surveys.formats._names import FLUX, WAVELENGTH, find, parse_name
from specvi_benchmark.surveys.formats._units import flux_unit, wavelength_unit
from specvi_benchmark.surveys.source import Source

COMMENT_MARKS = ("#", "%", "!", "//", "\\")
DELIMITERS = (",", ";", "\t", "|", None)  # None: white space
MISSING = frozenset({"", "nan", "null", "none", "n/a", "na", "-", "--", "...", "inf", "-inf", "+inf"})
_TRUTHS = {"true": 1.0, "t": 1.0, "yes": 1.0, "false": 0.0, "f": 0.0, "no": 0.0}
_TYPES = frozenset({"double", "float", "real", "int", "integer", "long", "char", "null"})  # of IPAC tables
MOST_COLUMNS = 500  # of a table with a pixel a line
_LOOKED_AT = 200  # lines in which the first numbers must come
_LINE_END = re.compile(r"\r\n|\n|\r")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][+-]?\d+)?", re.ASCII)
_NUMBER_WITH_COMMA = re.compile(r"[+-]?(?:\d+,?\d*|,\d+)(?:[eEdD][+-]?\d+)?", re.ASCII)
_INNER = r"(?:[^()]|\([^()]*\))*"
_TITLED = re.compile(rf"[^\s()\[\]]+(?:\s*(?:\({_INNER}\)|\[[^\[\]]*\]))?")


@dataclass(frozen=True)
class TextTable:
    """A text table, its lines found but not yet converted.

    Attributes
    ----------
    source
        The file.
    names, units
        From the header; no names where there is none, an empty unit where none is given.
    start
        Line number and place in the text of the first row.
    n_columns
        Number of columns.
    delimiter
        None for white space.
    decimal_comma
        Whether numbers are written 1,5.
    remarks
        Comment lines and what stands before the header.
    """

    source: Source
    names: tuple[str, ...]
    units: tuple[str, ...]
    start: tuple[int, int]
    n_columns: int
    delimiter: str | None
    decimal_comma: bool
    remarks: str = field(repr=False)

    def rows(self) -> Iterator[tuple[int, str]]:
        """Yield line number and line of each row."""
        assert self.source.text is not None
        first, place = self.start
        for line_number, line, _ in _lines(self.source.text, place, first):
            if line.strip() and not _is_comment(line):
                yield line_number, line

    def column(self, index: int) -> FloatArray:
        """Return a column as numbers, NaN where a cell is empty or says nan.

        Raises
        ------
        UserError
            A row has another number of columns, or a cell is no number; the message names the line.
        """
        if self._numbers is not None:
            return self._numbers[:, index]
        values = array("d")
        for line_number, line in self.rows():
            cells = split(line, self.delimiter)
            if len(cells) != self.n_columns:
                raise self._fault(line_number, f"{self.n_columns} columns, as above", f"{len(cells)}")
            values.append(self._number(cells[index].strip(), line_number))
        return np.array(values)

    @cached_property
    def _numbers(self) -> FloatArray | None:
        """Return all columns, ``(rows, columns)``, if every cell is a plain number; None otherwise."""
        if self.decimal_comma:
            return None
        lines = (line for _, line in self.rows())
        if next(self.rows(), None) is None:
            return None
        try:
            found: FloatArray = np.loadtxt(lines, delimiter=self.delimiter, comments=None, ndmin=2)
        except ValueError:
            return None  # the slow way finds out what it is
        return found if found.shape[1] == self.n_columns else None

    def _number(self, text: str, line_number: int) -> float:
        if text.casefold() in MISSING:
            return np.nan
        if text.casefold() in _TRUTHS:
            return _TRUTHS[text.casefold()]
        value = number(text, self.decimal_comma)
        if value is None:
            raise self._fault(line_number, "a number", repr(text[:40]))
        return value

    def _fault(self, line_number: int, expected: str, got: str) -> UserError:
        return UserError(
            "a row of the table can't be read",
            where=f"{self.source.path}, line {line_number}",
            expected=expected,
            got=got,
            fix="correct or remove that line; if it is the last one, the file may be cut",
        )


def number(text: str, decimal_comma: bool = False) -> float | None:
    """Return a number as C, Fortran (1.0D-5) or, with ``decimal_comma``, much of Europe writes it."""
    pattern = _NUMBER_WITH_COMMA if decimal_comma else _NUMBER
    if not pattern.fullmatch(text):
        return None
    return float(text.replace(",", ".").replace("d", "e").replace("D", "e"))


def split(line: str, delimiter: str | None) -> list[str]:
    """Return the cells of one line."""
    if delimiter is None:
        return line.split()
    try:
        return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:
        return []


def text_table(source: Source) -> TextTable | None:
    """Return the file as a table, None where none of the first 200 lines begins rows of numbers."""
    if source.text is None:
        return None
    comments, content = _head(source.text)
    layout = _first_row([line for _, line, _ in content])
    if layout is None:
        return None
    first, delimiter, decimal_comma = layout
    line_number, row, place = content[first]
    before = [line for _, line, _ in content[:first]]
    n_columns = len(split(row, delimiter))
    if n_columns > MOST_COLUMNS:
        raise on_its_side(source, n_columns)
    names, units = _header(source, before, comments, delimiter, n_columns)
    remarks = "\n".join([*before, *comments])
    return TextTable(source, names, units, (line_number, place), n_columns, delimiter, decimal_comma, remarks)


def on_its_side(source: Source, n_columns: int) -> UserError:
    """Return the refusal of a table that has a line for wavelengths and another for fluxes."""
    return source.fault(
        "the table lies on its side",
        expected="a pixel a line: wavelength, flux, error",
        got=f"{n_columns} columns",
        fix="turn it (numpy: array.T) and put a header line above: wavelength_AA,flux,error",
    )


def _head(text: str) -> tuple[list[str], list[tuple[int, str, int]]]:
    """Return comments, without their marks, and the first lines that are neither comments nor blank."""
    comments: list[str] = []
    content: list[tuple[int, str, int]] = []
    for line_number, line, place in _lines(text):
        if _is_comment(line):
            comments.append(line.lstrip().lstrip("#%!/\\ \t").rstrip())
        elif line.strip():
            content.append((line_number, line, place))
        if len(content) > _LOOKED_AT:
            break
    return comments, content


def _lines(text: str, place: int = 0, first: int = 1) -> Iterator[tuple[int, str, int]]:
    """Yield number, line and place of each line, whatever its end; none is kept in memory."""
    for line_number, end in enumerate(_LINE_END.finditer(text, place), start=first):
        yield line_number, text[place : end.start()], place
        place, first = end.end(), line_number + 1
    yield first, text[place:].rstrip("\x1a\0"), place


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith(COMMENT_MARKS)


def _first_row(content: list[str]) -> tuple[int, str | None, bool] | None:
    """Return where rows begin, the delimiter, and whether numbers have a decimal comma.

    A row has at least two numbers, and the next two lines (as far as there are some) are cut alike. A
    delimiter that leaves nothing but numbers is preferred: ``4000,5;1,2`` is two numbers, not three.
    """
    for first in range(min(len(content), _LOOKED_AT)):
        lines = content[first : first + 3]
        for all_numbers in (True, False):
            for delimiter in DELIMITERS:
                for decimal_comma in (False, True) if delimiter != "," else (False,):
                    if _are_rows(lines, delimiter, decimal_comma, all_numbers):
                        return first, delimiter, decimal_comma
    return None


def _are_rows(lines: list[str], delimiter: str | None, decimal_comma: bool, all_numbers: bool) -> bool:
    rows = [[cell.strip() for cell in split(line, delimiter)] for line in lines]
    values = sum(number(cell, decimal_comma) is not None for cell in rows[0])
    # At the ends of a spectrum the flux may be missing in many rows; what is missing has to be written out.
    if values < 2 and not (values == 1 and len(rows[0]) > 1 and all(map(_is_written, rows[0][1:]))):
        return False
    needed = len(rows[0]) if all_numbers else 2
    return all(len(row) == len(rows[0]) and _readable(row, decimal_comma) >= needed for row in rows)


def _is_written(cell: str) -> bool:
    """Return whether a cell says that its value is missing, and is not just empty."""
    return cell.casefold() in MISSING - {""}


def _readable(cells: list[str], decimal_comma: bool) -> int:
    """Return how many cells are numbers or stand for missing ones."""
    return sum(number(cell, decimal_comma) is not None or cell.casefold() in MISSING for cell in cells)


def _header(
    source: Source, before: list[str], comments: list[str], delimiter: str | None, n_columns: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return names and units of the columns, no names where there is no header.

    The header is the line above the rows, with or without a line of units below it, or else a comment
    that names a wavelength, as IDL, numpy and gnuplot users write it.

    Raises
    ------
    UserError
        A line looks like the header and has another number of names: which is whose can't be told.
    """
    above = [titles for line in before if (titles := _titles(line, delimiter, n_columns))]
    if len(above) > 1 and _are_units(above[-1]):
        return above[-2], above[-1]
    if above:
        return above[-1], ("",) * n_columns
    remarked = [titles for line in comments if (titles := _titles(line, delimiter, n_columns))]
    for index, titles in enumerate(remarked):
        if find([parse_name(title) for title in titles], WAVELENGTH) is not None:
            below = remarked[index + 1] if index + 1 < len(remarked) else ()
            return titles, below if below and _are_units(below) else ("",) * n_columns
    for line in (*before[-1:], *comments):
        if _names_both(line):
            raise source.fault(
                "the header does not fit the rows",
                expected=f"{n_columns} names, as the rows have columns",
                got=line.strip()[:100],
                fix="write each name without blanks, its unit in brackets: wavelength(nm) flux error",
            )
    return (), ("",) * n_columns


def _names_both(line: str) -> bool:
    """Return whether a line begins with a wavelength's name and goes on with a flux's."""
    names = [parse_name(word) for word in re.split(r"[\s,;|]+", line.strip()) if word]
    return len(names) > 1 and find(names[:1], WAVELENGTH) == 0 and find(names, FLUX) is not None


def _titles(line: str, delimiter: str | None, n_columns: int) -> tuple[str, ...]:
    """Return a line as that many titles, empty where it is none.

    It is cut like the rows, at blanks that are not in brackets, at commas, or at strokes (IPAC). Rules
    and lines of types are no titles.
    """
    if not line.strip("-=+| \t"):
        return ()
    ways = [split(line, delimiter), line.split(), _TITLED.findall(line), line.split(",")]
    if line.lstrip().startswith("|"):
        ways = [line.strip().strip("|").split("|")]
    for cells in ways:
        titles = tuple(cell.strip() for cell in cells)
        if len(titles) == n_columns and any(titles):
            return () if _TYPES.issuperset(title.casefold() for title in titles) else titles
    return ()


def _are_units(titles: tuple[str, ...]) -> bool:
    plain = [title.strip("()[]") for title in titles]
    known = [wavelength_unit(text) is not None or flux_unit(text) is not None for text in plain if text]
    return bool(known) and all(known)
