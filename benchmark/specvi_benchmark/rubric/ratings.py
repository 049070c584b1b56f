"""Ratings and preferences: one JSON line each, by people and by judges alike."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import StrictModel, canonical_json, read_lines, refuse_newer
from specvi_benchmark.rubric.families import CODE, families
from specvi_benchmark.traces import TraceRecord

SCHEMA_VERSION: Literal[1] = 1

Level = Annotated[int, Field(ge=0, le=5, strict=True)]
Choice = Literal["first", "second", "tie"]


class Rater(StrictModel):
    """Who rates. Of a model: its family where it is known, its settings, and the version of the judge's prompt."""

    name: str = Field(min_length=1)
    kind: Literal["person", "model"]
    family: str | None = None
    prompt_version: int | None = None
    config: dict[str, Any] = Field(default_factory=dict)


class Rated(StrictModel):
    """Which inspection. ``trace_sha256`` holds it to the very words that were read."""

    run: str
    vetter: str
    family: str | None
    task: str
    id: str
    sample: int
    trace_sha256: str


class Rating(StrictModel):
    """One rater on one inspection. A level is None where none was given; ``fault`` says why."""

    kind: Literal["rating"] = "rating"
    schema_version: Literal[1] = SCHEMA_VERSION
    rubric_version: int
    rater: Rater
    of: Rated
    coherence: Level | None = None
    consistency: Level | None = None
    reason: str = ""
    fault: str | None = None
    own_family: bool | None = False


class Preference(StrictModel):
    """One rater on two inspections of the same question."""

    kind: Literal["preference"] = "preference"
    schema_version: Literal[1] = SCHEMA_VERSION
    rubric_version: int
    rater: Rater
    first: Rated
    second: Rated
    prefers: Choice | None = None
    reason: str = ""
    fault: str | None = None
    own_family: bool | None = False


Entry = Rating | Preference
_ENTRY: TypeAdapter[Entry] = TypeAdapter(Annotated[Entry, Field(discriminator="kind")])


def same_family(rater: Rater, *rated: Rated) -> bool | None:
    """Return whether a judge and a system it rates are of one family; None where that is not known."""
    if rater.kind == "person":
        return False
    models = [one.family for one in rated if one.family != CODE]
    if any(families(rater.family) & families(family) for family in models):
        return True
    return None if models and (rater.family is None or None in models) else False


def trace_sha256(trace: TraceRecord) -> str:
    """Return the SHA-256 of a trace: of its words, calls and pictures."""
    return hashlib.sha256(canonical_json(trace.model_dump(mode="json"))).hexdigest()


def read_ratings(path: Path) -> tuple[Entry, ...]:
    """Read a file of ratings; of several by one rater on the same thing the last counts.

    Whether a judge rated its own family is worked out again from the families named: a line that says nothing of it, or
    no, does not hide it.

    Raises
    ------
    UserError
        A line is no rating, with everything that is wrong with it.
    """
    found: dict[tuple[str, ...], Entry] = {}
    for number, value in read_lines(path):
        where = f"{path}, line {number}"
        refuse_newer(value, SCHEMA_VERSION, where)
        entry = _checked(value, where)
        found[(entry.rater.name, *keys_of(entry))] = entry
    return tuple(found.values())


def keys_of(entry: Entry) -> tuple[str, ...]:
    """Return what an entry is about: one trace, or two, in whatever order."""
    if isinstance(entry, Rating):
        return (entry.of.trace_sha256,)
    return tuple(sorted((entry.first.trace_sha256, entry.second.trace_sha256)))


def _checked(value: object, where: str) -> Entry:
    try:
        entry = _ENTRY.validate_python(value)
    except ValidationError as error:
        raise UserError(
            "not a rating",
            where=where,
            got="; ".join(_faults(error)),
            fix="`specvi rubric sheet` writes lines to fill in",
        ) from None
    rated = (entry.of,) if isinstance(entry, Rating) else (entry.first, entry.second)
    told = (entry.own_family, same_family(entry.rater, *rated))
    own_family = True if True in told else None if None in told else False
    return entry.model_copy(update={"own_family": own_family})


def _faults(error: ValidationError) -> Iterator[str]:
    for details in error.errors()[:5]:
        yield f"{'.'.join(map(str, details['loc']))}: {details['msg']}"
