"""Brings any spectrum to LAMOST's pixels, line spread and noise, so that it can stand beside simulated ones."""

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter1d

from specvi_benchmark.errors import UserError
from specvi_benchmark.features.resolution import LIGHT_KMS, instrument_fwhm_kms
from specvi_benchmark.simulator import wavelengths
from specvi_benchmark.simulator.instrument import expose, get_instrument
from specvi_benchmark.spectrum import BoolArray, FloatArray, Spectrum, clean_spectrum

_FINE = 8  # samples a pixel
_SAMPLES_PER_SIGMA = 8
_LEAST_SIGMA = 0.5  # fine samples: a sixteenth of a pixel, below which nothing is blurred
_FWHM_IN_SIGMA = 2 * np.sqrt(2 * np.log(2))
_SKY_ELECTRONS = 150.0  # between a dark night and the moon, see `expose`
_LEAST_COVERED = 0.5  # of a pixel


@dataclass(frozen=True, slots=True, eq=False)
class Pixels:
    """A spectrum on LAMOST's 3909 pixels. ``flux`` means nothing where ``bad`` is True."""

    flux: FloatArray
    bad: BoolArray


def to_lamost(spectrum: Spectrum, resolution_AA: float | None = None, redshift: float = 0.0) -> Pixels:
    """Blur a spectrum to R = 1800 and average it over LAMOST's pixels, conserving flux.

    Parameters
    ----------
    spectrum
        In vacuum. A pixel whose flux is exactly zero is no measurement.
    resolution_AA
        FWHM of its line spread; None: that of its survey where known, else negligible.
    redshift
        Moves a template from the rest frame.

    Returns
    -------
    Pixels; bad where less than half of the pixel was measured. A spectrum that is already blurrier
    than LAMOST stays as it is: nothing sharpens it.

    Raises
    ------
    UserError
        Nothing of the spectrum lies in LAMOST's range.
    """
    edges = _fine_edges()
    good = spectrum.good & (spectrum.flux != 0)
    if spectrum.has_errors:
        good &= spectrum.ivar > 0
    wavelength = spectrum.wavelength_AA * (1 + redshift)
    covered = _rebinned(wavelength, good.astype(np.float64), edges)
    if not (covered > 0.999).any():
        raise UserError("nothing in LAMOST's range", where=spectrum.name, expected="3700 to 9100 Å")
    filled = np.interp(wavelength, wavelength[good], spectrum.flux[good])
    fine = _rebinned(wavelength, filled, edges)
    own_fwhm = (
        np.full(wavelength.size, resolution_AA * (1 + redshift))
        if resolution_AA
        else wavelength * instrument_fwhm_kms(spectrum) / LIGHT_KMS
        if spectrum.survey
        else np.zeros(wavelength.size)
    )
    centres = (edges[1:] + edges[:-1]) / 2
    whole = covered > 0.999
    fine = np.interp(centres, centres[whole], fine[whole])  # beyond the ends there is no zero to blur in
    own = np.interp(centres, wavelength, own_fwhm)
    extra = (
        np.sqrt(
            np.clip((centres / float(get_instrument("lamost").resolving_power[0])) ** 2 - own**2, 0, None)
        )
        / _FWHM_IN_SIGMA
    )
    blurred = blur(fine, extra / np.diff(edges))
    width = np.diff(edges).reshape(-1, _FINE)
    flux = (blurred.reshape(-1, _FINE) * width).sum(axis=1) / width.sum(axis=1)
    share = (covered.reshape(-1, _FINE) * width).sum(axis=1) / width.sum(axis=1)
    return Pixels(flux, share < _LEAST_COVERED)


def blur(values: FloatArray, sigma: FloatArray) -> FloatArray:
    """Convolve evenly spaced values with a Gaussian whose width changes slowly along them.

    Parameters
    ----------
    values, sigma
        ``(n,)``; sigma in samples. Widths below half a sample are taken as half a sample.

    Notes
    -----
    In the coordinate u = ∫ dx / σ(x) the Gaussian has the width 1 everywhere: values are put on an even
    grid of u, convolved there, and read off at the old places.
    """
    position = np.concatenate([[0.0], np.cumsum(1 / np.maximum(sigma, _LEAST_SIGMA))[:-1]])
    even = np.arange(0, position[-1] + 1 / _SAMPLES_PER_SIGMA, 1 / _SAMPLES_PER_SIGMA)
    smooth = gaussian_filter1d(np.interp(even, position, values), _SAMPLES_PER_SIGMA, mode="nearest")
    result: FloatArray = np.interp(position, even, smooth)
    return result


def with_noise(pixels: Pixels, snr: float, rng: np.random.Generator, name: str = "") -> Spectrum:
    """Return the spectrum as an exposure of that median signal to noise would have it.

    Noise follows photons of source and sky, throughput and detector as in the simulator
    (`specvi_benchmark.simulator.instrument.expose`), and nothing else goes wrong.
    """
    wavelength = wavelengths()
    known = ~pixels.bad
    filled = np.interp(wavelength, wavelength[known], pixels.flux[known])
    light = np.clip(filled, 0, None) / np.median(filled)
    exposure = expose(get_instrument("lamost"), light, snr, _SKY_ELECTRONS)
    flux = light + rng.normal(0, 1, filled.size) * exposure.sigma
    return clean_spectrum(wavelength, flux, exposure.sigma**-2, pixels.bad, name=name, survey="lamost")


def _rebinned(wavelength: FloatArray, flux: FloatArray, edges: FloatArray) -> FloatArray:
    """Return the mean flux between ``edges``, by the integral of the flux up to each; 0 where there is none."""
    middle = (wavelength[1:] + wavelength[:-1]) / 2
    own = np.concatenate([[1.5 * wavelength[0] - 0.5 * wavelength[1]], middle])
    own = np.append(own, 1.5 * wavelength[-1] - 0.5 * wavelength[-2])
    integral = np.concatenate([[0.0], np.cumsum(flux * np.diff(own))])
    result: FloatArray = np.diff(np.interp(edges, own, integral)) / np.diff(edges)
    return result


def _fine_edges() -> FloatArray:
    grid = np.log(wavelengths())
    step = (grid[-1] - grid[0]) / (grid.size - 1)
    edges: FloatArray = np.exp(grid[0] + step * (np.arange(grid.size * _FINE + 1) / _FINE - 0.5))
    return edges
