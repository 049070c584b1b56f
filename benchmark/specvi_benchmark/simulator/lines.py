"""Line profiles, and how lines are put into a spectrum: emission by equivalent width, absorption by depth."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from specvi_benchmark.compiled import compiled
from specvi_benchmark.lines import get_line
from specvi_benchmark.spectrum import FloatArray

SPEED_OF_LIGHT_KMS = 299792.458

_FWHM_IN_SIGMA = 2 * np.sqrt(2 * np.log(2))
_REACH_IN_SIGMA = 5.0  # beyond, a Gaussian is below 4e-6 of its peak
_STARK_REACH = 40.0  # half widths: beyond, a Stark wing is below 1e-4 of the line's depth
_DAMPED_REACH = 60.0  # half widths: beyond, a Lorentzian holds 1 % of its area
_FAR_OUT = 225.0  # (distance / √2 σ)²: there the next term of the blurred Lorentzian is below 4e-4
_RYDBERG_LIMIT_AA = 3647.05  # Balmer limit in vacuum, 4 / R_H
_BALMER_NAMES = {3: "Hα", 4: "Hβ", 5: "Hγ", 6: "Hδ", 7: "Hε", 8: "H8", 9: "H9"}


@dataclass(frozen=True, slots=True)
class Profile:
    """A line's shape: a sum of Gaussians, each of them damped if the line is.

    Called with (wavelength, centre) it returns the profile per Å, of unit area if the shares sum to 1.

    Attributes
    ----------
    parts
        (share of the area, shift in km/s, FWHM in km/s) of each Gaussian.
    damping_kms
        FWHM of the Lorentzian that each is convolved with: the whole is a Voigt profile.
    """

    parts: tuple[tuple[float, float, float], ...]
    damping_kms: float = 0.0

    def __call__(self, wavelength_AA: FloatArray, centre_AA: float) -> FloatArray:
        profile = np.zeros_like(wavelength_AA)
        self.add_to(profile, wavelength_AA, centre_AA, 1.0)
        return profile

    def width_kms(self) -> float:
        """Return the full width at half of the highest peak, from the outermost crossing to the other, ± 1 %."""
        reach = max(abs(shift) + fwhm + self.damping_kms for _, shift, fwhm in self.parts)
        velocity = np.linspace(-reach, reach, 401)
        step = 1 + velocity / SPEED_OF_LIGHT_KMS
        high = np.flatnonzero((shape := self(step, 1.0)) > shape.max() / 2)
        return float(velocity[high[-1]] - velocity[high[0]])

    def add_to(self, flux: FloatArray, wavelength_AA: FloatArray, centre_AA: float, area: float) -> None:
        """Add ``area`` (flux unit × Å) of the profile to ``flux``, in place."""
        for share, shift_kms, fwhm_kms in self.parts:
            centre = centre_AA * (1 + shift_kms / SPEED_OF_LIGHT_KMS)
            sigma = centre * fwhm_kms / SPEED_OF_LIGHT_KMS / _FWHM_IN_SIGMA
            if not self.damping_kms:
                _add_gaussian(wavelength_AA, flux, centre, sigma, share * area)
                continue
            half = centre * self.damping_kms / SPEED_OF_LIGHT_KMS / 2
            _add_voigt(wavelength_AA, flux, centre, sigma, half, share * area)


@cache
def balmer_AA(upper: int) -> float:
    """Return the vacuum wavelength of the Balmer line from level ``upper`` (3 is Hα).

    From the line list up to H9, beyond by the Rydberg formula.
    """
    return (
        vacuum_AA(_BALMER_NAMES[upper]) if upper in _BALMER_NAMES else _RYDBERG_LIMIT_AA / (1 - 4 / upper**2)
    )


@cache
def pickering_AA(upper: int) -> float:
    """Return the vacuum wavelength of the He II line from level ``upper`` to 4; even ones lie 2 Å blueward of Balmer's.

    1 / λ = 4 R (1/16 − 1/n²) with the Rydberg constant of helium, 109722.27 cm⁻¹ (CODATA).
    """
    return 1e8 / (4 * 109722.27 * (1 / 16 - 1 / upper**2))


@cache
def vacuum_AA(name: str) -> float:
    """Return the vacuum wavelength of a line of the suite's list."""
    return get_line(name).vacuum_AA


def gaussian(fwhm_kms: float, shift_kms: float = 0.0) -> Profile:
    """Return a Gaussian profile of that width, shifted by a velocity."""
    return Profile(((1.0, shift_kms, fwhm_kms),))


def voigt(fwhm_kms: float, damping_kms: float, shift_kms: float = 0.0) -> Profile:
    """Return a Gaussian convolved with a Lorentzian, of these widths: a line broadened by pressure or scattering."""
    return Profile(((1.0, shift_kms, fwhm_kms),), damping_kms)


def double_peak(fwhm_kms: float, separation_kms: float, blue_share: float = 0.5) -> Profile:
    """Return two Gaussians ``separation_kms`` apart, as a disc seen at high inclination shows them."""
    half = separation_kms / 2
    return Profile(((blue_share, -half, fwhm_kms), (1 - blue_share, half, fwhm_kms)))


def p_cygni(fwhm_kms: float, wind_kms: float, absorbed: float, damping_kms: float = 0.0) -> Profile:
    """Return emission at rest with absorption shifted by the wind's velocity to the blue.

    ``absorbed`` is the absorption's area relative to the emission's (1), which is kept: the parts sum to
    1 − absorbed. Free electrons damp the lines of dense winds.
    """
    return Profile(((1.0, 0.0, fwhm_kms), (-absorbed, -wind_kms, 0.6 * fwhm_kms)), damping_kms)


def add_emission(
    wavelength_AA: FloatArray,
    flux: FloatArray,
    centre_AA: float,
    width_AA: float,
    profile: Profile,
    continuum: FloatArray | None = None,
) -> FloatArray:
    """Return the flux with an emission line of equivalent width ``width_AA``.

    The width is measured over ``continuum`` at the line's centre, over the flux itself if None: give the
    continuum where the emission stands in an absorption line. A line beyond the grid is left out.
    """
    if not wavelength_AA[0] < centre_AA < wavelength_AA[-1]:
        return flux
    level = level_at(wavelength_AA, flux if continuum is None else continuum, centre_AA)
    return add_line_flux(wavelength_AA, flux, centre_AA, width_AA * level, profile)


def add_line_flux(
    wavelength_AA: FloatArray, flux: FloatArray, centre_AA: float, line_flux: float, profile: Profile
) -> FloatArray:
    """Return the flux with an emission line of that integrated flux (flux unit × Å)."""
    flux = flux.copy()
    profile.add_to(flux, wavelength_AA, centre_AA, line_flux)
    return flux


def emit(
    wavelength_AA: FloatArray,
    flux: FloatArray,
    widths_AA: Mapping[str, float],
    profile: Profile,
    continuum: FloatArray | None = None,
) -> FloatArray:
    """Return the flux with emission lines of the suite's list, by name and equivalent width.

    As `add_emission` line by line; without ``continuum`` every width is over the flux as it was given.
    """
    below = flux if continuum is None else continuum
    flux = flux.copy()
    for name, width in widths_AA.items():
        centre = vacuum_AA(name)
        if wavelength_AA[0] < centre < wavelength_AA[-1]:
            profile.add_to(flux, wavelength_AA, centre, width * level_at(wavelength_AA, below, centre))
    return flux


def level_at(wavelength_AA: FloatArray, flux: FloatArray, where_AA: float) -> float:
    """Return the flux at a wavelength, linear between samples, of the nearest sample beyond the grid."""
    above = min(max(int(np.searchsorted(wavelength_AA, where_AA)), 1), wavelength_AA.size - 1)
    low, high = float(wavelength_AA[above - 1]), float(wavelength_AA[above])
    share = min(max((where_AA - low) / (high - low), 0.0), 1.0)
    return float((1 - share) * flux[above - 1] + share * flux[above])


def stark_absorption(
    wavelength_AA: FloatArray, centre_AA: float, depth: float, half_width_AA: float
) -> FloatArray:
    """Return the transmission of a pressure-broadened line: 1 − depth / (1 + (Δλ / half width)^2.5).

    The wings fall as Δλ^−5/2, as those of hydrogen under the linear Stark effect do (Holtsmark). Half
    the depth is reached at ``half_width_AA``; the equivalent width is 2.643 · depth · half width.
    """
    return stark_lines_at(wavelength_AA, np.array([centre_AA]), np.array([depth]), np.array([half_width_AA]))


def stark_lines(wavelength_AA: FloatArray, lines: Mapping[str, tuple[float, float]]) -> FloatArray:
    """Return the transmission of named lines, each by (depth, half width in Å): see `stark_absorption`."""
    centres = np.array([vacuum_AA(name) for name in lines])
    depths, widths = np.array(list(lines.values()), dtype=np.float64).reshape(-1, 2).T
    return stark_lines_at(wavelength_AA, centres, depths, widths)


def stark_lines_at(
    wavelength_AA: FloatArray, centres_AA: FloatArray, depths: FloatArray, half_widths_AA: FloatArray
) -> FloatArray:
    """Return the transmission of many pressure-broadened lines (arrays of one length)."""
    transmission = np.ones_like(wavelength_AA)
    _absorb_stark(
        wavelength_AA,
        transmission,
        np.ascontiguousarray(centres_AA),
        np.ascontiguousarray(depths),
        np.ascontiguousarray(half_widths_AA),
    )
    return transmission


def gaussian_depth(
    wavelength_AA: FloatArray, centre_AA: float, width_AA: float, fwhm_kms: float
) -> FloatArray:
    """Return the optical depth of a line with equivalent width ``width_AA`` in the limit of a weak line."""
    return gaussian_depths(wavelength_AA, np.array([centre_AA]), np.array([width_AA]), np.array([fwhm_kms]))


def gaussian_depths(
    wavelength_AA: FloatArray, centres_AA: FloatArray, widths_AA: FloatArray, fwhms_kms: FloatArray
) -> FloatArray:
    """Return the summed optical depth of many Gaussian lines (arrays of one length): see `gaussian_depth`."""
    depth = np.zeros_like(wavelength_AA)
    sigmas = centres_AA * fwhms_kms / SPEED_OF_LIGHT_KMS / _FWHM_IN_SIGMA
    _add_gaussians(wavelength_AA, depth, centres_AA, sigmas, widths_AA)
    return depth


def absorb(wavelength_AA: FloatArray, widths_AA: Mapping[str, float], fwhm_kms: float) -> FloatArray:
    """Return the transmission of named lines of these equivalent widths.

    A line stronger than ``fwhm_kms`` can hold grows in width, not in depth: at least 120 km/s an Å.
    """
    widths = np.array(list(widths_AA.values()), dtype=np.float64)
    centres = np.array([vacuum_AA(name) for name in widths_AA])
    depth = gaussian_depths(wavelength_AA, centres, widths, np.maximum(fwhm_kms, 120.0 * widths))
    return np.exp(-depth)


def balmer_absorption(
    wavelength_AA: FloatArray,
    depth: float,
    half_width_AA: float,
    last: int,
    fade: float,
    jump_dex: float = 0.0,
) -> FloatArray:
    """Return the transmission of the Balmer series in absorption, and of its continuum beyond.

    Parameters
    ----------
    wavelength_AA
        Rest frame, vacuum.
    depth, half_width_AA
        Of Hγ. Hα is 0.9 times as deep and 0.75 times as wide: two thirds of its equivalent width.
    last
        Upper level at which the lines have dissolved: 10 or 11 in a white dwarf, 16 and more in a giant
        star (Inglis & Teller 1939: the denser the gas, the sooner). Depth falls towards it.
    fade
        How soon: the depth of level n is scaled by 1 − (n / last)^fade.
    jump_dex
        The Balmer jump. It sets in where the lines have merged, over about a line's width.
    """
    upper = np.arange(3, last)
    scale = np.where(upper == 3, 0.9, 1 - (upper / last) ** fade)
    centres = np.array([balmer_AA(int(level)) for level in upper])
    widths = np.where(upper == 3, 0.75, 1.0) * half_width_AA
    transmission = stark_lines_at(wavelength_AA, centres, depth * scale, widths)
    if jump_dex:
        limit, softness = balmer_AA(last), 0.6 * half_width_AA
        end = int(np.searchsorted(wavelength_AA, limit + 8 * softness))
        beyond = 1 / (1 + np.exp(np.maximum(wavelength_AA[:end] - limit, -30 * softness) / softness))
        transmission[:end] *= np.exp(-jump_dex * np.log(10) * beyond)
    return transmission


@compiled
def _add_gaussian(
    wavelength: FloatArray, out: FloatArray, centre: float, sigma: float, area: float
) -> None:  # pragma: no cover -- compiled
    first = np.searchsorted(wavelength, centre - _REACH_IN_SIGMA * sigma)
    last = np.searchsorted(wavelength, centre + _REACH_IN_SIGMA * sigma)
    height = area / (sigma * np.sqrt(2 * np.pi))
    for sample in range(first, last):
        step = (wavelength[sample] - centre) / sigma
        out[sample] += height * np.exp(-0.5 * step * step)


@compiled
def _add_voigt(
    wavelength: FloatArray, out: FloatArray, centre: float, sigma: float, half: float, area: float
) -> None:  # pragma: no cover -- compiled
    """Near the centre after Humlíček (1982, JQSRT 27, 437; good to 1e-4), far out the Lorentzian, blurred."""
    reach = _REACH_IN_SIGMA * sigma + _DAMPED_REACH * half
    first = np.searchsorted(wavelength, centre - reach)
    last = np.searchsorted(wavelength, centre + reach)
    scale = 1 / (sigma * np.sqrt(2.0))
    height = area * scale / np.sqrt(np.pi)
    for sample in range(first, last):
        step = wavelength[sample] - centre
        square = step * step + half * half
        if square * scale * scale > _FAR_OUT:
            blurred = 1 + sigma * sigma * (3 * step * step - half * half) / (square * square)
            out[sample] += area * half / np.pi / square * blurred
        else:
            out[sample] += height * _faddeeva(abs(step) * scale, half * scale)


@compiled
def _faddeeva(x: float, y: float) -> float:  # pragma: no cover -- compiled
    """Return the real part of w(x + iy), y above 0: Humlíček's four rational approximations."""
    t = complex(y, -x)
    u = t * t
    if x + y >= 15:
        w = t * 0.5641896 / (0.5 + u)
    elif x + y >= 5.5:
        w = t * (1.410474 + u * 0.5641896) / (0.75 + u * (3 + u))
    elif y >= 0.195 * x - 0.176:
        above = 16.4955 + t * (20.20933 + t * (11.96482 + t * (3.778987 + t * 0.5642236)))
        w = above / (16.4955 + t * (38.82363 + t * (39.27121 + t * (21.69274 + t * (6.699398 + t)))))
    else:
        above = 219.0313 - u * (35.76683 - u * (1.320522 - u * 0.56419))
        above = t * (36183.31 - u * (3321.9905 - u * (1540.787 - u * above)))
        below = 2186.181 - u * (364.2191 - u * (61.57037 - u * (1.841439 - u)))
        w = np.exp(u) - above / (32066.6 - u * (24322.84 - u * (9022.228 - u * below)))
    return w.real


@compiled
def _add_gaussians(
    wavelength: FloatArray, out: FloatArray, centres: FloatArray, sigmas: FloatArray, areas: FloatArray
) -> None:  # pragma: no cover -- compiled
    for line in range(centres.size):
        _add_gaussian(wavelength, out, centres[line], sigmas[line], areas[line])


@compiled
def _absorb_stark(
    wavelength: FloatArray, out: FloatArray, centres: FloatArray, depths: FloatArray, widths: FloatArray
) -> None:  # pragma: no cover -- compiled
    for line in range(centres.size):
        reach = _STARK_REACH * widths[line]
        first = np.searchsorted(wavelength, centres[line] - reach)
        last = np.searchsorted(wavelength, centres[line] + reach)
        for sample in range(first, last):
            step = abs(wavelength[sample] - centres[line]) / widths[line]
            out[sample] *= 1 - depths[line] / (1 + step * step * np.sqrt(step))
