"""What goes wrong between sky and file: sky residue, cosmic rays, dead pixels, the join of the arms, air.

Each artefact takes a flux and returns it damaged, with a record of what was done for the truth.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from specvi_benchmark.simulator.instrument import Exposure, pixel_grid, sky_continuum, sky_lines
from specvi_benchmark.simulator.lines import gaussian
from specvi_benchmark.spectrum import BoolArray, FloatArray

_ARMS_MEET_AA = 5830.0

# Telluric absorption: (first, last wavelength in vacuum Å, depth at one air mass). It stays in place
# whatever the source's velocity. The O2 B and A bands are sharp on the blue side.
_TELLURIC = (
    ("B", 6869.0, 6946.0, 0.25), ("H2O", 7187.0, 7322.0, 0.12), ("A", 7596.0, 7702.0, 0.55),
    ("H2O", 8132.0, 8342.0, 0.14), ("H2O", 8942.0, 9150.0, 0.30),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rates:
    """How often and how strongly things go wrong. Shares are probabilities per spectrum."""

    sky_residue: float = 0.03
    """Standard deviation of what sky subtraction leaves, relative to the sky (Bai et al. 2017)."""
    arm_step: float = 0.04
    """Standard deviation of the flux step between the arms."""
    calibration: float = 0.05
    """Standard deviation of slow errors of the flux calibration."""
    cosmic_rays: float = 0.8
    """Mean number of cosmic rays a spectrum."""
    cosmic_ray_flagged: float = 0.5
    """Share of cosmic rays that the pipeline found and masked."""
    dead_segment: float = 0.15
    """Share of spectra with a stretch of dead pixels."""
    blue_end_lost: float = 0.05
    """Share of spectra whose bluest pixels are lost."""


def through_air(flux: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, dict[str, Any]]:
    """Return the flux with what the correction for the air left of its bands (1: a whole air mass, 0: nothing).

    LAMOST divides by standard stars of the same field, so a residue of either sign is left.
    """
    strength = float(rng.normal(0.05, 0.10))
    return flux * np.exp(-strength * _telluric_depth()), {"telluric_residue": strength}


def miscalibrated(
    flux: FloatArray, rates: Rates, rng: np.random.Generator
) -> tuple[FloatArray, dict[str, Any]]:
    """Return the flux with a slow error of its calibration and a step between the arms."""
    wavelength = pixel_grid()
    x = (wavelength - wavelength[0]) / (wavelength[-1] - wavelength[0]) * 2 - 1
    slope, bend, droop = rng.normal(0, rates.calibration, 3)
    step = float(rng.normal(0, rates.arm_step))
    slow = 1 + slope * x + bend * (x * x - 1 / 3) - abs(droop) * np.exp(-(wavelength - 3700) / 80)
    red = 1 + step * (1 + np.tanh((wavelength - _ARMS_MEET_AA) / 25)) / 2
    return flux * slow * red, {"red_arm_step": step}


def sky_left(exposure: Exposure, rates: Rates, rng: np.random.Generator) -> tuple[FloatArray, dict[str, Any]]:
    """Return what sky subtraction leaves: a share of continuum and lines, and lines shifted (P Cygni-like)."""
    share, shift = rng.normal(0, rates.sky_residue, 2)
    continuum = rng.normal(0, rates.sky_residue / 2) * sky_continuum()
    residue = exposure.sky_unit * (share * sky_lines() + shift * np.gradient(sky_lines()) + continuum)
    return residue, {"sky_residue": float(share), "sky_shift_pixels": float(shift)}


def cosmic_rays(
    exposure: Exposure, rates: Rates, rng: np.random.Generator
) -> tuple[FloatArray, BoolArray, dict[str, Any]]:
    """Return the flux of cosmic rays, which of their pixels the pipeline masked, and where they are."""
    wavelength = pixel_grid()
    hits = np.zeros_like(wavelength)
    flagged = np.zeros(wavelength.size, dtype=np.bool_)
    centres = rng.integers(2, wavelength.size - 2, size=int(rng.poisson(rates.cosmic_rays)))
    unflagged = []
    for centre in centres:
        width = int(rng.integers(1, 4))
        pixels = slice(centre - width // 2, centre - width // 2 + width)
        hits[pixels] += exposure.sigma[pixels] * 10 ** rng.uniform(0.8, 1.8) * rng.uniform(0.4, 1, width)
        if rng.random() < rates.cosmic_ray_flagged:
            flagged[pixels] = True
        else:
            unflagged.append(float(wavelength[centre]))
    return hits, flagged, {"cosmic_rays_AA": sorted(unflagged)}


def dead_pixels(rates: Rates, rng: np.random.Generator) -> tuple[BoolArray, dict[str, Any]]:
    """Return where the detector gave nothing: single pixels, at times a stretch, at times the blue end."""
    size = pixel_grid().size
    dead = rng.random(size) < 0.0005
    if rng.random() < rates.dead_segment:
        first = int(rng.integers(0, size - 150))
        dead[first : first + int(rng.integers(15, 150))] = True
    if rng.random() < rates.blue_end_lost:
        dead[: int(rng.integers(50, 300))] = True
    return dead, {"dead_share": float(dead.mean())}


@cache
def _telluric_depth() -> FloatArray:
    wavelength = pixel_grid()
    depth = np.zeros_like(wavelength)
    for name, first, last, strength in _TELLURIC:
        inside = (wavelength >= first) & (wavelength <= last)
        x = (wavelength[inside] - first) / (last - first)
        # Oxygen: an abrupt blue edge, a gap after the R branch, then a slow recovery. Water: a ragged trough.
        shape = np.exp(-1.6 * x) * (1 - 0.45 * np.exp(-(((x - 0.22) / 0.06) ** 2)))
        water = (0.65 + 0.35 * np.sin(2 * np.pi * 5.3 * x + 0.7)) * np.sin(np.pi * np.clip(x, 0, 1)) ** 0.5
        depth[inside] += -np.log(1 - strength) * (water if name == "H2O" else shape)
    blurred: FloatArray = np.convolve(
        depth, gaussian(140.0)(wavelength, float(wavelength[2000]))[1990:2011], "same"
    )
    blurred *= depth.sum() / blurred.sum()
    blurred.setflags(write=False)
    return blurred
