"""Logistic regression: a weighted sum of standardised features, which can be read off term by term."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import special

from specvi_baselines.classical.sample import Sample, log_loss
from specvi_benchmark.features.selection import Features
from specvi_benchmark.files import StrictModel, read_json_model, write_json
from specvi_benchmark.spectrum import FloatArray

SUFFIX = ".json"
STRENGTHS = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Inverse penalties (scikit-learn's C) tried on dev."""

LIMIT = 4.0
"""A feature counts for no more than so many standard deviations: one wild pixel must not outvote all others."""

SETTINGS: Mapping[str, Any] = {"inverse_penalties": STRENGTHS, "limit": LIMIT}


class _File(StrictModel):
    """A fitted model as it lies on disk."""

    schema_version: Literal[1]
    centre: tuple[float, ...]
    scale: tuple[float, ...]
    coefficient: tuple[float, ...]
    intercept: float


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """A fitted logistic regression of one task; arrays ``(columns,)``.

    ``centre`` is the training median of a feature, ``scale`` half the width of its middle 68 %.
    """

    centre: FloatArray
    scale: FloatArray
    coefficient: FloatArray
    intercept: float

    def standardised(self, features: Features) -> FloatArray:
        """Return features in standard deviations from the training median, limited; 0 where not measured."""
        return _standardised(features, self.centre, self.scale)

    def margin(self, features: Features) -> FloatArray:
        """Return ``(n,)`` log-odds of YES at equal shares."""
        found: FloatArray = self.standardised(features) @ self.coefficient + self.intercept
        return found

    def contributions(self, features: Features) -> tuple[FloatArray, FloatArray]:
        """Return ``(n, columns)`` coefficient times standardised value, and ``(n,)`` the intercept."""
        return self.standardised(features) * self.coefficient, np.full(len(features), self.intercept)

    def save(self, path: Path) -> None:
        """Write JSON; numbers keep every digit."""
        kept = _File(
            schema_version=1,
            centre=tuple(self.centre.tolist()),
            scale=tuple(self.scale.tolist()),
            coefficient=tuple(self.coefficient.tolist()),
            intercept=self.intercept,
        )
        write_json(path, kept.model_dump(mode="json"))


def fit(train: Sample, dev: Sample, seed: int) -> tuple[Linear, dict[str, Any]]:  # noqa: ARG001 -- one signature for all
    """Fit with the penalty that dev prefers. No chance has a part: every seed gives the same model."""
    tried = [_fit(train, strength) for strength in STRENGTHS]
    losses = [log_loss(model.margin(dev.features), dev) for model in tried]
    best = int(np.argmin(losses))
    return tried[best], {"inverse_penalty": STRENGTHS[best]}


def load(path: Path) -> Linear:
    """Read what `Linear.save` wrote."""
    kept = read_json_model(path, _File)
    return Linear(np.array(kept.centre), np.array(kept.scale), np.array(kept.coefficient), kept.intercept)


def _fit(train: Sample, strength: float) -> Linear:
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 -- slow to import

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column that no spectrum covers is all NaN
        low, centre, high = np.nanpercentile(
            train.features.astype(np.float64), (special.ndtr(-1) * 100, 50, special.ndtr(1) * 100), axis=0
        )
    scale = (high - low) / 2
    flat = ~np.isfinite(scale) | (scale <= 0)
    centre, scale = np.where(np.isfinite(centre), centre, 0.0), np.where(flat, 1.0, scale)
    values = _standardised(train.features, centre, scale)
    values[:, flat] = 0.0
    model = LogisticRegression(C=strength, max_iter=5000, tol=1e-6)
    model.fit(values, train.positive, sample_weight=train.weight)
    return Linear(centre, scale, np.where(flat, 0.0, model.coef_[0]), float(model.intercept_[0]))


def _standardised(features: Features, centre: FloatArray, scale: FloatArray) -> FloatArray:
    values = np.clip((features.astype(np.float64) - centre) / scale, -LIMIT, LIMIT)
    return np.where(np.isfinite(features), values, 0.0)
