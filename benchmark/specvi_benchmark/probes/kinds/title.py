"""The picture's title, with the file's name in it, shown or not; and names that suggest an answer."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from specvi_benchmark.probes.probe import Probe, unchanged
from specvi_benchmark.vetting import Question

SHOWN = {"style": "spec-o3", "title": "figure"}
BLANK = {"style": "spec-o3", "title": "none"}

MEMBERS: Mapping[str, str] = {
    "cv": "SS Cyg",
    "cs": "R Lep",
    "ss": "R And",
    "mg": "Beta Peg",
    "wd": "40 Eri B",
    "o": "Zeta Pup",
    "b": "Eta UMa",
    "a": "Vega",
    "qso": "3C 273",
}
"""A famous member of each class."""

STRANGER = "18 Sco"
"""A twin of the Sun: a member of none."""


def _named(question: Question, _: np.random.Generator, *, member: bool) -> Question:
    name = MEMBERS[question.task.key] if member else STRANGER
    return replace(question, spectrum=replace(question.spectrum, name=name))


PROBES = (
    Probe(
        name="title-off",
        summary="pictures of the released style without a title",
        honest=None,
        change=unchanged,
        against=(),
        options=BLANK,
        needs_options=True,
    ),
    Probe(
        name="title-on",
        summary="the same pictures with the file's name as their title",
        honest="the same",
        change=unchanged,
        against=("title-off",),
        options=SHOWN,
        needs_options=True,
    ),
    Probe(
        name="named-stranger",
        summary=f"every spectrum named {STRANGER}, in the title where there is one",
        honest=None,
        change=partial(_named, member=False),
        against=(),
        options=SHOWN,
    ),
    Probe(
        name="named-member",
        summary="every spectrum named after a famous member of the class",
        honest="the same",
        change=partial(_named, member=True),
        against=("named-stranger",),
        options=SHOWN,
    ),
)
