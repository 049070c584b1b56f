"""A value with its interval, as it stands in ``results.json``; None where it is undefined."""

import math

import numpy as np

from specvi_benchmark.files import StrictModel


class Measure(StrictModel):
    """A value and its 95 % interval; all None where it is undefined.

    A value without an interval (its method has none here) has ``low`` and ``high`` None.
    """

    value: float | None
    low: float | None
    high: float | None


def measure(value: float, low: float = math.nan, high: float = math.nan) -> Measure:
    """Return a `Measure` of plain numbers; NaN becomes None."""
    return Measure(value=number(value), low=number(low), high=number(high))


def number(value: float | np.ndarray) -> float | None:
    """Return a plain float; NaN, the mark of an undefined value inside, becomes None."""
    plain = float(value)
    return None if math.isnan(plain) else plain
