"""``spec`` files of SDSS, BOSS, eBOSS (spec-PLATE-MJD-FIBER) and SDSS-V (spec-FIELD-MJD-CATALOGID)."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from specvi_benchmark.spectrum import Claims, Spectrum, clean_spectrum
from specvi_benchmark.surveys.fits import Hdu
from specvi_benchmark.surveys.formats._sdss import BAD_BITS, fibre_id
from specvi_benchmark.surveys.formats._values import (
    bits,
    cells,
    known_bands,
    known_integer,
    known_number,
    known_text,
    real_numbers,
)
from specvi_benchmark.surveys.registry import Format, Skipped
from specvi_benchmark.surveys.source import Source

COLUMNS = ("flux", "loglam", "ivar", "and_mask")
BANDS = "ugriz"
LARGEST_LOGLAM = 5.0  # 10 µm; far above what the spectrographs see

# The catalogue row is called SPECOBJ (SDSS) or SPALL (BOSS and later). SDSS-V adds CATALOGID and FIELD;
# the FIELD of BOSS and eBOSS is that of the photometry, and means nothing here.
CATALOGUE = (
    *("plate", "mjd", "fiberid", "field", "catalogid", "gaia_id", "run2d", "objtype", "targettype"),
    *("plug_ra", "plug_dec", "racat", "deccat", "class", "subclass", "z", "zwarning"),
    *("sn_median_all", "sn_median"),
)


def recognises(source: Source) -> bool:
    """Return whether HDU 1 is a coadd table of flux, loglam, ivar and AND mask; EXTNAME may be missing."""
    if source.fits is None or len(source.fits.hdus) < 2:
        return False
    return set(COLUMNS) <= set(source.fits[1].columns)


def read(source: Source) -> Iterator[Spectrum | Skipped]:
    """Yield the file's spectrum: flux in 1e-17 erg/s/cm²/Å, wavelengths vacuum."""
    assert source.fits is not None
    coadd = source.fits[1]
    catalogue = _catalogue_row(source.fits.hdus)
    if "SKY" in {str(catalogue.get(name)).upper() for name in ("objtype", "targettype")}:
        yield Skipped(0, source.name, "a sky fibre (object type SKY)")
        return
    flux, loglam, ivar = (real_numbers(coadd.column(name), coadd, name) for name in COLUMNS[:3])
    if loglam.ndim != 1 or not (loglam < LARGEST_LOGLAM).all():
        raise coadd.fault(
            "no wavelength grid",
            expected="one log10 λ a row, in Å",
            got=f"{loglam.shape}, up to {np.max(loglam, initial=0):g}",
        )
    yield clean_spectrum(
        10 ** loglam.astype(np.float64),
        flux,
        ivar,
        mask=(bits(coadd.column("and_mask")) & BAD_BITS) != 0,
        format=FORMAT.name,
        **_about(source, catalogue),
    )


def _catalogue_row(hdus: tuple[Hdu, ...]) -> dict[str, Any]:
    """Return the wanted cells of the first one-row table that names a class."""
    for hdu in hdus[2:]:
        if hdu.n_rows == 1 and {"class", "z"} <= set(hdu.columns):
            return cells(hdu, CATALOGUE, 0)
    return {}


def _about(source: Source, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the catalogue row says, or the primary header where there is none."""
    assert source.fits is not None
    header = source.fits.primary

    def number(name: str, *otherwise: float | None) -> float | None:
        values = (known_number(row.get(name)), *otherwise)
        return next((value for value in values if value is not None), None)

    mjd = known_integer(row.get("mjd")) or header.integer("MJD")
    gaia_id = known_integer(row.get("gaia_id"))
    return {
        "survey": "sdss",
        "release": known_text(row.get("run2d")) or known_text(header.text("RUN2D")),
        "survey_id": _survey_id(source, row, mjd),
        "name": source.name,
        "ra_deg": number("plug_ra", known_number(row.get("racat")), header.number("PLUG_RA")),
        "dec_deg": number("plug_dec", known_number(row.get("deccat")), header.number("PLUG_DEC")),
        "gaia_id": gaia_id if gaia_id is not None and gaia_id > 0 else None,
        "mjd": mjd,
        "header_snr": known_bands([("median", number("sn_median_all")), *_snr_by_band(row)]),
        "claims": Claims(
            object_class=known_text(row.get("class")),
            subclass=known_text(row.get("subclass")),
            redshift=number("z"),
            redshift_warning=known_integer(row.get("zwarning")),
        ),
    }


def _survey_id(source: Source, row: Mapping[str, Any], mjd: int | None) -> str:
    assert source.fits is not None
    header = source.fits.primary
    target = known_text(row.get("catalogid"))
    if target is not None and target != "0":
        field = known_text(row.get("field")) or known_text(header.text("FIELDID"))
        return f"{field}-{mjd}-{target}"
    plate = known_integer(row.get("plate")) or header.integer("PLATEID")
    return fibre_id(plate, mjd, known_integer(row.get("fiberid")) or header.integer("FIBERID"))


def _snr_by_band(row: Mapping[str, Any]) -> list[tuple[str, float | None]]:
    values = np.atleast_1d(row.get("sn_median", []))
    return [(band, known_number(value)) for band, value in zip(BANDS, values, strict=False)]


FORMAT = Format(
    name="sdss-spec",
    recognised_by="HDU 1 is a table with flux, loglam, ivar and and_mask, in any case (EXTNAME may be missing)",
    reads="full and lite files of SDSS, BOSS, eBOSS, SDSS-V: flux, ivar, AND mask bits FULLREJECT, NOSKY, NODATA; from "
    "SPECOBJ or SPALL plate-mjd-fibre (SDSS-V: field-mjd-catalogid), RUN2D, position, Gaia id, S/N, class, subclass, "
    "Z, ZWARNING",
    leaves_out="sky, model, line fits, single exposures; sky fibres are skipped. The SDSS-V layout is read after its "
    "documentation; no real file was at hand",
    recognises=recognises,
    read=read,
)
