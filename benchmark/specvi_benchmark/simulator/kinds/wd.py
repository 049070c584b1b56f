"""White dwarfs: DA, DB, DO, DC, DZ, DQ and magnetic ones, and a pair of a white dwarf and an M dwarf."""

import numpy as np
from scipy.ndimage import gaussian_filter1d

from specvi_benchmark.simulator.bands import optical_depth
from specvi_benchmark.simulator.continuum import planck
from specvi_benchmark.simulator.kinds.kind import Kind, Truth, visible
from specvi_benchmark.simulator.lattice import remembered
from specvi_benchmark.simulator.lines import (
    SPEED_OF_LIGHT_KMS,
    add_emission,
    balmer_AA,
    balmer_absorption,
    gaussian,
    level_at,
    pickering_AA,
    stark_lines,
    stark_lines_at,
    vacuum_AA,
    voigt,
)
from specvi_benchmark.simulator.photospheres import Cool, cool_star
from specvi_benchmark.spectrum import FloatArray

Sample = tuple[FloatArray, Truth]

# Hγ of a DA: temperature, equivalent width, central depth at R ≈ 1800. Strongest near 13,000 K; of the right
# order, after the look of the sequence.
_DA_KELVIN = (6500, 7500, 9000, 11000, 13000, 16000, 20000, 30000, 45000, 70000)
_DA_WIDTH_AA = (2, 6, 16, 30, 38, 36, 30, 20, 13, 8)
_DA_DEPTH = (0.12, 0.22, 0.40, 0.53, 0.58, 0.56, 0.50, 0.40, 0.30, 0.22)
_STARK_AREA = 2.643  # equivalent width of a Stark line over depth · half width

# He I of a DB: vacuum Å, depth and width relative to 4473.
_DB_LINES = (
    (3820.7, 0.5, 0.7), (3889.7, 0.8, 0.7), (3965.9, 0.4, 0.6), (4027.33, 0.8, 0.9), (4121.98, 0.25, 0.6),
    (4144.93, 0.35, 0.7), (4389.16, 0.5, 0.8), (4472.73, 1.0, 1.0), (4714.46, 0.45, 0.6), (4923.30, 0.6, 0.8),
    (5017.08, 0.5, 0.6), (5877.25, 0.85, 0.7), (6679.99, 0.5, 0.8), (7067.14, 0.5, 0.6),
)  # fmt: skip

_IRON_AA = (3735.9, 3749.5, 3821.5, 3832.0, 3839.4, 3861.0)  # Fe I and Mg I

_ZEEMAN_PER_AA_G = 4.6686e-13  # e / (4π m c²): Å of shift per Å² and gauss
_QUADRATIC = 4.98e-23  # Preston 1970 (ApJ 160, L143): Å per Å², n⁴ and gauss²


def wd_da(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """DA: hydrogen only. Widest near 13,000 K; a few lines, then they merge."""
    return da_light(wavelength_AA, _log_uniform(rng, 7000, 45000), float(rng.uniform(7.6, 8.4)))


def da_light(wavelength_AA: FloatArray, kelvin: float, log_g: float) -> Sample:
    """Return the light of a DA of that temperature and gravity, and its parameters."""
    depth = float(np.interp(kelvin, _DA_KELVIN, _DA_DEPTH))
    width = float(np.interp(kelvin, _DA_KELVIN, _DA_WIDTH_AA))
    half_width = width / _STARK_AREA / depth * 10 ** (0.15 * (log_g - 8))
    jump = float(
        np.interp(kelvin, [7000, 9000, 12500, 20000, 30000, 45000], [0.05, 0.2, 0.35, 0.2, 0.1, 0.04])
    )
    lines = balmer_absorption(wavelength_AA, depth, half_width, 11, 4, jump)
    # The continuum is bluer than a black body: B−V is 0.0 at 15,000 K and −0.25 at 30,000 K, where the
    # lines take 17 % and 8 % of B.
    slope = float(np.interp(kelvin, [9000, 15000, 30000, 60000], [1.1, 1.4, 1.8, 1.9]))
    flux = planck(wavelength_AA, kelvin * slope) * lines
    return flux, {
        "temperature_K": kelvin, "log_g": log_g, "balmer_depth": depth, "balmer_half_width_AA": half_width,
    }  # fmt: skip


def wd_db(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """DB: broad He I, no hydrogen."""
    kelvin = float(rng.uniform(13000, 28000))
    depth, width = float(rng.uniform(0.15, 0.45)), float(rng.uniform(7, 14))
    centres, depths, widths = np.array(_DB_LINES).T
    lines = stark_lines_at(wavelength_AA, centres, depth * depths, width * widths)
    return planck(wavelength_AA, kelvin) * lines, {
        "temperature_K": kelvin, "he_i_depth": depth, "he_i_half_width_AA": width,
    }  # fmt: skip


def wd_do(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """DO: He II in wide absorption, He I in the cooler ones."""
    kelvin = _log_uniform(rng, 45000, 100000)
    depth, width = float(rng.uniform(0.15, 0.35)), float(rng.uniform(7, 15))
    neutral = float(np.interp(kelvin, [45000, 60000], [0.6, 0.0]))
    levels = range(6, 12)
    series = np.array([pickering_AA(level) for level in levels])
    shares = np.array([0.5, 0.45, 0.5, 0.4, 0.35, 0.25])
    flux = planck(wavelength_AA, kelvin) * stark_lines_at(
        wavelength_AA, series, depth * shares, np.full(6, width)
    )
    named = {"He II 4687": (depth, width)} | dict.fromkeys(
        ("He I 4473", "He I 5877"), (depth * neutral, 0.7 * width)
    )
    return flux * stark_lines(wavelength_AA, named), {
        "temperature_K": kelvin, "he_ii_depth": depth, "he_ii_half_width_AA": width,
    }  # fmt: skip


def wd_dc(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """DC: a black body without a line."""
    kelvin = float(rng.uniform(5000, 11000))
    return planck(wavelength_AA, kelvin), {"temperature_K": kelvin}


def wd_dz(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """DZ: Ca II H and K damped by neutral helium; Ca I, Mg, Na and iron in the cooler ones; nothing of hydrogen."""
    kelvin = float(rng.uniform(5500, 10500))
    depth, width = float(rng.uniform(0.4, 0.85)), float(rng.uniform(4, 14))
    cool = float(np.interp(kelvin, [5500, 8500], [1, 0.15]))
    strongest = -float(np.log(1 - depth))
    # (vacuum Å, optical depth relative to Ca II K, damping width relative to it)
    lines = [
        (vacuum_AA("Ca II K"), 1.0, 1.0), (vacuum_AA("Ca II H"), 0.8, 1.0), (vacuum_AA("Ca I 4228"), 0.5 * cool, 0.5),
        (vacuum_AA("Mg b2"), 0.4 * cool, 0.8), (vacuum_AA("Na D2"), 0.3 * cool**2, 0.5),
    ] + [(iron, 0.4 * cool, 0.4) for iron in _IRON_AA]  # fmt: skip
    total = np.zeros_like(wavelength_AA)
    for centre, share, damping in lines:
        half_AA = width * damping
        profile = voigt(150, 2 * half_AA / centre * SPEED_OF_LIGHT_KMS)
        profile.add_to(total, wavelength_AA, centre, strongest * share * np.pi * half_AA)
    return planck(wavelength_AA, kelvin) * np.exp(-total), {
        "temperature_K": kelvin, "calcium_depth": depth, "calcium_half_width_AA": width,
    }  # fmt: skip


def wd_dq(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """DQ: the Swan bands of C2 on a blue continuum."""
    kelvin = float(rng.uniform(6500, 10000))
    depth = float(rng.uniform(0.2, 0.8))
    return planck(wavelength_AA, kelvin) * np.exp(-depth * _blurred_swan(wavelength_AA)), {
        "temperature_K": kelvin, "C2_depth": depth,
    }  # fmt: skip


def wd_magnetic(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """DAH: a DA whose lines are split into three, by 20 Å at Hα for each megagauss, and moved to the blue.

    Linear Zeeman effect with the quadratic term of Preston (1970), which grows as n⁴: beyond 5 MG only
    the first lines can be told apart. The field changes by a factor 2 over a dipole's face, which blurs
    the outer components.
    """
    kelvin = float(rng.uniform(9000, 25000))
    field_G = 1e6 * _log_uniform(rng, 1.5, 12)
    depth = float(np.interp(kelvin, _DA_KELVIN, _DA_DEPTH))
    width = float(np.interp(kelvin, _DA_KELVIN, _DA_WIDTH_AA)) / _STARK_AREA / depth * 0.55
    centres, depths, widths = [], [], []
    for upper in range(3, 8):
        line = balmer_AA(upper)
        split = zeeman_shift_AA(line, field_G)
        moved = _QUADRATIC * line**2 * upper**4 * field_G**2
        blur = 0.12 * split + moved
        fade = (0.8 if upper == 3 else 1 - (upper / 11) ** 2) * 0.6
        for side in (-1, 0, 1):
            centres.append(line + side * split - moved * (1 + abs(side)))
            spread = width + blur * abs(side) + 0.5 * moved
            widths.append(spread)
            depths.append(depth * fade * (0.8 if side else 1.0) * (width / spread) ** 0.7)
    lines = stark_lines_at(wavelength_AA, np.array(centres), np.array(depths), np.array(widths))
    return planck(wavelength_AA, kelvin) * lines, {
        "temperature_K": kelvin, "field_MG": field_G / 1e6, "balmer_depth": max(depths),
    }  # fmt: skip


def zeeman_shift_AA(line_AA: float, field_G: float) -> float:
    """Return by how much the outer components of a normal Zeeman triplet are shifted: e λ² B / (4π m c²)."""
    return _ZEEMAN_PER_AA_G * line_AA**2 * field_G


def wd_plus_m(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """A white dwarf beside an M dwarf, neither giving mass to the other: DA lines in the blue, TiO in the red."""
    blue, white = wd_da(wavelength_AA, rng)
    star = Cool(float(rng.uniform(3000, 3700)), "dwarf")
    red = cool_star(wavelength_AA, star)
    share = float(rng.uniform(0.35, 0.85))  # of the M dwarf in the light at 7500 Å
    flux = (1 - share) / level_at(wavelength_AA, blue, 7500) * blue
    flux += share / level_at(wavelength_AA, red, 7500) * red
    halpha = float(rng.uniform(1, 8)) if rng.random() < 0.5 else 0.0
    flux = add_emission(wavelength_AA, flux, balmer_AA(3), halpha, gaussian(110))
    return flux, {
        "wd_temperature_K": white["temperature_K"], "m_temperature_K": star.temperature_K,
        "m_share_7500": share, "halpha_ew_AA": halpha,
    }  # fmt: skip


@remembered
def _blurred_swan(wavelength_AA: FloatArray) -> FloatArray:
    """Return the depth of C2 as dense helium makes it: heads blurred, bands moved to the blue by 15 Å.

    Hall & Maxwell 2008 (ApJ 678, 1292).
    """
    swan = optical_depth(wavelength_AA, {"C2": 1.0})
    blurred = gaussian_filter1d(swan, 15 / 5000 / float(np.log(wavelength_AA[1] / wavelength_AA[0])))
    return np.interp(wavelength_AA + 15, wavelength_AA, blurred)


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


KINDS = (
    Kind("wd-da", wd_da, decidable=visible("balmer_depth", 1.5)),
    Kind("wd-db", wd_db, decidable=visible("he_i_depth", 1.3)),
    Kind("wd-do", wd_do, decidable=visible("he_ii_depth", 1.5)),
    Kind("wd-dc", wd_dc, decidable=lambda _, snr: snr > 20),
    Kind("wd-dz", wd_dz, decidable=visible("calcium_depth", 2.6)),
    Kind("wd-dq", wd_dq, decidable=visible("C2_depth", 2.0)),
    Kind("wd-magnetic", wd_magnetic, decidable=visible("balmer_depth", 1.5)),
    Kind("wd-plus-m", wd_plus_m),
)
