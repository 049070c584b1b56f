"""What surveys write where they know nothing, and how several formats clean and check it."""

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

import numpy as np

from specvi_benchmark.surveys.fits import Hdu

UNKNOWN_NUMBERS = frozenset({-9999.0, -999.0})
UNKNOWN_WORDS = frozenset({"", "non", "none", "null", "unknown", "nan"})
_NUMBERS = (int, float, np.integer, np.floating)


def known_number(value: Any, *more_sentinels: float) -> float | None:
    """Return a finite number; None where it is missing, no number, or a sentinel (−9999, −999, or one named)."""
    if not isinstance(value, _NUMBERS) or not isfinite(value):
        return None
    return None if value in UNKNOWN_NUMBERS or value in more_sentinels else float(value)


def known_integer(value: Any) -> int | None:
    """Return a whole number; None where it is missing, not whole, or a sentinel."""
    number = known_number(value)
    return int(value) if number is not None and number == int(number) else None


def known_text(value: object) -> str | None:
    """Return text, or None where the survey wrote a word for unknown."""
    text = "" if value is None else str(value).strip()
    return None if text.casefold() in UNKNOWN_WORDS else text


def known_bands(values: Iterable[tuple[str, float | None]]) -> Mapping[str, float]:
    """Return the bands whose number is known."""
    return {band: value for band, value in values if value is not None}


def real_numbers(values: np.ndarray, hdu: Hdu, name: str) -> np.ndarray:
    """Return ``values`` if they are floats, as every survey writes flux, ivar and wavelength.

    Raises
    ------
    UserError
        They are of another type: the header does not tell the truth about the bytes.
    """
    if values.dtype.kind != "f":
        raise hdu.fault(f"{name} is not of real numbers", expected="32 or 64 bit floats", got=values.dtype)
    return values


def bits(values: np.ndarray) -> np.ndarray:
    """Return mask values as integers, also where whole numbers were written as floats.

    What is no whole number has every bit set, so that it masks its pixel.
    """
    if values.dtype.kind in "iub":
        return values.astype(np.int64)
    if values.dtype.kind != "f":
        return np.full(values.shape, -1)
    whole = (np.abs(values) < 2.0**53) & (values == np.trunc(values))
    return np.where(whole, values, -1).astype(np.int64)


def flagged(values: np.ndarray) -> np.ndarray:
    """Return where a mask value is not zero, which is where `bits` is not, without making integers of floats."""
    return values != 0 if values.dtype.kind in "iubf" else np.ones(values.shape, dtype=np.bool_)


def cells(table: Hdu, names: Iterable[str], row: int) -> dict[str, Any]:
    """Return the cells of one row by column name, for those of the columns that the table has."""
    return {name: table.column(name)[row] for name in names if name in table.columns}
