"""What can be known of a candidate without looking at its light, and a classifier that knows nothing else.

It measures leaks: where it does better than chance, truth can be read off how spectra were collected.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specvi_benchmark.spectrum import BoolArray
from specvi_benchmark.vetting import Question

COLUMNS = ("snr", "redshift", "redshift is missing", "mjd", "ra_deg", "dec_deg", "pixels", "bad pixels")

TREES, LEAVES, LEARNING_RATE = 50, 4, 0.1
LEAST = 10
"""Candidates of either truth below which nothing is fitted."""


def metadata(questions: Sequence[Question]) -> NDArray[np.float64]:
    """Return ``(n, 8)`` values of `COLUMNS`; NaN where one is not known."""
    return np.array([_row(question) for question in questions], dtype=np.float64).reshape(-1, len(COLUMNS))


def fit_metadata(values: NDArray[np.float64], positive: BoolArray, seed: int) -> Any:
    """Return a LightGBM booster of P(YES), trained on one thread: the same values give the same booster."""
    import lightgbm  # noqa: PLC0415 -- it loads the system's OpenMP library

    parameters = {
        "objective": "binary",
        "num_leaves": LEAVES,
        "learning_rate": LEARNING_RATE,
        "min_data_in_leaf": 5,
        "seed": seed % 2**31,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "verbosity": -1,
    }
    data = lightgbm.Dataset(values, label=positive.astype(np.float64))
    return lightgbm.train(parameters, data, num_boost_round=TREES)


def _row(question: Question) -> tuple[float | None, ...]:
    spectrum = question.spectrum
    return (
        spectrum.snr,
        question.redshift,
        float(question.redshift is None),
        spectrum.mjd,
        spectrum.ra_deg,
        spectrum.dec_deg,
        float(spectrum.flux.size),
        float(spectrum.mask.sum()),
    )
