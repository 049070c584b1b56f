r"""Signal maps: at every pixel, how significant a line or a step of a given width would be there.

Around each pixel a model is fitted by weighted least squares: a straight line, the local continuum, plus a template
of unit height, a Gaussian for a line and a smoothed step for the head of a band. Its amplitude over its standard error
is the significance. All pixels at once: the sums of the normal equations are correlations, done by FFT.

Nothing here is shared with the measurements of `specvi_benchmark.features`, on which `rules` and `scripted` rest.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len
from scipy.special import erf

from specvi_benchmark.features.resolution import instrument_fwhm_kms
from specvi_benchmark.spectrum import BoolArray, FloatArray, Spectrum

LIGHT_KMS = 299_792.458
BIN_KMS = 69.03
"""Pixel of the maps: that of LAMOST and SDSS, 10⁻⁴ in log₁₀ λ."""

FLOOR = 0.01
"""Least error of an amplitude as a share of the continuum: sky subtraction and flux calibration leave so much."""

SCALE = 1.7
LINE_SCALES = 9
"""Line widths tried: from the instrument's, each 1.7 times the last, to about 10,000 km/s."""

STEP_HALF_KMS = (700.0, 1200.0, 2000.0)
"""Reach of the fit on either side of a band head: 14, 24 and 40 Å at 6000 Å."""

COVERED = 0.7
"""Share of the pixels of a fit that must be good."""

CORE_COVERED = 0.5
"""Share of the template itself that good pixels must fill."""

SPIKE_SIGMA = 6.0
SPIKE_SHARES = (0.35, 0.15)
"""A peak of one or two pixels whose neighbours reach less than this share of it is narrower than any instrument
that samples its profile by two pixels or more: a profile gives 0.5 and 0.2 there."""

Shape = Literal["line", "step"]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Binned:
    """A spectrum on a logarithmic grid. ``weight`` is the inverse variance, 0 where nothing is known.

    ``n_spikes`` pixels were set aside as narrower than the instrument.
    """

    first_AA: float
    step: float
    flux: FloatArray
    weight: FloatArray
    instrument_kms: float
    n_spikes: int

    @property
    def bin_kms(self) -> float:
        """Return the width of a bin."""
        return self.step * LIGHT_KMS

    def place(self, wavelength_AA: float) -> int:
        """Return the bin of an observed wavelength; it may lie outside."""
        return round(float(np.log(wavelength_AA / self.first_AA)) / self.step)

    @property
    def wavelength_AA(self) -> FloatArray:
        """Return ``(n,)`` the observed wavelengths of the bins."""
        found: FloatArray = self.first_AA * np.exp(self.step * np.arange(self.flux.size))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Maps:
    """Maps of one shape, ``(scales, n)``: significance (NaN where a fit has no support) and height.

    ``height`` is the amplitude over the local continuum; ``width_kms`` the FWHM of each line template, or the
    reach of each step.
    """

    significance: FloatArray
    height: FloatArray
    width_kms: FloatArray


def bin_log(spectrum: Spectrum) -> Binned:
    """Put a spectrum on a logarithmic grid, weighted by ivar; without errors, by the local scatter."""
    good = spectrum.usable
    wavelength, flux = spectrum.wavelength_AA[good], spectrum.flux[good]
    weight = spectrum.ivar[good] if spectrum.has_errors else 1 / _scatter(flux) ** 2
    logarithm = np.log(spectrum.wavelength_AA)
    step = max(BIN_KMS / LIGHT_KMS, float(np.median(np.diff(logarithm))))
    place = np.rint((np.log(wavelength) - logarithm[0]) / step).astype(np.int64)
    size = round(float(logarithm[-1] - logarithm[0]) / step) + 1
    total: FloatArray = np.bincount(place, weight, size).astype(np.float64)
    mean: FloatArray = np.bincount(place, weight * flux, size) / np.where(total > 0, total, 1)
    instrument = float(np.median(instrument_fwhm_kms(spectrum)))
    spikes = _spikes(mean, total) if instrument >= 1.9 * step * LIGHT_KMS else np.zeros(size, np.bool_)
    return Binned(
        first_AA=float(spectrum.wavelength_AA[0]),
        step=step,
        flux=mean,
        weight=np.where(spikes, 0.0, total),
        instrument_kms=max(instrument, 2 * step * LIGHT_KMS),
        n_spikes=int(spikes.sum()),
    )


def line_maps(binned: Binned) -> Maps:
    """Return the maps of lines of all widths."""
    fwhm = np.array([binned.instrument_kms * SCALE**step for step in range(LINE_SCALES)])
    return _maps(binned, "line", fwhm, 2.2 * fwhm + 3 * binned.bin_kms)


def step_maps(binned: Binned) -> Maps:
    """Return the maps of steps, positive where the flux rises going redward."""
    half = np.array(STEP_HALF_KMS)
    return _maps(binned, "step", np.full(half.size, 1.5 * binned.instrument_kms), half, width_kms=half)


def _maps(
    binned: Binned,
    shape: Shape,
    fwhm_kms: FloatArray,
    half_kms: FloatArray,
    width_kms: FloatArray | None = None,
) -> Maps:
    size = binned.flux.size
    halves = [max(4, min(round(half / binned.bin_kms), size // 2 - 1)) for half in half_kms]
    length = next_fast_len(size + 2 * max(halves), real=True)
    level = float(np.median(binned.flux[binned.weight > 0]))
    centred = np.where(binned.weight > 0, binned.flux - level, 0.0)
    unit = float(binned.weight.max()) or 1.0
    weight = binned.weight / unit
    spectra = np.fft.rfft(np.stack([weight, weight * centred, binned.weight > 0]), length)
    made = [
        _fit(spectra, _kernels(length, half, shape, float(fwhm / binned.bin_kms)), half, size, unit, level)
        for fwhm, half in zip(fwhm_kms, halves, strict=True)
    ]
    widths = fwhm_kms if width_kms is None else width_kms
    return Maps(np.stack([z for z, _ in made]), np.stack([h for _, h in made]), widths)


def _fit(
    spectra: NDArray[np.complex128],
    kernels: NDArray[np.complex128],
    half: int,
    size: int,
    unit: float,
    level: float,
) -> tuple[FloatArray, FloatArray]:
    """Return significance and relative height of the template at every pixel, ``(size,)`` each."""
    weight, flux, good = spectra
    length = 2 * (kernels.shape[-1] - 1)
    products = np.concatenate([weight * kernels, flux * kernels[:3], good * kernels[[0, 5]]])
    one, x, g, xx, gx, gg, t1, tx, tg, count, core = np.fft.irfft(products, length)[:, :size]
    with np.errstate(divide="ignore", invalid="ignore"):
        determinant = one * xx - x * x
        own = gg - (g * g * xx - 2 * g * gx * x + gx * gx * one) / determinant
        data = tg - (g * (t1 * xx - tx * x) + gx * (tx * one - t1 * x)) / determinant
        height = data / own
        continuum = level + ((t1 - height * g) * xx - (tx - height * gx) * x) / determinant
        error = 1 / np.sqrt(own * unit)
        significance = height / np.hypot(error, FLOOR * continuum)
        supported = (count >= COVERED * (2 * half + 1)) & (own > 1e-9 * one) & np.isfinite(significance)
        supported &= core >= CORE_COVERED * kernels[5, 0].real
        return np.where(supported, significance, np.nan), np.where(supported, height / continuum, np.nan)


def fit_width(binned: Binned, pixel: int, guess_kms: float) -> float:
    """Return the FWHM in km/s of the Gaussian that fits best around a pixel, on a straight continuum.

    From a third to the double of a guess, all in one window, so that their χ² can be compared.
    """
    half = max(4, round(3 * guess_kms / binned.bin_kms))
    here = slice(max(0, pixel - half), pixel + half + 1)
    offset = np.arange(binned.flux.size)[here] - pixel
    root = np.sqrt(binned.weight[here])
    widths = np.geomspace(guess_kms / 3, 2 * guess_kms, 19)
    left = []
    for width in widths:
        template = np.exp(-0.5 * (offset * binned.bin_kms / (width / 2.3548)) ** 2)
        design = np.stack([np.ones_like(template), offset / half, template], axis=1) * root[:, None]
        data = binned.flux[here] * root
        solution = np.linalg.lstsq(design, data, rcond=None)[0]
        left.append(float(((data - design @ solution) ** 2).sum()))
    return float(widths[int(np.argmin(left))])


@lru_cache(maxsize=256)
def _kernels(length: int, half: int, shape: Shape, fwhm_px: float) -> NDArray[np.complex128]:
    """Return ``(6, length // 2 + 1)`` the transforms of 1, x, g, x², g·x, g² for a correlation."""
    offset = np.arange(-half, half + 1)
    x = offset / half
    sigma = fwhm_px / 2.3548
    g = np.exp(-0.5 * (offset / sigma) ** 2) if shape == "line" else 0.5 * erf(offset / (sigma * np.sqrt(2)))
    rows = np.zeros((6, length))
    rows[:, offset % length] = np.stack([np.ones_like(x), x, g, x * x, g * x, g * g])
    transforms: NDArray[np.complex128] = np.conj(np.fft.rfft(rows))
    return transforms


def _scatter(flux: FloatArray) -> FloatArray:
    """Return each pixel's noise from differences two pixels apart, by their median size over 200 pixels around."""
    if flux.size < 8:
        return np.full_like(flux, float(np.std(flux)) or 1.0)
    difference = np.abs(flux[2:] - flux[:-2])
    blocks = np.array_split(difference, max(1, difference.size // 200))
    levels = np.array([np.median(block) for block in blocks]) * 1.4826 / np.sqrt(2)
    ends = np.cumsum([0, *(block.size for block in blocks)])
    noise: FloatArray = np.interp(np.arange(flux.size), (ends[1:] + ends[:-1]) / 2 + 1, levels)
    return np.maximum(noise, 1e-3 * float(np.median(np.abs(flux))) or 1.0)


def _spikes(flux: FloatArray, weight: FloatArray) -> BoolArray:
    """Return where a peak or hole of one or two pixels is narrower than an instrument's profile."""
    sigma = 1 / np.sqrt(np.where(weight > 0, weight, np.inf))
    sigma = np.where(weight > 0, sigma, np.inf)
    spikes = np.zeros(flux.size, np.bool_)
    for width, share in enumerate(SPIKE_SHARES, start=1):
        reach = width + 3
        last = flux.size - reach
        if last <= 2:
            continue
        at = np.arange(2, last)  # the first pixel of the peak
        level = (flux[at - 2] + flux[at + width + 1]) / 2
        inner = np.stack([flux[at + shift] - level for shift in range(width)])
        sides = np.stack([flux[at - 1] - level, flux[at + width] - level])
        least = np.abs(inner).min(axis=0)
        same_sign = np.abs(inner.sum(axis=0)) >= np.abs(inner).sum(axis=0) - 1e-12 * np.abs(level)
        found = same_sign & (least > SPIKE_SIGMA * sigma[at]) & (np.abs(sides).max(axis=0) < share * least)
        for shift in range(width):
            spikes[at[found] + shift] = True
    return spikes
