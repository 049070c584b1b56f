"""Cataclysmic variables, and what else shows lines in emission without being a star: AGN, nebulae."""

import numpy as np

from specvi_benchmark.lines import get_line
from specvi_benchmark.simulator.continuum import planck, power_law
from specvi_benchmark.simulator.kinds.cool import fg_star
from specvi_benchmark.simulator.kinds.kind import Kind, Truth, visible
from specvi_benchmark.simulator.lines import (
    Profile,
    add_emission,
    add_line_flux,
    balmer_AA,
    double_peak,
    gaussian,
    stark_absorption,
)
from specvi_benchmark.simulator.photospheres import Cool, cool_star
from specvi_benchmark.spectrum import FloatArray

Sample = tuple[FloatArray, Truth]

# Broad and narrow lines of quasars: rest equivalent width in Å, after the composite of Vanden Berk et al.
# (2001, AJ 122, 549), rounded.
_BROAD = {
    "C IV 1549": 24, "C III] 1909": 21, "Mg II 2799": 32, "Hδ": 5, "Hγ": 13, "Hβ": 46, "Hα": 190,
    "He I 5877": 5,
}  # fmt: skip
_NARROW = {
    "[O II] 3728": 2, "[O III] 4960": 4, "[O III] 5008": 13, "[N II] 6585": 6, "[S II] 6718": 3, "[S II] 6733": 3,
}  # fmt: skip


def cv_quiescent(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """A dwarf nova in quiescence: flat to blue, broad Balmer and He I emission, double-peaked when seen edge-on."""
    flux = power_law(wavelength_AA, float(rng.uniform(0.3, 2.2)))
    donor = float(rng.choice([0.0, rng.uniform(0.1, 0.55)]))
    if donor:
        star = cool_star(wavelength_AA, Cool(float(rng.uniform(3050, 3600)), "dwarf"))
        flux = (1 - donor) * flux / _at(wavelength_AA, flux, 7500) + donor * star / _at(
            wavelength_AA, star, 7500
        )
    halpha = float(10 ** rng.uniform(np.log10(15), np.log10(140)))
    fwhm = float(rng.uniform(850, 2100))
    separation = float(rng.uniform(0.35, 0.6)) * fwhm if rng.random() < 0.45 else 0.0
    truth: Truth = {
        "halpha_ew_AA": halpha, "fwhm_kms": fwhm, "peak_separation_kms": separation, "donor_share_7500": donor,
    }  # fmt: skip
    helium = float(rng.uniform(0.12, 0.35))
    ratios = {
        "He I 4473": 0.6 * helium,
        "He I 5877": helium,
        "He I 6680": 0.5 * helium,
        "He I 7067": 0.4 * helium,
    }
    ratios["He II 4687"] = float(rng.uniform(0.0, 0.2))
    return _emitting(
        wavelength_AA, flux, halpha, _disc(fwhm, separation), float(rng.uniform(1.0, 2.0)), ratios
    ), truth


def cv_outburst(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """A dwarf nova in outburst or a nova-like: blue, broad shallow absorption with emission cores, Hα filled in."""
    flux = power_law(wavelength_AA, float(rng.uniform(2.0, 2.7)))
    continuum = flux
    depth, width = float(rng.uniform(0.05, 0.28)), float(rng.uniform(14, 26))
    for upper in range(4, 11):
        flux = flux * stark_absorption(
            wavelength_AA, balmer_AA(upper), depth * (1 - (upper / 11) ** 3), width
        )
    halpha, fwhm = float(rng.uniform(3, 18)), float(rng.uniform(500, 1300))
    profile = _disc(fwhm, float(rng.choice([0.0, 0.5])) * fwhm)
    helium_ii = float(rng.uniform(0.3, 2.5))
    widths = {
        "Hα": halpha, "Hβ": 0.4 * halpha, "Hγ": 0.2 * halpha, "He I 5877": 0.1 * halpha, "He I 6680": 0.1 * halpha,
        "He II 4687": helium_ii, "N III 4642": 0.5 * helium_ii, "C III 4649": 0.3 * helium_ii,
    }  # fmt: skip
    for name, equivalent in widths.items():
        flux = add_emission(wavelength_AA, flux, get_line(name).vacuum_AA, equivalent, profile, continuum)
    return flux, {
        "halpha_ew_AA": halpha,
        "fwhm_kms": fwhm,
        "absorption_depth": depth,
        "he_ii_ew_AA": helium_ii,
    }


def cv_polar(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """A polar: He II 4686 as strong as Hβ, narrow asymmetric lines, humps of cyclotron light."""
    flux = power_law(wavelength_AA, float(rng.uniform(0.2, 1.8)))
    spacing, first = float(rng.uniform(900, 1400)), float(rng.uniform(4600, 5400))
    for number in range(3):
        hump = float(rng.uniform(0.05, 0.4))
        flux = flux + hump * np.exp(-0.5 * ((wavelength_AA - first - number * spacing) / 330) ** 2)
    halpha, fwhm = float(rng.uniform(15, 80)), float(rng.uniform(450, 950))
    profile = double_peak(0.7 * fwhm, 0.6 * fwhm, blue_share=float(rng.uniform(0.25, 0.75)))
    he_ii = float(rng.uniform(0.5, 1.2))
    ratios = {
        "He II 4687": he_ii,
        "He II 5413": 0.1 * he_ii,
        "N III 4642": 0.15,
        "He I 4473": 0.2,
        "He I 5877": 0.25,
    }
    ratios |= {"He I 6680": 0.12, "He I 7067": 0.1}
    flux = _emitting(wavelength_AA, flux, halpha, profile, float(rng.uniform(0.8, 1.4)), ratios)
    return flux, {"halpha_ew_AA": halpha, "fwhm_kms": fwhm, "he_ii_to_hbeta": he_ii}


def agn(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """A Seyfert galaxy or quasar: lines whose ratios fit only at its redshift, narrow [O III]."""
    index = float(rng.normal(1.56, 0.35))
    flux = power_law(wavelength_AA, index)
    fwhm = float(rng.uniform(2000, 6500))
    scale = float(10 ** rng.normal(-0.1, 0.2))
    host = float(rng.uniform(0, 0.5)) if wavelength_AA[-1] > 6800 else 0.0  # a near one shows its galaxy
    if host:
        flux = (1 - host) * flux + host * cool_star(wavelength_AA, Cool(4700, "giant"))
    for name, width in _BROAD.items():
        flux = add_emission(wavelength_AA, flux, get_line(name).vacuum_AA, width * scale, gaussian(fwhm))
    for name, width in _NARROW.items():
        flux = add_emission(wavelength_AA, flux, get_line(name).vacuum_AA, width * scale, gaussian(400))
    return flux, {"fwhm_kms": fwhm, "ew_scale": scale, "host_share_5500": host}


def nebular(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """An F or G star behind a nebula that sky subtraction left: narrow Hα with [N II], [S II], [O III]."""
    flux, truth = fg_star(wavelength_AA, rng)
    halpha = float(rng.uniform(5, 40))
    ionised = float(rng.uniform(0, 1.5))
    ratios = {
        "Hα": 1.0, "Hβ": 0.33, "Hγ": 0.14, "[N II] 6585": 0.35, "[S II] 6718": 0.2, "[S II] 6733": 0.15,
        "[O III] 5008": 0.33 * ionised, "[O III] 4960": 0.11 * ionised,
    }  # fmt: skip
    unit = halpha * _at(wavelength_AA, planck(wavelength_AA, truth["temperature_K"]), balmer_AA(3))
    drift = float(rng.normal(0, 60))  # the nebula and the star do not move together
    for name, ratio in ratios.items():
        flux = add_line_flux(wavelength_AA, flux, get_line(name).vacuum_AA, unit * ratio, gaussian(60, drift))
    return flux, truth | {"halpha_ew_AA": halpha, "oiii_to_hbeta": ionised}


def _emitting(
    wavelength_AA: FloatArray, flux: FloatArray, halpha_ew_AA: float, profile: Profile, decrement: float,
    to_hbeta: dict[str, float],
) -> FloatArray:  # fmt: skip
    """Return flux with Balmer emission from Hα up to H11 and other lines given by their flux relative to Hβ."""
    halpha = halpha_ew_AA * _at(wavelength_AA, flux, balmer_AA(3))
    hbeta = halpha / decrement
    flux = add_line_flux(wavelength_AA, flux, balmer_AA(3), halpha, profile)
    for upper in range(4, 12):
        flux = add_line_flux(wavelength_AA, flux, balmer_AA(upper), hbeta * 0.78 ** (upper - 4), profile)
    for name, ratio in to_hbeta.items():
        flux = add_line_flux(wavelength_AA, flux, get_line(name).vacuum_AA, hbeta * ratio, profile)
    return flux


def _disc(fwhm_kms: float, separation_kms: float) -> Profile:
    """Return the profile of a disc; with separated peaks each is narrower, so that the whole keeps its width."""
    if separation_kms == 0:
        return gaussian(fwhm_kms)
    return double_peak(fwhm_kms - separation_kms, separation_kms)


def _at(wavelength_AA: FloatArray, flux: FloatArray, where_AA: float) -> float:
    return float(np.interp(where_AA, wavelength_AA, flux))


KINDS = (
    Kind("cv-quiescent", cv_quiescent, decidable=visible("halpha_ew_AA", 100)),
    Kind("cv-outburst", cv_outburst, decidable=visible("halpha_ew_AA", 60)),
    Kind("cv-polar", cv_polar),
    Kind("agn", agn, redshifts=(0.02, 0.36)),
    Kind("quasar", agn, redshifts=(0.6, 2.2)),
    Kind("nebular", nebular),
)
