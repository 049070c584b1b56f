"""Redshift tables of DESI: known, and refused, since they hold labels and no spectra."""

from specvi_benchmark.surveys.formats._desi import redshift_table
from specvi_benchmark.surveys.registry import refusal
from specvi_benchmark.surveys.source import Source


def recognises(source: Source) -> bool:
    """Return whether the file has redrock's table and no wavelengths."""
    if source.fits is None or redshift_table(source.fits) is None:
        return False
    return not any(hdu.name.endswith("WAVELENGTH") for hdu in source.fits.hdus)


FORMAT = refusal(
    name="desi-redrock",
    recognised_by="a table with TARGETID, Z, ZWARN, SPECTYPE and no wavelengths (redrock-*, zbest-*)",
    why="redshifts and classes, no spectra",
    instead="open the file of the same name that begins with coadd- or spectra-: its labels are taken from this one if "
    "it lies beside it",
    recognises=recognises,
)
