"""SDSS files of a whole plate or field: known, and refused."""

from specvi_benchmark.surveys.formats import _sdss
from specvi_benchmark.surveys.registry import refusal
from specvi_benchmark.surveys.source import Source


def recognises(source: Source) -> bool:
    """Return whether this is an SDSS file whose primary array has a row for each fibre."""
    if source.fits is None or not _sdss.is_sdss(source) or "SPEC_CLN" in source.fits.primary:
        return False
    return len(source.fits[0].shape) == 2


FORMAT = refusal(
    name="sdss-plate",
    recognised_by="SDSS in TELESCOP; a primary array with a row for each fibre (spPlate, spField, spFrame), no SPEC_CLN",
    why="the spectra of a whole plate, without the catalogue that says what each fibre saw",
    instead="fetch single spectra (spec-PLATE-MJD-FIBER.fits from data.sdss.org, or astroquery.sdss.SDSS.get_spectra), "
    "or extract a fibre with pydl.pydlspec2d.spec1d.readspec and save it as a table",
    recognises=recognises,
)
