"""Instrument resolution by survey: the narrowest line that a real source can show."""

import numpy as np

from specvi_benchmark.spectrum import FloatArray, Spectrum

LIGHT_KMS = 299_792.458
"""Speed of light in km/s."""

RESOLVING_POWER: dict[str, tuple[tuple[float, float], ...]] = {
    "lamost": ((3700.0, 1800.0), (9100.0, 1800.0)),
    "sdss": ((3800.0, 1500.0), (9200.0, 2500.0)),
    "boss": ((3600.0, 1500.0), (10400.0, 2500.0)),
    "desi": ((3600.0, 2000.0), (9824.0, 5000.0)),
}
"""λ/FWHM at the ends of the range, straight in between: LAMOST DR10 documentation (R = 1800 at
5500 Å), SDSS DR17 spectrograph page (1500 to 2500), DESI Collaboration 2022, AJ 164, 207 (2000 to 5000)."""

UNKNOWN_SURVEY_PIXELS = 2.0
"""Instrument FWHM in pixels where the survey is not known: the coarsest sampling that keeps a line (Nyquist)."""


def instrument_fwhm_kms(spectrum: Spectrum) -> FloatArray:
    """Return the instrument's FWHM at every pixel, ``(n,)`` in km/s."""
    wavelength = spectrum.wavelength_AA
    table = next((t for name, t in RESOLVING_POWER.items() if spectrum.survey.lower().startswith(name)), None)
    if table is None:
        pixel_kms: FloatArray = LIGHT_KMS * np.gradient(wavelength) / wavelength
        return UNKNOWN_SURVEY_PIXELS * pixel_kms
    points, power = zip(*table, strict=True)
    fwhm: FloatArray = LIGHT_KMS / np.interp(wavelength, points, power)
    return fwhm
