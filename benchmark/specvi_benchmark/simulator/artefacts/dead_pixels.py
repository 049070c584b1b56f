"""Where the detector gave nothing: single pixels, a stretch of them, the blue end."""

import numpy as np

from specvi_benchmark.simulator.artefacts.artefact import Artefact, Visit


def _single(visit: Visit, dial: float, rng: np.random.Generator) -> None:
    size = visit.flux.size
    visit.lost[rng.integers(0, size, int(rng.poisson(dial)))] = True


def _stretch(visit: Visit, dial: float, rng: np.random.Generator) -> None:
    luck, start, length = rng.random(3)
    if luck < dial:
        first = int(start * (visit.flux.size - 150))
        visit.lost[first : first + 15 + int(135 * length)] = True


def _blue_end(visit: Visit, dial: float, rng: np.random.Generator) -> None:
    luck, length = rng.random(2)
    if luck < dial:
        visit.lost[: 50 + int(250 * length)] = True


ARTEFACTS = (
    Artefact("dead_pixels", "mean number of single dead pixels", 2.0, "detector", _single),
    Artefact(
        "dead_stretch", "share of spectra with 15 to 150 dead pixels in a row", 0.15, "detector", _stretch
    ),
    Artefact(
        "blue_end_lost",
        "share of spectra whose 50 to 300 bluest pixels are lost",
        0.05,
        "detector",
        _blue_end,
    ),
)
