"""Cool stars that are met rarely: carbon-rich giants of class C-R, SC stars, subdwarfs of type M."""

import numpy as np

from specvi_benchmark.simulator.bands import optical_depth
from specvi_benchmark.simulator.kinds.kind import Kind, Truth, visible
from specvi_benchmark.simulator.photospheres import Cool, cool_star, molecules
from specvi_benchmark.spectrum import FloatArray

Sample = tuple[FloatArray, Truth]


def carbon_r(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """C-R: a carbon star as warm as a K giant: C2 and CN with some ¹³C, CH as usual, no surplus of barium."""
    star = Cool(float(rng.uniform(4100, 5000)), "giant", float(rng.uniform(0.5, 1.1)))
    c2 = float(np.exp(rng.uniform(np.log(0.25), np.log(1.1))))
    depths = {"C2": c2, "CN": float(rng.uniform(0.1, 0.5)), "¹²C¹³C": c2 * float(rng.uniform(0.1, 0.4))}
    flux = cool_star(wavelength_AA, star, oxides=0, carbon=1.2, neutron_capture=float(rng.uniform(0.7, 1.2)))
    return flux * np.exp(-optical_depth(wavelength_AA, depths)), {
        "temperature_K": star.temperature_K, "metals": star.metals, "C2_depth": c2, "CN_depth": depths["CN"],
    }  # fmt: skip


def sc_star(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """SC: as much carbon as oxygen, so neither oxides nor C2 to speak of: CN, heavy metals, strong sodium."""
    star = Cool(float(rng.uniform(3000, 3500)), "giant", float(rng.uniform(0.9, 1.6)))
    depths = {
        "C2": float(rng.uniform(0.0, 0.12)), "CN": float(rng.uniform(0.2, 0.7)), "ZrO": float(rng.uniform(0.0, 0.12)),
    }  # fmt: skip
    flux = cool_star(wavelength_AA, star, oxides=0.03, carbon=1.2, neutron_capture=float(rng.uniform(3, 5)))
    return flux * np.exp(-optical_depth(wavelength_AA, depths)), {
        "temperature_K": star.temperature_K, "C2_depth": depths["C2"], "zro_depth": depths["ZrO"],
    }  # fmt: skip


def m_subdwarf(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """SdM: a metal-poor M dwarf: TiO weak for its CaH, which gravity keeps deep (Gizis 1997, AJ 113, 806)."""
    star = Cool(
        float(rng.uniform(3200, 3800)), "dwarf", float(rng.uniform(0.15, 0.45)), float(rng.uniform(1.2, 1.8))
    )
    return cool_star(wavelength_AA, star), {
        "temperature_K": star.temperature_K, "metals": star.metals, "cah_depth": molecules(star)["CaH"],
    }  # fmt: skip


KINDS = (
    Kind("carbon-r", carbon_r, decidable=visible("C2_depth", 2.5)),
    Kind("sc-star", sc_star),
    Kind("m-subdwarf", m_subdwarf, decidable=visible("cah_depth", 1.5)),
)
