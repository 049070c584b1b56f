"""MaNGA cubes and stacks: known, and refused."""

from specvi_benchmark.surveys.registry import refusal
from specvi_benchmark.surveys.source import Source

HDUS = ("FLUX", "IVAR", "MASK", "WAVE")


def recognises(source: Source) -> bool:
    """Return whether the file has images FLUX, IVAR and MASK of many spectra, and their WAVE."""
    if source.fits is None or any(source.fits.get(name) is None for name in HDUS):
        return False
    return source.fits["FLUX"].is_image and len(source.fits["FLUX"].shape) >= 2


FORMAT = refusal(
    name="sdss-manga",
    recognised_by="HDUs FLUX (two or more dimensions), IVAR, MASK, WAVE",
    why="spectra of the places (spaxels) of one galaxy, not one object a spectrum",
    instead="take a single spaxel with Marvin (marvin.tools.Cube(...).getSpaxel(...)) or mangadap and save it as a table",
    recognises=recognises,
)
