"""The same spectrum, noisier in steps."""

from dataclasses import replace
from functools import partial

import numpy as np

from specvi_benchmark.probes.fill import pixel_sigma
from specvi_benchmark.probes.probe import Probe
from specvi_benchmark.vetting import Question

FACTORS = (2, 4, 8)


def _noisier(question: Question, rng: np.random.Generator, *, factor: int) -> Question:
    """Add noise until its standard deviation is ``factor`` times what it was.

    All steps add the same pattern, only more of it, so that a step hides what the one before it hid.
    """
    spectrum = question.spectrum
    added = pixel_sigma(spectrum) * np.sqrt(factor**2 - 1) * rng.standard_normal(spectrum.flux.size)
    noisier = replace(
        spectrum,
        flux=spectrum.flux + added,
        ivar=spectrum.ivar / factor**2,
        header_snr={band: value / factor for band, value in spectrum.header_snr.items()},
    )
    return replace(question, spectrum=noisier)


PROBES = tuple(
    Probe(
        name=f"noise-{factor}",
        summary=f"noise {factor} times as large, stated in ivar and in the header's S/N",
        honest="fewer YES",
        change=partial(_noisier, factor=factor),
    )
    for factor in FACTORS
)
