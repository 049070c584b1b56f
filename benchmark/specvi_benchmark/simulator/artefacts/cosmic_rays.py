"""Cosmic rays: one to three pixels, always upward; the pipeline finds and flags half of them."""

import numpy as np

from specvi_benchmark.simulator.artefacts.artefact import Artefact, Visit

FLAGGED = 0.5
"""Share that the pipeline finds."""


def _hit(visit: Visit, dial: float, rng: np.random.Generator) -> None:
    size = visit.flux.size
    unflagged = []
    for _ in range(int(rng.poisson(dial))):
        luck = rng.random(6)
        centre, width = 2 + int(luck[0] * (size - 4)), 1 + int(luck[1] * 3)
        pixels = slice(centre - width // 2, centre - width // 2 + width)
        height = 10 ** (0.8 + luck[2]) * (0.4 + 0.6 * luck[3 : 3 + width])
        visit.flux[pixels] += visit.sigma[pixels] * height
        if rng.random() < FLAGGED:
            visit.flagged[pixels] = True
        else:
            unflagged.append(float(visit.instrument.wavelength_AA[centre]))
    visit.truth["cosmic_rays_AA"] = sorted(unflagged)


ARTEFACTS = (Artefact("cosmic_rays", "mean number a spectrum", 0.8, "detector", _hit),)
