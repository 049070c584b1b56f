"""Stars from O to A and the evolved ones that are taken for them: subdwarfs, blue horizontal branch, sdA."""

from dataclasses import dataclass

import numpy as np

from specvi_benchmark.simulator.continuum import extinction, planck
from specvi_benchmark.simulator.kinds.kind import Kind, Truth, visible
from specvi_benchmark.simulator.lines import absorb, balmer_absorption, emit, gaussian
from specvi_benchmark.simulator.photospheres import Cool, metal_depth
from specvi_benchmark.spectrum import FloatArray

Sample = tuple[FloatArray, Truth]

_HE_I = ("He I 4027", "He I 4473", "He I 4923", "He I 5017", "He I 5877", "He I 6680", "He I 7067")
_STARK_AREA = 2.643  # equivalent width of a Stark line over depth · half width


@dataclass(frozen=True, slots=True)
class Hydrogen:
    """The Balmer series of one star, see `balmer_absorption`."""

    depth: float
    half_width_AA: float
    last: int
    fade: float = 3.0
    jump_dex: float = 0.0

    def seen_in(self, wavelength_AA: FloatArray) -> FloatArray:
        """Return its transmission."""
        return balmer_absorption(
            wavelength_AA, self.depth, self.half_width_AA, self.last, self.fade, self.jump_dex
        )


def hydrogen_of_a_star(kelvin: float, log_g: float) -> Hydrogen:
    """Return the Balmer series of a star of 7400 to 50,000 K.

    Hγ of a dwarf (log g = 4.2) has an equivalent width of 9 Å at A8, 20 Å at A2, 10 Å at B8, 5 Å at B3
    and 2.5 Å in an O star; it grows by 0.11 dex a dex of gravity, as the widths of BHB stars and dwarfs differ
    (Xue et al. 2008, ApJ 684, 1143). The series ends sooner in denser gas.
    """
    points = [7400, 8200, 9000, 10500, 12000, 15000, 19000, 25000, 30000, 50000]
    width = float(np.interp(kelvin, points, [8.5, 15.5, 20, 16, 10.5, 7.5, 5.5, 4.2, 3.2, 2.2]))
    depth = float(np.interp(kelvin, points, [0.50, 0.62, 0.68, 0.64, 0.57, 0.51, 0.46, 0.42, 0.36, 0.28]))
    half_width = width / _STARK_AREA / depth * 10 ** (0.11 * (log_g - 4.2))
    last = round(float(np.interp(log_g, [2.5, 3.2, 4.2, 5.5], [22, 20, 16, 13])))
    # The jump of dwarfs, in dex: 0.5 at A0 to A2, 0.25 at B5 and F0, 0.05 in an O star.
    jump = float(
        np.interp(kelvin, [7200, 9000, 10000, 15400, 20000, 30000], [0.25, 0.5, 0.5, 0.25, 0.13, 0.05])
    )
    return Hydrogen(depth, half_width, last, jump_dex=jump)


def paschen_continuum(wavelength_AA: FloatArray, kelvin: float) -> FloatArray:
    """Return the continuum redward of the Balmer jump: bluer than a black body of the star's temperature.

    The colour temperature is such that flux at 4400 over 5500 Å is that of B−V along the dwarf sequence
    (F0 0.30, A0 0.00, B5 −0.17, B0 −0.30, with F(B)/F(V) = 1.735 at B−V = 0: Bessell 1979), the Balmer lines
    left out, which take 6 to 8 % of B at F0 and A0, 4 % at B5 and 2 % at B0.
    """
    points, factors = [7200, 9600, 15400, 30000, 45000], [1.2, 1.6, 1.65, 1.9, 2.0]
    return planck(wavelength_AA, kelvin * float(np.interp(kelvin, points, factors)))


def a_star(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """A, dwarf to giant: many Balmer lines, Ca II K and metals growing towards late types."""
    return _warm_star(wavelength_AA, rng, (7400, 10000), (3.4, 4.35), (0.3, 2.0))


def bhb_star(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """Blue horizontal branch: as an A star, but narrower lines, more of them, and few metals."""
    return _warm_star(wavelength_AA, rng, (7600, 11500), (2.9, 3.5), (0.02, 0.15))


def sda_star(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """SdA: the colour of an A star, lines wider than a dwarf's, some metals."""
    return _warm_star(wavelength_AA, rng, (7400, 9000), (4.7, 5.6), (0.05, 0.6))


def b_star(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """B: He I strongest at B2; silicon and magnesium by temperature; Balmer lines weakening to the hot end."""
    return b_light(wavelength_AA, float(rng.uniform(10400, 29000)), float(rng.uniform(3.0, 4.3)), rng)


def b_light(wavelength_AA: FloatArray, kelvin: float, log_g: float, rng: np.random.Generator) -> Sample:
    """Return the light of a B star of that temperature and gravity, and its parameters."""
    hydrogen = hydrogen_of_a_star(kelvin, log_g)
    points = [11000, 13000, 16000, 20000, 24000, 29000]
    helium = float(np.interp(kelvin, points, [0.25, 0.5, 0.85, 1.2, 1.1, 0.95]))
    rotation = float(rng.uniform(80, 320))
    widths = dict.fromkeys(_HE_I, 0.7 * helium) | {
        "He I 4027": 0.95 * helium, "He I 4473": helium, "He I 5877": 0.7 * helium,
        "Mg II 4482": float(np.interp(kelvin, points, [0.45, 0.38, 0.3, 0.22, 0.18, 0.12])),
        "Si II 4129": float(np.interp(kelvin, points, [0.35, 0.35, 0.25, 0.1, 0.0, 0.0])),
        "C II 4268": float(np.interp(kelvin, points, [0.1, 0.15, 0.22, 0.28, 0.15, 0.05])),
        "Si III 4554": float(np.interp(kelvin, points, [0, 0, 0.05, 0.2, 0.35, 0.3])),
        "Ca II K": 0.15,
    }  # fmt: skip
    flux = paschen_continuum(wavelength_AA, kelvin) * hydrogen.seen_in(wavelength_AA)
    return flux * absorb(wavelength_AA, widths, rotation), {
        "temperature_K": kelvin, "log_g": log_g, "balmer_depth": hydrogen.depth,
        "balmer_half_width_AA": hydrogen.half_width_AA, "he_i_ew_AA": helium, "fwhm_kms": rotation,
    }  # fmt: skip


def o_star(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """O: He II in absorption, equal to He I at O7; supergiants with N III and He II 4687 in emission (Of).

    O stars live in the disc: further dust, with its interstellar lines and diffuse bands.
    """
    kelvin, log_g = float(rng.uniform(31000, 46000)), float(rng.uniform(3.4, 4.1))
    hydrogen = hydrogen_of_a_star(kelvin, log_g)
    points = [31000, 33000, 36000, 40000, 46000]  # O9.5, O8.5, O7, O5, O3.5
    ionised = float(np.interp(kelvin, points, [0.25, 0.45, 0.75, 0.95, 0.85]))
    neutral = float(np.interp(kelvin, points, [0.95, 0.9, 0.75, 0.35, 0.05]))
    supergiant = bool(rng.random() < 0.3)
    widths = dict.fromkeys(_HE_I, 0.75 * neutral) | {
        "He I 4473": neutral, "He I 5877": 0.8 * neutral, "He II 4543": ionised, "He II 4201": 0.8 * ionised,
        "He II 5413": 1.2 * ionised, "He II 4687": 0.0 if supergiant else 1.0 * ionised,
        "Si IV 4090": float(np.interp(kelvin, points, [0.6, 0.5, 0.35, 0.15, 0.1])),
    }  # fmt: skip
    flux = paschen_continuum(wavelength_AA, kelvin) * hydrogen.seen_in(wavelength_AA)
    flux = flux * absorb(wavelength_AA, widths, float(rng.uniform(120, 320)))
    truth: Truth = {"temperature_K": kelvin, "log_g": log_g, "he_ii_ew_AA": ionised, "he_i_ew_AA": neutral}
    if supergiant:
        strength = float(rng.uniform(0.5, 3))
        wind = {"He II 4687": strength, "N III 4642": 0.8 * strength, "Hα": 2 * strength}
        flux = emit(wavelength_AA, flux, wind, gaussian(float(rng.uniform(300, 700))))
        truth["wind_emission_AA"] = strength
    return _in_the_disc(wavelength_AA, flux, truth, float(min(rng.exponential(0.4), 1.5)))


def subdwarf_b(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """SdB: Balmer lines between those of a B star and a white dwarf, weak He I."""
    kelvin = float(rng.uniform(22000, 36000))
    lines = Hydrogen(float(rng.uniform(0.3, 0.5)), float(rng.uniform(4.5, 7.5)), 13)  # Hγ: 3.5 to 10 Å
    helium = float(rng.uniform(0.05, 0.7))
    flux = paschen_continuum(wavelength_AA, kelvin) * lines.seen_in(wavelength_AA)
    widths = dict.fromkeys(_HE_I, 0.7 * helium) | {"He I 4473": helium, "He I 5877": helium}
    if kelvin > 32000:  # sdOB
        widths["He II 4687"] = 0.4 * helium
    return flux * absorb(wavelength_AA, widths, 200), {
        "temperature_K": kelvin, "balmer_depth": lines.depth,
        "balmer_half_width_AA": lines.half_width_AA, "he_i_ew_AA": helium,
    }  # fmt: skip


def subdwarf_o(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """SdO: He II, shallow Balmer lines, from poor in helium to rich."""
    kelvin = float(rng.uniform(38000, 60000))
    lines = Hydrogen(float(rng.uniform(0.12, 0.32)), float(rng.uniform(4, 8)), 12)
    helium = float(rng.uniform(0.8, 3.0))
    flux = paschen_continuum(wavelength_AA, kelvin) * lines.seen_in(wavelength_AA)
    cool = float(np.interp(kelvin, [38000, 50000], [0.5, 0.1]))
    widths = {
        "He II 4687": helium, "He II 4543": 0.6 * helium, "He II 4201": 0.45 * helium, "He II 5413": 0.7 * helium,
        "He I 4473": cool * helium, "He I 5877": cool * helium,
    }  # fmt: skip
    return flux * absorb(wavelength_AA, widths, 350), {
        "temperature_K": kelvin, "balmer_depth": lines.depth, "he_ii_ew_AA": helium,
    }  # fmt: skip


def reddened_star(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """A B or A star behind so much dust that it is as red as an M giant, but without a band."""
    flux, truth = (b_star if rng.random() < 0.5 else a_star)(wavelength_AA, rng)
    return _in_the_disc(wavelength_AA, flux, truth, float(rng.uniform(1.0, 2.4)))


def _warm_star(
    wavelength_AA: FloatArray,
    rng: np.random.Generator,
    kelvins: tuple[float, float],
    gravities: tuple[float, float],
    abundances: tuple[float, float],
) -> Sample:
    kelvin, log_g, metals = (float(rng.uniform(*ends)) for ends in (kelvins, gravities, abundances))
    hydrogen = hydrogen_of_a_star(kelvin, log_g)
    # Ca K reaches Hε at the border to F (Gray & Corbally 2009).
    calcium = float(np.interp(kelvin, [7400, 8200, 9000, 10000, 12000], [5.0, 2.8, 1.3, 0.6, 0.2]))
    calcium *= metals**0.5
    star = Cool(min(kelvin, 7500.0), "dwarf", metals * float(np.interp(kelvin, [7400, 10000], [0.9, 0.25])))
    flux = paschen_continuum(wavelength_AA, kelvin) * hydrogen.seen_in(wavelength_AA)
    flux = flux * np.exp(-metal_depth(wavelength_AA, star))
    widths = {
        "Ca II K": calcium, "Ca II H": 0.7 * calcium, "Mg II 4482": 0.4 * min(1.0, metals), "Na D2": 0.2,
        "O I 7776": 0.8 * min(1.0, metals**0.5), "Ca II 8544": 0.5 * calcium, "Ca II 8665": 0.4 * calcium,
    }  # fmt: skip
    return flux * absorb(wavelength_AA, widths, float(rng.uniform(80, 250))), {
        "temperature_K": kelvin, "log_g": log_g, "balmer_depth": hydrogen.depth,
        "balmer_half_width_AA": hydrogen.half_width_AA, "metals": metals, "calcium_k_ew_AA": calcium,
    }  # fmt: skip


def _in_the_disc(wavelength_AA: FloatArray, flux: FloatArray, truth: Truth, reddening_mag: float) -> Sample:
    """Return the light behind further dust, with interstellar Na D and Ca II.

    Na D saturates; its width follows Munari & Zwitter (1997, A&A 318, 269) in order.
    """
    sodium = 0.9 * (1 - float(np.exp(-2 * reddening_mag)))
    widths = {"Na D2": sodium, "Na D1": 0.8 * sodium, "Ca II K": 0.35 * sodium}
    flux = flux * extinction(wavelength_AA, reddening_mag) * absorb(wavelength_AA, widths, 90)
    return flux, truth | {"disc_reddening_mag": reddening_mag}


KINDS = (
    Kind("o-star", o_star, decidable=visible("he_ii_ew_AA", 4)),
    Kind("b-star", b_star, decidable=visible("he_i_ew_AA", 3)),
    Kind("a-star", a_star),
    Kind("bhb-star", bhb_star),
    Kind("sda-star", sda_star),
    Kind("subdwarf-b", subdwarf_b),
    Kind("subdwarf-o", subdwarf_o),
    Kind("reddened-star", reddened_star),
)
