"""SDSS, BOSS and eBOSS ``spec-PLATE-MJD-FIBER`` files, full and lite."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from specvi_benchmark.spectrum import Claims, Spectrum, clean_spectrum
from specvi_benchmark.surveys.fits import Hdu
from specvi_benchmark.surveys.formats._values import known_bands, known_number, known_text
from specvi_benchmark.surveys.registry import Format, Skipped
from specvi_benchmark.surveys.source import Source

# SPPIXMASK bits of the AND mask that leave nothing to use: FULLREJECT, NOSKY, NODATA. BRIGHTSKY (23)
# and BADSKYCHI (27) are kept: the pipeline's inverse variance already says how little they weigh.
# https://www.sdss4.org/dr17/algorithms/bitmasks/#SPPIXMASK
BAD_BITS = (1 << 18) | (1 << 22) | (1 << 24)
COLUMNS = ("flux", "loglam", "ivar", "and_mask")
BANDS = "ugriz"


def recognises(source: Source) -> bool:
    """Return whether HDU 1 is a coadd table of flux, loglam, ivar and AND mask; EXTNAME may be missing."""
    return (
        source.fits is not None and len(source.fits.hdus) > 1 and set(COLUMNS) <= set(source.fits[1].columns)
    )


def read(source: Source) -> Iterator[Spectrum | Skipped]:
    """Yield the file's spectrum: flux in 1e-17 erg/s/cm²/Å, vacuum."""
    assert source.fits is not None
    flux, loglam, ivar, and_mask = (source.fits[1].column(name) for name in COLUMNS)
    bad = (and_mask.astype(np.int64) & BAD_BITS) != 0
    with np.errstate(over="ignore"):
        wavelength = 10 ** loglam.astype(np.float64)
    yield clean_spectrum(wavelength, flux, ivar, mask=bad, format=FORMAT.name, **_about(source))


def _about(source: Source) -> dict[str, Any]:
    """Return what the primary header and the catalogue row (SPECOBJ or SPALL) say."""
    assert source.fits is not None
    header = source.fits.primary
    row = _catalogue_row(source.fits.hdus)
    plate = _integer(row, "plate", header.integer("PLATEID"))
    mjd = _integer(row, "mjd", header.integer("MJD"))
    fibre = _integer(row, "fiberid", header.integer("FIBERID"))
    return {
        "survey": "sdss",
        "release": known_text(row.get("run2d")),
        "survey_id": "" if None in {plate, mjd, fibre} else f"{plate}-{mjd}-{fibre}",
        "name": source.name,
        "ra_deg": _number(row, "plug_ra", header.number("PLUG_RA")),
        "dec_deg": _number(row, "plug_dec", header.number("PLUG_DEC")),
        "mjd": mjd,
        "header_snr": known_bands([("median", _number(row, "sn_median_all")), *_snr_by_band(row)]),
        "claims": Claims(
            object_class=known_text(row.get("class")),
            subclass=known_text(row.get("subclass")),
            redshift=_number(row, "z"),
            redshift_warning=_integer(row, "zwarning"),
        ),
    }


def _catalogue_row(hdus: tuple[Hdu, ...]) -> dict[str, Any]:
    """Return the wanted cells of the first one-row table that names a class."""
    wanted = (
        "plate",
        "mjd",
        "fiberid",
        "run2d",
        "plug_ra",
        "plug_dec",
        "class",
        "subclass",
        "z",
        "zwarning",
        "sn_median_all",
        "sn_median",
    )
    for hdu in hdus[2:]:
        if hdu.n_rows == 1 and {"class", "z"} <= set(hdu.columns):
            return {name: hdu.column(name)[0] for name in wanted if name in hdu.columns}
    return {}


def _snr_by_band(row: dict[str, Any]) -> list[tuple[str, float | None]]:
    values = np.atleast_1d(row.get("sn_median", []))
    return [(band, known_number(float(value))) for band, value in zip(BANDS, values, strict=False)]


def _number(row: dict[str, Any], name: str, otherwise: float | None = None) -> float | None:
    value = row.get(name)
    if value is None or not np.isfinite(value):
        return otherwise
    return known_number(float(value))


def _integer(row: dict[str, Any], name: str, otherwise: int | None = None) -> int | None:
    value = row.get(name)
    return otherwise if value is None else int(value)


FORMAT = Format(
    name="sdss-spec",
    recognised_by="HDU 1 is a table with flux, loglam, ivar and and_mask (EXTNAME may be missing)",
    reads="flux, ivar, AND mask bits FULLREJECT, NOSKY, NODATA; plate-mjd-fibre, position, S/N, class, subclass, Z, ZWARNING",
    leaves_out="sky, model, line fits, single exposures",
    recognises=recognises,
    read=read,
)
