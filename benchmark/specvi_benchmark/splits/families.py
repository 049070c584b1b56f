"""Families of weak classifiers: the same job by another kind of learner, to see what hangs on the choice."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from specvi_benchmark.errors import UserError

if TYPE_CHECKING:
    from specvi_benchmark.spectrum import BoolArray, FloatArray
    from specvi_benchmark.splits.recipe import WeakClassifier

Family = Literal["lightgbm", "random-forest", "logistic"]
"""``lightgbm`` boosts trees; a random forest averages independent ones; ``logistic`` is linear in the features."""


def selector_family(recipe: Mapping[str, Any]) -> Family | None:
    """Return the family that chose a split's negatives, by the split's recipe; None where it names none.

    A system of that family sees what the selector saw, and was selected against: docs/baselines.md.
    """
    weak = recipe.get("weak_classifier")
    return None if weak is None else weak.get("family", "lightgbm")


SELECTOR_FAMILY = "selector_family"
"""Key in a system's config: True where it is of the family that chose the negatives it was trained on."""


@dataclass(frozen=True, slots=True)
class Other:
    """A fitted scikit-learn classifier with the two methods that `weak.Weak` asks of LightGBM's."""

    model: Any

    def predict(self, features: NDArray[np.float32], num_threads: int = 1) -> "FloatArray":  # noqa: ARG002 -- LightGBM's signature
        """Return ``(n,)`` P(member)."""
        found: FloatArray = self.model.predict_proba(features)[:, 1]
        return found

    def model_to_string(self) -> str:
        """Refuse: only LightGBM has a text form that every version reads.

        Raises
        ------
        UserError
            Always.
        """
        raise UserError(
            "only LightGBM classifiers can be kept on disk",
            where="weak_classifier.family",
            expected="lightgbm",
            fix="screen with a recipe of that family; other families are there to compare builds",
        )


def fit_other(
    family: Family, features: NDArray[np.float32], member: "BoolArray", settings: "WeakClassifier", seed: int
) -> Other:
    """Fit a classifier of another family than LightGBM, on one thread: the same rows give the same classifier.

    Parameters
    ----------
    features, member
        ``(n, columns)``, NaN where a feature can't be measured; ``(n,)``.
    settings
        Trees and leaves count for the forest; the linear model has neither.
    """
    model = _MAKERS[family](settings, seed)
    model.fit(features, member)
    return Other(model)


def _forest(settings: "WeakClassifier", seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415 -- slow to import

    return RandomForestClassifier(
        n_estimators=settings.trees,
        max_leaf_nodes=settings.leaves,
        min_samples_leaf=5,
        random_state=seed % 2**31,
        n_jobs=1,
    )


def _logistic(settings: "WeakClassifier", seed: int) -> Any:  # noqa: ARG001 -- one signature for all
    from sklearn.impute import SimpleImputer  # noqa: PLC0415 -- slow to import
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    from sklearn.preprocessing import QuantileTransformer  # noqa: PLC0415

    # Features span decades and have outliers; ranks have neither. A column without any value is kept as 0.
    ranks = QuantileTransformer(
        n_quantiles=50, output_distribution="normal", random_state=seed % 2**31, subsample=10_000
    )
    impute = SimpleImputer(strategy="median", keep_empty_features=True)
    return make_pipeline(impute, ranks, LogisticRegression(max_iter=2000, C=0.1))


_MAKERS: Mapping[Family, Callable[["WeakClassifier", int], Any]] = {
    "random-forest": _forest,
    "logistic": _logistic,
}
