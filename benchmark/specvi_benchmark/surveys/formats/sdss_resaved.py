"""An spSpec file that lost its rows: one line of flux with the old header, as IRAF saves it."""

from collections.abc import Iterator

import numpy as np

from specvi_benchmark.spectrum import FloatArray, Spectrum, clean_spectrum
from specvi_benchmark.surveys.fits_header import Header
from specvi_benchmark.surveys.formats import _sdss
from specvi_benchmark.surveys.formats._log_grid import log_grid
from specvi_benchmark.surveys.formats._values import real_numbers
from specvi_benchmark.surveys.registry import Format, Skipped
from specvi_benchmark.surveys.source import Source

LARGEST_SHIFT = 1.0  # pixels, at both ends, between the old grid and the new


def recognises(source: Source) -> bool:
    """Return whether this is an SDSS file with spectro1d's class and one line of flux, and no more images."""
    if source.fits is None or not _sdss.is_sdss(source) or "SPEC_CLN" not in source.fits.primary:
        return False
    return len(source.fits[0].shape) == 1


def read(source: Source) -> Iterator[Spectrum | Skipped]:
    """Yield the file's spectrum, without errors."""
    assert source.fits is not None
    header = source.fits.primary
    flux = real_numbers(source.fits[0].image(), source.fits[0], "the primary array")
    yield clean_spectrum(
        _wavelength(source, header, flux.size),
        flux,
        format=FORMAT.name,
        **_sdss.about_spectro1d(source, header),
    )


def _wavelength(source: Source, header: Header, size: int) -> FloatArray:
    """Return observed wavelengths. DC-FLAG says whether the grid is still logarithmic.

    A spectrum made linear has its grid in CRVAL1 and CD1_1, and COEFF0 and COEFF1 are left over from
    before: they still say where it began and ended. Where those ends lie (1+z) further up, IRAF has
    moved the spectrum to rest, and it is moved back. (In the one real file at hand, lines stand at
    their rest wavelengths on this grid, and up to 300 Å off on the old one.)
    """
    if header.integer("DC-FLAG") != 0:
        return log_grid(source, header, size)
    old = log_grid(source, header, size)[[0, -1]]
    start, step = header.number("CRVAL1"), header.number("CD1_1") or header.number("CDELT1")
    pixel = header.number("CRPIX1")
    redshift = header.number("Z") or 0.0
    if start is not None and step is not None and step > 0:
        linear = start + step * (np.arange(1.0, size + 1) - (1.0 if pixel is None else pixel))
        for factor in (1.0, 1.0 + redshift):
            if (np.abs(linear[[0, -1]] * factor - old) < LARGEST_SHIFT * step).all():
                moved: FloatArray = linear * factor
                return moved
    raise source.fault(
        "two wavelength grids that do not fit",
        expected=f"CRVAL1 and CD1_1 from {old[0]:.1f} to {old[1]:.1f} Å (COEFF0, COEFF1), or 1+z below it",
        got=f"CRVAL1 {start}, CD1_1 {step}, CRPIX1 {pixel}, Z {redshift:g}, {size} pixels",
        fix="fetch the survey's own file; which grid is meant can't be told",
    )


FORMAT = Format(
    name="sdss-resaved",
    recognised_by="SDSS in TELESCOP, SPEC_CLN, and a primary array of one line",
    reads="flux on the grid of CRVAL1 and CD1_1 (DC-FLAG 0) or COEFF0 and COEFF1; a spectrum moved to rest is moved back; "
    "plate-mjd-fibre, position, S/N, class, Z as in spSpec",
    leaves_out="errors, which are lost; files whose two grids do not fit are refused",
    recognises=recognises,
    read=read,
)
