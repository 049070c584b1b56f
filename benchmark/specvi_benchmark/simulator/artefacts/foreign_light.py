"""Light of something else in the fibre: a bright neighbour, and the nebula of the Galactic plane."""

import numpy as np

from specvi_benchmark.lines import get_line
from specvi_benchmark.simulator.artefacts.artefact import Artefact, Visit
from specvi_benchmark.simulator.artefacts.sunlight import sunlight
from specvi_benchmark.simulator.lines import SPEED_OF_LIGHT_KMS

# Relative to Hα; Hβ as case B without dust (Osterbrock & Ferland 2006: 2.86), the rest of the right order.
_NEBULA = {
    "Hα": 1.0, "Hβ": 1 / 2.86, "[N II] 6585": 0.4, "[N II] 6550": 0.13, "[S II] 6718": 0.25, "[S II] 6733": 0.18,
    "[O III] 5008": 0.1,
}  # fmt: skip


def _neighbour(visit: Visit, dial: float, rng: np.random.Generator) -> None:
    luck, share = rng.random(2)
    if luck >= dial:
        return
    share = 0.05 + 0.30 * share
    other = sunlight(visit.instrument.name)
    visit.flux *= 1 - share
    visit.flux += share * float(np.median(visit.flux)) * other
    visit.truth["neighbour_share"] = float(share)


def _nebula(visit: Visit, dial: float, rng: np.random.Generator) -> None:
    luck, strength, sign = rng.random(3)
    if luck >= dial:
        return
    # Sky fibres see another part of the nebula: too much of it may be taken away as well as too little.
    width_AA = float((0.3 + 3 * strength**2) * (1 if sign < 0.75 else -1))
    wavelength = visit.instrument.wavelength_AA
    unit = width_AA * float(visit.flux[np.searchsorted(wavelength, 6564.6)])
    for name, ratio in _NEBULA.items():
        centre = 6549.86 if name == "[N II] 6550" else get_line(name).vacuum_AA
        place = int(np.searchsorted(wavelength, centre))
        near = slice(max(place - 12, 0), place + 12)
        resolution = float(visit.instrument.resolving_power[place])
        sigma = centre * np.hypot(1 / resolution, 25 / SPEED_OF_LIGHT_KMS) / 2.3548
        shape = np.exp(-0.5 * ((wavelength[near] - centre) / sigma) ** 2) / (sigma * np.sqrt(2 * np.pi))
        visit.flux[near] += ratio * unit * shape
    visit.truth["nebular_halpha_ew_AA"] = width_AA


ARTEFACTS = (
    Artefact(
        "neighbour_light",
        "share of spectra with 5 to 35 % of a G star's light in the fibre",
        0.02,
        "light",
        _neighbour,
    ),
    Artefact(
        "nebular_residue",
        "share of spectra with nebular lines left by sky subtraction",
        0.03,
        "light",
        _nebula,
    ),
)
