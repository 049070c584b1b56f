"""The same spectrum in another flux unit."""

from dataclasses import replace

import numpy as np

from specvi_benchmark.probes.probe import Probe
from specvi_benchmark.vetting import Question

FACTOR = 1000.0


def _scaled(question: Question, _: np.random.Generator) -> Question:
    spectrum = question.spectrum
    scaled = replace(spectrum, flux=spectrum.flux * FACTOR, ivar=spectrum.ivar / FACTOR**2)
    return replace(question, spectrum=scaled)


PROBES = (
    Probe(
        name="scaled",
        summary=f"flux times {FACTOR:.0f}, ivar to match",
        honest="the same",
        change=_scaled,
    ),
)
