"""STELIB, the stellar library (Le Borgne et al. 2003, A&A 402, 433), as 1-D FITS images."""

from collections.abc import Iterator

import numpy as np

from specvi_benchmark.lines.wavelengths import air_to_vacuum
from specvi_benchmark.spectrum import Claims, Spectrum, clean_spectrum
from specvi_benchmark.surveys.formats._fits_axis import image_grid
from specvi_benchmark.surveys.formats._padding import filled
from specvi_benchmark.surveys.formats._units import FLUX_UNIT
from specvi_benchmark.surveys.formats._values import known_text, real_numbers
from specvi_benchmark.surveys.registry import Format
from specvi_benchmark.surveys.source import Source

RANGE_AA = (3100.0, 10000.0)  # the library covers 3200 to 9900 Å
KEYWORDS = ("STARIDEN", "SPECTYPE", "ISEXTINC", "RADVEL")


def recognises(source: Source) -> bool:
    """Return whether STELIB's own keywords stand above an image of one line."""
    return (
        source.fits is not None
        and len(source.fits[0].shape) == 1
        and all(keyword in source.fits.primary for keyword in KEYWORDS)
    )


def read(source: Source) -> Iterator[Spectrum]:
    """Yield the spectrum: dereddened flux on a linear grid in air, star at rest; no errors.

    Zero-filled stretches, up to 3000 Å long, are gaps between the spectrograph's settings: masked.
    """
    assert source.fits is not None
    header = source.fits.primary
    flux = real_numbers(source.fits[0].image(), source.fits[0], "the primary array").astype(np.float64)
    grid = image_grid(source, header, flux.size)
    yield clean_spectrum(
        air_to_vacuum(grid),
        flux / FLUX_UNIT,
        mask=filled(flux),
        survey="stelib",
        survey_id=header.text("STARIDEN") or "",
        name=source.name,
        format=FORMAT.name,
        claims=Claims(subclass=known_text(header.text("SPECTYPE"))),
    )


FORMAT = Format(
    name="stelib",
    recognised_by="STARIDEN, SPECTYPE, ISEXTINC, RADVEL and a primary array of one line",
    reads="flux (to 1e-17 erg/s/cm²/Å) on the grid of CRVAL1 and CDELT1; air wavelengths, converted; star and spectral type; "
    "runs of 5 zeros or more are masked; cards that break the standard (APNUM1) are passed over",
    leaves_out="position (B1950, radians); errors, which the library does not have",
    recognises=recognises,
    read=read,
    medium="air",
    range_AA=RANGE_AA,
)
