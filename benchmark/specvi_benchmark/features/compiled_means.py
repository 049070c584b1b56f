"""Mean flux in many windows of one spectrum, compiled: the inner loop of the selection features."""

import numpy as np

from specvi_benchmark.compiled import compiled
from specvi_benchmark.spectrum import BoolArray, FloatArray


@compiled
def window_means(
    wavelength_AA: FloatArray,
    flux: FloatArray,
    good: BoolArray,
    windows_AA: FloatArray,
    stretch: float,
    coverage: float,
    out: FloatArray,
) -> None:
    """Write the mean flux of each window to ``out``; NaN where good pixels fill too little of it.

    A pixel reaches half-way to its neighbours; where it lies across a window's end, only the part inside
    counts. Sums run from blue to red in double precision, so results do not depend on the machine.

    Parameters
    ----------
    wavelength_AA, flux, good
        ``(n,)`` pixels; a pixel that is not good carries no weight, whatever its flux.
    windows_AA
        ``(w, 2)`` first and last wavelength, before the stretch.
    stretch
        1 + redshift of the windows.
    coverage
        Least share of a window that good pixels must fill.
    out
        ``(w,)`` results.
    """
    last = wavelength_AA.size - 1
    for number in range(windows_AA.shape[0]):
        low, high = windows_AA[number, 0] * stretch, windows_AA[number, 1] * stretch
        first = max(0, np.searchsorted(wavelength_AA, low) - 1)
        total = weight = 0.0
        for pixel in range(first, last + 1):
            if pixel == 0:
                left = 1.5 * wavelength_AA[0] - 0.5 * wavelength_AA[1]
            else:
                left = 0.5 * (wavelength_AA[pixel - 1] + wavelength_AA[pixel])
            if left >= high:
                break
            if pixel == last:
                right = 1.5 * wavelength_AA[last] - 0.5 * wavelength_AA[last - 1]
            else:
                right = 0.5 * (wavelength_AA[pixel] + wavelength_AA[pixel + 1])
            inside = min(right, high) - max(left, low)
            if inside > 0 and good[pixel]:
                total += inside * flux[pixel]
                weight += inside
        out[number] = total / weight if weight >= coverage * (high - low) else np.nan
