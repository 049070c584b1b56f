"""A small, fast FITS reader over bytes: headers, images and fixed-width binary tables.

Survey pipelines are read by the million, and files arrive cut, with cards that break the standard,
or with lengths that cannot be true. This reader touches only what it is asked for, checks every
length against the bytes that are there, and says what is wrong in one sentence. Values agree with
astropy's bit for bit (tested); tile-compressed images are handed to astropy.

Structure after the FITS standard 4.0 (Pence et al. 2010, A&A 524, A42; https://fits.gsfc.nasa.gov).
"""

import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from math import prod

import numpy as np

from specvi_benchmark.errors import UserError, examples

BLOCK = 2880
CARD = 80
MAGIC = b"SIMPLE"

_IMAGE_DTYPES = {8: ">u1", 16: ">i2", 32: ">i4", 64: ">i8", -32: ">f4", -64: ">f8"}
_COLUMN_DTYPES = {
    "B": "u1",
    "I": ">i2",
    "J": ">i4",
    "K": ">i8",
    "E": ">f4",
    "D": ">f8",
    "C": ">c8",
    "M": ">c16",
    "L": "S1",
}
_UNSIGNED = {(">i2", 2**15): np.uint16, (">i4", 2**31): np.uint32, (">i8", 2**63): np.uint64}
_TFORM = re.compile(r"^(\d*)([LXBIJKAEDCMPQ])(.*)$")
_NUMBER = re.compile(r"^[+-]?(\d+\.?\d*|\.\d+)([EeDd][+-]?\d+)?$")

Value = str | bool | int | float | None


class Header(Mapping[str, Value]):
    """Keywords and values of one header. Cards that break the standard are left out, not fatal.

    The first of several cards with one keyword counts, as in astropy. A keyword without a value
    reads as None.
    """

    def __init__(self, cards: Mapping[str, bytes]) -> None:
        self._cards = cards

    def __getitem__(self, keyword: str) -> Value:
        """Return the value of a keyword; KeyError where it is missing."""
        return _parse_value(self._cards[keyword])

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keywords."""
        return iter(self._cards)

    def __len__(self) -> int:
        """Return how many keywords have a value field."""
        return len(self._cards)

    def number(self, keyword: str) -> float | None:
        """Return a finite number, also where it was written as text; None otherwise."""
        value = self.get(keyword)
        if isinstance(value, str) and _NUMBER.match(value):
            value = float(value.upper().replace("D", "E"))
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if np.isfinite(number) else None

    def integer(self, keyword: str) -> int | None:
        """Return a whole number, also where it was written as text or with a point; None otherwise."""
        value = self.get(keyword)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        number = self.number(keyword)
        return int(number) if number is not None and number == int(number) else None

    def text(self, keyword: str) -> str | None:
        """Return a value as text without surrounding blanks; None where missing or empty."""
        value = self.get(keyword)
        return str(value).strip() or None if value is not None else None


@dataclass(frozen=True, slots=True)
class Column:
    """Where a table column lies in a row: byte offset, type, number of elements, FITS code."""

    number: int
    offset: int
    dtype: str
    count: int
    code: str

    @property
    def width(self) -> int:
        """Return the bytes of one cell."""
        return np.dtype(self.dtype).itemsize * self.count


@dataclass(frozen=True)
class Hdu:
    """One header and its data, which are decoded when asked for."""

    index: int
    header: Header
    content: memoryview = field(repr=False)
    file: "FitsFile" = field(repr=False)

    @property
    def name(self) -> str:
        """Return EXTNAME in capitals, empty where there is none."""
        return (self.header.text("EXTNAME") or "").upper()

    @property
    def is_table(self) -> bool:
        """Return whether this is a binary table (and not an image compressed into one)."""
        return self.header.get("XTENSION") == "BINTABLE" and self.header.get("ZIMAGE") is not True

    @property
    def is_image(self) -> bool:
        """Return whether this holds an image with pixels."""
        if self.header.get("ZIMAGE") is True:
            return True
        return self.header.get("XTENSION", "IMAGE") == "IMAGE" and len(self.content) > 0

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the image's shape in numpy's order (last FITS axis first)."""
        prefix = "Z" if self.header.get("ZIMAGE") is True else ""
        n_axes = self.header.integer(f"{prefix}NAXIS") or 0
        return tuple(self.header.integer(f"{prefix}NAXIS{axis}") or 0 for axis in range(n_axes, 0, -1))

    def image(self) -> np.ndarray:
        """Return the pixels, scaled by BSCALE and BZERO where they are given. Read-only."""
        if self.header.get("ZIMAGE") is True:
            return self._compressed_image()
        dtype = _IMAGE_DTYPES.get(self.header.integer("BITPIX") or 0)
        if not self.is_image or dtype is None:
            raise self.fault("no image in this HDU", expected="an image")
        pixels = np.frombuffer(self.content, dtype=dtype, count=prod(self.shape)).reshape(self.shape)
        return _scaled(pixels, self.header.number("BSCALE"), self.header.number("BZERO"))

    @property
    def n_rows(self) -> int:
        """Return the number of table rows."""
        return self.header.integer("NAXIS2") or 0

    @cached_property
    def columns(self) -> Mapping[str, "Column"]:
        """Return the table's columns by name in lower case; the first of doubled names counts."""
        found: dict[str, Column] = {}
        offset = 0
        for number in range(1, (self.header.integer("TFIELDS") or 0) + 1) if self.is_table else ():
            dtype, count, code = self._format(number)
            column = Column(number, offset, dtype, count, code)
            found.setdefault((self.header.text(f"TTYPE{number}") or f"col{number}").lower(), column)
            offset += column.width
        return found

    def column(self, name: str) -> np.ndarray:
        """Return one column, ``(rows,)`` or ``(rows, length)``; text is stripped; scaled where stated.

        Raises
        ------
        UserError
            The table has no such column, or its format is not a fixed-width one.
        """
        column = self.columns.get(name.lower())
        if column is None:
            raise self.fault("a column is missing", expected=name, got=examples(self.columns, limit=12))
        row_bytes = self.header.integer("NAXIS1") or 0
        if column.offset + column.width > row_bytes:
            raise self.fault(
                "columns are wider than the row", expected=f"{row_bytes} bytes", got=f"column {name}"
            )
        if column.code in "PQ":
            raise self.fault(f"column {name} has variable length", expected="a fixed-width column")
        table = np.frombuffer(self.content, dtype="u1", count=self.n_rows * row_bytes)
        cells = table.reshape(self.n_rows, row_bytes)[:, column.offset : column.offset + column.width]
        if column.code == "A":
            return np.array([_text(cell.tobytes()) for cell in cells], dtype=object)
        if not column.width:
            return np.zeros((self.n_rows, 0), column.dtype)
        values = np.ascontiguousarray(cells).view(column.dtype)
        if column.code == "L":
            values = values == b"T"
        else:
            scale, zero = (self.header.number(f"{key}{column.number}") for key in ("TSCAL", "TZERO"))
            values = _scaled(values, scale, zero)
        return values[:, 0] if column.count == 1 else values

    def fault(self, what: str, *, expected: object = None, got: object = None) -> UserError:
        """Return the error of this HDU, named by file, number and name."""
        label = f"HDU {self.index}" + (f" ({self.name})" if self.name else "")
        return UserError(what, where=f"{self.file.name}, {label}", expected=expected, got=got)

    def _format(self, number: int) -> tuple[str, int, str]:
        form = self.header.text(f"TFORM{number}") or ""
        match = _TFORM.match(form)
        if match is None:
            raise self.fault(
                "a column format can't be read", expected=f"TFORM{number}", got=form or "nothing"
            )
        count, code = int(match[1] or 1), match[2]
        if code == "A":
            return ("u1", count, code)
        if code == "X":
            return ("u1", (count + 7) // 8, code)
        if code in "PQ":
            return ("u1", count * (8 if code == "P" else 16), code)
        return (_COLUMN_DTYPES[code], count, code)

    def _compressed_image(self) -> np.ndarray:
        from astropy.io import fits  # noqa: PLC0415  # slow to import, and rarely needed

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with fits.open(BytesIO(self.file.content), memmap=False) as hdus:
                    return np.array(hdus[self.index].data)
        except Exception as error:  # noqa: BLE001  # astropy raises many kinds on damaged tiles
            raise self.fault("the compressed image can't be decoded", got=error) from None


class FitsFile:
    """A FITS file in memory, its headers read.

    Raises
    ------
    UserError
        The bytes are not FITS, or end before the data that a header announces.
    """

    def __init__(self, content: bytes, name: str) -> None:
        self.content = content
        self.name = name
        self.hdus = tuple(self._walk())

    def __getitem__(self, key: int | str) -> Hdu:
        """Return an HDU by number or EXTNAME (any case); KeyError where there is none."""
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def get(self, key: int | str) -> Hdu | None:
        """Return an HDU by number or EXTNAME (any case), None where there is none."""
        if isinstance(key, int):
            return self.hdus[key] if key < len(self.hdus) else None
        return next((hdu for hdu in self.hdus if hdu.name == key.upper()), None)

    @property
    def primary(self) -> Header:
        """Return the primary header."""
        return self.hdus[0].header

    def _walk(self) -> Iterator[Hdu]:
        view = memoryview(self.content)
        start, index = 0, 0
        if not self.content.startswith(MAGIC):
            raise UserError(
                "not a FITS file", where=self.name, expected="SIMPLE at the start", got=self.content[:8]
            )
        while start < len(view):
            if index and not self.content.startswith(b"XTENSION", start):
                if bytes(view[start:]).strip(b"\0 "):
                    raise self._cut(f"no header where HDU {index} should start", start)
                return  # padding after the last HDU
            cards, data_start = self._cards(start, index)
            header = Header(cards)
            size = self._data_bytes(header, index)
            if data_start + size > len(view):
                raise self._cut(f"HDU {index} announces {size} bytes of data", data_start)
            yield Hdu(index, header, view[data_start : data_start + size], self)
            start = data_start + -(-size // BLOCK) * BLOCK
            index += 1

    def _cards(self, start: int, index: int) -> tuple[dict[str, bytes], int]:
        cards: dict[str, bytes] = {}
        content = self.content
        for position in range(start, len(content) - CARD + 1, CARD):
            keyword = content[position : position + 8]
            if content[position + 8 : position + 10] == b"= ":
                name = keyword.rstrip().decode("ascii", "replace")
                cards.setdefault(name, content[position + 10 : position + CARD])
            elif keyword == b"END     ":
                used = position + CARD - start
                return cards, start + -(-used // BLOCK) * BLOCK
        raise self._cut(f"the header of HDU {index} has no END", start)

    def _data_bytes(self, header: Header, index: int) -> int:
        n_axes = header.integer("NAXIS")
        bits = header.integer("BITPIX")
        if n_axes is None or bits not in _IMAGE_DTYPES or not 0 <= n_axes <= 999:
            raise UserError(
                "a header has no usable BITPIX and NAXIS",
                where=f"{self.name}, HDU {index}",
                got=f"BITPIX {bits}, NAXIS {n_axes}",
                fix="the file is damaged; fetch it again",
            )
        if n_axes == 0:
            return 0
        axes = [header.integer(f"NAXIS{axis}") for axis in range(1, n_axes + 1)]
        extra, groups = header.integer("PCOUNT") or 0, header.integer("GCOUNT")
        known = [axis for axis in axes if axis is not None and axis >= 0]
        if len(known) != n_axes or extra < 0:
            raise UserError(
                "a header's lengths can't be true",
                where=f"{self.name}, HDU {index}",
                got=f"NAXISn {axes}, PCOUNT {extra}",
                fix="the file is damaged; fetch it again",
            )
        return abs(bits) // 8 * (1 if groups is None else groups) * (extra + prod(known))

    def _cut(self, what: str, position: int) -> UserError:
        return UserError(
            "the file is truncated or damaged",
            where=self.name,
            expected=what,
            got=f"the file ends at byte {len(self.content)}, {len(self.content) - position} bytes after byte {position}",
            fix="fetch the file again",
        )


def _parse_value(field_: bytes) -> Value:
    text = field_.decode("ascii", "replace").strip()
    if text.startswith("'"):
        inside, position = [], 1
        while (end := text.find("'", position)) >= 0:
            inside.append(text[position:end])
            if text[end + 1 : end + 2] != "'":
                return "".join(inside).rstrip()
            inside.append("'")
            position = end + 2
        return text[1:].rstrip()  # the closing quote is missing
    word = text.split("/", 1)[0].strip()
    if word in {"T", "F"}:
        return word == "T"
    if _NUMBER.match(word):
        return int(word) if word.lstrip("+-").isdigit() else float(word.upper().replace("D", "E"))
    return word or None


def _scaled(values: np.ndarray, scale: float | None, zero: float | None) -> np.ndarray:
    if scale in {None, 1.0} and not zero:
        return values
    unsigned = _UNSIGNED.get((values.dtype.str, int(zero or 0)))
    if unsigned is not None and scale in {None, 1.0}:
        return (
            (values.astype(np.int64) + int(zero or 0)).astype(unsigned)
            if unsigned is not np.uint64
            else (values.astype(np.uint64) + np.uint64(2**63))
        )
    return values * (1.0 if scale is None else scale) + (zero or 0.0)


def _text(cell: bytes) -> str:
    return cell.split(b"\0", 1)[0].decode("ascii", "replace").strip()
