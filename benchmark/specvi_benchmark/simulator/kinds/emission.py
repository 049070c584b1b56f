"""What shows lines in emission and is no cataclysmic variable: Be, Herbig, LBV, Wolf–Rayet, symbiotic, nebulae."""

import numpy as np

from specvi_benchmark.simulator.continuum import extinction, planck
from specvi_benchmark.simulator.kinds.cool import fg_star, m_giant
from specvi_benchmark.simulator.kinds.hot import Hydrogen, b_light, hydrogen_of_a_star, paschen_continuum
from specvi_benchmark.simulator.kinds.kind import Kind, Truth
from specvi_benchmark.simulator.lines import (
    absorb,
    balmer_AA,
    double_peak,
    emit,
    gaussian,
    level_at,
    p_cygni,
    pickering_AA,
    vacuum_AA,
    voigt,
)
from specvi_benchmark.spectrum import FloatArray

Sample = tuple[FloatArray, Truth]

# Case B without dust at 10⁴ K (Osterbrock & Ferland 2006, table 4.4), relative to Hβ.
CASE_B = {"Hα": 2.86, "Hβ": 1.0, "Hγ": 0.469, "Hδ": 0.259, "Hε": 0.159, "H8": 0.105, "H9": 0.073}

# (vacuum Å, flux over Hβ) of lines that the suite's list lacks: [Ne III], [O III] 4364.
_NE_III_AA, _O_III_AURORAL_AA, _N_II_AA = 3869.86, 4364.44, 6549.86


def be_star(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """Be: a B star whose disc emits narrow, often double Hα; higher Balmer lines stay in absorption."""
    kelvin, log_g = float(rng.uniform(11500, 26000)), float(rng.uniform(3.4, 4.2))
    flux, truth = b_light(wavelength_AA, kelvin, log_g, rng)
    halpha, fwhm = float(np.exp(rng.uniform(np.log(4), np.log(50)))), float(rng.uniform(200, 400))
    separation = float(rng.uniform(0, 0.6)) * fwhm
    widths = {"Hα": halpha, "Hβ": 0.1 * halpha, "Hγ": 0.03 * halpha, "O I 7776": 0.03 * halpha}
    if halpha > 25:
        widths |= {"Ca II 8544": 0.04 * halpha, "Ca II 8665": 0.04 * halpha, "Ca II 8500": 0.04 * halpha}
    profile = double_peak(0.75 * fwhm, separation)
    flux = emit(wavelength_AA, flux, widths, profile, paschen_continuum(wavelength_AA, kelvin))
    return flux, truth | {"halpha_ew_AA": halpha, "fwhm_kms": profile.width_kms()}


def herbig_star(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """Herbig Ae/Be: wide Balmer absorption filled by emission, Ca II triplet, [O I], dust."""
    kelvin = float(rng.uniform(8000, 16000))
    hydrogen = hydrogen_of_a_star(kelvin, 4.0)
    continuum = paschen_continuum(wavelength_AA, kelvin)
    calcium = float(np.interp(kelvin, [8000, 10000, 16000], [2.5, 0.5, 0.1]))
    flux = continuum * hydrogen.seen_in(wavelength_AA)
    flux = flux * absorb(wavelength_AA, {"Ca II K": calcium, "Mg II 4482": 0.4}, 150)
    halpha, fwhm = float(np.exp(rng.uniform(np.log(10), np.log(110)))), float(rng.uniform(220, 420))
    wind = p_cygni(fwhm, 0.8 * fwhm, 0.12) if rng.random() < 0.4 else double_peak(0.75 * fwhm, 0.4 * fwhm)
    widths = {
        "Hα": halpha, "Hβ": 0.12 * halpha, "Hγ": 0.03 * halpha, "Ca II 8544": 0.08 * halpha,
        "Ca II 8665": 0.07 * halpha, "Ca II 8500": 0.07 * halpha, "O I 7776": 0.02 * halpha,
    }  # fmt: skip
    flux = emit(wavelength_AA, flux, widths, wind, continuum)
    flux = emit(
        wavelength_AA, flux, {"[O I] 6302": 0.015 * halpha, "[O I] 6366": 0.005 * halpha}, gaussian(90)
    )
    dust = float(rng.uniform(0.1, 0.9))
    return flux * extinction(wavelength_AA, dust), {
        "temperature_K": kelvin, "halpha_ew_AA": halpha, "fwhm_kms": wind.width_kms(), "circumstellar_mag": dust,
    }  # fmt: skip


def p_cygni_star(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """A luminous blue variable: H and He I with emission at rest and absorption at the wind's velocity."""
    kelvin = float(rng.uniform(11000, 24000))
    lines = Hydrogen(0.15, 3.0, 22)
    continuum = planck(wavelength_AA, kelvin)
    halpha, fwhm, speed = (
        float(rng.uniform(15, 90)),
        float(rng.uniform(150, 320)),
        float(rng.uniform(150, 320)),
    )
    hydrogen = {"Hβ": 0.25 * halpha, "Hγ": 0.1 * halpha, "Hδ": 0.05 * halpha}
    helium = {
        "He I 5877": 0.2 * halpha, "He I 6680": 0.12 * halpha, "He I 7067": 0.12 * halpha, "He I 4473": 0.06 * halpha,
        "He I 5017": 0.06 * halpha,
    }  # fmt: skip
    flux = continuum * lines.seen_in(wavelength_AA)
    # What the wind absorbs is of one to two Å whatever it emits: it cannot take more than the light behind it.
    for widths, share in (({"Hα": halpha}, 1.0), (hydrogen, 0.25), (helium, 0.12)):
        profile = p_cygni(fwhm, speed, 1.2 / (share * halpha), damping_kms=60)
        flux = emit(wavelength_AA, flux, widths, profile, continuum)
    flux = flux * absorb(wavelength_AA, {"Na D2": 0.7, "Na D1": 0.6}, 90)
    dust = float(rng.uniform(0.3, 1.5))
    return np.maximum(flux, 0.02 * continuum) * extinction(wavelength_AA, dust), {
        "temperature_K": kelvin, "halpha_ew_AA": halpha, "fwhm_kms": fwhm, "wind_kms": speed,
        "disc_reddening_mag": dust,
    }  # fmt: skip


def wolf_rayet(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """Wolf–Rayet: bands of He II with nitrogen (WN) or of carbon (WC), a thousand km/s wide and more."""
    continuum = planck(wavelength_AA, float(rng.uniform(40000, 80000)))
    speed, strength = float(rng.uniform(1000, 2600)), float(np.exp(rng.uniform(np.log(25), np.log(120))))
    carbon = bool(rng.random() < 0.4)
    if carbon:  # C III/IV 4650 with He II, C III 5696, C IV 5806
        bands = {4651.0: 2.0, 4686.99: 0.7, 5697.5: 0.4, 5809.0: 1.6, 6564.0: 0.4, 7737.0: 0.4}
    else:  # N V 4609, N III 4640, He II with the Pickering series, N IV 7115
        bands = {4610.0: 0.15, 4641.94: 0.35, 4686.99: 1.0, 5413.02: 0.35, 7117.0: 0.25, 4060.0: 0.12}
        bands |= {pickering_AA(level): share for level, share in ((6, 1.0), (8, 0.25), (10, 0.12), (9, 0.1))}
    flux = continuum.copy()
    for centre, share in bands.items():
        level = level_at(wavelength_AA, continuum, centre)
        gaussian(speed).add_to(flux, wavelength_AA, centre, share * strength * level)
    dust = float(rng.uniform(0.3, 1.5))
    return flux * extinction(wavelength_AA, dust), {
        "he_ii_ew_AA": strength, "fwhm_kms": speed, "carbon": carbon, "disc_reddening_mag": dust,
    }  # fmt: skip


def symbiotic(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """An M giant whose wind is lit by a hot companion: steep Balmer decrement, He II, [O III], Raman 6827."""
    flux, truth = m_giant(wavelength_AA, rng)
    hot = float(rng.uniform(0.05, 0.6))  # at 5500 Å, of the giant's light there
    flux = flux + hot * level_at(wavelength_AA, flux, 5500) * planck(wavelength_AA, 15000)
    halpha, width = float(np.exp(rng.uniform(np.log(25), np.log(250)))), float(rng.uniform(110, 260))
    line = halpha * level_at(wavelength_AA, flux, balmer_AA(3))
    hbeta = line / float(rng.uniform(4, 10))
    excited = float(rng.uniform(0, 1))
    lines = {vacuum_AA(name): hbeta * ratio for name, ratio in CASE_B.items()}
    lines[vacuum_AA("Hα")] = line
    lines |= {
        vacuum_AA("He II 4687"): excited * hbeta, vacuum_AA("He I 5877"): 0.3 * hbeta,
        vacuum_AA("He I 6680"): 0.2 * hbeta, vacuum_AA("He I 7067"): 0.25 * hbeta,
        _O_III_AURORAL_AA: 0.3 * excited * hbeta, vacuum_AA("[O III] 5008"): 0.5 * excited * hbeta,
        vacuum_AA("[O III] 4960"): 0.5 / 2.98 * excited * hbeta, _NE_III_AA: 0.3 * excited * hbeta,
    }  # fmt: skip
    for centre, area in lines.items():
        voigt(width, 30).add_to(flux, wavelength_AA, centre, area)
    raman = bool(excited > 0.5)
    if raman:
        gaussian(700).add_to(flux, wavelength_AA, vacuum_AA("O VI Raman 6827"), 0.06 * line)
    return flux, truth | {"halpha_ew_AA": halpha, "fwhm_kms": width, "raman": raman, "hot_share_5500": hot}


def nebular(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """An F or G star behind a nebula that sky subtraction left: narrow Hα with [N II], [S II], [O III]."""
    flux, truth = fg_star(wavelength_AA, rng)
    halpha, ionised = float(rng.uniform(5, 40)), float(rng.uniform(0, 1.5))
    unit = halpha * level_at(wavelength_AA, planck(wavelength_AA, truth["temperature_K"]), balmer_AA(3))
    drift = float(rng.normal(0, 60))  # the nebula and the star do not move together
    flux = flux.copy()
    _nebula(wavelength_AA, flux, unit, ionised, 0.35, drift)
    return flux, truth | {"halpha_ew_AA": halpha, "oiii_to_hbeta": ionised, "drift_kms": drift}


def planetary_nebula(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """A planetary nebula or H II region: little continuum, strong [O III], Hα with [N II], the decrement of case B."""
    kelvin, halpha = float(rng.uniform(30000, 80000)), float(np.exp(rng.uniform(np.log(100), np.log(1500))))
    flux = planck(wavelength_AA, kelvin) + 0.5
    ionised, nitrogen = float(np.exp(rng.uniform(np.log(0.8), np.log(12)))), float(rng.uniform(0.1, 1.2))
    unit = halpha * level_at(wavelength_AA, flux, balmer_AA(3))
    _nebula(wavelength_AA, flux, unit, ionised, nitrogen, 0.0)
    hbeta = unit / CASE_B["Hα"]
    high = bool(ionised > 5)
    extra = {
        vacuum_AA("He I 5877"): 0.14, vacuum_AA("He I 6680"): 0.04, vacuum_AA("He I 7067"): 0.05,
        _NE_III_AA: 0.08 * ionised, _O_III_AURORAL_AA: 0.01 * ionised, vacuum_AA("He II 4687"): 0.3 if high else 0.0,
    }  # fmt: skip
    for centre, ratio in extra.items():
        gaussian(60).add_to(flux, wavelength_AA, centre, ratio * hbeta)
    return flux, {"halpha_ew_AA": halpha, "oiii_to_hbeta": ionised, "nii_to_halpha": nitrogen}


def _nebula(
    wavelength_AA: FloatArray,
    flux: FloatArray,
    halpha: float,
    ionised: float,
    nitrogen: float,
    drift_kms: float,
) -> None:
    """Add a nebula's lines to ``flux``: Hα of that flux, [O III] 5008 over Hβ, [N II] 6585 over Hα.

    The pairs [O III] and [N II] have the ratios of their transitions, 2.98 and 3.05 (Storey & Zeippen 2000).
    """
    hbeta = halpha / CASE_B["Hα"]
    lines = {vacuum_AA(name): ratio * hbeta for name, ratio in CASE_B.items()} | {
        vacuum_AA("[N II] 6585"): nitrogen * halpha, _N_II_AA: nitrogen * halpha / 3.05,
        vacuum_AA("[S II] 6718"): 0.4 * nitrogen * halpha, vacuum_AA("[S II] 6733"): 0.3 * nitrogen * halpha,
        vacuum_AA("[O III] 5008"): ionised * hbeta, vacuum_AA("[O III] 4960"): ionised * hbeta / 2.98,
        vacuum_AA("[O II] 3728"): 0.8 * hbeta,
    }  # fmt: skip
    profile = gaussian(60, drift_kms)
    for centre, area in lines.items():
        profile.add_to(flux, wavelength_AA, centre, area)


KINDS = (
    Kind("be-star", be_star),
    Kind("herbig-star", herbig_star),
    Kind("p-cygni-star", p_cygni_star),
    Kind("wolf-rayet", wolf_rayet),
    Kind("symbiotic", symbiotic),
    Kind("nebular", nebular),
    Kind("planetary-nebula", planetary_nebula),
)
