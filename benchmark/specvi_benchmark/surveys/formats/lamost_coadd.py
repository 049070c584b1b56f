"""LAMOST low resolution, new layout: a COADD table of one row (DR7 v2, DR8 v2, DR9 and later)."""

from collections.abc import Iterator

from specvi_benchmark.spectrum import Spectrum, clean_spectrum
from specvi_benchmark.surveys.fits import Hdu
from specvi_benchmark.surveys.formats import _lamost
from specvi_benchmark.surveys.registry import Format, Skipped
from specvi_benchmark.surveys.source import Source

COLUMNS = ("flux", "ivar", "wavelength", "andmask")


def recognises(source: Source) -> bool:
    """Return whether this is a LAMOST file with one table of flux, ivar, wavelength and masks."""
    return _lamost.is_lamost(source) and len(_tables(source)) == 1


def read(source: Source) -> Iterator[Spectrum | Skipped]:
    """Yield the file's spectrum. Wavelengths are vacuum Å as stored."""
    assert source.fits is not None
    (table,) = _tables(source)
    if table.n_rows != 1:
        raise source.fault(
            "not one LAMOST spectrum", expected="a COADD table of 1 row", got=f"{table.n_rows} rows"
        )
    flux, ivar, wavelength, andmask = (table.column(name)[0] for name in COLUMNS)
    yield clean_spectrum(
        wavelength,
        flux,
        ivar,
        mask=andmask > 0,
        format=FORMAT.name,
        **_lamost.about(source, source.fits.primary),
    )


def _tables(source: Source) -> list[Hdu]:
    if source.fits is None:
        return []
    return [hdu for hdu in source.fits.hdus if set(COLUMNS) <= set(hdu.columns)]


FORMAT = Format(
    name="lamost-coadd",
    recognised_by="LAMOST in TELESCOP, AUTHOR or ORIGIN; exactly one table with FLUX, IVAR, WAVELENGTH, ANDMASK",
    reads="flux, ivar, wavelength, AND mask; OBSID, position, LMJD, S/N by band, class, subclass, Z",
    leaves_out="NORMALIZATION, OR mask",
    recognises=recognises,
    read=read,
)
