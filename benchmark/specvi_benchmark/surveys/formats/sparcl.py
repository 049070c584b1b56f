"""Records of SPARCL, the spectra service of NOIRLab's Astro Data Lab: JSON, JSON lines, parquet."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

import numpy as np

from specvi_benchmark.errors import UserError
from specvi_benchmark.spectrum import BoolArray, Claims, Spectrum
from specvi_benchmark.surveys.formats._arrays import optional, required, spectrum_of_arrays
from specvi_benchmark.surveys.formats._medium import MediumUnknownError
from specvi_benchmark.surveys.formats._sdss import BAD_BITS
from specvi_benchmark.surveys.formats._values import bits, known_integer, known_number, known_text
from specvi_benchmark.surveys.registry import Format, Skipped
from specvi_benchmark.surveys.source import Medium, Source

# Field names of https://astrosparcl.datalab.noirlab.edu/sparc/sfc/ ; _dr is what early clients wrote.
ARRAYS = ("wavelength", "flux", "ivar", "mask")
IDENTITY = ("sparcl_id", "specid", "data_release", "_dr", "targetid")
ABOUT = ("ra", "dec", "dateobs_center", "redshift", "redshift_warning", "spectype")
_RELEASES = ("sparcl_id", "data_release", "_dr")
_SURVEYS = {"SDSS": "sdss", "BOSS": "sdss", "EBOSS": "sdss", "DESI": "desi"}
_MJD_EPOCH = date(1858, 11, 17).toordinal()


def recognises(source: Source) -> bool:
    """Return whether the file's records have wavelength, flux, and SPARCL's id or data release."""
    if source.records is None:
        return False
    paths = source.records.paths
    return {"wavelength", "flux"} <= paths and not paths.isdisjoint(_RELEASES)


def read(source: Source) -> Iterator[Spectrum | Skipped]:
    """Yield the spectrum of each record; records without arrays are skipped and named."""
    assert source.records is not None
    records = source.records.rows((*ARRAYS, *IDENTITY, *ABOUT))
    for number, record in enumerate(filter(None, records)):  # the service's header has none of these fields
        told = (known_text(record.get(key)) for key in ("specid", "targetid", "sparcl_id"))
        identity = next((text for text in told if text is not None), f"record {number}")
        try:
            yield _spectrum(source, record, identity)
        except MediumUnknownError:
            raise
        except UserError as error:
            yield Skipped(number, identity, error.what)


def _spectrum(source: Source, record: dict[str, Any], identity: str) -> Spectrum:
    where = f"{source.name}[{identity}]"
    data_release = known_text(record.get("data_release")) or known_text(record.get("_dr")) or ""
    head, _, release = data_release.partition("-")
    survey = _SURVEYS.get(head.upper(), head.lower())
    medium: Medium | None = "vacuum" if survey in {"sdss", "desi"} else None
    return spectrum_of_arrays(
        source,
        required(record, "wavelength", where),
        required(record, "flux", where),
        optional(record, "ivar", where),
        _mask(optional(record, "mask", where), survey),
        medium,
        survey=survey,
        release=release or None,
        survey_id=identity,
        name=where,
        format=FORMAT.name,
        ra_deg=known_number(_number(record.get("ra"))),
        dec_deg=known_number(_number(record.get("dec"))),
        mjd=_mjd(record.get("dateobs_center")),
        claims=Claims(
            object_class=known_text(record.get("spectype")),
            redshift=known_number(_number(record.get("redshift"))),
            redshift_warning=known_integer(_number(record.get("redshift_warning"))),
        ),
    )


def _mask(values: np.ndarray | None, survey: str) -> BoolArray | None:
    """Return where a mask says bad: any bit, but of SDSS's the three that leave nothing to use."""
    if values is None:
        return None
    flags = bits(values)
    bad: BoolArray = (flags & BAD_BITS) != 0 if survey == "sdss" else flags != 0
    return bad


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _mjd(value: Any) -> int | None:
    """Return the Modified Julian date of an ISO date or time, None where it is neither."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC)
    return value.toordinal() - _MJD_EPOCH if isinstance(value, date) else None


FORMAT = Format(
    name="sparcl",
    recognised_by="JSON, JSON lines or parquet whose records have wavelength, flux, and sparcl_id or data_release",
    reads="flux (1e-17 erg/s/cm²/Å), ivar, mask (SDSS and BOSS: bits FULLREJECT, NOSKY, NODATA; otherwise any); specid, data "
    "release, position, date, spectype, redshift. SDSS, BOSS and DESI are vacuum; of other releases the caller has to say",
    leaves_out="model, wave_sigma, further fields; records without arrays (reported)",
    recognises=recognises,
    read=read,
    medium="stated",
)
