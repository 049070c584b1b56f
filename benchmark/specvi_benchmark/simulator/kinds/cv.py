"""Cataclysmic variables: dwarf novae in quiescence and outburst, nova-likes, polars, WZ Sge and AM CVn stars."""

from dataclasses import dataclass

import numpy as np

from specvi_benchmark.simulator.continuum import power_law
from specvi_benchmark.simulator.kinds.kind import Kind, Truth, visible
from specvi_benchmark.simulator.kinds.wd import da_light
from specvi_benchmark.simulator.lines import (
    Profile,
    balmer_AA,
    double_peak,
    emit,
    level_at,
    stark_lines_at,
    vacuum_AA,
)
from specvi_benchmark.simulator.photospheres import Cool, cool_star
from specvi_benchmark.spectrum import FloatArray

Sample = tuple[FloatArray, Truth]


@dataclass(frozen=True, slots=True)
class _Disc:
    """An accretion disc's lines: the rim's velocity, projected, separates two peaks."""

    inclination_deg: float
    separation_kms: float
    profile: Profile


def cv_quiescent(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """A dwarf nova in quiescence: flat to blue, broad Balmer and He I emission, double-peaked when seen edge-on.

    Lines are stronger and wider at high inclination (Warner 1986).
    """
    flux = power_law(wavelength_AA, float(rng.uniform(0.3, 2.2)))
    donor = float(rng.uniform(0.1, 0.6)) if rng.random() < 0.5 else 0.0
    if donor:
        flux = _with_donor(wavelength_AA, flux, donor, float(rng.uniform(3000, 4000)))
    disc = _seen_at(rng, rim_kms=(450, 800), blur_kms=(650, 1100))
    tilt = 0.6 + 0.8 * disc.inclination_deg / 90
    halpha = tilt * float(np.exp(rng.uniform(np.log(15), np.log(130))))
    helium = float(rng.uniform(0.12, 0.4))
    ratios = {
        "He I 4473": 0.6 * helium, "He I 4923": 0.35 * helium, "He I 5017": 0.3 * helium, "He I 5877": helium,
        "He I 6680": 0.5 * helium, "He I 7067": 0.4 * helium, "He II 4687": float(rng.uniform(0.0, 0.2)),
        "Ca II 8544": 0.1, "Ca II 8665": 0.1,
    }  # fmt: skip
    decrement = float(rng.uniform(1.0, 2.0))
    flux = _emitting(wavelength_AA, flux, halpha, disc.profile, decrement, ratios)
    return flux, _truth(disc, halpha) | {"donor_share_7500": donor, "balmer_decrement": decrement}


def cv_outburst(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """A dwarf nova in outburst: a thick disc's broad shallow absorption with emission cores, Hα filled in."""
    continuum = power_law(wavelength_AA, float(rng.uniform(2.0, 2.7)))
    depth, width = float(rng.uniform(0.05, 0.28)), float(rng.uniform(14, 26))
    flux = continuum * _thick_disc(wavelength_AA, depth, width)
    disc = _seen_at(rng, rim_kms=(250, 550), blur_kms=(500, 900))
    halpha = float(rng.uniform(2, 15))
    helium_ii = float(rng.uniform(0.0, 2.0))
    widths = {
        "Hα": halpha, "Hβ": 0.4 * halpha, "Hγ": 0.2 * halpha, "He I 5877": 0.1 * halpha, "He I 6680": 0.1 * halpha,
        "He II 4687": helium_ii, "N III 4642": 0.5 * helium_ii, "C III 4649": 0.3 * helium_ii,
    }  # fmt: skip
    flux = emit(wavelength_AA, flux, widths, disc.profile, continuum)
    return flux, _truth(disc, halpha) | {"absorption_depth": depth, "he_ii_ew_AA": helium_ii}


def cv_nova_like(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """A nova-like: a blue disc, weak and rather narrow emission, He II with the Bowen blend, at times SW Sex."""
    continuum = power_law(wavelength_AA, float(rng.uniform(1.9, 2.7)))
    depth = float(rng.uniform(0.0, 0.10))
    flux = continuum * _thick_disc(wavelength_AA, depth, float(rng.uniform(12, 22)))
    disc = _seen_at(rng, rim_kms=(100, 400), blur_kms=(450, 800))
    halpha, helium_ii = float(rng.uniform(5, 30)), float(rng.uniform(1, 8))
    widths = {
        "Hα": halpha, "Hβ": 0.45 * halpha, "Hγ": 0.3 * halpha, "Hδ": 0.2 * halpha, "He I 4473": 0.06 * halpha,
        "He I 5877": 0.12 * halpha, "He I 6680": 0.1 * halpha, "He I 7067": 0.07 * halpha, "He II 4687": helium_ii,
        "N III 4642": 0.45 * helium_ii, "C III 4649": 0.3 * helium_ii, "He II 5413": 0.12 * helium_ii,
    }  # fmt: skip
    flux = emit(wavelength_AA, flux, widths, disc.profile, continuum)
    return flux, _truth(disc, halpha) | {"absorption_depth": depth, "he_ii_ew_AA": helium_ii}


def cv_polar(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """A polar: He II 4686 as strong as Hβ, narrow asymmetric lines, humps at the harmonics of the cyclotron."""
    flux = power_law(wavelength_AA, float(rng.uniform(0.2, 1.8)))
    field_MG = float(np.exp(rng.uniform(np.log(15), np.log(60))))
    strength = float(rng.uniform(0.0, 0.9))
    base = flux.copy()
    for harmonic in range(2, 12):
        centre = cyclotron_AA(field_MG, harmonic)
        if 3300 < centre < 10500:
            width = 0.045 * centre  # hot electrons (some keV) and the spread of the field
            height = strength * float(rng.uniform(0.5, 1.0)) * level_at(wavelength_AA, base, centre)
            flux = flux + height * np.exp(-0.5 * ((wavelength_AA - centre) / width) ** 2)
    halpha, fwhm = float(np.exp(rng.uniform(np.log(15), np.log(90)))), float(rng.uniform(450, 950))
    blue = float(rng.uniform(0.2, 0.8))
    narrow, wide = 0.6 * fwhm, 1.3 * fwhm
    # A narrow part from the donor's lit face, a wide one from the stream, moving past each other.
    profile = Profile(((0.35, (0.5 - blue) * 0.9 * fwhm, narrow), (0.65, (blue - 0.5) * 0.5 * fwhm, wide)))
    he_ii = float(rng.uniform(0.5, 1.2))
    ratios = {
        "He II 4687": he_ii, "He II 5413": 0.12 * he_ii, "He II 4543": 0.05 * he_ii, "N III 4642": 0.15,
        "He I 4473": 0.2, "He I 5877": 0.25, "He I 6680": 0.12, "He I 7067": 0.1,
    }  # fmt: skip
    flux = _emitting(wavelength_AA, flux, halpha, profile, float(rng.uniform(0.8, 1.4)), ratios)
    return flux, {
        "halpha_ew_AA": halpha, "fwhm_kms": profile.width_kms(), "he_ii_to_hbeta": he_ii, "field_MG": field_MG,
        "cyclotron_strength": strength,
    }  # fmt: skip


def cv_wz_sge(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """A low-rate system (WZ Sge): the white dwarf's wide Balmer wings, double-peaked emission inside them."""
    kelvin = float(rng.uniform(10500, 15000))
    white, dwarf = da_light(wavelength_AA, kelvin, float(rng.uniform(7.9, 8.5)))
    share = float(rng.uniform(0.55, 0.9))  # of the white dwarf in the light at 5500 Å
    continuum = power_law(wavelength_AA, float(rng.uniform(0.8, 1.8)))
    flux = share * white + (1 - share) * continuum
    disc = _seen_at(rng, rim_kms=(500, 800), blur_kms=(500, 800))
    halpha = float(np.exp(rng.uniform(np.log(15), np.log(90))))
    helium = float(rng.uniform(0.05, 0.2))
    ratios = {"He I 5877": helium, "He I 6680": 0.5 * helium, "He I 7067": 0.4 * helium}
    flux = _emitting(wavelength_AA, flux, halpha, disc.profile, float(rng.uniform(1.8, 3.0)), ratios)
    return flux, _truth(disc, halpha) | {
        "wd_temperature_K": kelvin, "wd_share_5500": share, "balmer_depth": dwarf["balmer_depth"],
    }  # fmt: skip


def cv_am_cvn(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """AM CVn: a helium disc, no hydrogen: He I in broad double-peaked emission, or (bright) in absorption."""
    continuum = power_law(wavelength_AA, float(rng.uniform(1.6, 2.6)))
    disc = _seen_at(rng, rim_kms=(500, 900), blur_kms=(700, 1100))
    strength = float(np.exp(rng.uniform(np.log(8), np.log(45))))
    widths = {
        "He I 5877": strength, "He I 6680": 0.8 * strength, "He I 7067": 0.8 * strength, "He I 4473": 0.5 * strength,
        "He I 5017": 0.4 * strength, "He I 4923": 0.35 * strength, "He I 4027": 0.3 * strength,
        "He II 4687": 0.4 * strength,
    }  # fmt: skip
    flux = emit(wavelength_AA, continuum, widths, disc.profile)
    return flux, _truth(disc, 0.0) | {"he_i_ew_AA": strength}


def cyclotron_AA(field_MG: float, harmonic: int) -> float:
    """Return the wavelength of a harmonic of the cyclotron frequency: 2π m c² / (e B n), 1.071 µm at 100 MG / n = 1."""
    return 1.0710e6 / field_MG / harmonic


def _seen_at(rng: np.random.Generator, rim_kms: tuple[float, float], blur_kms: tuple[float, float]) -> _Disc:
    """Return a disc's profile at an inclination drawn evenly over the sphere (eclipsing ones included).

    Two Gaussians of one width, 2 v sin i apart.
    """
    cosine, rim, blur = float(rng.random()), float(rng.uniform(*rim_kms)), float(rng.uniform(*blur_kms))
    separation = 2 * rim * float(np.sqrt(1 - cosine**2))
    profile = double_peak(blur, separation, blue_share=float(rng.uniform(0.42, 0.58)))
    return _Disc(float(np.degrees(np.arccos(cosine))), separation, profile)


def _truth(disc: _Disc, halpha_ew_AA: float) -> Truth:
    return {
        "halpha_ew_AA": halpha_ew_AA, "fwhm_kms": disc.profile.width_kms(), "inclination_deg": disc.inclination_deg,
        "peak_separation_kms": disc.separation_kms,
    }  # fmt: skip


def _thick_disc(wavelength_AA: FloatArray, depth: float, half_width_AA: float) -> FloatArray:
    """Return the Balmer absorption of a thick disc, from Hβ on."""
    upper = np.arange(4, 11)
    centres = np.array([balmer_AA(int(level)) for level in upper])
    return stark_lines_at(
        wavelength_AA, centres, depth * (1 - (upper / 11) ** 3), np.full(upper.size, half_width_AA)
    )


def _with_donor(wavelength_AA: FloatArray, flux: FloatArray, share: float, kelvin: float) -> FloatArray:
    """Return the light with a dwarf that gives ``share`` of it at 7500 Å."""
    star = cool_star(wavelength_AA, Cool(kelvin, "dwarf"))
    own, others = level_at(wavelength_AA, flux, 7500), level_at(wavelength_AA, star, 7500)
    return (1 - share) / own * flux + share / others * star


def _emitting(
    wavelength_AA: FloatArray, flux: FloatArray, halpha_ew_AA: float, profile: Profile, decrement: float,
    to_hbeta: dict[str, float],
) -> FloatArray:  # fmt: skip
    """Return flux with Balmer emission from Hα up to H14 and other lines given by their flux relative to Hβ."""
    halpha = halpha_ew_AA * level_at(wavelength_AA, flux, balmer_AA(3))
    hbeta = halpha / decrement
    flux = flux.copy()
    profile.add_to(flux, wavelength_AA, balmer_AA(3), halpha)
    for upper in range(4, 15):
        profile.add_to(flux, wavelength_AA, balmer_AA(upper), hbeta * 0.75 ** (upper - 4))
    for name, ratio in to_hbeta.items():
        profile.add_to(flux, wavelength_AA, vacuum_AA(name), hbeta * ratio)
    return flux


KINDS = (
    Kind("cv-quiescent", cv_quiescent, decidable=visible("halpha_ew_AA", 100)),
    Kind("cv-outburst", cv_outburst, decidable=visible("halpha_ew_AA", 60)),
    Kind("cv-nova-like", cv_nova_like, decidable=visible("halpha_ew_AA", 80)),
    Kind("cv-polar", cv_polar),
    Kind("cv-wz-sge", cv_wz_sge, decidable=visible("halpha_ew_AA", 120)),
    Kind("cv-am-cvn", cv_am_cvn, decidable=visible("he_i_ew_AA", 100)),
)
