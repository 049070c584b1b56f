"""MILES, the stellar library (Sánchez-Blázquez et al. 2006, MNRAS 371, 703), as 1-D FITS images."""

from collections.abc import Iterator

from specvi_benchmark.lines.wavelengths import air_to_vacuum
from specvi_benchmark.spectrum import Spectrum, clean_spectrum
from specvi_benchmark.surveys.formats._fits_axis import image_grid
from specvi_benchmark.surveys.formats._padding import filled
from specvi_benchmark.surveys.formats._values import real_numbers
from specvi_benchmark.surveys.registry import Format
from specvi_benchmark.surveys.source import Source

RANGE_AA = (3500.0, 7550.0)  # the library covers 3525 to 7500 Å


def recognises(source: Source) -> bool:
    """Return whether TPLLIB names MILES above an image of one line."""
    return (
        source.fits is not None
        and len(source.fits[0].shape) == 1
        and (source.fits.primary.text("TPLLIB") or "").upper() == "MILES"
    )


def read(source: Source) -> Iterator[Spectrum]:
    """Yield the spectrum: relative flux on a linear grid in air, star at rest; no errors."""
    assert source.fits is not None
    flux = real_numbers(source.fits[0].image(), source.fits[0], "the primary array")
    grid = image_grid(source, source.fits.primary, flux.size)
    yield clean_spectrum(
        air_to_vacuum(grid),
        flux,
        mask=filled(flux),
        survey="miles",
        name=source.name,
        format=FORMAT.name,
    )


FORMAT = Format(
    name="miles",
    recognised_by="TPLLIB = MILES and a primary array of one line",
    reads="flux on the grid of CRVAL1 and CDELT1; air wavelengths, converted",
    leaves_out="the star, which the header does not name (the number in the file name is that of the MILES tables); "
    "errors, which the library does not have",
    recognises=recognises,
    read=read,
    medium="air",
    range_AA=RANGE_AA,
)
