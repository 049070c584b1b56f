"""Smooth parts of a spectrum: black body, power law, interstellar extinction. F_λ, 1 at 5500 Å."""

import numpy as np

from specvi_benchmark.spectrum import FloatArray

REFERENCE_AA = 5500.0

_HC_OVER_K_AA_K = 1.438776877e8  # second radiation constant in Å·K (CODATA 2018)


def planck(wavelength_AA: FloatArray, temperature_K: float) -> FloatArray:
    """Return the black body B_λ(T), 1 at 5500 Å."""
    ratio = _HC_OVER_K_AA_K / temperature_K
    here: FloatArray = wavelength_AA**-5 / np.expm1(ratio / wavelength_AA)
    reference = REFERENCE_AA**-5 / float(np.expm1(ratio / REFERENCE_AA))
    return here / reference


def power_law(wavelength_AA: FloatArray, index: float) -> FloatArray:
    """Return (λ / 5500 Å)^−index. A steady accretion disc has 7/3, a quasar (α_ν = −0.44) 1.56."""
    return (wavelength_AA / REFERENCE_AA) ** -index


def extinction(wavelength_AA: FloatArray, reddening_mag: float, ratio: float = 3.1) -> FloatArray:
    """Return the transmission of dust with E(B−V) = ``reddening_mag``.

    Cardelli, Clayton & Mathis (1989, ApJ 345, 245), optical branch (eq. 3), R_V = ``ratio``. The
    branch holds for 1.1–3.3 µm⁻¹; outside, the value at its end is used (9091 Å is the red end).
    """
    y = np.clip(1e4 / wavelength_AA, 1.1, 3.3) - 1.82
    a = np.polynomial.polynomial.polyval(
        y, [1, 0.17699, -0.50447, -0.02427, 0.72085, 0.01979, -0.77530, 0.32999]
    )
    b = np.polynomial.polynomial.polyval(
        y, [0, 1.41338, 2.28305, 1.07233, -5.38434, -0.62251, 5.30260, -2.09002]
    )
    magnitudes: FloatArray = ratio * reddening_mag * (a + b / ratio)
    return 10 ** (-0.4 * magnitudes)
