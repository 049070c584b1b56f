"""What the LAMOST layouts share: the header."""

import re
from typing import Any

from specvi_benchmark.spectrum import Claims
from specvi_benchmark.surveys.fits_header import Header
from specvi_benchmark.surveys.formats._values import known_bands, known_number, known_text
from specvi_benchmark.surveys.source import Source

SATURATED_SNR = 99.0  # first releases write 99 where the true value is larger than that

_MEDIUM_HDU = re.compile(r"^(COADD_[BR]|[BR]-\d+)$")


def is_lamost(source: Source) -> bool:
    """Return whether the primary header names the LAMOST telescope or pipeline."""
    if source.fits is None:
        return False
    header = source.fits.primary
    return "LAMOST" in f"{header.text('TELESCOP')} {header.text('AUTHOR')} {header.text('ORIGIN')}".upper()


def is_medium_resolution(source: Source) -> bool:
    """Return whether HDUs are named as in the medium-resolution survey, by arm: COADD_B, R-84420148."""
    return source.fits is not None and any(_MEDIUM_HDU.match(hdu.name) for hdu in source.fits.hdus)


def no_object(header: Header) -> str | None:
    """Return why a fibre holds no object, None where it does."""
    kind = header.text("FIBERTYP") or header.text("FIB_TYPE") or ""
    return f"a sky fibre (fibre type {kind})" if kind.upper() == "SKY" else None


def about(source: Source, header: Header) -> dict[str, Any]:
    """Return the fields of `Spectrum` that a LAMOST header gives; sentinels become unknown.

    Signal to noise stands as ``SN_G`` in the first releases and as ``SNRG`` later.
    """
    obsid = header.integer("OBSID")
    release = known_text(header.text("DATA_V"))
    return {
        "survey": "lamost",
        "release": release.removeprefix("LAMOST ") if release else None,
        "survey_id": str(obsid) if obsid is not None and obsid > 0 else _place_in_survey(header),
        "name": source.name,
        "ra_deg": known_number(header.number("RA")),
        "dec_deg": known_number(header.number("DEC")),
        "mjd": header.integer("LMJD"),
        "header_snr": known_bands((band.lower(), _snr(header, band)) for band in "UGRIZ"),
        "claims": Claims(
            object_class=known_text(header.text("CLASS")),
            subclass=known_text(header.text("SUBCLASS")),
            redshift=known_number(header.number("Z")),
        ),
    }


def _snr(header: Header, band: str) -> float | None:
    value = header.number(f"SNR{band}")
    if value is not None:
        return known_number(value)
    return known_number(header.number(f"SN_{band}"), SATURATED_SNR)


def _place_in_survey(header: Header) -> str:
    """Return night, plan, spectrograph and fibre, which name a spectrum where no OBSID does."""
    spectrograph, fibre = header.integer("SPID"), header.integer("FIBERID")
    if spectrograph is None or fibre is None:
        return ""
    return f"{header.text('LMJD')}-{header.text('PLANID')}-{spectrograph:02d}-{fibre:03d}"
