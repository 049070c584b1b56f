"""Light of ordinary stars: the continuum with the lines and bands that temperature and luminosity call for.

Every figure here is of the right order, set by eye against the known look of the types, not a model
atmosphere: what matters is which features are there, how they change along the sequence, and by what
giants and dwarfs differ.
"""

from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

import numpy as np
from pydantic import TypeAdapter

from specvi_benchmark.files import parse_yaml
from specvi_benchmark.lines import air_to_vacuum
from specvi_benchmark.simulator.bands import optical_depth
from specvi_benchmark.simulator.continuum import planck
from specvi_benchmark.simulator.lattice import remembered
from specvi_benchmark.simulator.lines import (
    SPEED_OF_LIGHT_KMS,
    balmer_absorption,
    gaussian_depth,
    gaussian_depths,
    stark_lines,
    vacuum_AA,
)
from specvi_benchmark.spectrum import FloatArray

Luminosity = Literal["dwarf", "giant"]

_METAL_FWHM_KMS = 90.0  # thermal and turbulent width are far below; this keeps a line on the fine grid


@dataclass(frozen=True, slots=True)
class Cool:
    """A star from F to M.

    ``metals`` scales metal lines and oxides (1: solar). ``pressure`` scales what grows with gravity: CaH,
    MgH, the lines of K I and Na I in the red (1: as in a typical star of that luminosity).
    """

    temperature_K: float
    luminosity: Luminosity
    metals: float = 1.0
    pressure: float = 1.0


def cool_star(
    wavelength_AA: FloatArray,
    star: Cool,
    oxides: float = 1.0,
    carbon: float = 1.0,
    neutron_capture: float = 1.0,
) -> FloatArray:
    """Return the F_λ of a star from F to M, 1 at 5500 Å before its lines and bands.

    Parameters
    ----------
    wavelength_AA
        Rest frame, vacuum, increasing.
    star
        Temperature (3000–7500 K), luminosity, metals.
    oxides
        Factor on TiO, VO, CaH and the like: 0 in a star with more carbon than oxygen, some tenths in
        an S star.
    carbon
        Factor on CH and CN: above 1 in carbon-rich stars.
    neutron_capture
        Factor on Ba II and Sr II.
    """
    bands = molecules(star, oxides, carbon)
    depth = optical_depth(wavelength_AA, bands)
    depth += 1.5 * bands["TiO"] ** 1.4 * _oxide_haze(wavelength_AA)
    depth += metal_depth(wavelength_AA, star)
    depth += _heavy_lines(wavelength_AA, star, neutron_capture)
    depth += _blanketing(wavelength_AA, star)
    flux = planck(wavelength_AA, colour_temperature_K(star.temperature_K)) * np.exp(-depth)
    return flux * _balmer(wavelength_AA, star) * stark_lines(wavelength_AA, _strong_lines(star))


def colour_temperature_K(temperature_K: float) -> float:
    """Return the temperature of the black body with the slope of a star's continuum from 4000 to 9000 Å.

    It is above the effective temperature: H⁻ and, in hotter stars, the Paschen continuum let more of the
    deeper and hotter layers through in the blue. The Sun's continuum has about 6800 K; that of Vega
    (9600 K) 15,000 K.
    """
    factor = _at(
        temperature_K,
        [3500, 4200, 5000, 5800, 7200, 8200, 9500, 12000, 18000, 30000],
        [1.0, 1.06, 1.13, 1.17, 1.22, 1.4, 1.55, 1.5, 1.3, 1.1],
    )
    return temperature_K * factor


def molecules(star: Cool, oxides: float = 1.0, carbon: float = 1.0) -> dict[str, float]:
    """Return the optical depths of the molecules of a star, species by species.

    TiO sets in at K5, VO below 3400 K. CaH and MgH need the pressure of a dwarf; CN is a giant's.
    """
    kelvin, dwarf = star.temperature_K, star.luminosity == "dwarf"
    tio = _at(
        kelvin, [2900, 3100, 3300, 3500, 3700, 3900, 4100, 4400], [1.7, 1.2, 0.85, 0.58, 0.36, 0.18, 0.05, 0]
    )
    hydride = _at(kelvin, [2900, 3300, 3700, 3900, 4300, 4800], [1.0, 0.85, 0.5, 0.28, 0.08, 0])
    mgh = _at(
        kelvin, [2900, 3300, 3700, 4200, 4600, 5000, 5500, 6000], [0.5, 0.8, 1.0, 0.9, 0.6, 0.3, 0.1, 0]
    )
    ch = _at(kelvin, [3300, 4300, 5300, 5800, 6500, 7200], [0.1, 0.7, 0.65, 0.5, 0.2, 0])
    cn = _at(kelvin, [3300, 3900, 4300, 5000, 5500, 6500], [0.05, 0.08, 0.11, 0.08, 0.05, 0])
    poor = star.metals**0.7  # bands near saturation follow less than the abundance
    scale = star.metals * oxides
    return {
        "TiO": tio * (0.7 if dwarf else 1.0) * scale,
        "VO": _at(kelvin, [2900, 3100, 3300, 3450], [0.8, 0.4, 0.12, 0]) * scale,
        "CaH": hydride * (1.0 if dwarf else 0.08) * star.pressure * min(oxides, 1),
        "MgH": mgh * (1.0 if dwarf else 0.3) * star.pressure * poor,
        "CH": ch * carbon * poor,
        "CN": cn * (0.3 if dwarf else 1.0) * carbon * star.metals,
    }


def metal_depth(wavelength_AA: FloatArray, star: Cool) -> FloatArray:
    """Return the optical depth of the metal lines of ``metals.yaml``, scaled to the star."""
    scale: float = star.metals**0.7 * _at(
        star.temperature_K, [3000, 4000, 4800, 5300, 5800, 6500, 7500], [4.5, 4.0, 2.6, 1.9, 1.3, 0.8, 0.4]
    )
    depth: FloatArray = scale * _metal_depth_of_the_sun_on(wavelength_AA)
    return depth


def _strong_lines(star: Cool) -> dict[str, tuple[float, float]]:
    """Return (depth, half width in Å) of the lines that have damping wings.

    Their widths follow the square root of the abundance and, but for Ca II, the pressure: the wings of
    neutral lines are a dwarf's, the calcium triplet is a giant's. Equivalent widths are of the order of those
    in the Sun (Ca II K 20 Å, Na D 1.4 Å together, Mg b1 1.6 Å; Moore, Minnaert & Houtgast 1966) and in K and
    M stars, where Na D grows to some ten Å in dwarfs and stays near three in giants.
    """
    kelvin, dwarf = star.temperature_K, star.luminosity == "dwarf"
    points = [2900.0, 3300, 3800, 4300, 4800, 5300, 5800, 6500, 7500]
    if dwarf:
        sodium = _at(kelvin, points, [6.0, 5.0, 4.2, 3.4, 2.2, 1.2, 0.75, 0.45, 0.25])
        calcium = _at(kelvin, points, [16, 13, 9, 6, 3.6, 2.2, 1.5, 0.9, 0.4])
        magnesium = _at(kelvin, points, [2, 2.6, 3.6, 4.2, 3.2, 2.1, 1.5, 1.0, 0.6])
        triplet = _at(kelvin, points, [1.6, 2.0, 2.4, 2.7, 3.0, 3.1, 3.2, 3.3, 3.2])
        doublet = _at(kelvin, points, [3.6, 2.2, 0.9, 0.4, 0.2, 0.1, 0.1, 0.05, 0.05])
    else:
        sodium = _at(kelvin, points, [1.2, 1.2, 1.4, 1.4, 1.1, 0.8, 0.6, 0.4, 0.25])
        calcium = _at(kelvin, points, [14, 10, 5.5, 3.0, 1.6, 1.2, 0.9, 0.6, 0.4])
        magnesium = _at(kelvin, points, [1.0, 1.2, 1.8, 1.7, 1.3, 1.1, 1.0, 0.8, 0.6])
        triplet = _at(kelvin, points, [3.2, 3.8, 4.6, 4.6, 4.3, 4.2, 4.2, 4.2, 3.8])
        doublet = _at(kelvin, points, [0.35, 0.25, 0.2, 0.15, 0.1, 0.1, 0.1, 0.05, 0.05])
    resonance = _at(kelvin, points, [18, 20, 22, 22, 20, 19, 17, 9.5, 4.5])
    metals, pressure = star.metals**0.5, star.metals**0.5 * star.pressure**0.5
    widths = {
        "Ca II K": resonance * metals, "Ca II H": 0.75 * resonance * metals,
        "Ca I 4228": calcium * pressure, "Ca I 6164": 0.15 * calcium * metals,
        "Na D1": sodium * pressure, "Na D2": 1.25 * sodium * pressure,
        "Na I 8186": 0.8 * doublet * star.pressure, "Na I 8197": doublet * star.pressure,
        "K I 7667": doublet * star.pressure, "K I 7701": 0.9 * doublet * star.pressure,
        "Mg b1": magnesium * pressure, "Mg b2": 0.8 * magnesium * pressure, "Mg b4": 0.6 * magnesium * pressure,
        "Ca II 8500": 0.4 * triplet * metals, "Ca II 8544": triplet * metals, "Ca II 8665": 0.8 * triplet * metals,
    }  # fmt: skip
    return {name: _damped(width) for name, width in widths.items()}


def _damped(width_AA: float) -> tuple[float, float]:
    """Return depth and half width (Å) of a line of that equivalent width: it deepens, then grows wings."""
    half_width = max(0.7, width_AA / (2.643 * 0.88))  # 2.643: see `stark_absorption`
    return width_AA / (2.643 * half_width), half_width


def _balmer(wavelength_AA: FloatArray, star: Cool) -> FloatArray:
    """Return the transmission of hydrogen: 8 Å at F0, 3 Å in the Sun, a trace in K stars (Hγ)."""
    points = [4000.0, 5000, 5800, 6500, 7300]
    depth = _at(star.temperature_K, points, [0.06, 0.24, 0.42, 0.53, 0.62])
    half_width = _at(star.temperature_K, points, [1.5, 2.0, 2.8, 3.8, 5.2])
    return balmer_absorption(wavelength_AA, depth, half_width, last=16, fade=2)


def _heavy_lines(wavelength_AA: FloatArray, star: Cool, neutron_capture: float) -> FloatArray:
    """Return the optical depth of barium and strontium, ions that low pressure favours."""
    heavy = neutron_capture * (0.25 if star.luminosity == "dwarf" else 0.5) * star.metals**0.5
    shares = {
        "Ba II 4555": 0.8, "Ba II 4935": 0.6, "Ba II 6143": 0.4, "Ba II 6499": 0.5, "Sr II 4079": 0.8, "Sr II 4217": 0.6
    }  # fmt: skip
    widths = heavy * np.array(list(shares.values()))
    centres = np.array([vacuum_AA(name) for name in shares])
    # A strong line grows in width, not in depth: keep the optical depth at its centre near 1.5.
    return gaussian_depths(
        wavelength_AA, centres, widths, np.maximum(1.8, widths / 1.6) / centres * SPEED_OF_LIGHT_KMS
    )


# Share of the light that lines too weak to list take from the Sun's continuum, as an optical depth: of the
# order of the solar blanketing coefficients, less what `metals.yaml` holds.
_WEAK_LINES = (
    (3600, 0.60), (3800, 0.60), (3950, 0.45), (4000, 0.25), (4250, 0.20), (4450, 0.12), (4650, 0.07), (5000, 0.05),
    (5300, 0.04), (5600, 0.02), (6200, 0.01), (7000, 0.0),
)  # fmt: skip


def _blanketing(wavelength_AA: FloatArray, star: Cool) -> FloatArray:
    """Return the depth of the many lines too weak to list, which eat into the blue of cool stars."""
    strength = _at(
        star.temperature_K, [3000, 4000, 4500, 5000, 5800, 6500, 7500], [2.6, 2.4, 2.0, 1.5, 1.0, 0.5, 0.15]
    )
    depth: FloatArray = strength * star.metals**0.5 * _weak_lines(wavelength_AA)
    return depth


@remembered
def _weak_lines(wavelength_AA: FloatArray) -> FloatArray:
    points, levels = np.array(_WEAK_LINES).T
    depth: FloatArray = np.interp(wavelength_AA, points, levels)
    return depth


# TiO fills the gaps between its heads with lines too. V − I grows from 1.5 at M0 III to 2.8 at M5 III and
# 4.3 at M7 III (Bessell 1990; Fluks et al. 1994), of which black bodies give 1.5, 1.9 and 2.2: the rest is
# this haze and the bands. The light is least hindered at 7040 and beyond 7350 Å.
_OXIDE_HAZE = (
    (4000, 1.0), (6300, 1.0), (6420, 0.8), (6620, 0.7), (6700, 0.8), (6850, 0.6), (7000, 0.4), (7100, 0.35), (7350, 0.0)
)  # fmt: skip


@remembered
def _oxide_haze(wavelength_AA: FloatArray) -> FloatArray:
    points, levels = np.array(_OXIDE_HAZE).T
    depth: FloatArray = np.interp(wavelength_AA, points, levels)
    return depth


def _at(value: float, points: list[float], levels: list[float]) -> float:
    """As np.interp, for one value."""
    above = bisect_right(points, value)
    if above in (0, len(points)):
        return levels[0] if above == 0 else levels[-1]
    share = (value - points[above - 1]) / (points[above] - points[above - 1])
    return levels[above - 1] + share * (levels[above] - levels[above - 1])


@remembered
def _metal_depth_of_the_sun_on(wavelength_AA: FloatArray) -> FloatArray:
    depth: FloatArray = np.interp(wavelength_AA, *_metal_depth_of_the_sun())
    return depth


@cache
def _metal_depth_of_the_sun() -> tuple[FloatArray, FloatArray]:
    """Return a rest-frame grid in steps of 10 km/s and the optical depth of ``metals.yaml`` on it."""
    source = files("specvi_benchmark.simulator") / "metals.yaml"
    table = TypeAdapter(dict[str, list[tuple[float, float]]]).validate_python(
        parse_yaml(source.read_text(encoding="utf-8"), source)
    )
    grid = np.exp(np.arange(np.log(3600.0), np.log(9300.0), 10 / SPEED_OF_LIGHT_KMS))
    depth = np.zeros_like(grid)
    for lines in table.values():
        for air_AA, width_AA in lines:
            depth += gaussian_depth(grid, air_to_vacuum(air_AA), width_AA, _METAL_FWHM_KMS)
    return grid, depth
