"""Smooth parts of a spectrum: black body, power law, interstellar extinction. F_λ, 1 at 5500 Å."""

import numpy as np

from specvi_benchmark.simulator.lattice import remembered
from specvi_benchmark.spectrum import FloatArray

REFERENCE_AA = 5500.0

_HC_OVER_K_AA_K = 1.438776877e8  # second radiation constant in Å·K (CODATA 2018)


def planck(wavelength_AA: FloatArray, temperature_K: float) -> FloatArray:
    """Return the black body B_λ(T), 1 at 5500 Å."""
    photon = _photon(wavelength_AA)
    ratio = float(np.expm1(_HC_OVER_K_AA_K / REFERENCE_AA / temperature_K))
    body: FloatArray = np.exp(photon * (1 / temperature_K))
    body -= 1
    np.divide(ratio, body, out=body)
    body *= _fifth_power(wavelength_AA)
    return body


def power_law(wavelength_AA: FloatArray, index: float) -> FloatArray:
    """Return (λ / 5500 Å)^−index. A steady accretion disc has 7/3, a quasar (α_ν = −0.44) 1.56."""
    law: FloatArray = np.exp(-index * _log(wavelength_AA))
    return law


def extinction(wavelength_AA: FloatArray, reddening_mag: float) -> FloatArray:
    """Return the transmission of dust with E(B−V) = ``reddening_mag`` and R_V = 3.1.

    Cardelli, Clayton & Mathis (1989, ApJ 345, 245), optical branch (eq. 3). The branch holds for
    1.1–3.3 µm⁻¹; outside, the value at its end is used (9091 Å is the red end).
    """
    transmission: FloatArray = np.exp(reddening_mag * _dust(wavelength_AA))
    return transmission


@remembered
def _dust(wavelength_AA: FloatArray) -> FloatArray:
    """Return −0.4 ln(10) A(λ) / E(B−V)."""
    ratio = 3.1
    y = np.clip(1e4 / wavelength_AA, 1.1, 3.3) - 1.82
    a = np.polynomial.polynomial.polyval(
        y, [1, 0.17699, -0.50447, -0.02427, 0.72085, 0.01979, -0.77530, 0.32999]
    )
    b = np.polynomial.polynomial.polyval(
        y, [0, 1.41338, 2.28305, 1.07233, -5.38434, -0.62251, 5.30260, -2.09002]
    )
    law: FloatArray = -0.4 * np.log(10) * ratio * (a + b / ratio)
    return law


@remembered
def _photon(wavelength_AA: FloatArray) -> FloatArray:
    return _HC_OVER_K_AA_K / wavelength_AA


@remembered
def _fifth_power(wavelength_AA: FloatArray) -> FloatArray:
    power: FloatArray = (REFERENCE_AA / wavelength_AA) ** 5
    return power


@remembered
def _log(wavelength_AA: FloatArray) -> FloatArray:
    logarithm: FloatArray = np.log(wavelength_AA / REFERENCE_AA)
    return logarithm
