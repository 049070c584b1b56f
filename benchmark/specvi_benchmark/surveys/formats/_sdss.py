"""What the SDSS layouts share: the telescope, mask bits, and the header that spectro1d wrote until DR7."""

from typing import Any

from specvi_benchmark.spectrum import Claims
from specvi_benchmark.surveys.fits_header import Header
from specvi_benchmark.surveys.formats._values import known_bands, known_number, known_text
from specvi_benchmark.surveys.source import Source

# SPPIXMASK bits of the AND mask that leave nothing to use: FULLREJECT, NOSKY, NODATA. BRIGHTSKY (23)
# and BADSKYCHI (27) are kept: the pipeline's inverse variance already says how little they weigh.
# https://www.sdss4.org/dr17/algorithms/bitmasks/#SPPIXMASK
BAD_BITS = (1 << 18) | (1 << 22) | (1 << 24)

# SPEC_CLN of spectro1d (SDSS DR1 to DR7), from the data model of spSpec at https://classic.sdss.org/dr7
SPECTRO1D_CLASSES = {
    0: None,
    1: "STAR",
    2: "GALAXY",
    3: "QSO",
    4: "QSO",  # HIZ_QSO
    5: "SKY",
    6: "STAR",  # STAR_LATE
    7: "GALAXY",  # GAL_EM
}


def is_sdss(source: Source) -> bool:
    """Return whether the primary header names the SDSS telescope."""
    return source.fits is not None and (source.fits.primary.text("TELESCOP") or "").startswith("SDSS")


def about_spectro1d(source: Source, header: Header) -> dict[str, Any]:
    """Return the fields of `Spectrum` that a header of spSpec gives.

    RAOBJ and DECOBJ are the object's position; RA and DEC are where the telescope pointed.
    """
    return {
        "survey": "sdss",
        "release": known_text(header.text("VERS2D")),
        "survey_id": fibre_id(header.integer("PLATEID"), header.integer("MJD"), header.integer("FIBERID")),
        "name": source.name,
        "ra_deg": known_number(header.number("RAOBJ")),
        "dec_deg": known_number(header.number("DECOBJ")),
        "mjd": header.integer("MJD"),
        "header_snr": known_bands(
            (band, known_number(header.number(f"SN_{band.upper()}"))) for band in "gri"
        ),
        "claims": Claims(
            object_class=SPECTRO1D_CLASSES.get(header.integer("SPEC_CLN") or 0),
            redshift=known_number(header.number("Z")),
            redshift_warning=header.integer("Z_WARNIN"),
        ),
    }


def fibre_id(plate: int | None, mjd: int | None, fibre: int | None) -> str:
    """Return the survey's name of a spectrum, plate-mjd-fibre, empty where a part is unknown."""
    return "" if None in {plate, mjd, fibre} else f"{plate}-{mjd}-{fibre}"
