"""Gradient-boosted trees (LightGBM): many small corrections, each a few yes-or-no questions about features."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from specvi_baselines.classical.sample import Sample, log_loss
from specvi_benchmark.errors import UserError
from specvi_benchmark.features.selection import Features
from specvi_benchmark.files import read_text, write_text
from specvi_benchmark.spectrum import FloatArray

SUFFIX = ".txt"
LEAVES = (4, 15)
"""Tried on dev. Four leaves hold pairs and threes of features; more pay off with thousands of spectra."""

MAX_ROUNDS, PATIENCE, LEAST_GAIN = 2000, 50, 1e-3
"""Trees are added until dev's log loss has not fallen by `LEAST_GAIN` for `PATIENCE` of them."""

SETTINGS: Mapping[str, Any] = {
    "objective": "binary",
    "leaves": LEAVES,
    "metric": "binary_logloss",
    "learning_rate": 0.05,
    "min_data_in_leaf": 10,
    "lambda_l2": 1.0,
    "feature_fraction": 0.5,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
}
"""Half of the features and four in five spectra a tree: what a seed changes."""


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """A fitted LightGBM model of one task."""

    booster: Any

    def margin(self, features: Features) -> FloatArray:
        """Return ``(n,)`` log-odds of YES at equal shares."""
        found: FloatArray = self.booster.predict(features, raw_score=True, num_threads=1)
        return found

    def contributions(self, features: Features) -> tuple[FloatArray, FloatArray]:
        """Return ``(n, columns)`` parts of the log-odds and ``(n,)`` what is left without any feature.

        Exact Shapley values of trees: Lundberg et al. 2020, Nature Mach. Intell. 2, 56. Their sum is the margin.
        """
        parts: FloatArray = self.booster.predict(features, pred_contrib=True, num_threads=1)
        return parts[:, :-1], parts[:, -1]

    def save(self, path: Path) -> None:
        """Write LightGBM's own text, which every later version reads."""
        write_text(path, self.booster.model_to_string())


def fit(train: Sample, dev: Sample, seed: int) -> tuple[Trees, dict[str, Any]]:
    """Fit with the number of leaves and of trees that dev prefers; return the model and what was chosen.

    One thread and fixed seeds: the same rows and seed give the same bytes.
    """
    tried = [_fit(train, dev, leaves, seed) for leaves in LEAVES]
    losses = [log_loss(model.margin(dev.features), dev) for model in tried]
    best = int(np.argmin(losses))
    return tried[best], {"leaves": LEAVES[best], "trees": int(tried[best].booster.num_trees())}


def load(path: Path) -> Trees:
    """Read what `Trees.save` wrote.

    Raises
    ------
    UserError
        The file can't be read, or is no LightGBM model.
    """
    import lightgbm  # noqa: PLC0415 -- it loads the system's OpenMP library

    try:
        return Trees(lightgbm.Booster(model_str=read_text(path)))
    except lightgbm.basic.LightGBMError as error:
        raise UserError("not a LightGBM model", where=path, got=error, fix="train again") from None


def _fit(train: Sample, dev: Sample, leaves: int, seed: int) -> Trees:
    import lightgbm  # noqa: PLC0415 -- it loads the system's OpenMP library

    settings = {
        **{name: value for name, value in SETTINGS.items() if name != "leaves"},
        "num_leaves": leaves,
        "seed": seed % 2**31,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "verbosity": -1,
    }
    data = lightgbm.Dataset(train.features, train.positive.astype(np.float64), weight=train.weight)
    watched = lightgbm.Dataset(
        dev.features, dev.positive.astype(np.float64), weight=dev.weight, reference=data
    )
    stop = lightgbm.early_stopping(PATIENCE, verbose=False, min_delta=LEAST_GAIN)
    found = lightgbm.train(settings, data, MAX_ROUNDS, valid_sets=[watched], callbacks=[stop])
    best = found.model_to_string(num_iteration=found.best_iteration)
    return Trees(lightgbm.Booster(model_str=best))
