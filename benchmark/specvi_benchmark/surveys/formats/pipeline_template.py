"""Templates of the SDSS and DESI redshift pipelines: known, and refused."""

import re

from specvi_benchmark.surveys.registry import refusal
from specvi_benchmark.surveys.source import Source

_EIGEN = re.compile(r"^(NAME|EIGEN)\d+$")


def recognises(source: Source) -> bool:
    """Return whether this is an spEigen file or a redrock template."""
    if source.fits is None:
        return False
    primary = source.fits.primary
    eigen = len(source.fits[0].shape) == 2 and "COEFF0" in primary and any(map(_EIGEN.match, primary))
    redrock = any("RRTYPE" in hdu.header and hdu.is_image for hdu in source.fits.hdus)
    return eigen or redrock


FORMAT = refusal(
    name="pipeline-template",
    recognised_by="spEigen: COEFF0 and NAMEn or EIGENn over a primary array; redrock: RRTYPE",
    why="templates to fit with, at rest and partly no spectra of anything (basis vectors), not observations",
    instead="use observed spectra; to look at one template, save wavelength and flux as a table (redrock.templates reads "
    "redrock's; the rows of spEigen lie at 10^(COEFF0 + COEFF1·pixel) Å)",
    recognises=recognises,
)
