"""The redshift given is wrong, or none is given. The spectrum stays as it is."""

from dataclasses import replace

import numpy as np

from specvi_benchmark.probes.probe import Probe
from specvi_benchmark.vetting import Question

WRONG_RANGE = (0.05, 2.0)
"""What pipelines give that fit a galaxy or a quasar to a star."""


def _given(question: Question, redshift: float | None) -> Question:
    claims = replace(question.spectrum.claims, redshift=redshift)
    return replace(question, redshift=redshift, spectrum=replace(question.spectrum, claims=claims))


def _wrong(question: Question, rng: np.random.Generator) -> Question:
    return _given(question, float(rng.uniform(*WRONG_RANGE)))


def _missing(question: Question, _: np.random.Generator) -> Question:
    return _given(question, None)


PROBES = (
    Probe(
        name="wrong-redshift",
        summary=f"another redshift given ({WRONG_RANGE[0]} to {WRONG_RANGE[1]:g}); the lines are where they were",
        honest="the same",
        change=_wrong,
    ),
    Probe(
        name="no-redshift",
        summary="no redshift given",
        honest="the same",
        change=_missing,
    ),
)
