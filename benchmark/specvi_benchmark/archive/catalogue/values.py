"""Cells of catalogues as numbers: sentinels and blanks become unknown, ids keep every digit."""

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from specvi_benchmark.archive.catalogue.roles import degrees_in
from specvi_benchmark.surveys.formats._values import UNKNOWN_NUMBERS

UNIT, ABOUT = b"unit", b"about"
"""What the fields of a table say of their columns: the unit, and what the table's author writes about it."""

SAFE_INTEGER = 2**53
"""A float above it does not tell one whole number from the next: a Gaia id kept so has lost its end."""

_LARGEST = str(2**63 - 1)
WORDS_FOR_NOTHING = ("", "null", "nan", "none", "n/a", "--", "...", "masked")
_SEXAGESIMAL = re.compile(r"^\s*([+-]?)(\d{1,3})[:\s hd]+(\d{1,2})[:\s m'′]+(\d{1,2}(?:\.\d*)?)[s\"″\s]*$")
_DESIGNATION = re.compile(r"J(\d{2})(\d{2})(\d{2}(?:\.\d+)?)([+-])(\d{2})(\d{2})(\d{2}(?:\.\d+)?)")


def without_sentinels(column: pa.Array) -> pa.Array:
    """Return a column with null where a survey writes −9999, −999, NaN or a word for "nothing"."""
    if pa.types.is_floating(column.type):
        bad = pc.or_(pc.is_nan(column), pc.is_in(column, pa.array(sorted(UNKNOWN_NUMBERS), column.type)))
        return pc.if_else(pc.fill_null(bad, fill_value=True), pa.scalar(None, column.type), column)
    if pa.types.is_integer(column.type) and pa.types.is_signed_integer(column.type):
        sentinels = [int(value) for value in sorted(UNKNOWN_NUMBERS) if column.type.bit_width > 8]
        bad = pc.is_in(column, pa.array(sentinels, column.type))
        return pc.if_else(bad, pa.scalar(None, column.type), column)
    if pa.types.is_string(column.type):
        text = pc.utf8_trim_whitespace(column)
        bad = pc.is_in(pc.utf8_lower(text), pa.array(WORDS_FOR_NOTHING))
        return pc.if_else(bad, pa.scalar(None, pa.string()), text)
    return column


def typed(column: pa.Array) -> pa.Array:
    """Return a column of text as whole numbers or numbers where all of it is; sentinels become null."""
    text = without_sentinels(column)
    for kind in (pa.int64(), pa.float64()):
        try:
            return without_sentinels(pc.cast(text, kind))
        except pa.ArrowInvalid:
            continue
    return text


def whole_numbers(column: pa.Array) -> tuple[np.ndarray, int]:
    """Return a column as int64, 0 where it holds no positive whole number, and how many cells were unusable.

    Numbers with decimals of zero count (``353301001.0``). Floats above `SAFE_INTEGER` do not: their last digits are lost.
    """
    values = np.zeros(len(column), np.int64)
    known = without_sentinels(column)
    filled = np.asarray(pc.is_valid(known))
    if pa.types.is_integer(known.type):
        given = np.asarray(pc.fill_null(known, 0)).astype(np.int64)
        return np.where(given > 0, given, 0), 0
    if pa.types.is_floating(known.type):
        given = np.nan_to_num(np.asarray(pc.fill_null(known, 0.0), np.float64))
        good = (given == np.trunc(given)) & (given > 0) & (given < SAFE_INTEGER)
        values[good] = given[good].astype(np.int64)
        return values, int((filled & ~good & (given != 0)).sum())
    text = pc.replace_substring_regex(pc.cast(known, pa.string()), r"^([^.]*)\.0*$", r"\1")
    text = pc.replace_substring_regex(text, r"^(?i)gaia\s*e?dr\d\s*", "")
    digits = pc.match_substring_regex(text, r"^[1-9]\d{0,18}$")
    small = pc.or_(pc.less(pc.utf8_length(text), len(_LARGEST)), pc.less_equal(text, _LARGEST))
    good = np.asarray(pc.fill_null(pc.and_(digits, small), fill_value=False))
    values[good] = np.asarray(pc.cast(text.filter(pa.array(good)), pa.int64()))
    nothing = np.asarray(
        pc.fill_null(pc.match_substring_regex(text, r"^(?:0+|-999|-9999)$"), fill_value=False)
    )
    return values, int((filled & ~good & ~nothing).sum())


def described(table: pa.Table, units: Mapping[str, str], about: Mapping[str, str]) -> pa.Table:
    """Return a table whose fields say the units of their columns, and what their author writes about them."""
    fields = []
    for field in table.schema:
        told = {UNIT: units.get(field.name), ABOUT: about.get(field.name)}
        said = {key: text for key, text in told.items() if text}
        fields.append(field.with_metadata(said) if said else field)
    return pa.table(table.columns, schema=pa.schema(fields))


def in_degrees(table: pa.Table, names: Iterable[str]) -> pa.Table:
    """Return a table with these columns in degrees, where a unit says that they are in hours or radians."""
    for name in names:
        place = table.column_names.index(name)
        field = table.schema.field(place)
        unit = (field.metadata or {}).get(UNIT)
        factor = degrees_in(name, unit.decode() if unit else None)
        if factor != 1 and (pa.types.is_integer(field.type) or pa.types.is_floating(field.type)):
            angles = pc.multiply(pc.cast(table.column(place), pa.float64()), factor)
            table = table.set_column(place, name, angles)
    return table


def degrees(column: pa.Array) -> np.ndarray:
    """Return a column of decimal degrees as float64, NaN where there is none."""
    known = without_sentinels(column)
    if pa.types.is_integer(known.type) or pa.types.is_floating(known.type):
        return np.asarray(pc.cast(known, pa.float64()).to_numpy(zero_copy_only=False), np.float64)
    return np.array([_float(text) for text in pc.cast(known, pa.string()).to_pylist()], np.float64)


def sexagesimal(texts: Sequence[str | None], *, hours: bool) -> np.ndarray:
    """Return angles written as ``12:34:56.7`` or ``12 34 56.7`` in degrees, NaN where a cell is none.

    Parameters
    ----------
    texts
        The cells.
    hours
        Whether the first number is hours of right ascension.
    """
    angles = np.full(len(texts), np.nan)
    for number, text in enumerate(texts):
        found = _SEXAGESIMAL.match(text or "")
        if found is not None and float(found[3]) < 60 and float(found[4]) < 60:  # minutes, seconds
            size = int(found[2]) + int(found[3]) / 60 + float(found[4]) / 3600
            angles[number] = (-size if found[1] == "-" else size) * (15 if hours else 1)
    return angles


def of_designations(texts: Sequence[str | None]) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions that names such as ``J063259.37+045622.5`` state, in degrees; NaN where there is none."""
    ra, dec = (np.full(len(texts), np.nan) for _ in range(2))
    for number, text in enumerate(texts):
        found = _DESIGNATION.search(text or "")
        if found is not None:
            ra[number] = 15 * (int(found[1]) + int(found[2]) / 60 + float(found[3]) / 3600)
            size = int(found[5]) + int(found[6]) / 60 + float(found[7]) / 3600
            dec[number] = -size if found[4] == "-" else size
    return ra, dec


def _float(text: str | None) -> float:
    try:
        return float(text) if text else np.nan
    except ValueError:
        return np.nan
