"""CALSPEC, the flux standards of HST (Bohlin, Gordon & Tremblay 2014, PASP 126, 711), as FITS tables."""

from collections.abc import Iterator

import numpy as np

from specvi_benchmark.spectrum import FloatArray, Spectrum, clean_spectrum
from specvi_benchmark.surveys.fits import Hdu
from specvi_benchmark.surveys.formats._units import FLUX_UNIT
from specvi_benchmark.surveys.formats._values import known_text, real_numbers
from specvi_benchmark.surveys.registry import Format
from specvi_benchmark.surveys.source import Source

COLUMNS = ("wavelength", "flux", "staterror", "syserror")
NULL_FROM = 1e37  # the tables' own null value is 1.6e38
SMALLEST_ERROR = 1e-6  # of the flux; what is below was never measured (zeros, and 1e-34 in one file)


def recognises(source: Source) -> bool:
    """Return whether DBTABLE is CRSPECTRUM and the first table has CALSPEC's columns."""
    return (
        source.fits is not None
        and len(source.fits.hdus) > 1
        and (source.fits.primary.text("DBTABLE") or "").upper() == "CRSPECTRUM"
        and set(COLUMNS) <= set(source.fits[1].columns)
    )


def read(source: Source) -> Iterator[Spectrum]:
    """Yield the spectrum: vacuum wavelengths, as every CALSPEC header says.

    The error is the statistical one (STATERROR). Where the table gives 0 for it, it is SYSERROR, the
    1 to 3 % that the flux scale may be off over wide ranges. A null marks a stretch bridged without
    data, and DATAQUAL 0 a bad pixel.
    """
    assert source.fits is not None
    table = source.fits[1]
    wavelength, flux, statistical, systematic = (_numbers(table, name) for name in COLUMNS)
    bad = np.zeros(flux.shape, dtype=np.bool_)
    if "dataqual" in table.columns:
        bad = table.column("dataqual") == 0
    given = statistical > SMALLEST_ERROR * np.abs(flux)  # a null is NaN, hence not given
    error = np.where(given | np.isnan(statistical), statistical, systematic) / FLUX_UNIT
    with np.errstate(all="ignore"):
        ivar = np.where(error > 0, 1 / error**2, 0.0)
    yield clean_spectrum(
        wavelength,
        flux / FLUX_UNIT,
        ivar,
        bad,
        survey="calspec",
        survey_id=known_text(source.fits.primary.text("TARGETID")) or "",
        name=source.name,
        format=FORMAT.name,
    )


def _numbers(table: Hdu, name: str) -> FloatArray:
    values = real_numbers(table.column(name), table, name).astype(np.float64)
    if values.ndim != 1:
        raise table.fault(f"column {name} holds arrays", expected="one number a row", got=values.shape)
    return np.where(np.abs(values) > NULL_FROM, np.nan, values)


FORMAT = Format(
    name="calspec",
    recognised_by="DBTABLE = CRSPECTRUM and a table with WAVELENGTH, FLUX, STATERROR, SYSERROR",
    reads="flux (to 1e-17 erg/s/cm²/Å), STATERROR as ivar (SYSERROR where it is 0), DATAQUAL 0 as bad; target name",
    leaves_out="resolution, exposure times",
    recognises=recognises,
    read=read,
    range_AA=None,
)
