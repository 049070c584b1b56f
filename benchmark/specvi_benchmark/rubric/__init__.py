"""How good an inspection is as an argument: experts' and judges' ratings, their file, and how far they agree."""

from specvi_benchmark.rubric.families import family_of
from specvi_benchmark.rubric.ratings import (
    Preference,
    Rated,
    Rater,
    Rating,
    read_ratings,
    same_family,
    trace_sha256,
)
from specvi_benchmark.rubric.rubric import Criterion, Rubric, the_rubric

__all__ = [
    "Criterion",
    "Preference",
    "Rated",
    "Rater",
    "Rating",
    "Rubric",
    "family_of",
    "read_ratings",
    "same_family",
    "the_rubric",
    "trace_sha256",
]
