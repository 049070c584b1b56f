"""Telluric bands that the correction for the air left, of either sign. They do not move with the source."""

from functools import cache

import numpy as np

from specvi_benchmark.simulator.artefacts.artefact import Artefact, Visit
from specvi_benchmark.simulator.instrument import get_instrument
from specvi_benchmark.spectrum import FloatArray

# (first, last wavelength in vacuum Å, depth at one air mass). The O2 B and A bands are sharp on the blue side.
_BANDS = (
    ("B", 6869.0, 6946.0, 0.25), ("H2O", 7187.0, 7322.0, 0.12), ("A", 7596.0, 7702.0, 0.55),
    ("H2O", 8132.0, 8342.0, 0.14), ("H2O", 8942.0, 9150.0, 0.30), ("H2O", 9300.0, 9600.0, 0.50),
)  # fmt: skip


def _leave(visit: Visit, dial: float, rng: np.random.Generator) -> None:
    # Surveys divide by standard stars of the same field: a residue of either sign is left, more often too little
    # was taken out.
    strength = float(rng.normal(0.5 * dial, dial))
    first, depth = telluric_depth(visit.instrument.name)
    visit.flux[first:] *= np.exp(-strength * depth)
    visit.truth["telluric_residue"] = strength


@cache
def telluric_depth(instrument: str) -> tuple[int, FloatArray]:
    """Return the first pixel of the bands and the optical depth from there on, at one air mass."""
    looking = get_instrument(instrument)
    wavelength = looking.wavelength_AA
    depth = np.zeros_like(wavelength)
    for name, low, high, strength in _BANDS:
        inside = (wavelength >= low) & (wavelength <= high)
        x = (wavelength[inside] - low) / (high - low)
        # Oxygen: an abrupt blue edge, a gap after the R branch, then a slow recovery. Water: a ragged trough.
        shape = np.exp(-1.6 * x) * (1 - 0.45 * np.exp(-(((x - 0.22) / 0.06) ** 2)))
        water = (0.65 + 0.35 * np.sin(2 * np.pi * 5.3 * x + 0.7)) * np.sin(np.pi * x) ** 0.5
        depth[inside] += -np.log(1 - strength) * (water if name == "H2O" else shape)
    sigma_AA = 7600 / 2.3548 / float(np.interp(7600, wavelength, looking.resolving_power))
    reach = int(4 * sigma_AA / float(np.diff(wavelength)[wavelength[:-1] > 7600][0])) + 1
    kernel = np.exp(-0.5 * ((np.arange(-reach, reach + 1) / (reach / 4)) ** 2))
    depth = np.convolve(depth, kernel / kernel.sum(), "same")
    first = int(np.searchsorted(wavelength, 6850.0))
    depth.setflags(write=False)
    return first, depth[first:]


ARTEFACTS = (
    Artefact(
        "telluric_residue",
        "standard deviation of the telluric absorption left, in air masses; half of it is left on average",
        0.1,
        "light",
        _leave,
    ),
)
