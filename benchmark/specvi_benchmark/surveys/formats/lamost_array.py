"""LAMOST low resolution, old layout: a primary array of five rows (DR1 to about DR8)."""

from collections.abc import Iterator

from specvi_benchmark.spectrum import Spectrum, clean_spectrum
from specvi_benchmark.surveys.formats import _lamost
from specvi_benchmark.surveys.formats._log_grid import check_grid, log_grid
from specvi_benchmark.surveys.formats._values import flagged, real_numbers
from specvi_benchmark.surveys.registry import Format, Skipped
from specvi_benchmark.surveys.source import Source

ROWS = 5


def recognises(source: Source) -> bool:
    """Return whether this is a LAMOST file whose primary HDU is an array of five rows."""
    if source.fits is None or not _lamost.is_lamost(source):
        return False
    shape = source.fits[0].shape
    return len(shape) == 2 and shape[0] == ROWS


def read(source: Source) -> Iterator[Spectrum | Skipped]:
    """Yield the file's spectrum.

    Rows are flux, inverse variance, a third one, AND mask, OR mask. In the first release the third
    row is continuum-subtracted flux (EXTEN0 names the rows), not wavelength, so the grid is taken
    from COEFF0 and COEFF1; where the row is wavelength, the two are compared.
    """
    assert source.fits is not None
    header = source.fits.primary
    if (reason := _lamost.no_object(header)) is not None:
        yield Skipped(0, source.name, reason)
        return
    rows = real_numbers(source.fits[0].image(), source.fits[0], "the primary array")
    wavelength = log_grid(source, header, rows.shape[1])
    if "WAVELENGTH" in (header.text("EXTEN0") or "").upper():
        check_grid(source, header, rows[2])
    yield clean_spectrum(
        wavelength,
        rows[0],
        rows[1],
        mask=flagged(rows[3]),
        format=FORMAT.name,
        **_lamost.about(source, header),
    )


FORMAT = Format(
    name="lamost-array",
    recognised_by="LAMOST in TELESCOP, AUTHOR or ORIGIN; a primary array of five rows",
    reads="flux, ivar, AND mask; grid from COEFF0 and COEFF1 (vacuum), compared with row 3 where that is wavelength; "
    "OBSID (or night-plan-spectrograph-fibre), position, LMJD, S/N by band, class, subclass, Z",
    leaves_out="row 3 of DR1 (continuum-subtracted flux), OR mask; sky fibres are skipped",
    recognises=recognises,
    read=read,
)
