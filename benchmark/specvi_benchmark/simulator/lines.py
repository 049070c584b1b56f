"""Line profiles, and how lines are put into a spectrum: emission by equivalent width, absorption by depth."""

from collections.abc import Callable

import numpy as np

from specvi_benchmark.lines import get_line
from specvi_benchmark.spectrum import FloatArray

SPEED_OF_LIGHT_KMS = 299792.458

_FWHM_IN_SIGMA = 2 * np.sqrt(2 * np.log(2))
_REACH_IN_SIGMA = 6.0  # beyond, a Gaussian is below 2e-8 of its peak
_RYDBERG_LIMIT_AA = 3647.05  # Balmer limit in vacuum, 4 / R_H
_BALMER_NAMES = {3: "Hα", 4: "Hβ", 5: "Hγ", 6: "Hδ", 7: "Hε", 8: "H8", 9: "H9"}

Profile = Callable[[FloatArray, float], FloatArray]
"""(wavelength, centre) → profile of unit area, per Å."""


def balmer_AA(upper: int) -> float:
    """Return the vacuum wavelength of the Balmer line from level ``upper`` (3 is Hα).

    From the line list up to H9, beyond by the Rydberg formula.
    """
    if upper in _BALMER_NAMES:
        return get_line(_BALMER_NAMES[upper]).vacuum_AA
    return _RYDBERG_LIMIT_AA / (1 - 4 / upper**2)


def gaussian(fwhm_kms: float, shift_kms: float = 0.0) -> Profile:
    """Return a Gaussian profile of that width, shifted by a velocity."""

    def profile(wavelength_AA: FloatArray, centre_AA: float) -> FloatArray:
        centre = centre_AA * (1 + shift_kms / SPEED_OF_LIGHT_KMS)
        sigma = centre * fwhm_kms / SPEED_OF_LIGHT_KMS / _FWHM_IN_SIGMA
        values = np.zeros_like(wavelength_AA)
        near = _near(wavelength_AA, centre, _REACH_IN_SIGMA * sigma)
        steps = (wavelength_AA[near] - centre) / sigma
        values[near] = np.exp(-0.5 * steps**2) / (sigma * np.sqrt(2 * np.pi))
        return values

    return profile


def double_peak(fwhm_kms: float, separation_kms: float, blue_share: float = 0.5) -> Profile:
    """Return two Gaussians ``separation_kms`` apart, as a disc seen at high inclination shows them."""
    blue = gaussian(fwhm_kms, -separation_kms / 2)
    red = gaussian(fwhm_kms, separation_kms / 2)

    def profile(wavelength_AA: FloatArray, centre_AA: float) -> FloatArray:
        return blue_share * blue(wavelength_AA, centre_AA) + (1 - blue_share) * red(wavelength_AA, centre_AA)

    return profile


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
    level = float(np.interp(centre_AA, wavelength_AA, flux if continuum is None else continuum))
    return flux + width_AA * level * profile(wavelength_AA, centre_AA)


def add_line_flux(
    wavelength_AA: FloatArray, flux: FloatArray, centre_AA: float, line_flux: float, profile: Profile
) -> FloatArray:
    """Return the flux with an emission line of that integrated flux (flux unit × Å)."""
    return flux + line_flux * profile(wavelength_AA, centre_AA)


def stark_absorption(
    wavelength_AA: FloatArray, centre_AA: float, depth: float, half_width_AA: float
) -> FloatArray:
    """Return the transmission of a pressure-broadened line: 1 − depth / (1 + (Δλ / half width)^2.5).

    The wings fall as Δλ^−5/2, as those of hydrogen under the linear Stark effect do (Holtsmark). Half
    the depth is reached at ``half_width_AA``; the equivalent width is 2.643 · depth · half width.
    """
    step = np.abs(wavelength_AA - centre_AA) / half_width_AA
    return 1 - depth / (1 + step * step * np.sqrt(step))


def gaussian_depth(
    wavelength_AA: FloatArray, centre_AA: float, width_AA: float, fwhm_kms: float
) -> FloatArray:
    """Return the optical depth of a line with equivalent width ``width_AA`` in the limit of a weak line."""
    return width_AA * gaussian(fwhm_kms)(wavelength_AA, centre_AA)


def balmer_absorption(
    wavelength_AA: FloatArray, depth: float, half_width_AA: float, last: int, fade: float
) -> FloatArray:
    """Return the transmission of the Balmer series in absorption.

    Parameters
    ----------
    wavelength_AA
        Rest frame, vacuum.
    depth, half_width_AA
        Of Hγ. Hα is 0.7 times as deep and wide.
    last
        Upper level at which the lines have dissolved: 10 or 11 in a white dwarf, 16 and more in a giant
        star (Inglis & Teller 1939: the denser the gas, the sooner). Depth falls towards it.
    fade
        How soon: the depth of level n is scaled by 1 − (n / last)^fade.
    """
    transmission = np.ones_like(wavelength_AA)
    for upper in range(3, last):
        scale = 0.7 if upper == 3 else 1 - (upper / last) ** fade
        width = half_width_AA * (0.7 if upper == 3 else 1.0)
        transmission *= stark_absorption(wavelength_AA, balmer_AA(upper), depth * scale, width)
    return transmission


def _near(wavelength_AA: FloatArray, centre_AA: float, reach_AA: float) -> slice:
    first = int(np.searchsorted(wavelength_AA, centre_AA - reach_AA))
    last = int(np.searchsorted(wavelength_AA, centre_AA + reach_AA))
    return slice(first, last)
