"""Noise of a spectrum without errors, from the scatter of neighbouring pixels."""

import numpy as np

from specvi_benchmark.spectrum import FloatArray

BLOCK = 256
"""Pixels in a block with one noise level: wide enough for a stable median, narrow enough to follow
the rise of the noise at both ends of an arm."""

GAUSSIAN_MAD = 1.4826
"""Standard deviation of a Gaussian over its median absolute deviation."""


def scatter_sigma(flux: FloatArray) -> FloatArray:
    """Estimate the standard deviation of every pixel from the fluxes alone.

    The third-order difference ``2 f[i] - f[i-2] - f[i+2]`` removes any straight slope and has √6
    times the noise of a pixel; its median size in a block is not moved by lines, which fill few
    pixels (DER_SNR, Stoehr et al. 2008, ASP Conf. 394, 505). The lag of two pixels keeps most of the
    correlation between neighbours out. Real fine structure counts as noise, so a metal-rich spectrum
    is given too much rather than too little.

    Parameters
    ----------
    flux
        ``(n,)`` good pixels in order of wavelength.

    Returns
    -------
    ``(n,)`` standard deviations; zero where neighbouring pixels are exactly equal, and everywhere
    when there are fewer than five pixels.
    """
    if flux.size < 5:
        return np.zeros_like(flux)
    difference = np.abs(2 * flux[2:-2] - flux[:-4] - flux[4:])
    blocks = np.array_split(difference, max(1, difference.size // BLOCK))
    levels = np.array([np.median(block) for block in blocks]) * GAUSSIAN_MAD / np.sqrt(6.0)
    edges = np.cumsum([0, *(block.size for block in blocks)])
    centres = (edges[:-1] + edges[1:]) / 2 + 2
    sigma: FloatArray = np.interp(np.arange(flux.size), centres, levels)
    return sigma
