"""Measures one spectral line: strength, width, position, and whether it is a line at all."""

import math
import operator
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import uniform_filter1d

from specvi_benchmark.features.noise import GAUSSIAN_MAD
from specvi_benchmark.features.prepared import Prepared, Window
from specvi_benchmark.features.resolution import LIGHT_KMS
from specvi_benchmark.spectrum import FloatArray

APERTURES = (1 / 8, 1 / 4, 1 / 2, 1.0)
"""Half-widths tried, in units of the largest. A box matched to a Gaussian within √2 of its best width
loses under 10 % of the signal to noise."""

CORE_COVERAGE, SIDE_COVERAGE = 0.8, 0.5
"""Share of good pixels without which a line, or a side of its continuum, is not measured."""

MIN_SIDE_KMS = 1200.0
"""Least width of either side: 17 LAMOST pixels, so that the continuum is known better than the line."""

CORRELATED_PIXELS = 3
"""Neighbouring pixels that share what is not noise, such as weak lines (about one resolution element)."""

SPIKE_PIXELS = 3
"""A cosmic ray or a sky residue fills up to this many pixels."""

MIN_PIXELS = SPIKE_PIXELS + 2
"""Fewest pixels in an aperture: a spike and something beside it."""

FULL_REACH = 1.5
"""The equivalent width is summed this many FWHM to either side of the peak (0.9996 of a Gaussian)."""

CONTINUUM_SIGMA = 3.0
"""Continuum below this many standard errors gives no equivalent width."""

SIGMA_FWHM = 2 * math.sqrt(2 * math.log(2))
"""FWHM of a Gaussian in units of its standard deviation."""


@dataclass(frozen=True, slots=True)
class LineMeasurement:
    """One line against a straight local continuum.

    Attributes
    ----------
    centre_AA, offset_kms
        Wavelength asked for, and the centroid's velocity from it.
    significance
        Summed excess over its error in the aperture that shows it best; positive in emission, negative
        in absorption. The error holds the noise and the placing of the continuum.
    equivalent_width_AA, equivalent_width_error_AA
        Positive in absorption, negative in emission; None where the continuum itself is not detected.
    height
        Peak over continuum minus 1 (negative: depth of an absorption); None as above.
    fwhm_kms, instrument_kms, intrinsic_fwhm_kms
        Width at half height as observed, that of the instrument, and their difference in quadrature (0
        when not resolved).
    n_pixels
        Pixels in the aperture that depart from the continuum by more than one sigma, the line's way.
    narrower_than_instrument
        True when three neighbouring pixels hold what a real line spreads over more: a spike, or a line
        too weak to be told from one.
    """

    centre_AA: float
    offset_kms: float
    significance: float
    equivalent_width_AA: float | None
    equivalent_width_error_AA: float | None
    height: float | None
    fwhm_kms: float
    instrument_kms: float
    n_pixels: int
    narrower_than_instrument: bool

    @property
    def intrinsic_fwhm_kms(self) -> float:
        """Return the width corrected for the instrument, 0 when not resolved."""
        return math.sqrt(max(0.0, self.fwhm_kms**2 - self.instrument_kms**2))


def measure_line(
    prepared: Prepared, centre_AA: float, half_width_kms: float = 1500.0
) -> LineMeasurement | None:
    """Measure the line at ``centre_AA``, which may reach ``half_width_kms`` to either side.

    The continuum is the straight line through the medians of the two stretches that follow, each as
    wide as ``half_width_kms`` or `MIN_SIDE_KMS`: choose it wider than the line's wings, narrower than its neighbours
    are far. A core inside a broad trough is measured with a small half-width, against the trough.

    Returns
    -------
    None where too few good pixels cover the line or either side of it.
    """
    reach = centre_AA * half_width_kms / LIGHT_KMS
    core = (centre_AA - reach, centre_AA + reach)
    side = max(reach, centre_AA * MIN_SIDE_KMS / LIGHT_KMS)
    sides = ((core[0] - side, core[0]), (core[1], core[1] + side))
    pixels = prepared.slice(core)
    if prepared.coverage(core) < CORE_COVERAGE or pixels.stop - pixels.start < MIN_PIXELS:
        return None
    if min(prepared.coverage(window) for window in sides) < SIDE_COVERAGE:
        return None
    continuum, continuum_error = _straight_continuum(prepared, sides, pixels)
    profile = _Profile(
        velocity_kms=LIGHT_KMS * (prepared.wavelength_AA[pixels] / centre_AA - 1),
        width_AA=prepared.width_AA[pixels],
        excess=prepared.flux[pixels] - continuum,
        sigma=prepared.sigma[pixels],
        continuum=continuum,
        continuum_error=continuum_error,
    )
    instrument_kms = float(np.median(prepared.instrument_kms[pixels]))
    return _describe(profile, _best_aperture(profile, half_width_kms), centre_AA, instrument_kms)


@dataclass(frozen=True, slots=True, eq=False)
class _Profile:
    """Flux over the continuum across the line; arrays ``(k,)``."""

    velocity_kms: FloatArray
    width_AA: FloatArray
    excess: FloatArray
    sigma: FloatArray
    continuum: FloatArray
    continuum_error: float

    def within(self, low_kms: float, high_kms: float) -> slice:
        first, last = np.searchsorted(self.velocity_kms, (low_kms, high_kms))
        return slice(int(first), int(last))

    def sum_and_error(self, part: slice) -> tuple[float, float]:
        """Return the summed excess (flux times Å), and its error from noise and continuum."""
        width = self.width_AA[part]
        noise = float(np.sqrt(np.sum((self.sigma[part] * width) ** 2)))
        error = math.hypot(noise, self.continuum_error * float(width.sum()))
        return float(np.sum(self.excess[part] * width)), error


def _straight_continuum(
    prepared: Prepared, sides: tuple[Window, Window], pixels: slice
) -> tuple[FloatArray, float]:
    """Return the continuum in the core, and its standard error at the line."""
    places, levels, errors = [], [], []
    for side in sides:
        part = prepared.slice(side)
        wavelength, flux = prepared.wavelength_AA[part], prepared.flux[part]
        level = float(np.median(flux))
        scatter = GAUSSIAN_MAD * float(np.median(np.abs(flux - level)))
        noise = float(np.median(prepared.sigma[part]))
        structure = max(0.0, scatter**2 - noise**2)
        places.append(float(np.mean(wavelength)))
        levels.append(level)
        errors.append(math.sqrt(math.pi / 2 * (noise**2 + CORRELATED_PIXELS * structure) / flux.size))
    slope = (levels[1] - levels[0]) / (places[1] - places[0])
    continuum = levels[0] + slope * (prepared.wavelength_AA[pixels] - places[0])
    return continuum, math.hypot(*errors) / 2


def _best_aperture(profile: _Profile, half_width_kms: float) -> slice:
    """Return the aperture around the line with the largest signal to noise."""
    apertures = [profile.within(-share * half_width_kms, share * half_width_kms) for share in APERTURES]
    enough = [part for part in apertures if part.stop - part.start >= MIN_PIXELS] or apertures[-1:]
    return max(enough, key=lambda part: abs(operator.truediv(*profile.sum_and_error(part))))


def _describe(profile: _Profile, aperture: slice, centre_AA: float, instrument_kms: float) -> LineMeasurement:
    total, error = profile.sum_and_error(aperture)
    sign = math.copysign(1.0, total)
    shape = _shape(profile.velocity_kms, sign * profile.excess, aperture)
    reach = FULL_REACH * shape.fwhm_kms
    whole = profile.within(shape.peak_kms - reach, shape.peak_kms + reach)
    whole = slice(min(whole.start, aperture.start), max(whole.stop, aperture.stop))
    area, area_error = profile.sum_and_error(whole)
    if sign * area <= 0:  # neighbours of the other sign outweigh the line: keep to where it was found
        whole, area, area_error = aperture, total, error
    weight = np.maximum(sign * profile.excess[whole], 0.0) * profile.width_AA[whole]
    offset = float(np.sum(weight * profile.velocity_kms[whole]) / weight.sum()) if weight.any() else 0.0
    level = float(np.median(profile.continuum))
    lit = level > CONTINUUM_SIGMA * profile.continuum_error and bool((profile.continuum > 0).all())
    return LineMeasurement(
        centre_AA=centre_AA,
        offset_kms=offset,
        significance=total / error,
        equivalent_width_AA=-area / level if lit else None,
        equivalent_width_error_AA=area_error / level if lit else None,
        height=sign * shape.peak / level if lit else None,
        fwhm_kms=shape.fwhm_kms,
        instrument_kms=instrument_kms,
        n_pixels=int(np.sum(sign * profile.excess[whole] > profile.sigma[whole])),
        narrower_than_instrument=_is_spike(profile, aperture, sign, instrument_kms),
    )


@dataclass(frozen=True, slots=True)
class _Shape:
    fwhm_kms: float
    peak: float
    peak_kms: float


def _shape(velocity_kms: FloatArray, excess: FloatArray, aperture: slice) -> _Shape:
    """Return height and full width at half height, between the outermost crossings.

    The profile is averaged over an eighth of the aperture, and the width that adds is taken off. The
    stretch searched grows from the aperture for as long as the profile is still high at its ends.
    """
    box = 2 * ((aperture.stop - aperture.start) // 16) + 1
    smooth = uniform_filter1d(excess, box, mode="nearest")
    part = aperture
    while True:
        top = part.start + int(np.argmax(smooth[part]))
        above = part.start + np.flatnonzero(smooth[part] >= smooth[top] / 2)
        first, last = int(above[0]), int(above[-1])
        inside = first > part.start and last < part.stop - 1
        if inside or part == slice(0, excess.size):
            break
        more = max(1, (part.stop - part.start) // 2)
        part = slice(max(0, part.start - more), min(excess.size, part.stop + more))
    peak = float(smooth[top])
    if peak <= 0:
        return _Shape(0.0, peak, float(velocity_kms[top]))
    left = _crossing(velocity_kms, smooth, first, -1, peak / 2)
    right = _crossing(velocity_kms, smooth, last, 1, peak / 2)
    added = SIGMA_FWHM * float(np.median(np.diff(velocity_kms))) * math.sqrt((box**2 - 1) / 12)
    return _Shape(math.sqrt(max(0.0, (right - left) ** 2 - added**2)), peak, float(velocity_kms[top]))


def _crossing(velocity_kms: FloatArray, profile: FloatArray, inside: int, step: int, level: float) -> float:
    outside = inside + step
    if not 0 <= outside < profile.size:
        return float(velocity_kms[inside])
    share = (profile[inside] - level) / (profile[inside] - profile[outside])
    return float(velocity_kms[inside] + share * (velocity_kms[outside] - velocity_kms[inside]))


def _is_spike(profile: _Profile, aperture: slice, sign: float, instrument_kms: float) -> bool:
    """Tell whether the three best neighbouring pixels hold more of the line than the instrument lets them."""
    excess = sign * profile.excess[aperture] * profile.width_AA[aperture]
    error = profile.sigma[aperture] * profile.width_AA[aperture]
    triples = np.convolve(excess, np.ones(SPIKE_PIXELS), mode="valid")
    best = int(np.argmax(triples))
    outside = np.ones(excess.size, dtype=np.bool_)
    outside[best : best + SPIKE_PIXELS] = False
    rest, rest_error = float(excess[outside].sum()), float(np.sqrt(np.sum(error[outside] ** 2)))
    pixel_kms = float(np.median(np.diff(profile.velocity_kms)))
    spread = instrument_kms / SIGMA_FWHM / pixel_kms
    share = math.erf(SPIKE_PIXELS / 2 / (spread * math.sqrt(2)))
    allowed_rest = (1 - share) / 2 * (rest + float(triples[best]))
    return rest < max(2 * rest_error, allowed_rest)
