"""LAMOST low resolution, old layout: a primary array of five rows (DR1 to about DR8)."""

from collections.abc import Iterator

import numpy as np

from specvi_benchmark.spectrum import Spectrum, clean_spectrum
from specvi_benchmark.surveys.formats import _lamost
from specvi_benchmark.surveys.registry import Format, Skipped
from specvi_benchmark.surveys.source import Source


def recognises(source: Source) -> bool:
    """Return whether this is a LAMOST file whose primary array has at least five rows."""
    if source.fits is None or not _lamost.is_lamost(source):
        return False
    shape = source.fits[0].shape
    return source.fits[0].is_image and len(shape) == 2 and shape[0] >= 5


def read(source: Source) -> Iterator[Spectrum | Skipped]:
    """Yield the file's spectrum.

    Rows are flux, inverse variance, a third one, AND mask, OR mask. In the first release the third
    row is continuum-subtracted flux, not wavelength, so the grid is always taken from COEFF0 and
    COEFF1: log10 λ = COEFF0 + COEFF1·pixel, vacuum.
    """
    assert source.fits is not None
    header = source.fits.primary
    rows = source.fits[0].image()
    start, step = header.number("COEFF0"), header.number("COEFF1")
    if start is None or step is None:
        raise source.fault(
            "no wavelength grid", expected="COEFF0 and COEFF1 in the header", got=f"{start}, {step}"
        )
    with np.errstate(over="ignore"):
        wavelength = 10 ** (start + step * np.arange(rows.shape[1]))
    yield clean_spectrum(
        wavelength, rows[0], rows[1], mask=rows[3] > 0, format=FORMAT.name, **_lamost.about(source, header)
    )


FORMAT = Format(
    name="lamost-array",
    recognised_by="LAMOST in TELESCOP, AUTHOR or ORIGIN; a 2-D primary array of five rows or more",
    reads="flux, ivar, AND mask; grid from COEFF0/COEFF1; OBSID, position, LMJD, S/N by band, class, subclass, Z",
    leaves_out="row 3 (wavelength, but continuum-subtracted flux in DR1), OR mask",
    recognises=recognises,
    read=read,
)
