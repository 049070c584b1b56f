"""An SDSS spectrum saved by linetools: unnamed images of flux, error, wavelength (and continuum)."""

from collections.abc import Iterator

import numpy as np

from specvi_benchmark.spectrum import FloatArray, Spectrum, clean_spectrum
from specvi_benchmark.surveys.formats import _sdss
from specvi_benchmark.surveys.formats._log_grid import PLAUSIBLE_AA, check_grid, refuse_air
from specvi_benchmark.surveys.formats._values import real_numbers
from specvi_benchmark.surveys.registry import Format, Skipped
from specvi_benchmark.surveys.source import Source


def recognises(source: Source) -> bool:
    """Return whether this is an SDSS file of three or four images of one line and one length."""
    if source.fits is None or not _sdss.is_sdss(source) or "SPEC_CLN" in source.fits.primary:
        return False
    shapes = [hdu.shape for hdu in source.fits.hdus]
    return len(shapes) in {3, 4} and len(set(shapes)) == 1 and len(shapes[0]) == 1


def read(source: Source) -> Iterator[Spectrum | Skipped]:
    """Yield the file's spectrum. The header's RA and DEC are the plate's, so no position is read."""
    assert source.fits is not None
    header = source.fits.primary
    flux, error, stored = (
        real_numbers(hdu.image(), hdu, what).astype(np.float64)
        for hdu, what in zip(source.fits.hdus, ("flux", "error", "wavelength"), strict=False)
    )
    wavelength = _wavelength(source, stored)
    if "COEFF0" in header:
        check_grid(source, header, wavelength)
    refuse_air(source, header)
    sound = (error > 0) & np.isfinite(error)
    mjd = header.integer("MJD")
    yield clean_spectrum(
        wavelength,
        flux,
        np.divide(1.0, error**2, out=np.zeros_like(error), where=sound),
        format=FORMAT.name,
        survey="sdss",
        survey_id=_sdss.fibre_id(header.integer("PLATEID"), mjd, header.integer("FIBERID")),
        name=source.name,
        mjd=mjd,
    )


def _wavelength(source: Source, stored: FloatArray) -> FloatArray:
    """Return Å: the third image holds Å or their log10, which can't be mistaken for one another."""
    low, high = PLAUSIBLE_AA
    if ((stored > low) & (stored < high)).all():
        return stored
    if ((stored > np.log10(low)) & (stored < np.log10(high))).all():
        return 10.0**stored
    raise source.fault(
        "no wavelength grid",
        expected=f"wavelengths of {low:.0f} to {high:.0f} Å, or their log10, in the third image",
        got=f"{stored.min():g} to {stored.max():g}",
    )


FORMAT = Format(
    name="sdss-linetools",
    recognised_by="SDSS in TELESCOP; three or four images of one line and one length",
    reads="flux, error as ivar, wavelength (Å or log10 Å; compared with COEFF0 and COEFF1)",
    leaves_out="the continuum; position and class, which the file does not have",
    recognises=recognises,
    read=read,
)
