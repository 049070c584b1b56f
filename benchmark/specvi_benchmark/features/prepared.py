"""The good pixels of a spectrum in one frame, with their noise: what every measurement starts from."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from specvi_benchmark.features.noise import scatter_sigma
from specvi_benchmark.features.resolution import instrument_fwhm_kms
from specvi_benchmark.spectrum import FloatArray, Spectrum

Window = tuple[float, float]
"""First and last wavelength of a stretch, Å, vacuum, in the frame of the Prepared spectrum."""

NOISE_FLOOR = 1e-3
"""Smallest noise as a share of the median flux: no survey is calibrated better, and it keeps a
constant spectrum from having infinite signal to noise."""


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A spectrum ready to be measured. All arrays are ``(m,)`` over its good pixels.

    Attributes
    ----------
    wavelength_AA
        Vacuum ångström in the frame ``observed / (1 + redshift)``.
    width_AA
        Width of each pixel on the full grid, so that a sum over a gap does not bridge it.
    flux, sigma
        Flux and its standard deviation, in the survey's unit.
    instrument_kms
        FWHM of the instrument.
    redshift
        The shift that was applied; 0 in the observed frame.
    noise_from
        Whether ``sigma`` is the survey's own or comes from the scatter of neighbouring pixels.
    snr
        Median of flux / sigma over all good pixels.
    """

    wavelength_AA: FloatArray
    width_AA: FloatArray
    flux: FloatArray
    sigma: FloatArray
    instrument_kms: FloatArray
    redshift: float
    noise_from: Literal["ivar", "scatter"]
    snr: float

    def slice(self, window: Window) -> slice:
        """Return the slice of pixels inside ``window``."""
        first, last = np.searchsorted(self.wavelength_AA, window)
        return slice(int(first), int(last))

    def coverage(self, window: Window) -> float:
        """Return which share of ``window`` good pixels fill, 0 to 1."""
        return min(1.0, float(self.width_AA[self.slice(window)].sum()) / (window[1] - window[0]))


def prepare(spectrum: Spectrum, redshift: float = 0.0) -> Prepared:
    """Select usable pixels, shift them by ``redshift`` and attach their noise: the survey's where it gives errors."""
    good = spectrum.usable
    flux = spectrum.flux[good]
    sigma = 1 / np.sqrt(spectrum.ivar[good]) if spectrum.has_errors else scatter_sigma(flux)
    size = np.abs(flux)
    floor = NOISE_FLOOR * float(np.median(size) or size.max() or 1.0)
    sigma = np.maximum(sigma, floor)
    stretch = 1 + redshift
    return Prepared(
        wavelength_AA=spectrum.wavelength_AA[good] / stretch,
        width_AA=np.gradient(spectrum.wavelength_AA)[good] / stretch,
        flux=flux,
        sigma=sigma,
        instrument_kms=instrument_fwhm_kms(spectrum)[good],
        redshift=redshift,
        noise_from="ivar" if spectrum.has_errors else "scatter",
        snr=float(np.median(flux / sigma)),
    )
