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
    depth = optical_depth(wavelength_AA, molecules(star, oxides, carbon))
    depth += metal_depth(wavelength_AA, star)
    depth += _named_lines(wavelength_AA, star, neutron_capture)
    depth += _blanketing(wavelength_AA, star)
    hydrogen = float(
        np.interp(star.temperature_K, [4200, 5000, 5800, 6500, 7500], [0.02, 0.06, 0.16, 0.3, 0.5])
    )
    balmer = balmer_absorption(wavelength_AA, hydrogen, 4.0 + 4 * hydrogen, last=16, fade=2)
    return planck(wavelength_AA, star.temperature_K) * np.exp(-depth) * balmer


def molecules(star: Cool, oxides: float = 1.0, carbon: float = 1.0) -> dict[str, float]:
    """Return the optical depths of the molecules of a star, species by species.

    TiO sets in at K5, VO below 3400 K. CaH and MgH need the pressure of a dwarf; CN is a giant's.
    """
    kelvin, dwarf = star.temperature_K, star.luminosity == "dwarf"
    tio = _at(
        kelvin, [2900, 3100, 3300, 3500, 3700, 3900, 4100, 4400], [1.1, 0.95, 0.75, 0.55, 0.36, 0.18, 0.06, 0]
    )
    hydride = _at(kelvin, [2900, 3300, 3700, 3900, 4300, 5000], [0.85, 0.65, 0.4, 0.25, 0.1, 0])
    mgh = _at(kelvin, [3000, 3600, 4300, 5000, 5800], [0.3, 0.45, 0.4, 0.15, 0])
    ch = _at(kelvin, [3300, 4300, 5300, 5800, 6500, 7200], [0.1, 0.7, 0.65, 0.5, 0.2, 0])
    cn = _at(kelvin, [3300, 3900, 4300, 5000, 5800, 6500], [0.05, 0.07, 0.09, 0.07, 0.03, 0])
    scale = star.metals * oxides
    return {
        "TiO": tio * (0.7 if dwarf else 1.0) * scale,
        "VO": _at(kelvin, [2900, 3100, 3300, 3450], [0.6, 0.35, 0.12, 0]) * scale,
        "CaH": hydride * (1.0 if dwarf else 0.1) * star.pressure * min(oxides, 1),
        "MgH": mgh * (1.0 if dwarf else 0.12) * star.pressure * star.metals,
        "CH": ch * carbon * star.metals,
        "CN": cn * (0.4 if dwarf else 1.0) * carbon * star.metals,
    }


def metal_depth(wavelength_AA: FloatArray, star: Cool) -> FloatArray:
    """Return the optical depth of the metal lines of ``metals.yaml``, scaled to the star."""
    scale = star.metals * _at(
        star.temperature_K, [3000, 4000, 4800, 5800, 6500, 7500], [3.5, 3.0, 2.0, 1, 0.6, 0.3]
    )
    return scale * _metal_depth_of_the_sun_on(wavelength_AA)


def _named_lines(wavelength_AA: FloatArray, star: Cool, neutron_capture: float) -> FloatArray:
    """Return the optical depth of the lines that are diagnostics in their own right."""
    kelvin, dwarf = star.temperature_K, star.luminosity == "dwarf"
    metals = star.metals
    sodium = _at(kelvin, [3000, 3700, 4500, 5800, 7000], [6, 5, 2.6, 0.8, 0.3]) * (1 if dwarf else 0.5)
    calcium = _at(kelvin, [3000, 3700, 4500, 5800, 7000], [8, 7, 4, 1.2, 0.4]) * (1 if dwarf else 0.45)
    magnesium = _at(kelvin, [3000, 4000, 5000, 5800, 7000], [2.5, 3, 2.6, 1.3, 0.6]) * (1 if dwarf else 0.7)
    triplet = _at(kelvin, [3000, 4000, 5000, 5800, 7000], [2, 2.6, 2.6, 2.4, 1.8]) * (1 if dwarf else 1.8)
    doublet = (
        _at(kelvin, [2900, 3300, 3800, 4500], [3.5, 2.2, 0.8, 0.1]) * (1 if dwarf else 0.12) * star.pressure
    )
    heavy = neutron_capture * (0.25 if dwarf else 0.5)
    widths = {
        "Ca II K": 7, "Ca II H": 6, "Ca I 4228": calcium, "Ca I 6164": 0.15 * calcium,
        "Na D1": sodium, "Na D2": 1.2 * sodium, "Na I 8186": 0.8 * doublet, "Na I 8197": doublet,
        "K I 7667": doublet, "K I 7701": 0.9 * doublet,
        "Mg b1": magnesium, "Mg b2": 0.8 * magnesium, "Mg b4": 0.6 * magnesium,
        "Ca II 8500": 0.45 * triplet, "Ca II 8544": triplet, "Ca II 8665": 0.8 * triplet,
        "Ba II 4555": 0.8 * heavy, "Ba II 4935": 0.6 * heavy, "Ba II 6143": 0.4 * heavy,
        "Ba II 6499": 0.5 * heavy, "Sr II 4079": 0.8 * heavy, "Sr II 4217": 0.6 * heavy,
    }  # fmt: skip
    # A strong line grows in width, not in depth: keep the optical depth at its centre near 1.5.
    ews = np.array(list(widths.values()))
    centres = np.array([vacuum_AA(name) for name in widths])
    fwhm_kms = np.maximum(1.8, ews / 1.6) / centres * SPEED_OF_LIGHT_KMS
    return gaussian_depths(wavelength_AA, centres, ews * metals**0.5, fwhm_kms)


def _blanketing(wavelength_AA: FloatArray, star: Cool) -> FloatArray:
    """Return the depth of the many lines too weak to list, which eat into the blue of cool stars."""
    strength = _at(star.temperature_K, [3000, 4000, 5000, 5800, 7000], [0.5, 0.7, 0.5, 0.3, 0.05])
    return strength * star.metals**0.5 * _blue(wavelength_AA)


@remembered
def _blue(wavelength_AA: FloatArray) -> FloatArray:
    return np.clip((4600 - wavelength_AA) / 800, 0, None)


def _at(value: float, points: list[float], levels: list[float]) -> float:
    """As np.interp, for one value."""
    above = bisect_right(points, value)
    if above in (0, len(points)):
        return levels[0] if above == 0 else levels[-1]
    share = (value - points[above - 1]) / (points[above] - points[above - 1])
    return levels[above - 1] + share * (levels[above] - levels[above - 1])


@remembered
def _metal_depth_of_the_sun_on(wavelength_AA: FloatArray) -> FloatArray:
    return np.interp(wavelength_AA, *_metal_depth_of_the_sun())


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
