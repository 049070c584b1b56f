"""What sky subtraction leaves: a share of lines and continuum, lines shifted (P Cygni-like), moonlight."""

from functools import cache

import numpy as np

from specvi_benchmark.simulator.artefacts.artefact import Artefact, Visit
from specvi_benchmark.simulator.instrument import get_instrument
from specvi_benchmark.spectrum import FloatArray


def _lines(visit: Visit, dial: float, rng: np.random.Generator) -> None:
    # Oxygen's green and red lines, the OH forest and street lamps vary independently over a field.
    share, shift, level = rng.normal(0, dial, 3)
    named = rng.normal(0, dial)
    instrument = visit.instrument
    forest = _forest(instrument.name)
    lines = shift * _slope(instrument.name)
    lines[:forest] += named * instrument.sky_lines[:forest]
    lines[forest:] += share * instrument.sky_lines[forest:]
    visit.flux += visit.sky_unit * (lines + 0.5 * level * instrument.sky_continuum)
    visit.truth |= {
        "sky_residue": float(share),
        "sky_oxygen_residue": float(named),
        "sky_shift_pixels": float(shift),
    }


def _moon(visit: Visit, dial: float, rng: np.random.Generator) -> None:
    share = float(rng.normal(0, dial))
    if visit.moon is None:
        return
    visit.flux += share * visit.sky_unit * visit.moon
    visit.truth["moon_residue"] = share


@cache
def _slope(instrument: str) -> FloatArray:
    slope: FloatArray = np.gradient(get_instrument(instrument).sky_lines)
    return slope


@cache
def _forest(instrument: str) -> int:
    return int(np.searchsorted(get_instrument(instrument).wavelength_AA, 7000.0))


ARTEFACTS = (
    Artefact(
        "sky_residue",
        "standard deviation of what is left of the sky's lines, relative to them (Bai et al. 2017); half for its "
        "continuum",
        0.03,
        "detector",
        _lines,
    ),
    Artefact(
        "moon_residue",
        "standard deviation of the moonlight left, relative to the moonlight in the sky",
        0.03,
        "detector",
        _moon,
    ),
)
