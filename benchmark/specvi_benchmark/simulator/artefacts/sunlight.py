"""The Sun's spectrum as instruments see it: what moonlight is, and what a neighbouring G star looks like."""

from functools import cache

import numpy as np

from specvi_benchmark.simulator.instrument import get_instrument
from specvi_benchmark.simulator.lattice import star_grid
from specvi_benchmark.simulator.photospheres import Cool, cool_star
from specvi_benchmark.spectrum import FloatArray


@cache
def sunlight(instrument: str) -> FloatArray:
    """Return a G2 V star at rest on the instrument's pixels, 1 at the median."""
    seen = get_instrument(instrument).see(cool_star(star_grid(), Cool(5772.0, "dwarf")), 0.0)
    seen = seen / np.median(seen)
    seen.setflags(write=False)
    return seen


@cache
def moonlight(instrument: str) -> FloatArray:
    """Return scattered moonlight, 1 near 5500 Å: sunlight made bluer by the air (Rayleigh and aerosol, λ^−1.5)."""
    wavelength = get_instrument(instrument).wavelength_AA
    light = sunlight(instrument) * (wavelength / 5500) ** -1.5
    light = light / np.median(light[np.abs(wavelength - 5500) < 50])
    light.setflags(write=False)
    return light
