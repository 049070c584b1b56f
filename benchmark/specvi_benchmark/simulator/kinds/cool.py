"""Cool stars: M giants, S stars, carbon stars, and the dwarfs and giants that are taken for them."""

import numpy as np

from specvi_benchmark.lines import get_line
from specvi_benchmark.simulator.bands import optical_depth
from specvi_benchmark.simulator.kinds.kind import Kind, Truth, visible
from specvi_benchmark.simulator.lines import add_emission, gaussian, gaussian_depth
from specvi_benchmark.simulator.photospheres import Cool, cool_star, molecules
from specvi_benchmark.spectrum import FloatArray

Sample = tuple[FloatArray, Truth]

_PURE_EXCESS = 0.65  # of an S star whose TiO is below 45 % of an M giant's


def m_giant(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """M0 III to M7 III; the latest show emission now and then, as Miras do."""
    pressure = _log_uniform(rng, 0.5, 3.0)
    star = Cool(_warm_heavy(rng, 3050, 3850), "giant", float(rng.uniform(0.6, 1.3)), pressure)
    flux = cool_star(wavelength_AA, star)
    truth: Truth = {
        "temperature_K": star.temperature_K,
        "metals": star.metals,
        "pressure": pressure,
        "tio_depth": molecules(star)["TiO"],
    }
    if star.temperature_K < 3250 and rng.random() < 0.3:
        truth["halpha_ew_AA"] = float(rng.uniform(2, 10))
        flux = add_emission(wavelength_AA, flux, _vacuum("Hα"), truth["halpha_ew_AA"], gaussian(120))
    return flux, truth


def m_dwarf(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """M0 V to M7 V, without emission."""
    pressure = _log_uniform(rng, 0.5, 1.2)
    star = Cool(_warm_heavy(rng, 2750, 3900), "dwarf", float(rng.uniform(0.6, 1.3)), pressure)
    return cool_star(wavelength_AA, star), {
        "temperature_K": star.temperature_K,
        "metals": star.metals,
        "pressure": pressure,
        "tio_depth": molecules(star)["TiO"],
    }


def active_m_dwarf(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """An M dwarf with chromospheric emission: narrow Balmer lines and Ca II, no He II."""
    flux, truth = m_dwarf(wavelength_AA, rng)
    halpha = float(rng.uniform(2.5, 12))
    truth |= {"halpha_ew_AA": halpha, "fwhm_kms": 90.0}
    for name, ratio in (
        ("Hα", 1.0),
        ("Hβ", 1.1),
        ("Hγ", 1.2),
        ("Hδ", 1.1),
        ("Ca II K", 1.3),
        ("Ca II H", 1.0),
    ):
        flux = add_emission(wavelength_AA, flux, _vacuum(name), halpha * ratio, gaussian(90))
    return add_emission(wavelength_AA, flux, _vacuum("He I 5877"), 0.08 * halpha, gaussian(90)), truth


def k_giant(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """G5 III to K5 III, CN from normal to strong; a third are old and poor in metals."""
    metals = _log_uniform(rng, 0.005, 0.3) if rng.random() < 0.33 else float(rng.uniform(0.4, 1.5))
    star = Cool(float(rng.uniform(3900, 5300)), "giant", metals)
    carbon = float(rng.uniform(0.8, 2.0))
    truth: Truth = {"temperature_K": star.temperature_K, "metals": star.metals, "carbon": carbon}
    return cool_star(wavelength_AA, star, carbon=carbon), truth


def k_dwarf(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """K0 V to K7 V; some are old and poor in metals."""
    metals = _log_uniform(rng, 0.02, 0.4) if rng.random() < 0.2 else float(rng.uniform(0.5, 1.6))
    star = Cool(float(rng.uniform(3980, 5300)), "dwarf", metals)
    return cool_star(wavelength_AA, star), {"temperature_K": star.temperature_K, "metals": star.metals}


def fg_star(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """F and G dwarfs, metal-poor ones among them."""
    star = Cool(float(rng.uniform(5300, 7300)), "dwarf", _log_uniform(rng, 0.02, 1.6))
    return cool_star(wavelength_AA, star), {"temperature_K": star.temperature_K, "metals": star.metals}


def barium_star(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """A G or K giant, or a subgiant, rich in barium and strontium, with CH and CN but no C2."""
    star = Cool(float(rng.uniform(4300, 5900)), "giant", _log_uniform(rng, 0.1, 1.0))
    heavy = float(rng.uniform(2.5, 5))
    carbon = float(rng.uniform(1.2, 3.0))
    truth: Truth = {"temperature_K": star.temperature_K, "neutron_capture": heavy, "carbon": carbon}
    return cool_star(wavelength_AA, star, carbon=carbon, neutron_capture=heavy), truth


def s_star(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """MS and S stars: ZrO takes the place of TiO as carbon comes near to oxygen; LaO and YO in the coolest."""
    return _s_star(wavelength_AA, rng, float(0.1 + 0.9 * rng.beta(1, 1.8)))


def _s_star(wavelength_AA: FloatArray, rng: np.random.Generator, excess: float) -> Sample:
    """Return an S star: ``excess`` is 0.1 in MS stars, the commoner ones, and 1 in a pure S star."""
    giant = Cool(float(rng.uniform(3000, 3700)), "giant", float(rng.uniform(0.7, 1.2)))
    zro = 0.05 + 0.5 * excess * float(rng.uniform(0.8, 1.2))
    coolness = np.clip((3400 - giant.temperature_K) / 400, 0, 1)
    depths = {"ZrO": zro, "LaO": 0.5 * excess * coolness, "YO": 0.4 * excess * coolness}
    flux = cool_star(wavelength_AA, giant, oxides=1 - 0.85 * excess, neutron_capture=1.5 + 2.5 * excess)
    truth: Truth = {
        "temperature_K": giant.temperature_K, "zro_depth": zro, "tio_factor": 1 - 0.85 * excess,
        "lao_depth": float(depths["LaO"]),
    }  # fmt: skip
    return flux * np.exp(-optical_depth(wavelength_AA, depths)), truth


def pure_s_star(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """An S star with hardly any TiO left: no astronomer calls it an M giant."""
    # The law of `s_star` beyond 0.65, by the inverse of its cumulative distribution.
    beyond = (1 - (_PURE_EXCESS - 0.1) / 0.9) ** 1.8
    excess = 0.1 + 0.9 * (1 - (beyond * float(rng.random())) ** (1 / 1.8))
    return _s_star(wavelength_AA, rng, excess)


def carbon_n(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """C-N: a cool giant with deep C2 and CN and hardly any light in the blue; Ba II."""
    star = Cool(float(rng.uniform(3000, 3500)), "giant")
    depths = {"C2": float(rng.uniform(0.9, 2.2)), "CN": float(rng.uniform(0.5, 1.1))}
    if rng.random() < 0.3:
        depths["SiC2"] = 0.3
    flux = cool_star(wavelength_AA, star, oxides=0, carbon=1.5, neutron_capture=float(rng.uniform(1.5, 4)))
    # An absorber that is not well identified (SiC2, C3) takes the light below 5000 Å.
    violet = np.exp(-(np.clip((5100 - wavelength_AA) / 420, 0, None) ** 1.5))
    return _with_carbon(wavelength_AA, flux * violet, star, depths)


def carbon_h(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """C-H and C-R: a warmer giant, moderate C2, very strong CH in C-H."""
    star = Cool(float(rng.uniform(3900, 4900)), "giant", float(rng.uniform(0.2, 0.8)))
    depths = {
        "C2": _log_uniform(rng, 0.2, 1.1),
        "CN": _log_uniform(rng, 0.05, 0.5),
        "CH": float(rng.uniform(0.1, 1.0)),
    }
    heavy = float(rng.uniform(1, 4))
    return _with_carbon(
        wavelength_AA,
        cool_star(wavelength_AA, star, oxides=0, carbon=1.5, neutron_capture=heavy),
        star,
        depths,
    )


def carbon_j(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """C-J: as C-N but warmer, with the ¹³C heads at 4744 and 6168 Å."""
    star = Cool(float(rng.uniform(3200, 3900)), "giant")
    c2 = float(rng.uniform(0.7, 1.6))
    depths = {"C2": c2, "CN": float(rng.uniform(0.4, 0.9)), "¹²C¹³C": c2 * float(rng.uniform(0.5, 0.9))}
    flux = cool_star(wavelength_AA, star, oxides=0, carbon=1.2)
    violet = np.exp(-(np.clip((5000 - wavelength_AA) / 600, 0, None) ** 1.5))
    return _with_carbon(wavelength_AA, flux * violet, star, depths)


def carbon_dwarf(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """A dwarf carbon star: C2 and CN over a K dwarf, with its broad sodium lines."""
    star = Cool(float(rng.uniform(3800, 4500)), "dwarf", float(rng.uniform(0.3, 0.8)))
    depths = {"C2": _log_uniform(rng, 0.2, 1.0), "CN": _log_uniform(rng, 0.08, 0.45)}
    return _with_carbon(wavelength_AA, cool_star(wavelength_AA, star, oxides=0), star, depths)


def t_tauri(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """A young K or M star that accretes: strong but narrow Hα, Ca II in emission, Li I in absorption, [O I]."""
    star = Cool(float(rng.uniform(3500, 4600)), "dwarf")
    veiling = float(rng.uniform(0.05, 0.5))
    flux = cool_star(wavelength_AA, star)
    flux *= np.exp(-gaussian_depth(wavelength_AA, _vacuum("Li I 6710"), 0.5, 90))
    flux = flux + veiling
    halpha, fwhm = float(rng.uniform(10, 80)), float(rng.uniform(200, 420))
    truth: Truth = {
        "temperature_K": star.temperature_K,
        "halpha_ew_AA": halpha,
        "fwhm_kms": fwhm,
        "veiling": veiling,
    }
    wide, narrow = gaussian(fwhm), gaussian(100)
    for name, ratio in (
        ("Hα", 1.0),
        ("Hβ", 0.3),
        ("Hγ", 0.2),
        ("Hδ", 0.15),
        ("Ca II K", 0.3),
        ("Ca II H", 0.25),
    ):
        flux = add_emission(wavelength_AA, flux, _vacuum(name), halpha * ratio, wide)
    for name in ("Ca II 8500", "Ca II 8544", "Ca II 8665"):
        flux = add_emission(wavelength_AA, flux, _vacuum(name), 0.1 * halpha, wide)
    for name, width in (("[O I] 6302", 0.03), ("[O I] 6366", 0.01), ("He I 5877", 0.02)):
        flux = add_emission(wavelength_AA, flux, _vacuum(name), width * halpha, narrow)
    return flux, truth


def _with_carbon(wavelength_AA: FloatArray, flux: FloatArray, star: Cool, depths: dict[str, float]) -> Sample:
    truth: Truth = {"temperature_K": star.temperature_K, "metals": star.metals, "luminosity": star.luminosity}
    truth |= {f"{species}_depth": depth for species, depth in depths.items()}
    return flux * np.exp(-optical_depth(wavelength_AA, depths)), truth


def _warm_heavy(rng: np.random.Generator, low_K: float, high_K: float) -> float:
    """Return a temperature from a range, warm ones more often: early M types outnumber late ones."""
    return float(high_K - (high_K - low_K) * rng.beta(1.2, 1.8))


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _vacuum(name: str) -> float:
    return get_line(name).vacuum_AA


KINDS = (
    Kind("m-giant", m_giant, decidable=visible("tio_depth", 0.8)),
    Kind("m-dwarf", m_dwarf, decidable=visible("tio_depth", 0.8)),
    Kind("active-m-dwarf", active_m_dwarf, decidable=visible("tio_depth", 0.8)),
    Kind("k-giant", k_giant),
    Kind("k-dwarf", k_dwarf),
    Kind("fg-star", fg_star, decidable=lambda truth, snr: snr > 8 or truth["temperature_K"] > 6300),
    Kind("barium-star", barium_star),
    Kind("s-star", s_star, decidable=visible("zro_depth", 1.6)),
    Kind("pure-s-star", pure_s_star, decidable=visible("zro_depth", 1.6)),
    Kind("carbon-n", carbon_n, decidable=visible("C2_depth", 2.5)),
    Kind("carbon-h", carbon_h, decidable=visible("C2_depth", 2.5)),
    Kind("carbon-j", carbon_j, decidable=visible("C2_depth", 2.5)),
    Kind("carbon-dwarf", carbon_dwarf, decidable=visible("C2_depth", 2.5)),
    Kind("t-tauri", t_tauri),
)
