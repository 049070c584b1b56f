"""What a classical learner saw, in words: the features that moved its log-odds most, with their values."""

import numpy as np

from specvi_benchmark.features.selection import Column, Features, selection_columns
from specvi_benchmark.spectrum import FloatArray

SHOWN = 6
"""Features named in a verdict."""


def decisive_words(values: Features, parts: FloatArray) -> list[str]:
    """Say which features moved the log-odds most; ``values`` and ``parts`` are ``(columns,)`` of one spectrum."""
    order = np.argsort(-np.abs(parts), kind="stable")[:SHOWN]
    columns = selection_columns()
    return [
        f"- {value_words(columns[place], float(values[place]))}: {signed(parts[place])}"
        for place in order
        if parts[place] != 0
    ]


def value_words(column: Column, value: float) -> str:
    """Say what was measured for a feature: ``line Hα ±8, equivalent width −31.2 Å``."""
    if not np.isfinite(value):
        return f"{column.name}, not measured"
    if column.rule == "line":
        return f"{column.name} Å, equivalent width {signed(value, 1)} Å"
    if column.rule == "step":
        return f"{column.name}, (red − blue) / (red + blue) {signed(value, 2)}"
    if column.rule == "ratio":
        return f"{column.name}, {value:.2f}"
    return f"{column.name} Å over the median level, {value:.2f}"


def signed(value: float, digits: int = 2) -> str:
    """Write a number with its sign."""
    return f"{value:+.{digits}f}".replace("-", "−")
