"""What the telescope makes of a source: LAMOST's grid and line spread, throughput, sky and noise."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from scipy.ndimage import gaussian_filter1d

from specvi_benchmark.files import StrictModel, parse_yaml, validate
from specvi_benchmark.lines import air_to_vacuum, get_line
from specvi_benchmark.simulator.lines import gaussian
from specvi_benchmark.spectrum import FloatArray

PIXELS = 3909
FIRST_AA = 3700.0
STEP_DEX = 1e-4
RESOLVING_POWER = 1800.0

_FINE = 2  # samples a pixel
_MARGIN = 30  # pixels beyond either end, so that line spread and velocity find light there
_LSF_SIGMA_PIXELS = 1 / (RESOLVING_POWER * 2 * np.sqrt(2 * np.log(2))) / (STEP_DEX * np.log(10))
_READ_NOISE_ELECTRONS = 8.0  # of the few CCD rows that make one pixel

# Relative throughput of telescope, spectrograph and detector: fibre light lost in the blue, the dichroic
# between the arms near 5800 Å, the silicon edge in the red. Of the right order, not measured.
_THROUGHPUT = (
    (3700, 0.10), (3800, 0.18), (4000, 0.38), (4300, 0.62), (4700, 0.82), (5200, 0.85), (5600, 0.62),
    (5800, 0.42), (6000, 0.65), (6400, 0.90), (7000, 1.00), (7500, 0.95), (8000, 0.85), (8500, 0.72),
    (8900, 0.50), (9099, 0.30),
)  # fmt: skip


class _SkyLines(StrictModel):
    named: dict[str, float]
    oh_air_AA: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Exposure:
    """A source seen without artefacts: expectation and noise, in the unit of the source.

    Attributes
    ----------
    flux, sigma
        ``(3909,)`` expected flux and its standard deviation.
    sky_unit
        Flux of the subtracted sky's continuum at 5500 Å, in the same unit.
    """

    flux: FloatArray
    sigma: FloatArray
    sky_unit: float


@cache
def pixel_grid() -> FloatArray:
    """Return LAMOST's 3909 pixel centres, 3700–9099 Å in steps of 10⁻⁴ dex, rounded to 10⁻⁴ Å."""
    grid = np.round(FIRST_AA * 10 ** (STEP_DEX * np.arange(PIXELS)), 4)
    grid.setflags(write=False)
    return grid


@cache
def fine_grid() -> FloatArray:
    """Return the observed-frame wavelengths on which sources are computed: finer, and wider than the pixels."""
    samples = np.arange(-_MARGIN * _FINE, (PIXELS + _MARGIN) * _FINE)
    grid: FloatArray = FIRST_AA * 10 ** (STEP_DEX * ((samples + 0.5) / _FINE - 0.5))
    grid.setflags(write=False)
    return grid


def to_pixels(fine_flux: FloatArray) -> FloatArray:
    """Return flux on `pixel_grid` of flux on `fine_grid`: spread to R ≈ 1800, then averaged over each pixel."""
    spread = gaussian_filter1d(fine_flux, _LSF_SIGMA_PIXELS * _FINE, mode="nearest")
    pixels: FloatArray = spread.reshape(-1, _FINE).mean(axis=1)[_MARGIN:-_MARGIN]
    return pixels


@cache
def response() -> FloatArray:
    """Return electrons per unit flux on `pixel_grid`, relative: throughput times the photon's wavelength."""
    points, levels = np.array(_THROUGHPUT).T
    curve: FloatArray = np.interp(pixel_grid(), points, levels) * pixel_grid() / 6000
    curve.setflags(write=False)
    return curve


@cache
def sky_continuum() -> FloatArray:
    """Return the night sky's continuum on `pixel_grid`, 1 at 5500 Å, rising gently into the red."""
    level: FloatArray = 1 + 0.5 * np.clip((pixel_grid() - 6000) / 3000, 0, None)
    level.setflags(write=False)
    return level


@cache
def sky_lines() -> FloatArray:
    """Return the night sky's lines on `pixel_grid`, in the unit of `sky_continuum`: airglow, OH, street lamps."""
    source = files("specvi_benchmark.simulator") / "sky.yaml"
    listed = validate(_SkyLines, parse_yaml(source.read_text(encoding="utf-8"), source), source)
    lines = [(get_line(name).vacuum_AA, peak) for name, peak in listed.named.items()]
    lines += [(air_to_vacuum(air), peak) for air, peak in listed.oh_air_AA]
    fine = np.zeros_like(fine_grid())
    for centre, peak in lines:
        # ``peak`` is the height after spreading to a Gaussian of FWHM λ/R, whose area is 1.064 · height · FWHM.
        fine += 1.064 * peak * centre / RESOLVING_POWER * gaussian(60.0)(fine_grid(), centre)
    pixels = to_pixels(fine)
    pixels.setflags(write=False)
    return pixels


def expose(pixel_flux: FloatArray, snr: float, sky_electrons: float) -> Exposure:
    """Return what an exposure reaching ``snr`` would measure, and how well.

    The exposure collects k · response · flux electrons of the source, ``sky_electrons`` · response ·
    sky of the sky, and has the detector's read noise. k is set so that the median of flux/σ over the
    pixels is ``snr``: a faint source is dominated by the sky, as it is in a survey.

    Parameters
    ----------
    pixel_flux
        ``(3909,)`` F_λ of the source in any unit, at least 0.
    snr
        Median signal to noise per pixel, above 0.
    sky_electrons
        Sky electrons a pixel at the reference wavelength and full response: about 60 on a dark night,
        about 500 near the moon.
    """
    sky = sky_electrons * response() * (sky_continuum() + sky_lines())
    background = sky + _READ_NOISE_ELECTRONS**2
    unit = pixel_flux * response()
    low, high = np.log(1e-3), np.log(1e9 / unit.max())
    for _ in range(25):  # bisection to 1e-6 in ln k: the median grows with k
        middle = (low + high) / 2
        electrons = np.exp(middle) * unit
        if np.median(electrons / np.sqrt(electrons + background)) < snr:
            low = middle
        else:
            high = middle
    gain = np.exp(low) * response()
    sigma = np.sqrt(gain * pixel_flux + background) / gain
    return Exposure(pixel_flux, sigma, float(sky_electrons / np.exp(low)))
