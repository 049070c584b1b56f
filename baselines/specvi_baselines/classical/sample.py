"""Labelled features of one task, with weights that make both classes count the same."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from specvi_benchmark.features.selection import Features, selection_features
from specvi_benchmark.spectrum import BoolArray, FloatArray, Spectrum
from specvi_benchmark.splits import Split
from specvi_benchmark.vetting import Question


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """``(n, columns)`` features, ``(n,)`` truth, and ``(n,)`` weights of mean 1, with equal sums in both classes."""

    features: Features
    positive: BoolArray
    weight: FloatArray


def measure(questions: Sequence[Question]) -> Features:
    """Return ``(n, columns)`` selection features, of the spectrum and the redshift that the question gives."""
    return selection_features([_as_asked(question) for question in questions])


def sample(split: Split, task: str) -> Sample:
    """Measure the candidates of a task that have any feature at all; no weight where a class is missing."""
    candidates = split.select(task=task).candidates
    features = measure([candidate.question for candidate in candidates])
    seen = np.isfinite(features).any(axis=1)
    positive = np.array([candidate.truth == "YES" for candidate in candidates], dtype=np.bool_)[seen]
    counts = np.maximum(np.bincount(positive, minlength=2), 1)
    return Sample(features[seen], positive, len(positive) / (2 * counts[positive.astype(int)]))


def log_loss(margin: FloatArray, truth: Sample) -> float:
    """Return the mean −ln of the probability given to the truth, both classes counting the same."""
    losses = np.logaddexp(0, np.where(truth.positive, -margin, margin))
    return float((losses * truth.weight).mean())


def _as_asked(question: Question) -> Spectrum:
    claims = replace(question.spectrum.claims, redshift=question.redshift)
    return replace(question.spectrum, claims=claims)
