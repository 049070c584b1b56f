"""Hot stars: white dwarfs and the A, B and subdwarf stars that are taken for them, Be stars, WD+M pairs."""

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter1d

from specvi_benchmark.lines import get_line
from specvi_benchmark.simulator.bands import optical_depth
from specvi_benchmark.simulator.continuum import planck
from specvi_benchmark.simulator.kinds.kind import Kind, Truth, visible
from specvi_benchmark.simulator.lines import (
    add_emission,
    balmer_AA,
    balmer_absorption,
    double_peak,
    gaussian,
    gaussian_depth,
    stark_absorption,
)
from specvi_benchmark.simulator.photospheres import Cool, cool_star, metal_depth
from specvi_benchmark.spectrum import FloatArray

Sample = tuple[FloatArray, Truth]

_HE_I = ("He I 4027", "He I 4473", "He I 4923", "He I 5017", "He I 5877", "He I 6680", "He I 7067")
_HE_II = ("He II 4201", "He II 4543", "He II 4687", "He II 5413")


@dataclass(frozen=True, slots=True)
class _Hydrogen:
    """The Balmer series of one kind of star, see `balmer_absorption`."""

    depth: float
    half_width_AA: float
    last: int
    fade: float = 2.0


def wd_da(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """DA: hydrogen only. Widest near 13,000 K; a few lines, then they merge."""
    kelvin = float(10 ** rng.uniform(np.log10(7500), np.log10(40000)))
    strength = float(np.exp(-0.5 * (np.log10(kelvin / 13000) / 0.26) ** 2))
    gravity = float(rng.uniform(0.85, 1.15))
    lines = _Hydrogen(0.25 + 0.33 * strength, (15 + 11 * strength) * gravity, 11, 4)
    flux = planck(wavelength_AA, kelvin) * _hydrogen(wavelength_AA, lines)
    return flux, {
        "temperature_K": kelvin,
        "balmer_depth": lines.depth,
        "balmer_half_width_AA": lines.half_width_AA,
    }


def wd_db(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """DB: broad He I, no hydrogen."""
    kelvin = float(rng.uniform(13000, 28000))
    depth, width = float(rng.uniform(0.15, 0.45)), float(rng.uniform(9, 18))
    flux = planck(wavelength_AA, kelvin)
    shares = {"He I 4027": 0.8, "He I 4923": 0.6, "He I 5017": 0.5, "He I 6680": 0.5, "He I 7067": 0.5}
    for name in _HE_I:
        flux = flux * stark_absorption(wavelength_AA, _vacuum(name), depth * shares.get(name, 1.0), width)
    return flux, {"temperature_K": kelvin, "he_i_depth": depth, "he_i_half_width_AA": width}


def wd_dc(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """DC: a black body without a line."""
    kelvin = float(rng.uniform(5500, 11000))
    return planck(wavelength_AA, kelvin), {"temperature_K": kelvin}


def wd_dz(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """DZ: Ca II H and K, at times Ca I and Mg, broadened by helium; nothing of hydrogen."""
    kelvin = float(rng.uniform(5800, 9500))
    depth, width = float(rng.uniform(0.4, 0.85)), float(rng.uniform(6, 18))
    flux = planck(wavelength_AA, kelvin)
    shares = {"Ca II K": 1.0, "Ca II H": 0.9, "Ca I 4228": 0.35, "Mg b2": 0.15}
    for name, share in shares.items():
        flux = flux * stark_absorption(wavelength_AA, _vacuum(name), depth * share, width)
    return flux, {"temperature_K": kelvin, "calcium_depth": depth}


def wd_dq(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """DQ: the Swan bands of C2 on a blue continuum."""
    kelvin = float(rng.uniform(6500, 10000))
    depth = float(rng.uniform(0.2, 0.8))
    swan = optical_depth(wavelength_AA, {"C2": depth})
    # Dense helium blurs the heads and moves the bands to the blue (Hall & Maxwell 2008, ApJ 678, 1292).
    blurred = gaussian_filter1d(swan, 15 / 5000 / float(np.log(wavelength_AA[1] / wavelength_AA[0])))
    flux = planck(wavelength_AA, kelvin) * np.exp(-np.interp(wavelength_AA + 15, wavelength_AA, blurred))
    return flux, {"temperature_K": kelvin, "C2_depth": depth}


def a_star(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """A dwarf: many Balmer lines, Ca II K and metals growing towards late types."""
    kelvin = float(rng.uniform(7500, 10000))
    lines = _Hydrogen(float(rng.uniform(0.6, 0.7)), float(rng.uniform(10.5, 13.5)), 17)
    return _warm_star(wavelength_AA, kelvin, lines, metals=float(rng.uniform(0.3, 1.2)))


def bhb_star(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """Blue horizontal branch: as an A star, but narrower lines, more of them, and few metals."""
    kelvin = float(rng.uniform(7800, 12000))
    lines = _Hydrogen(float(rng.uniform(0.6, 0.72)), float(rng.uniform(6.5, 9.5)), 20)
    return _warm_star(wavelength_AA, kelvin, lines, metals=float(rng.uniform(0.02, 0.15)))


def b_star(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """B dwarf: He I, Balmer lines weakening towards the hot end."""
    kelvin = float(rng.uniform(11500, 26000))
    lines = _Hydrogen(float(np.interp(kelvin, [11500, 26000], [0.55, 0.3])), float(rng.uniform(5, 8)), 16)
    helium = float(np.interp(kelvin, [11500, 18000, 22000, 26000], [0.15, 0.9, 1.1, 1.0]))
    flux = planck(wavelength_AA, kelvin) * _hydrogen(wavelength_AA, lines)
    widths = dict.fromkeys(_HE_I, helium * 0.8) | {
        "He I 4473": helium,
        "Mg II 4482": 0.35,
        "C II 4268": 0.25 * helium,
    }
    return flux * _absorbed(wavelength_AA, widths, 220), {
        "temperature_K": kelvin,
        "balmer_depth": lines.depth,
        "balmer_half_width_AA": lines.half_width_AA,
        "he_i_ew_AA": helium,
    }


def subdwarf_b(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """SdB: Balmer lines between those of a B star and a white dwarf, weak He I."""
    kelvin = float(rng.uniform(22000, 36000))
    lines = _Hydrogen(float(rng.uniform(0.3, 0.5)), float(rng.uniform(6.5, 10.5)), 13)
    helium = float(rng.uniform(0.1, 1.0))
    flux = planck(wavelength_AA, kelvin) * _hydrogen(wavelength_AA, lines)
    return flux * _absorbed(wavelength_AA, dict.fromkeys(_HE_I, helium), 250), {
        "temperature_K": kelvin, "balmer_half_width_AA": lines.half_width_AA, "he_i_ew_AA": helium,
    }  # fmt: skip


def subdwarf_o(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """SdO: He II, shallow Balmer lines."""
    kelvin = float(rng.uniform(38000, 55000))
    lines = _Hydrogen(float(rng.uniform(0.15, 0.35)), float(rng.uniform(6, 10)), 12)
    helium = float(rng.uniform(0.8, 2.5))
    flux = planck(wavelength_AA, kelvin) * _hydrogen(wavelength_AA, lines)
    widths = dict.fromkeys(_HE_II, 0.6 * helium) | {"He II 4687": helium, "He I 5877": 0.3 * helium}
    return flux * _absorbed(wavelength_AA, widths, 350), {"temperature_K": kelvin, "he_ii_ew_AA": helium}


def be_star(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """Be: a B star whose disc emits narrow, often double Hα; higher Balmer lines stay in absorption."""
    flux, truth = b_star(wavelength_AA, rng)
    halpha, fwhm = float(rng.uniform(8, 45)), float(rng.uniform(220, 420))
    separation = float(rng.uniform(0, 0.6)) * fwhm
    profile = double_peak(fwhm * 0.75, separation)
    continuum = planck(wavelength_AA, truth["temperature_K"])
    for upper, ratio in ((3, 1.0), (4, 0.1), (5, 0.03)):
        flux = add_emission(wavelength_AA, flux, balmer_AA(upper), halpha * ratio, profile, continuum)
    return flux, truth | {"halpha_ew_AA": halpha, "fwhm_kms": fwhm}


def wd_plus_m(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """A white dwarf beside an M dwarf, neither giving mass to the other: DA lines in the blue, TiO in the red."""
    blue, white = wd_da(wavelength_AA, rng)
    star = Cool(float(rng.uniform(3000, 3700)), "dwarf")
    red = cool_star(wavelength_AA, star)
    share = float(rng.uniform(0.35, 0.85))  # of the M dwarf in the light at 7500 Å
    at_7500 = [float(np.interp(7500.0, wavelength_AA, part)) for part in (blue, red)]
    flux = (1 - share) * blue / at_7500[0] + share * red / at_7500[1]
    halpha = float(rng.choice([0.0, rng.uniform(1, 8)]))
    flux = add_emission(wavelength_AA, flux, balmer_AA(3), halpha, gaussian(110))
    return flux, {
        "wd_temperature_K": white["temperature_K"], "m_temperature_K": star.temperature_K,
        "m_share_7500": share, "halpha_ew_AA": halpha,
    }  # fmt: skip


def _warm_star(wavelength_AA: FloatArray, kelvin: float, lines: _Hydrogen, metals: float) -> Sample:
    calcium = metals * float(np.interp(kelvin, [7500, 8500, 9500, 10000, 12000], [4.5, 2.5, 1.0, 0.6, 0.2]))
    flux = planck(wavelength_AA, kelvin) * _hydrogen(wavelength_AA, lines)
    flux = flux * np.exp(
        -metal_depth(wavelength_AA, Cool(min(kelvin, 7500.0), "dwarf", metals * 9000 / kelvin * 0.6))
    )
    widths = {
        "Ca II K": calcium,
        "Ca II H": 0.7 * calcium,
        "Mg II 4482": 0.35 * min(1.0, metals),
        "Na D2": 0.2,
    }
    return flux * _absorbed(wavelength_AA, widths, 150), {
        "temperature_K": kelvin, "balmer_depth": lines.depth,
        "balmer_half_width_AA": lines.half_width_AA, "metals": metals,
    }  # fmt: skip


def _hydrogen(wavelength_AA: FloatArray, lines: _Hydrogen) -> FloatArray:
    return balmer_absorption(wavelength_AA, lines.depth, lines.half_width_AA, lines.last, lines.fade)


def _absorbed(wavelength_AA: FloatArray, widths_AA: dict[str, float], fwhm_kms: float) -> FloatArray:
    """Return the transmission of named lines with these equivalent widths."""
    depth = np.zeros_like(wavelength_AA)
    for name, width in widths_AA.items():
        depth += gaussian_depth(wavelength_AA, _vacuum(name), width, max(fwhm_kms, 120.0 * width))
    return np.exp(-depth)


def _vacuum(name: str) -> float:
    return get_line(name).vacuum_AA


KINDS = (
    Kind("wd-da", wd_da, decidable=visible("balmer_depth", 1.5)),
    Kind("wd-db", wd_db, decidable=visible("he_i_depth", 1.3)),
    Kind("wd-dc", wd_dc, decidable=lambda _, snr: snr > 20),
    Kind("wd-dz", wd_dz, decidable=visible("calcium_depth", 2.6)),
    Kind("wd-dq", wd_dq, decidable=visible("C2_depth", 2.0)),
    Kind("a-star", a_star),
    Kind("bhb-star", bhb_star),
    Kind("b-star", b_star),
    Kind("subdwarf-b", subdwarf_b),
    Kind("subdwarf-o", subdwarf_o),
    Kind("be-star", be_star),
    Kind("wd-plus-m", wd_plus_m),
)
