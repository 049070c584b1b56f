"""The rubric: what is rated, and what each level means."""

from functools import cache
from importlib.resources import files

from pydantic import Field

from specvi_benchmark.files import StrictModel, parse_yaml, validate

LEVELS = 6
"""0 to 5."""


class Criterion(StrictModel):
    """One question, and what each level from 0 to 5 means."""

    key: str
    name: str
    question: str
    anchors: tuple[str, ...] = Field(min_length=LEVELS, max_length=LEVELS)


class Rubric(StrictModel):
    """The rule for all ratings, the criteria, and the question for a pair of inspections."""

    version: int
    rule: str
    criteria: tuple[Criterion, ...]
    preference: str


@cache
def the_rubric() -> Rubric:
    """Return the rubric."""
    source = files("specvi_benchmark.rubric") / "rubric.yaml"
    return validate(Rubric, parse_yaml(source.read_text(encoding="utf-8"), source), source)
