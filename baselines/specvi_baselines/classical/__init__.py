"""The vetters `lightgbm` and `logistic`: classical learners on documented features, explained in words."""

from specvi_baselines.classical.vetter import lightgbm, logistic

__all__ = ["lightgbm", "logistic"]
