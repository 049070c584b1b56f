"""M dwarf templates of Bochanski et al. (2007, AJ 133, 531), means of SDSS spectra, as 2-D FITS images."""

from collections.abc import Iterator

from specvi_benchmark.spectrum import Spectrum, clean_spectrum
from specvi_benchmark.surveys.formats._fits_axis import image_grid
from specvi_benchmark.surveys.formats._medium import to_vacuum
from specvi_benchmark.surveys.formats._values import real_numbers
from specvi_benchmark.surveys.registry import Format
from specvi_benchmark.surveys.source import Source


def recognises(source: Source) -> bool:
    """Return whether NUMOFFIL (the number of spectra in the mean) stands above an image of four rows."""
    if source.fits is None or "NUMOFFIL" not in source.fits.primary:
        return False
    shape = source.fits[0].shape
    return len(shape) == 2 and shape[0] == 4 and "CRVAL1" in source.fits.primary


def read(source: Source) -> Iterator[Spectrum]:
    """Yield the mean, the first row, normalised. The header does not say whether wavelengths are in air."""
    assert source.fits is not None
    rows = real_numbers(source.fits[0].image(), source.fits[0], "the primary array")
    grid = image_grid(source, source.fits.primary, rows.shape[1])
    yield clean_spectrum(to_vacuum(source, grid), rows[0], name=source.name, format=FORMAT.name)


FORMAT = Format(
    name="bochanski",
    recognised_by="NUMOFFIL and a primary array of four rows",
    reads="the mean (row 1) on the grid of CRVAL1 and CD1_1",
    leaves_out="median, scatter, and the third row, whose values are not the signal to noise that it is said to be",
    recognises=recognises,
    read=read,
    medium="stated",
)
