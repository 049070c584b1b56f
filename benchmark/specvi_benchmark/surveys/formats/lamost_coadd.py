"""LAMOST low resolution, new layout: a COADD table of one row (DR7 v2, DR8 v2, DR9 and later)."""

from collections.abc import Iterator

from specvi_benchmark.spectrum import Spectrum, clean_spectrum
from specvi_benchmark.surveys.fits import Hdu
from specvi_benchmark.surveys.formats import _lamost
from specvi_benchmark.surveys.formats._log_grid import check_grid, refuse_air
from specvi_benchmark.surveys.formats._values import flagged, real_numbers
from specvi_benchmark.surveys.registry import Format, Skipped
from specvi_benchmark.surveys.source import Source

COLUMNS = ("flux", "ivar", "wavelength", "andmask")


def recognises(source: Source) -> bool:
    """Return whether this is a low-resolution LAMOST file with one table of flux, ivar, wavelength, mask."""
    if not _lamost.is_lamost(source) or _lamost.is_medium_resolution(source):
        return False
    return len(_tables(source)) == 1


def read(source: Source) -> Iterator[Spectrum | Skipped]:
    """Yield the file's spectrum. Wavelengths are vacuum Å as stored, compared with COEFF0 and COEFF1."""
    assert source.fits is not None
    (table,) = _tables(source)
    if table.n_rows != 1 or any(table.columns[name].count < 2 for name in COLUMNS):
        raise table.fault(
            "not one LAMOST spectrum",
            expected="1 row of arrays",
            got=f"{table.n_rows} rows of {[table.columns[name].count for name in COLUMNS]} values",
        )
    header = source.fits.primary
    if (reason := _lamost.no_object(header)) is not None:
        yield Skipped(0, source.name, reason)
        return
    flux, ivar, wavelength = (real_numbers(table.column(name)[0], table, name) for name in COLUMNS[:3])
    if "COEFF0" in header:
        wavelength = check_grid(source, header, wavelength)
    refuse_air(source, header)
    yield clean_spectrum(
        wavelength,
        flux,
        ivar,
        mask=flagged(table.column("andmask")[0]),
        format=FORMAT.name,
        **_lamost.about(source, header),
    )


def _tables(source: Source) -> list[Hdu]:
    if source.fits is None:
        return []
    return [hdu for hdu in source.fits.hdus if set(COLUMNS) <= set(hdu.columns)]


FORMAT = Format(
    name="lamost-coadd",
    recognised_by="LAMOST in TELESCOP, AUTHOR or ORIGIN; exactly one table with FLUX, IVAR, WAVELENGTH, ANDMASK; "
    "no HDU named by arm",
    reads="flux, ivar, wavelength (vacuum; compared with COEFF0 and COEFF1), AND mask (integers or floats); "
    "OBSID, position, LMJD, S/N by band, class, subclass, Z",
    leaves_out="NORMALIZATION, OR mask; sky fibres are skipped",
    recognises=recognises,
    read=read,
)
