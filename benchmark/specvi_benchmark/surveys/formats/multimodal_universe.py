"""Rows of the MultimodalUniverse (https://github.com/MultimodalUniverse/MultimodalUniverse)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from specvi_benchmark.errors import UserError
from specvi_benchmark.spectrum import Claims, FloatArray, Spectrum
from specvi_benchmark.surveys.formats._arrays import optional, required, spectrum_of_arrays
from specvi_benchmark.surveys.formats._medium import MediumUnknownError
from specvi_benchmark.surveys.formats._values import known_bands, known_integer, known_number, known_text
from specvi_benchmark.surveys.registry import Format, Skipped
from specvi_benchmark.surveys.source import Medium, Source

_NESTED = {"spectrum.flux", "spectrum.lambda"}
_FLAT = {"spectrum_flux", "spectrum_wavelength"}  # the LAMOST configurations
_WORDS = ("z", "redshift", "ra", "dec", "obsid", "object_id", "class", "subclass")
_SNR = {f"snr{band}": band for band in "ugriz"}
_BYTES = re.compile(r"^b'(.*)'$")  # ids were bytes, and were printed as such


@dataclass(frozen=True, slots=True)
class _Survey:
    """A survey told by columns that only its configurations have."""

    name: str
    medium: Medium | None
    marks: frozenset[str] = frozenset()


_SURVEYS = (
    _Survey("lamost", "vacuum", frozenset(_FLAT)),
    _Survey("sdss", "vacuum", frozenset({"vdisp", "spectroflux_g"})),
    _Survey("desi", "vacuum", frozenset({"zwarn", "ebv"})),
)
_OTHER = _Survey("", None)


def recognises(source: Source) -> bool:
    """Return whether records have spectrum{flux, lambda}, or spectrum_flux and spectrum_wavelength."""
    paths = source.records.paths if source.records is not None else frozenset()
    return paths >= _NESTED or paths >= _FLAT


def read(source: Source) -> Iterator[Spectrum | Skipped]:
    """Yield the spectrum of each row. Padding (lambda −1, or 0 for LAMOST) is dropped.

    ZWARN and ZWARNING are not read: the loaders turn their sense round.
    """
    assert source.records is not None
    paths = source.records.paths
    lower = {path.casefold() for path in paths}
    survey = next((one for one in _SURVEYS if one.marks <= lower), _OTHER)
    columns = [path for path in paths if "." not in path and path.casefold() in {*_WORDS, *_SNR, *_FLAT}]
    for number, row in enumerate(source.records.rows(["spectrum", *columns])):
        cells = {name.casefold(): value for name, value in row.items()}
        identity = _identity(cells) or f"row {number}"
        try:
            yield _spectrum(source, survey, cells, identity)
        except MediumUnknownError:
            raise
        except UserError as error:
            yield Skipped(number, identity, error.what)


def _spectrum(source: Source, survey: _Survey, cells: Mapping[str, Any], identity: str) -> Spectrum:
    where = f"{source.name}[{identity}]"
    arrays = cells.get("spectrum")
    if isinstance(arrays, dict):
        wavelength, flux = required(arrays, "lambda", where), required(arrays, "flux", where)
        ivar, mask = optional(arrays, "ivar", where), optional(arrays, "mask", where)
    else:
        wavelength = required(dict(cells), "spectrum_wavelength", where)
        flux, ivar, mask = required(dict(cells), "spectrum_flux", where), None, None
    return spectrum_of_arrays(
        source,
        wavelength,
        flux,
        ivar,
        None if mask is None else _nonzero(mask),
        survey.medium,
        survey=survey.name,
        survey_id=identity,
        name=where,
        format=FORMAT.name,
        ra_deg=_number(cells.get("ra")),
        dec_deg=_number(cells.get("dec")),
        header_snr=known_bands((band, _number(cells.get(key))) for key, band in _SNR.items()),
        claims=Claims(
            object_class=known_text(cells.get("class")),
            subclass=known_text(cells.get("subclass")),
            redshift=_number(cells.get("z", cells.get("redshift"))),
        ),
    )


def _nonzero(values: FloatArray) -> Any:
    return (values != 0) | ~np.isfinite(values)


def _identity(cells: Mapping[str, Any]) -> str:
    value = cells.get("obsid", cells.get("object_id"))
    number = known_integer(value) if isinstance(value, int | float) else None
    text = known_text(number if number is not None else value) or ""
    printed = _BYTES.match(text)
    return (printed[1] if printed else text).strip()


def _number(value: Any) -> float | None:
    return known_number(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


FORMAT = Format(
    name="multimodal-universe",
    recognised_by="parquet, Arrow or JSON whose records have spectrum{flux, lambda}, or spectrum_flux and spectrum_wavelength",
    reads="flux, ivar and mask of each row, without padding (lambda not above 0); id, position, redshift, S/N by band. "
    "SDSS (VDISP, SPECTROFLUX_G), DESI (ZWARN, EBV) and LAMOST rows are vacuum; of others (VIPERS) the caller has to say",
    leaves_out="line spread, pictures, ZWARN and ZWARNING (their sense is turned round by the loaders)",
    recognises=recognises,
    read=read,
    medium="stated",
)
