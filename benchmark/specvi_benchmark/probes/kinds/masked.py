"""The decisive features are not there; and, as the control, others are not."""

from dataclasses import replace

import numpy as np

from specvi_benchmark.probes.fill import fill
from specvi_benchmark.probes.probe import PLAIN, Probe
from specvi_benchmark.probes.stretches import seen_stretches
from specvi_benchmark.vetting import Question


def _without(question: Question, rng: np.random.Generator, which: int) -> Question | None:
    stretches = seen_stretches(question)
    spectrum = None if stretches is None else fill(question.spectrum, stretches[which], rng)
    return None if spectrum is None else replace(question, spectrum=spectrum)


def _masked(question: Question, rng: np.random.Generator) -> Question | None:
    return _without(question, rng, 0)


def _control(question: Question, rng: np.random.Generator) -> Question | None:
    return _without(question, rng, 1)


PROBES = (
    Probe(
        name="masked",
        summary="continuum and noise in place of the features that decide the task",
        honest="no YES",
        change=_masked,
        against=(PLAIN, "control"),
    ),
    Probe(
        name="control",
        summary="continuum and noise over as much of the spectrum, where other classes have their features",
        honest="the same",
        change=_control,
    ),
)
