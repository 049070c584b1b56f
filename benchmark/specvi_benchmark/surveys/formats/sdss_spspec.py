"""SDSS DR1 to DR7 ``spSpec`` files: a primary array of five rows."""

from collections.abc import Iterator

import numpy as np

from specvi_benchmark.spectrum import Spectrum, clean_spectrum
from specvi_benchmark.surveys.formats import _sdss
from specvi_benchmark.surveys.formats._log_grid import log_grid
from specvi_benchmark.surveys.formats._values import bits, real_numbers
from specvi_benchmark.surveys.registry import Format, Skipped
from specvi_benchmark.surveys.source import Source

# Rows counted from 0, after ARRAY1 to ARRAY4, which count from 1. ARRAY2 is continuum-subtracted flux.
ROWS = {0: "SPECTRUM", 2: "ERROR", 3: "MASK"}


def recognises(source: Source) -> bool:
    """Return whether this is an SDSS file with spectro1d's class, whose primary HDU is an array."""
    if source.fits is None or not _sdss.is_sdss(source) or "SPEC_CLN" not in source.fits.primary:
        return False
    return len(source.fits[0].shape) == 2


def read(source: Source) -> Iterator[Spectrum | Skipped]:
    """Yield the file's spectrum: flux in 1e-17 erg/s/cm²/Å, vacuum.

    The second row of errors is turned into inverse variance; an error of 0 means no data. The mask row
    is the AND mask with one more bit (30) where an emission line was found, which is no fault.
    """
    assert source.fits is not None
    header = source.fits.primary
    named = {row: header.text(f"ARRAY{row + 1}") for row in ROWS}
    image = source.fits[0]
    if image.shape[0] <= max(ROWS) or named != ROWS:
        raise image.fault(
            "not the rows of an spSpec file",
            expected="ARRAY1 = SPECTRUM, ARRAY3 = ERROR, ARRAY4 = MASK",
            got=f"{image.shape[0]} rows, {named}",
        )
    about = _sdss.about_spectro1d(source, header)
    if about["claims"].object_class == "SKY":
        yield Skipped(0, source.name, "a sky fibre (SPEC_CLN 5)")
        return
    flux, _, error, mask = real_numbers(image.image(), image, "the primary array")[: max(ROWS) + 1]
    error = error.astype(np.float64)
    ivar = np.divide(1.0, error**2, out=np.zeros_like(error), where=error > 0)
    yield clean_spectrum(
        log_grid(source, header, flux.size),
        flux,
        ivar,
        mask=(bits(mask) & _sdss.BAD_BITS) != 0,
        format=FORMAT.name,
        **about,
    )


FORMAT = Format(
    name="sdss-spspec",
    recognised_by="SDSS in TELESCOP, SPEC_CLN, and a primary array with rows named by ARRAY1 to ARRAY4",
    reads="flux (row 1), error (row 3) as ivar, mask bits (row 4) FULLREJECT, NOSKY, NODATA; grid from COEFF0 and COEFF1; "
    "plate-mjd-fibre, RAOBJ and DECOBJ, S/N, class from SPEC_CLN, Z",
    leaves_out="continuum-subtracted flux, line tables; RA and DEC, which are the telescope's; sky fibres are skipped",
    recognises=recognises,
    read=read,
)
