"""The weak classifier: says which non-members look like members, and never judges what it was trained on."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import read_text, write_text
from specvi_benchmark.spectrum import BoolArray, FloatArray
from specvi_benchmark.splits.families import fit_other
from specvi_benchmark.splits.recipe import WeakClassifier

WEAK_SCORE = "weak_score"
"""Key in a candidate's label evidence: the score that selected it, by a classifier trained without its object."""

LEAST_POSITIVES = 20
"""Objects a fold's classifier must be trained on; with fewer its score means nothing."""


@dataclass(frozen=True, slots=True)
class Weak:
    """One classifier a fold; that of an object's fold was trained without it."""

    boosters: tuple[Any, ...]

    def save(self, folder: Path, name: str) -> None:
        """Write every classifier as LightGBM's own text: ``NAME-FOLD.txt``."""
        for number, booster in enumerate(self.boosters):
            write_text(folder / f"{name}-{number}.txt", booster.model_to_string())

    @classmethod
    def load(cls, folder: Path, name: str, folds: int) -> "Weak":
        """Read the classifiers that `save` wrote."""
        import lightgbm  # noqa: PLC0415 -- it loads the system's OpenMP library

        texts = [read_text(folder / f"{name}-{number}.txt") for number in range(folds)]
        return cls(tuple(lightgbm.Booster(model_str=text) for text in texts))

    def score(self, features: NDArray[np.float32], fold: NDArray[np.intp]) -> FloatArray:
        """Return ``(n,)`` P(member) of ``(n, columns)`` features, each row by the classifier of its fold."""
        scores = np.empty(len(features))
        for number, booster in enumerate(self.boosters):
            rows = fold == number
            if rows.any():
                scores[rows] = booster.predict(features[rows], num_threads=1)
        return scores


def folds_of(object_ids: Sequence[str], seed: int, folds: int) -> NDArray[np.intp]:
    """Return the fold of every object: it depends on the id and the seed alone."""
    return np.array([draw(f"{seed} fold {name}") % folds for name in object_ids], dtype=np.intp)


def draw(text: str) -> int:
    """Return a number that looks random and depends on the text alone."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def train_weak(
    features: NDArray[np.float32],
    member: BoolArray,
    fold: NDArray[np.intp],
    settings: WeakClassifier,
    seed: int,
    where: str,
) -> Weak:
    """Train one classifier of the settings' family a fold, on the rows of the other folds.

    One thread and fixed seeds: the same rows give the same classifier, whatever runs beside it.

    Parameters
    ----------
    features, member, fold
        ``(n, columns)``, ``(n,)``, ``(n,)``: the training sample, positives and random others.
    where
        Names the task in messages.

    Raises
    ------
    UserError
        A fold leaves too few positives or others to train on.
    """
    import lightgbm  # noqa: PLC0415 -- it loads the system's OpenMP library

    boosters: list[Any] = []
    for number in range(settings.folds):
        rows = fold != number
        least = min(int(member[rows].sum()), int((~member[rows]).sum()))
        if least < LEAST_POSITIVES:
            raise UserError(
                "too few spectra to train the weak classifier",
                where=where,
                expected=f"at least {LEAST_POSITIVES} positives and as many others outside each fold",
                got=least,
                fix="a larger archive, wider patterns of positives, or more folds (each learns from what is outside it)",
            )
        if settings.family != "lightgbm":
            boosters.append(fit_other(settings.family, features[rows], member[rows], settings, seed))
            continue
        data = lightgbm.Dataset(features[rows], label=member[rows].astype(np.float64))
        boosters.append(lightgbm.train(_parameters(settings, seed), data, num_boost_round=settings.trees))
    return Weak(tuple(boosters))


def _parameters(settings: WeakClassifier, seed: int) -> dict[str, Any]:
    return {
        "objective": "binary",
        "num_leaves": settings.leaves,
        "learning_rate": settings.learning_rate,
        "min_data_in_leaf": 10,
        "seed": seed % 2**31,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "verbosity": -1,
    }
