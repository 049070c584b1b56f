"""Errors of flux: slow errors of the response, droops at the ends, steps where arms meet, fringes."""

from functools import cache

import numpy as np

from specvi_benchmark.simulator.artefacts.artefact import Artefact, Visit
from specvi_benchmark.simulator.instrument import get_instrument
from specvi_benchmark.spectrum import FloatArray

_FRINGES_FROM_AA = 7400.0
_END_AA = 80.0  # over which the ends droop


def _calibrate(visit: Visit, dial: float, rng: np.random.Generator) -> None:
    slope, bend, blue, red = rng.normal(0, dial, 4)
    shapes = _slow(visit.instrument.name)
    # The droops are one-sided: the response falls steeply there and is underestimated as it changes.
    visit.flux *= 1 + slope * shapes[0] + bend * shapes[1] - abs(blue) * shapes[2] - abs(red) * shapes[3]
    visit.truth["flux_slope"] = float(slope)


def _step(visit: Visit, dial: float, rng: np.random.Generator) -> None:
    steps = []
    for edge in _edges(visit.instrument.name):
        steps.append(float(max(rng.normal(0, dial), -0.9)))
        visit.flux *= 1 + steps[-1] * edge
    visit.truth["arm_steps"] = steps


def _fringe(visit: Visit, dial: float, rng: np.random.Generator) -> None:
    amplitude = abs(float(rng.normal(0, dial)))
    phase, period = rng.random(2)
    first = int(np.searchsorted(visit.instrument.wavelength_AA, _FRINGES_FROM_AA))
    wavelength = visit.instrument.wavelength_AA[first:]
    # Interference in a thinned CCD: a sine in 1/λ, a period of 40–80 Å at 8000 Å, growing to the red.
    cycles = 8000.0**2 / (40 + 40 * period) * (1 / _FRINGES_FROM_AA - 1 / wavelength)
    growth = np.minimum((wavelength - _FRINGES_FROM_AA) / 1000, 1)
    visit.flux[first:] *= 1 + amplitude * growth * np.sin(2 * np.pi * (cycles + phase))
    visit.truth["fringe_amplitude"] = amplitude


@cache
def _slow(instrument: str) -> FloatArray:
    wavelength = get_instrument(instrument).wavelength_AA
    x = (wavelength - wavelength[0]) / (wavelength[-1] - wavelength[0]) * 2 - 1
    blue = np.exp(-(wavelength - wavelength[0]) / _END_AA)
    red = np.exp(-(wavelength[-1] - wavelength) / _END_AA)
    return np.array([x, x * x - 1 / 3, blue, red])


@cache
def _edges(instrument: str) -> tuple[FloatArray, ...]:
    looking = get_instrument(instrument)
    return tuple((1 + np.tanh((looking.wavelength_AA - meet) / 25)) / 2 for meet in looking.arms_meet_AA)


ARTEFACTS = (
    Artefact(
        "flux_calibration",
        "standard deviation of slow errors of the response, and of droops at the ends",
        0.05,
        "calibration",
        _calibrate,
    ),
    Artefact("arm_step", "standard deviation of the flux step between arms", 0.04, "calibration", _step),
    Artefact(
        "fringes", "standard deviation of the amplitude of fringes in the red", 0.01, "calibration", _fringe
    ),
)
