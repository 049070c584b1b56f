"""What a probe is: one change to a question, and what an honest system does about it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from specvi_benchmark.vetting import Question

PROBE_VERSION = 2
"""Raised whenever a built-in probe changes a question in another way."""

PLAIN = "plain"
"""The questions as they are: what a probe is compared with unless it says otherwise."""

Honest = Literal["the same", "fewer YES", "no YES"]
"""``fewer YES``: as a feature sinks in the noise."""

Change = Callable[[Question, np.random.Generator], Question | None]


@dataclass(frozen=True, slots=True)
class Probe:
    """One change, made to every candidate in the same way. It never sees the truth.

    Attributes
    ----------
    name
        As in ``specvi probe --probe NAME``; the name of its folder.
    summary
        What is changed.
    honest
        What a system that looks at the right thing does; None where the probe is only compared with.
    change
        Question and random numbers → the changed question, or None where it does not apply. Pure; the numbers
        depend on the seed and the candidate only, and are the same for every probe.
    against
        What the answers are compared with: `PLAIN`, or probes by name. Empty: this one is only compared with.
    options
        Options of the vetter that the probe sets.
    needs_options
        Left out for a vetter that does not take these options; otherwise asked without them.
    """

    name: str
    summary: str
    honest: Honest | None
    change: Change
    against: tuple[str, ...] = (PLAIN,)
    options: Mapping[str, str] = field(default_factory=dict)
    needs_options: bool = False


def unchanged(question: Question, _: np.random.Generator) -> Question:
    """Return the question as it is, for a probe that only sets options."""
    return question
