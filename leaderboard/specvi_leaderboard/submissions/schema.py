"""``submission.yaml``: who submits what, made how. It holds no score, no claim and no path."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import Model as AnyModel
from specvi_benchmark.files import StrictModel
from specvi_benchmark.splits import Part
from specvi_benchmark.tasks.task import Track
from specvi_leaderboard.submissions.text import (
    Commit,
    Day,
    Digest,
    HubId,
    Licence,
    Line,
    Link,
    Name,
    Person,
    VetterName,
    Words,
    shown,
)

SCHEMA_VERSION: Literal[1] = 1
Kind = Literal["constant", "rules", "classical", "deep-learning", "ensemble", "vlm", "agent", "people"]
LEARNT: tuple[Kind, ...] = ("classical", "deep-learning", "ensemble", "vlm", "agent")
"""Kinds that have seen examples: they declare which."""


def _version(text: object) -> object:
    if isinstance(text, str) and re.fullmatch(r"[1-9][0-9]{0,3}", text):
        if int(text) > SCHEMA_VERSION:
            raise ValueError("written by a newer version of the suite; pip install --upgrade specvi-bench")
        return int(text)
    return text


Version = Annotated[Literal[1], BeforeValidator(_version)]
"""``schema_version`` of a file whose values are text."""


class SubmittedSplit(StrictModel):
    """Which candidates were answered: the fingerprint decides, the rest helps to find them.

    They are of the test part: what a system may learn from or be tuned on ranks nobody.
    """

    name: Line
    version: Line
    part: Literal["test"] = "test"
    task: VetterName | None = None
    track: Track | None = None
    fingerprint: Digest


Setting = Literal[
    "style",
    "prompt",
    "tool",
    "dialect",
    "profile",
    "votes",
    "abstain_on_split",
    "temperature",
    "seed",
    "max_tokens",
    "top_p",
    "dtype",
    "batch_size",
    "p_yes",
]
"""Vetter options a submission may name: what changes an answer. None that names a file, an address or a program."""

SettingValue = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.-]{0,29}$")]


class PublicModel(StrictModel):
    """What a maintainer runs again: a vetter of the suite, its options, and the public checkpoint it is given, if any."""

    vetter: VetterName
    hub_id: HubId | None = None
    revision: Commit | None = None
    options: Mapping[Setting, SettingValue] = {}

    @model_validator(mode="after")
    def _pinned(self) -> Self:
        if (self.hub_id is None) != (self.revision is None):
            raise ValueError("hub_id and revision (the commit's 40 hex digits) go together")
        return self


class TrainingSource(StrictModel):
    """A set the system has learnt from. ``split`` and ``part`` where it is a split of the suite."""

    name: Line
    link: Link | None = None
    split: Digest | None = None
    part: Part | None = None


class Links(StrictModel):
    """Where to read on."""

    paper: Link | None = None
    code: Link | None = None
    model: Link | None = None
    page: Link | None = None


class Provenance(StrictModel):
    """What ``run.json`` said, where the suite made the answers."""

    vetter: VetterName
    suite: Line
    seed: Annotated[str, Field(pattern=r"^[0-9]{1,19}$")]
    started: Line
    ended: Line


class Description(StrictModel):
    """What a submitter writes: everything but the split and the provenance, which `specvi submit` adds."""

    name: Name
    authors: Annotated[tuple[Person, ...], Field(min_length=1, max_length=50)]
    date: Day
    kind: Kind
    licence: Licence
    training: Annotated[tuple[TrainingSource, ...], Field(max_length=50)] = ()
    links: Links = Links()
    model: PublicModel | None = None
    hardware: Line | None = None
    notes: Words | None = None

    @model_validator(mode="after")
    def _training_is_declared(self) -> Self:
        if self.kind in LEARNT and not self.training:
            raise ValueError(f"a system of kind {self.kind} names what it was trained on, under training")
        return self


class Submission(Description):
    """The content of ``submission.yaml``."""

    schema_version: Version
    split: SubmittedSplit
    run: Provenance | None = None


def check(model: type[AnyModel], value: object, where: object) -> AnyModel:
    """Check parsed YAML against a model; hostile text in it is shown escaped and short.

    Raises
    ------
    UserError
        One sentence with the first faults.
    """
    if not isinstance(value, Mapping):
        raise UserError("not a list of keys and values", where=where, fix="docs/submit.md shows one")
    try:
        return model.model_validate(value)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False)
        within = {fault["loc"][:depth] for fault in found for depth in range(len(fault["loc"]))}
        # A broken item makes its list too short: only the innermost is told.
        faults = [fault for fault in found if fault["loc"] not in within]
        told = "; ".join(_fault(fault) for fault in faults[:3])
        more = f"; and {len(faults) - 3} more" if len(faults) > 3 else ""
        raise UserError(
            f"{model.__name__} is not as it should be: {told}{more}",
            where=where,
            fix="docs/submit.md says what may stand there",
        ) from None


def _fault(fault: Any) -> str:
    place = ".".join(
        part
        if str(part).replace("_", "").isascii() and str(part).isidentifier()
        else shown(part, 40)
        if isinstance(part, str)
        else str(part)
        for part in fault["loc"]
    )
    if fault["type"] == "extra_forbidden":
        return f"{place} is no key of it (scores and statuses are computed, never taken over)"
    got = fault.get("input")
    said = fault["msg"].removeprefix("Value error, ")
    return f"{place or 'it'}: {said}" + (f", got {shown(got)}" if isinstance(got, str) else "")
