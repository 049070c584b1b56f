"""Light from beyond the Galaxy: quasars, active galaxies, galaxies with and without young stars."""

import numpy as np

from specvi_benchmark.simulator.continuum import power_law
from specvi_benchmark.simulator.kinds.kind import Kind, Truth
from specvi_benchmark.simulator.lattice import remembered
from specvi_benchmark.simulator.lines import SPEED_OF_LIGHT_KMS, Profile, emit, gaussian, level_at, vacuum_AA
from specvi_benchmark.simulator.photospheres import Cool, cool_star
from specvi_benchmark.spectrum import FloatArray

Sample = tuple[FloatArray, Truth]

# Rest equivalent widths in Å, after the composite of Vanden Berk et al. (2001, AJ 122, 549), rounded.
_BROAD = {
    "Lyα": 75, "N V 1240": 18, "Si IV/O IV] 1400": 8, "C IV 1549": 24, "He II 1640": 3, "C III] 1909": 21,
    "Mg II 2799": 32, "Hδ": 5, "Hγ": 13, "Hβ": 46, "Hα": 190, "He I 5877": 5,
}  # fmt: skip
_NARROW = {
    "[Ne V] 3427": 1, "[O II] 3728": 2, "[O III] 4960": 4.4, "[O III] 5008": 13, "[N II] 6585": 6,
    "[S II] 6718": 3, "[S II] 6733": 3,
}  # fmt: skip

# Blends of Fe II: centre, width (σ), height over the power law. They set off Mg II and Hβ as plateaus do.
_IRON = ((2490.0, 95.0, 0.28), (2950.0, 60.0, 0.10), (4575.0, 55.0, 0.16), (5260.0, 65.0, 0.14))

_FOREST_DEPTH = 0.0036  # of the forest: Press, Rybicki & Schneider 1993 (ApJ 414, 64)
_STARS_KMS = 200.0  # standard deviation of the velocities of a galaxy's stars


def quasar(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """A quasar: power law, broad lines at one redshift, Fe II, the forest blueward of Lyα, BALs in one of ten."""
    flux, truth = _active(wavelength_AA, rng, narrow=float(rng.uniform(0.2, 1.3)))
    if wavelength_AA[0] < vacuum_AA("Lyα"):
        flux = flux * _forest(wavelength_AA, rng)
    truth["broad_absorption"] = bool(rng.random() < 0.1)
    if truth["broad_absorption"]:
        speed, width = float(rng.uniform(6000, 18000)), float(rng.uniform(2000, 6000))
        depth = float(rng.uniform(0.5, 0.95))
        for name, share in (("C IV 1549", 1.0), ("Si IV/O IV] 1400", 0.7), ("N V 1240", 0.9), ("Lyα", 0.6)):
            velocity = (wavelength_AA / vacuum_AA(name) - 1) * SPEED_OF_LIGHT_KMS
            flux = flux * (1 - share * depth * np.exp(-(((velocity + speed) / width) ** 4)))
    return flux, truth


def agn(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """A Seyfert 1 galaxy: broad lines whose ratios fit only at its redshift, narrow [O III], its host's stars."""
    flux, truth = _active(wavelength_AA, rng, narrow=float(rng.uniform(0.5, 3)))
    host = float(rng.uniform(0.1, 0.6))
    flux = (1 - host) * flux + host * _old_stars(wavelength_AA)
    return flux, truth | {"host_share_5500": host}


def seyfert_2(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """A narrow-line active galaxy: [O III] at least five times Hβ, [N II] rivals Hα, no line beyond 700 km/s."""
    flux = _stars(wavelength_AA, float(rng.uniform(0, 0.4)))
    halpha, width = float(rng.uniform(8, 50)), float(rng.uniform(250, 650))
    oxygen, nitrogen = float(rng.uniform(5, 12)), float(rng.uniform(0.6, 1.4))
    flux = _gas(wavelength_AA, flux, halpha, oxygen, nitrogen, width)
    return flux, {
        "halpha_ew_AA": halpha,
        "fwhm_kms": width,
        "oiii_to_hbeta": oxygen,
        "nii_to_halpha": nitrogen,
    }


def star_forming_galaxy(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """A galaxy with young stars: narrow Balmer lines, [O III] and [N II] on the star-forming side."""
    flux = _stars(wavelength_AA, float(rng.uniform(0.2, 0.95)))
    halpha, width = float(np.exp(rng.uniform(np.log(4), np.log(800)))), float(rng.uniform(120, 300))
    oxygen = float(np.exp(rng.uniform(np.log(0.2), np.log(7))))
    # Kauffmann et al. 2003 (MNRAS 346, 1055): log [O III]/Hβ < 0.61 / (log [N II]/Hα − 0.05) + 1.3.
    nitrogen = 0.7 * 10 ** (0.05 + 0.61 / (float(np.log10(oxygen)) - 1.3))
    flux = _gas(wavelength_AA, flux, halpha, oxygen, nitrogen, width)
    return flux, {
        "halpha_ew_AA": halpha,
        "fwhm_kms": width,
        "oiii_to_hbeta": oxygen,
        "nii_to_halpha": nitrogen,
    }


def galaxy(wavelength_AA: FloatArray, rng: np.random.Generator) -> Sample:
    """A galaxy of old stars: Ca II H and K, G band, Mg, Na D, at its redshift."""
    young = float(rng.uniform(0, 0.35))
    return _stars(wavelength_AA, young), {"young_share_5500": young}


def _active(wavelength_AA: FloatArray, rng: np.random.Generator, narrow: float) -> Sample:
    """Return power law, Fe II and lines, without anything around the nucleus."""
    index = float(rng.normal(1.56, 0.3))
    fwhm, scale = float(rng.uniform(2000, 7500)), float(10 ** rng.normal(-0.05, 0.18))
    iron = float(rng.uniform(0.2, 1.6))
    flux = power_law(wavelength_AA, index)
    flux = flux * (1 + iron * _iron(wavelength_AA))
    # Broad lines are more peaked than a Gaussian; those of high ionisation are shifted to the blue.
    peaked = Profile(((0.65, 0.0, 0.8 * fwhm), (0.35, 0.0, 1.9 * fwhm)))
    shifted = Profile(((0.65, -600.0, 0.9 * fwhm), (0.35, -900.0, 2.0 * fwhm)))
    high = {"C IV 1549", "He II 1640", "Si IV/O IV] 1400", "N V 1240"}
    continuum = power_law(wavelength_AA, index)
    for profile, chosen in ((peaked, _BROAD.keys() - high), (shifted, high)):
        widths = {name: _BROAD[name] * scale for name in _BROAD if name in chosen}
        flux = emit(wavelength_AA, flux, widths, profile, continuum)
    widths = {name: width * narrow for name, width in _NARROW.items()}
    flux = emit(wavelength_AA, flux, widths, gaussian(float(rng.uniform(300, 600))), continuum)
    return flux, {"fwhm_kms": fwhm, "ew_scale": scale, "narrow_scale": narrow, "slope": index}


def _gas(
    wavelength_AA: FloatArray,
    flux: FloatArray,
    halpha_ew_AA: float,
    oxygen: float,
    nitrogen: float,
    fwhm_kms: float,
) -> FloatArray:
    """Return the light with narrow lines: Hα by equivalent width, Hβ with dust (Hα / 4), the rest by ratio."""
    halpha = halpha_ew_AA * level_at(wavelength_AA, flux, vacuum_AA("Hα"))
    hbeta = halpha / 4
    lines = {
        vacuum_AA("Hα"): halpha, vacuum_AA("Hβ"): hbeta, vacuum_AA("Hγ"): 0.45 * hbeta,
        vacuum_AA("[O III] 5008"): oxygen * hbeta, vacuum_AA("[O III] 4960"): oxygen * hbeta / 2.98,
        vacuum_AA("[N II] 6585"): nitrogen * halpha, 6549.86: nitrogen * halpha / 3.05,
        vacuum_AA("[S II] 6718"): 0.2 * halpha, vacuum_AA("[S II] 6733"): 0.15 * halpha,
        vacuum_AA("[O II] 3728"): 2.0 * hbeta, vacuum_AA("[O I] 6302"): 0.03 * halpha,
    }  # fmt: skip
    flux = flux.copy()
    for centre, area in lines.items():
        gaussian(fwhm_kms).add_to(flux, wavelength_AA, centre, area)
    return flux


def _stars(wavelength_AA: FloatArray, young: float) -> FloatArray:
    return (1 - young) * _old_stars(wavelength_AA) + young * _young_stars(wavelength_AA)


@remembered
def _old_stars(wavelength_AA: FloatArray) -> FloatArray:
    giants = cool_star(wavelength_AA, Cool(4500.0, "giant")) + 0.3 * cool_star(
        wavelength_AA, Cool(3500.0, "giant")
    )
    return _moving(wavelength_AA, giants + 0.7 * cool_star(wavelength_AA, Cool(5500.0, "dwarf"))) / 1.8


@remembered
def _young_stars(wavelength_AA: FloatArray) -> FloatArray:
    stars = cool_star(wavelength_AA, Cool(7400.0, "dwarf")) + 0.5 * power_law(wavelength_AA, 2.6)
    return _moving(wavelength_AA, stars) / 1.4


def _moving(wavelength_AA: FloatArray, flux: FloatArray) -> FloatArray:
    """Return starlight spread by the stars' velocities."""
    step = float(np.log(wavelength_AA[1] / wavelength_AA[0])) * SPEED_OF_LIGHT_KMS
    sigma = _STARS_KMS / step
    offsets = np.arange(-int(4 * sigma) - 1, int(4 * sigma) + 2)
    kernel = np.exp(-0.5 * (offsets / sigma) ** 2)
    return np.convolve(flux, kernel / kernel.sum(), "same")


@remembered
def _iron(wavelength_AA: FloatArray) -> FloatArray:
    blends = np.zeros_like(wavelength_AA)
    for centre, sigma, height in _IRON:
        blends += height * np.exp(-0.5 * ((wavelength_AA - centre) / sigma) ** 2)
    return blends


def _forest(wavelength_AA: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return the transmission of the intergalactic hydrogen blueward of Lyα: mean depth and clumps.

    Mean optical depth 0.0036 (1 + z)^3.45 (Press, Rybicki & Schneider 1993), z of the absorber; it is found
    from the window, which starts where light of 3583 Å comes from.
    """
    alpha = vacuum_AA("Lyα")
    transmission = np.ones_like(wavelength_AA)
    inside = slice(0, int(np.searchsorted(wavelength_AA, alpha)))
    stretch = 3583.0 / float(wavelength_AA[0])
    absorber = wavelength_AA[inside] * stretch / alpha
    mean = _FOREST_DEPTH * absorber**3.45
    clumps = rng.gamma(0.35, 1 / 0.35, mean.size // 3 + 1).repeat(3)[: mean.size]
    transmission[inside] = np.exp(-mean * np.minimum(clumps, 12))
    return transmission


KINDS = (
    Kind("agn", agn, redshifts=(0.02, 0.36)),
    Kind("quasar", quasar, redshifts=(0.5, 4.0)),
    Kind("seyfert-2", seyfert_2, redshifts=(0.02, 0.3)),
    Kind("star-forming-galaxy", star_forming_galaxy, redshifts=(0.003, 0.3)),
    Kind("galaxy", galaxy, redshifts=(0.003, 0.35)),
)
