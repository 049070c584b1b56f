"""Simulated survey spectra: made from physics of the right order, never mixed with real ones."""

from specvi_benchmark.simulator.artefacts import Rates
from specvi_benchmark.simulator.kinds import KINDS, Kind
from specvi_benchmark.simulator.simulate import (
    SIMULATOR_VERSION,
    Observation,
    Source,
    make_source,
    observe,
    wavelengths,
)

__all__ = [
    "KINDS",
    "SIMULATOR_VERSION",
    "Kind",
    "Observation",
    "Rates",
    "Source",
    "make_source",
    "observe",
    "wavelengths",
]
