"""SDSS-V mwmStar and mwmVisit files of the Astra pipeline: known, and refused."""

from specvi_benchmark.surveys.registry import refusal
from specvi_benchmark.surveys.source import Source


def recognises(source: Source) -> bool:
    """Return whether the primary header has Astra's version and an SDSS_ID."""
    return source.fits is not None and {"V_ASTRA", "SDSS_ID"} <= set(source.fits.primary)


FORMAT = refusal(
    name="sdss-mwm",
    recognised_by="V_ASTRA and SDSS_ID in the primary header",
    why="spectra that Astra has moved to rest and resampled, of several instruments in one file",
    instead="fetch the star's BOSS spectrum as observed, spec-FIELD-MJD-CATALOGID.fits (data.sdss.org, or sdss_access)",
    recognises=recognises,
)
