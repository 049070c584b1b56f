"""LAMOST medium resolution: known, and refused."""

from specvi_benchmark.surveys.formats import _lamost
from specvi_benchmark.surveys.registry import refusal

FORMAT = refusal(
    name="lamost-medium",
    recognised_by="LAMOST in TELESCOP, AUTHOR or ORIGIN; HDUs named by arm: COADD_B, COADD_R, B-84420148",
    why="a medium-resolution spectrum: two short arms (4950–5350 and 6300–6800 Å) at R about 7500, too "
    "little of the spectrum for the questions asked here",
    instead="use the star's low-resolution spectrum (spec-*.fits of the LRS at www.lamost.org); to keep to "
    "this one, save one arm as a table of wavelength, flux and ivar",
    recognises=lambda source: _lamost.is_lamost(source) and _lamost.is_medium_resolution(source),
)
