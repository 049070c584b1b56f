"""What a telescope makes of light: grid, line spread and throughput of an instrument, sky and noise.

An instrument is one YAML file in `instruments/`; its name is the file's.
"""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import erf

from specvi_benchmark.compiled import compiled
from specvi_benchmark.errors import UserError
from specvi_benchmark.files import StrictModel, parse_yaml, validate
from specvi_benchmark.simulator.lattice import STEP_DEX, positions
from specvi_benchmark.simulator.sky import sky_lines_on
from specvi_benchmark.spectrum import FloatArray

IntArray = npt.NDArray[np.int64]
Curve = tuple[tuple[float, float], ...]

_FWHM_IN_SIGMA = 2 * np.sqrt(2 * np.log(2))
_REACH = 4.5  # σ over which the line spread is summed
_PACKAGE = "specvi_benchmark.simulator"


class _Grid(StrictModel):
    spacing: Literal["log", "linear"]
    first_AA: float
    step: float
    pixels: int


class _File(StrictModel):
    grid: _Grid
    resolving_power: Curve
    throughput: Curve
    read_noise_electrons: float
    arms_meet_AA: tuple[float, ...]
    flux_dex: tuple[float, float]


@dataclass(frozen=True, slots=True, eq=False)
class Instrument:
    """A spectrograph, with everything that does not change from visit to visit worked out.

    Attributes
    ----------
    name
        As in ``lamost``.
    wavelength_AA
        ``(pixels,)`` pixel centres, vacuum.
    resolving_power
        ``(pixels,)`` λ / FWHM of the line spread.
    response
        ``(pixels,)`` electrons per unit of F_λ, relative: throughput times the photon's wavelength.
    sky_continuum, sky_lines
        ``(pixels,)`` of the dark night sky, in units of its continuum at 5500 Å.
    read_noise_electrons
        Of one pixel.
    arms_meet_AA
        Where its arms are joined.
    flux_dex
        Range of log10 of the mean flux, in the survey's unit.
    """

    name: str
    wavelength_AA: FloatArray
    resolving_power: FloatArray
    response: FloatArray
    sky_continuum: FloatArray
    sky_lines: FloatArray
    read_noise_electrons: float
    arms_meet_AA: tuple[float, ...]
    flux_dex: tuple[float, float]
    _position: FloatArray
    _height: FloatArray
    _inverse_variance: FloatArray
    _change: FloatArray
    _reach: int

    def see(self, flux: FloatArray, shift_samples: float) -> FloatArray:
        """Return light on the pixels: spread over the line spread, averaged over each pixel.

        Parameters
        ----------
        flux
            ``(8800,)`` F_λ on a window of the lattice.
        shift_samples
            By how much that light is shifted to the red of the stars' window.
        """
        centre = self._position - shift_samples
        first = centre.astype(np.int64) - self._reach
        offset = first - centre
        weight = self._height * np.exp(offset * offset * (-0.5 * self._inverse_variance))
        growth = np.exp((offset + 0.5) * -self._inverse_variance)
        seen = np.empty_like(centre)
        _spread(flux, first, weight, growth, self._change, 2 * self._reach + 2, seen)
        return seen


@dataclass(frozen=True, slots=True, eq=False)
class Exposure:
    """How well a source is measured.

    Attributes
    ----------
    sigma
        ``(pixels,)`` standard deviation of the noise, in the unit of the source.
    sky_unit
        Flux of the subtracted dark sky's continuum at 5500 Å, in that unit.
    """

    sigma: FloatArray
    sky_unit: float


def instruments() -> tuple[str, ...]:
    """Return the names of the instruments there are."""
    folder = files(_PACKAGE) / "instruments"
    return tuple(sorted(entry.name[:-5] for entry in folder.iterdir() if entry.name.endswith(".yaml")))


@cache
def get_instrument(name: str) -> Instrument:
    """Return the instrument of that name.

    Raises
    ------
    UserError
        There is none.
    """
    if name not in instruments():
        raise UserError("no such instrument", where="simulator", expected=", ".join(instruments()), got=name)
    source = files(_PACKAGE) / "instruments" / f"{name}.yaml"
    read = validate(_File, parse_yaml(source.read_text(encoding="utf-8"), source), source)
    wavelength = _pixels(read.grid)
    resolving_power = _curve(read.resolving_power, wavelength)
    # In samples of the lattice; a pixel's own width (variance of a box: width²/12) is part of the spread.
    lsf = 1 / (resolving_power * _FWHM_IN_SIGMA * np.log(10) * STEP_DEX)
    pixel = np.gradient(np.log10(wavelength)) / STEP_DEX
    sigma = np.hypot(lsf, pixel / np.sqrt(12))
    return Instrument(
        name,
        _fixed(wavelength),
        _fixed(resolving_power),
        _fixed(_curve(read.throughput, wavelength) * wavelength / 6000),
        _fixed(1 + 0.5 * np.clip((wavelength - 6000) / 3000, 0, None)),
        _fixed(sky_lines_on(wavelength, sigma * STEP_DEX * np.log(10))),
        read.read_noise_electrons,
        read.arms_meet_AA,
        read.flux_dex,
        _fixed(positions(wavelength)),
        _fixed(1 / (sigma * np.sqrt(2 * np.pi) * erf(_REACH / np.sqrt(2)))),
        _fixed(sigma**-2),
        _fixed(np.exp(-(sigma**-2))),
        int(_REACH * sigma.max()) + 1,
    )


def expose(
    instrument: Instrument, flux: FloatArray, snr: float, sky_electrons: float, moon: FloatArray | None = None
) -> Exposure:
    """Return how well an exposure reaching ``snr`` measures a source.

    The exposure collects k · response · flux electrons of the source, ``sky_electrons`` · response ·
    sky of the sky, and has the detector's read noise. k is such that the median of flux/σ over the
    pixels is ``snr``: a faint source is dominated by the sky, as it is in a survey. Each pixel by itself
    reaches ``snr`` at one k (the positive root of k²u² − s²ku − s²b = 0); as flux/σ grows with k everywhere,
    the median reaches it at the median of these.

    Parameters
    ----------
    instrument
        Who looks.
    flux
        ``(pixels,)`` F_λ of the source in any unit, above 0 nearly everywhere.
    snr
        Median signal to noise per pixel, above 0.
    sky_electrons
        Electrons a pixel of the dark sky's continuum at 5500 Å, at full response.
    moon
        ``(pixels,)`` moonlight in the sky, in units of the dark sky's continuum; None on a dark night.
    """
    sky = instrument.sky_continuum + instrument.sky_lines
    if moon is not None:
        sky = sky + moon
    background = sky_electrons * instrument.response * sky + instrument.read_noise_electrons**2
    light = flux * instrument.response
    square = snr * snr
    with np.errstate(divide="ignore", invalid="ignore"):
        each = (square + np.sqrt(square * (square + 4 * background))) / (2 * light)
    each[light <= 0] = np.inf  # never, whatever the exposure
    k = middle(each)
    sigma = np.sqrt(k * np.maximum(light, 0) + background) / (k * instrument.response)
    return Exposure(sigma, sky_electrons / k)


def middle(values: FloatArray) -> float:
    """Return the median (of an even number of values, the upper of the two middle ones)."""
    half = values.size // 2
    return float(np.partition(values, half)[half])


def _pixels(grid: _Grid) -> FloatArray:
    steps = grid.step * np.arange(grid.pixels)
    centres = grid.first_AA * 10**steps if grid.spacing == "log" else grid.first_AA + steps
    rounded: FloatArray = np.round(centres, 4)
    return rounded


def _curve(points: Curve, wavelength_AA: FloatArray) -> FloatArray:
    where, level = np.array(points, dtype=np.float64).T
    curve: FloatArray = np.interp(wavelength_AA, where, level)
    return curve


def _fixed(array: FloatArray) -> FloatArray:
    array.setflags(write=False)
    return array


@compiled
def _spread(
    flux: FloatArray,
    first: IntArray,
    weight: FloatArray,
    growth: FloatArray,
    change: FloatArray,
    taps: int,
    out: FloatArray,
) -> None:  # pragma: no cover -- compiled
    """Weigh ``taps`` samples from ``first`` on with a Gaussian around each pixel.

    The weights of a pixel follow each other by two multiplications: w(u+1) = w(u) g(u), g(u+1) = g(u) c.
    """
    for pixel in range(out.size):
        w = weight[pixel]
        g = growth[pixel]
        c = change[pixel]
        sample = first[pixel]
        total = 0.0
        for tap in range(taps):
            total += w * flux[sample + tap]
            w *= g
            g *= c
        out[pixel] = total
