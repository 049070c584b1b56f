"""Measures band heads: a step in the spectrum, and which way it goes."""

import math
from dataclasses import dataclass

import numpy as np

from specvi_benchmark.features.prepared import Prepared
from specvi_benchmark.features.ratio import window_mean


@dataclass(frozen=True, slots=True)
class EdgeMeasurement:
    """The step at a band head.

    Attributes
    ----------
    head_AA
        Wavelength of the head.
    step
        ``ln(flux just redward / flux just blueward)``. Positive: the band lies blueward of a sharp red
        edge (C2, violet CN). Negative: the band lies redward of a sharp blue edge (TiO, ZrO, red CN).
    error
        Standard error of ``step`` from the noise.
    """

    head_AA: float
    step: float
    error: float

    @property
    def ratio(self) -> float:
        """Return the flux just redward over that just blueward."""
        return math.exp(self.step)

    @property
    def significance(self) -> float:
        """Return step over error, with the step's sign."""
        return self.step / self.error


def measure_edge(
    prepared: Prepared, head_AA: float, width_AA: float, gap_AA: float = 4.0
) -> EdgeMeasurement | None:
    """Compare the mean flux on both sides of a head.

    Parameters
    ----------
    head_AA
        Vacuum wavelength of the head.
    width_AA
        Width of each of the two stretches.
    gap_AA
        Left out on either side of the head: half the blur of the instrument and the usual velocities.

    Returns
    -------
    None where either stretch is not covered, or has no positive mean flux.
    """
    blue = window_mean(prepared, (head_AA - gap_AA - width_AA, head_AA - gap_AA))
    red = window_mean(prepared, (head_AA + gap_AA, head_AA + gap_AA + width_AA))
    if blue is None or red is None or min(blue.value, red.value) <= 0:
        return None
    error = math.hypot(blue.error / blue.value, red.error / red.value)
    return EdgeMeasurement(head_AA, float(np.log(red.value / blue.value)), error)
