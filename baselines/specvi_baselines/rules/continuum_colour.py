"""Colour of the continuum, which tells a white dwarf from a cool star with the same bands."""

from specvi_benchmark.features import Measurement, Prepared, flux_ratio

BLUE_COLOUR = 1.3
"""Flux per Å near 4550 over that near 6650 above which a continuum is blue: F stars 1.2–2, A 2–3,
O and white dwarfs 4, K giants 0.7, carbon stars below 0.7 (library, not reddened)."""

CARBON_COLOUR = 0.8
"""Carbon stars are below 0.7 (library); a DQ that dust has reddened lies between this and blue."""

COOL_COLOUR = 1.0
"""M and S stars are below: 0.05–0.7 in the library."""


def colour(prepared: Prepared) -> Measurement | None:
    """Return the mean flux per Å of 4500–4600 Å over that of 6600–6700 Å; None where not covered."""
    return flux_ratio(prepared, [(4500.0, 4600.0)], [(6600.0, 6700.0)])
