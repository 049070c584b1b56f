"""The arrays of one record as a Spectrum."""

from typing import Any

import numpy as np

from specvi_benchmark.errors import UserError
from specvi_benchmark.spectrum import BoolArray, FloatArray, Spectrum, clean_spectrum
from specvi_benchmark.surveys.formats._medium import to_vacuum
from specvi_benchmark.surveys.formats._padding import filled
from specvi_benchmark.surveys.records import numbers
from specvi_benchmark.surveys.source import Medium, Source


def required(record: dict[str, Any], key: str, where: str) -> FloatArray:
    """Return an array of a record.

    Raises
    ------
    UserError
        It is missing or holds no numbers.
    """
    values = optional(record, key, where)
    if values is None or values.size == 0:
        raise UserError(f"{key} is missing", where=where, expected="an array of numbers")
    return values


def optional(record: dict[str, Any], key: str, where: str) -> FloatArray | None:
    """Return an array of a record, None where it is missing; UserError where it holds no numbers."""
    if record.get(key) is None:
        return None
    values = numbers(record[key])
    if values is None:
        raise UserError(f"{key} holds no numbers", where=where, expected="an array of numbers")
    return values


def spectrum_of_arrays(
    source: Source,
    wavelength: FloatArray,
    flux: FloatArray,
    ivar: FloatArray | None,
    bad: BoolArray | None,
    medium: Medium | None,
    **about: Any,
) -> Spectrum:
    """Return the spectrum of arrays in Å. Padding, where wavelength is not above 0, is dropped.

    Raises
    ------
    UserError
        The arrays differ in length, air or vacuum is not known, or they make no spectrum.
    """
    arrays = [array for array in (flux, ivar, bad) if array is not None]
    if any(array.shape != wavelength.shape for array in arrays):
        raise UserError(
            "arrays differ in length",
            where=about.get("name"),
            expected=f"{wavelength.size} pixels, as wavelength has",
            got=", ".join(str(array.size) for array in arrays),
        )
    kept = np.isfinite(wavelength) & (wavelength > 0)
    mask = np.zeros(wavelength.shape, dtype=np.bool_) if bad is None else bad
    if ivar is None:
        mask = mask | filled(flux)
    return clean_spectrum(
        to_vacuum(source, wavelength[kept], (medium,)),
        flux[kept],
        None if ivar is None else ivar[kept],
        mask[kept],
        **about,
    )
