"""Everything lies some pixels further to the red."""

from dataclasses import replace
from statistics import median

import numpy as np

from specvi_benchmark.probes.probe import Probe
from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.vetting import Question


def move(spectrum: Spectrum, pixels: int) -> Spectrum:
    """Move flux, ivar and mask redward by whole pixels. Those that come in at the blue end are bad."""

    def moved(values: np.ndarray, outside: float) -> np.ndarray:
        found = np.roll(values, pixels)
        found[:pixels] = outside
        return found

    return replace(
        spectrum, flux=moved(spectrum.flux, 0), ivar=moved(spectrum.ivar, 0), mask=moved(spectrum.mask, 1)
    )


def _by_pixel(question: Question, _: np.random.Generator) -> Question:
    return replace(question, spectrum=move(question.spectrum, 1))


def _by_view(question: Question, _: np.random.Generator) -> Question | None:
    """Move by the width of one view: the median window of the task, at the middle of the spectrum."""
    spectrum = question.spectrum
    width_AA = median(window.range_AA[1] - window.range_AA[0] for window in question.task.windows)
    pixel_AA = float(np.median(np.diff(spectrum.wavelength_AA)))
    pixels = round(width_AA / pixel_AA)
    if spectrum.good[: spectrum.flux.size - pixels].sum() < spectrum.good.sum() / 2:
        return None
    return replace(question, spectrum=move(spectrum, pixels))


PROBES = (
    Probe(
        name="shifted-pixel",
        summary="moved to the red by one pixel",
        honest="the same",
        change=_by_pixel,
    ),
    Probe(
        name="shifted-view",
        summary="moved to the red by the width of one view, so that no feature is where it belongs",
        honest="no YES",
        change=_by_view,
    ),
)
