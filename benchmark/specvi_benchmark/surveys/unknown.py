"""What a file is that no format knows, and what its owner can do: the words of the refusal."""

from collections.abc import Sequence

from specvi_benchmark.surveys.fits import FitsFile, Hdu
from specvi_benchmark.surveys.source import Source

EXPECTED = (
    "a spectrum: FITS of LAMOST, SDSS or DESI; FITS, VOTable, CSV or text with wavelength and flux; "
    "records in parquet or JSON"
)
SEE = "docs/formats.md lists every format and what it is recognised by"

# How the bytes begin, what that is, and what to do.
_BEGINNINGS = (
    (b"\x89PNG", "a PNG picture", "read the file the picture was drawn from"),
    (b"\xff\xd8\xff", "a JPEG picture", "read the file the picture was drawn from"),
    (b"%PDF", "a PDF document", "use the table or FITS file published with it"),
    (b"PK\x03\x04", "a zip archive (or .npz, .xlsx)", "unpack it; save numpy arrays and sheets as CSV"),
    (b"BZh", "packed with bzip2", "unpack it with bunzip2"),
    (b"\xfd7zXZ", "packed with xz", "unpack it with unxz"),
    (b"\x28\xb5\x2f\xfd", "packed with Zstandard", "unpack it with unzstd"),
    (b"\x1f\x9d", "packed with compress (.Z)", "unpack it with uncompress"),
    (b"\x89HDF", "an HDF5 file", "save wavelength, flux and error as a FITS table or CSV"),
    (b"\x93NUMPY", "a numpy array", "save wavelength, flux and error as CSV (numpy.savetxt) with a header"),
    (b"\x80\x04", "a Python pickle", "save wavelength, flux and error as CSV; pickles are never opened"),
    (b"\x80\x05", "a Python pickle", "save wavelength, flux and error as CSV; pickles are never opened"),
    (b"version https://git-lfs", "a pointer of Git LFS, not the file itself", "fetch it with git lfs pull"),
)
_WEB_PAGE = (b"<!doctype html", b"<html")
_SURVEYS = ("LAMOST", "SDSS", "DESI")


def explain(source: Source, layouts: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Return what the file holds, and what to do with it, a sentence each.

    Parameters
    ----------
    source
        The file.
    layouts
        Name of each format, and what it is recognised by.
    """
    if source.fits is None:
        return _not_fits(source)
    return holds(source.fits), _fits_advice(source.fits, layouts)


def holds(fits: FitsFile) -> str:
    """Return the HDUs in a few words: ``FITS with primary empty; COADD table(flux, loglam, …)``."""
    left_out = len(fits.hdus) - 6
    more = f"; and {left_out} more HDUs" if left_out > 0 else ""
    return "FITS with " + "; ".join(map(_hdu, fits.hdus[:6])) + more


def _hdu(hdu: Hdu) -> str:
    name = hdu.name or ("primary" if hdu.index == 0 else f"HDU {hdu.index}")
    if hdu.is_table:
        names = list(hdu.columns)
        return f"{name} table({', '.join(names[:4])}{', …' if len(names) > 4 else ''})"
    return f"{name} image{hdu.shape}" if hdu.is_image else f"{name} empty"


def _not_fits(source: Source) -> tuple[str, str]:
    start = source.stored[0:200]
    for beginning, what, advice in _BEGINNINGS:
        if start.startswith(beginning):
            return what, advice
    if start.lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(_WEB_PAGE):
        return "a web page: the download failed, or needs a login", "fetch the file itself"
    lines = start[:60].decode("ascii", "replace").splitlines()
    shown = f"it starts with {lines[0] if lines else ''!r}"
    if source.text is None:
        return f"not FITS and not text; {shown}", "save wavelength, flux and error as a FITS table or CSV"
    if source.records is not None:
        names = ", ".join(sorted(source.records.paths)[:8]) or "no names"
        return (
            f"records without a spectrum: {names}",
            "records need wavelength and flux, as SPARCL, MultimodalUniverse or SpecVI-Bench name them",
        )
    return (
        f"text in which no line holds two numbers; {shown}",
        "put wavelength and flux side by side, a pixel a line, under a header such as wavelength_AA,flux",
    )


def _fits_advice(fits: FitsFile, layouts: Sequence[tuple[str, str]]) -> str:
    told = (
        f"{fits.primary.text('TELESCOP')} {fits.primary.text('ORIGIN')} {fits.primary.text('AUTHOR')}".upper()
    )
    survey = next((name for name in _SURVEYS if name in told), None)
    if survey is not None:
        known = [f"{name} ({rule})" for name, rule in layouts if name.startswith(survey.lower())]
        return f"the header names {survey}, and none of its layouts fits: {'; '.join(known)}"
    shapes = [hdu.shape for hdu in fits.hdus if hdu.is_image]
    if any(hdu.is_table for hdu in fits.hdus):
        return "name two columns of one table wavelength and flux, with TUNIT"
    if any(len(shape) == 1 for shape in shapes):
        return "give the flux image its grid (CRVAL1, CDELT1, CUNIT1), or save wavelength and flux as a table"
    if shapes:
        return "these are frames or cubes: extract a 1-D spectrum first (specreduce, IRAF apall), save it as a table"
    return "there are no data in this file: fetch it again"
