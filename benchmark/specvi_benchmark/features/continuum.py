"""The broad continuum: coarse bins, a running median through them, a slope and a colour."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import median_filter

from specvi_benchmark.features.prepared import Prepared, Window
from specvi_benchmark.features.ratio import Measurement
from specvi_benchmark.features.resolution import LIGHT_KMS
from specvi_benchmark.spectrum import BoolArray, FloatArray

BIN_KMS = 690.0
"""Width of a bin: ten LAMOST pixels, a third of the narrowest broad line."""

CONTINUUM_KMS = 42_000.0
"""Width of the running median: four times the widest broad line (10,000 km/s), so that the line fills
less than half of it; 590 Å at 4200 Å, 1260 Å at 9000 Å."""


@dataclass(frozen=True, slots=True, eq=False)
class Binned:
    """A spectrum in bins of equal width in ln λ. Arrays are ``(b,)``.

    Attributes
    ----------
    wavelength_AA
        Centre of each bin, in the frame of the Prepared spectrum.
    step
        Width of a bin in ln λ.
    flux, sigma
        Mean flux by pixel width, and its standard error; in an empty bin interpolated, and infinite.
    continuum
        Running median of the flux over `CONTINUUM_KMS`.
    covered
        Where good pixels fill at least half of the bin.
    """

    wavelength_AA: FloatArray
    step: float
    flux: FloatArray
    sigma: FloatArray
    continuum: FloatArray
    covered: BoolArray


def bin_spectrum(prepared: Prepared, bin_kms: float = BIN_KMS) -> Binned:
    """Average the spectrum in bins of ``bin_kms`` and put a running median through them."""
    step = bin_kms / LIGHT_KMS
    position = np.log(prepared.wavelength_AA)
    index = np.floor((position - position[0]) / step).astype(np.intp)
    count = int(index[-1]) + 1
    width = np.bincount(index, prepared.width_AA, count)
    wavelength = np.exp(position[0] + (np.arange(count) + 0.5) * step)
    covered: BoolArray = width >= 0.5 * wavelength * step
    safe = np.where(width > 0, width, 1.0)
    mean = np.bincount(index, prepared.flux * prepared.width_AA, count) / safe
    error = np.sqrt(np.bincount(index, (prepared.sigma * prepared.width_AA) ** 2, count)) / safe
    if covered.any():
        mean = np.interp(wavelength, wavelength[covered], mean[covered])
    size = 2 * round(CONTINUUM_KMS / bin_kms / 2) + 1
    return Binned(
        wavelength_AA=wavelength,
        step=step,
        flux=mean,
        sigma=np.where(covered, error, np.inf),
        continuum=median_filter(mean, size=min(size, count), mode="nearest"),
        covered=covered,
    )


def continuum_slope(binned: Binned, window: Window) -> Measurement | None:
    """Return α of flux ∝ λ^α in ``window``, from a straight line through ln flux of the bins.

    Points more than three robust sigma off the first fit (lines, bands) are left out of the second.

    Returns
    -------
    None with fewer than eight covered bins of positive flux in the window.
    """
    inside = binned.covered & (binned.wavelength_AA >= window[0]) & (binned.wavelength_AA <= window[1])
    inside &= binned.flux > 0
    x, y = np.log(binned.wavelength_AA[inside]), np.log(binned.flux[inside])
    for _ in range(2):
        if x.size < 8:
            return None
        centre = float(x.mean())
        spread = float(np.sum((x - centre) ** 2))
        slope = float(np.sum((x - centre) * y)) / spread
        residual = y - y.mean() - slope * (x - centre)
        limit = 3 * 1.4826 * float(np.median(np.abs(residual)))
        error = math.sqrt(float(np.sum(residual**2)) / (x.size - 2) / spread)
        kept = np.abs(residual) <= limit if limit > 0 else np.ones(x.size, dtype=np.bool_)
        x, y = x[kept], y[kept]
    return Measurement(slope, error)
