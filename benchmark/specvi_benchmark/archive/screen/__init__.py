"""Screening: features and weak classifiers over a whole archive, on one machine or on a Ray cluster."""

from specvi_benchmark.archive.screen.engines import ENGINES, Engine, engine
from specvi_benchmark.archive.screen.screen import ScreenReport, apply_classifiers, screen_archive

__all__ = ["ENGINES", "Engine", "ScreenReport", "apply_classifiers", "engine", "screen_archive"]
