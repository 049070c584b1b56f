"""One system of a leaderboard: who it is, what it scored, and its answers for comparing it with others."""

import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from specvi_benchmark.files import StrictModel
from specvi_benchmark.scoring import Results, Rows
from specvi_leaderboard.submissions.schema import Kind, Links, PublicModel, TrainingSource

TRIVIAL = ("always-yes", "always-no", "metadata-only", "inverted-weak")
"""Vetters that look at no spectrum, or at nothing but the selection: what a system has to beat."""

RULES = "rules"
"""Not trivial, and no learner either: what fixed thresholds reach."""

ALWAYS_SHOWN = (*TRIVIAL, RULES)
"""What no table is without; a system that has no run is run when the table is made."""

KINDS: Mapping[str, Kind] = {
    "always-yes": "constant",
    "always-no": "constant",
    "metadata-only": "classical",
    "inverted-weak": "classical",
    "rules": "rules",
    "lightgbm": "classical",
    "logistic": "classical",
    "carbonnet-style": "deep-learning",
    "gaianet-style": "deep-learning",
    "specformer": "deep-learning",
    "spectrum-net": "deep-learning",
    "ensemble": "ensemble",
    "scripted": "agent",
    "brief": "agent",
    "openai": "agent",
    "transformers": "agent",
    "vllm": "agent",
}
"""Of the suite's own vetters, by name; others say it in their submission."""

Status = Literal["verified", "re-scored"]
"""``verified``: answers of a run by the maintainer, or checked by one. ``re-scored``: from submitted answers."""

OWN_RUN = "answers of a run made with this leaderboard"
RESCORED = "scored from the submitted answers; the labels of the test part are public"


class About(StrictModel):
    """Who a system is. ``id`` names it for good, whatever else is shown beside it; ``how`` explains the status."""

    id: str
    kind: Kind | None
    status: Status
    how: str
    date: str | None = None
    authors: tuple[str, ...] = ()
    licence: str | None = None
    links: Links = Links()
    training: tuple[TrainingSource, ...] = ()
    model: PublicModel | None = None
    hardware: str | None = None
    notes: str | None = None
    superseded_by: str | None = None


class System(StrictModel):
    """One system on one split.

    ``name`` is unique within a leaderboard. ``seconds`` and ``cost_usd`` are means over the candidates
    with a verdict, None where no run measured them. ``seed``, ``suite``, ``started`` and ``ended`` are
    those of the run, None for a system that was added.
    """

    name: str
    about: About
    vetter: str
    trivial: bool
    config: Mapping[str, Any]
    seed: int | None
    suite: str | None
    started: str | None
    ended: str | None
    seconds: float | None
    cost_usd: float | None
    results: Results


class Entry(NamedTuple):
    """A system, and its answers candidate by candidate: what a paired comparison needs, and no page shows."""

    system: System
    rows: Rows


def vetter_name(spec: str) -> str:
    """Return the name in a spec string ``name:argument``."""
    return spec.partition(":")[0]


def slug(text: str) -> str:
    """Return small ASCII letters and digits with hyphens between: what stands in an id or a file's name."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40].strip("-") or "system"
