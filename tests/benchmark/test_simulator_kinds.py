import json

import numpy as np
import pytest

from specvi_benchmark.errors import UserError
from specvi_benchmark.simulator import KINDS, Rates, make_source, observe, wavelengths
from specvi_benchmark.simulator.continuum import extinction
from specvi_benchmark.simulator.kinds.cv import cyclotron_AA
from specvi_benchmark.simulator.kinds.hot import hydrogen_of_a_star
from specvi_benchmark.simulator.kinds.wd import da_light
from specvi_benchmark.simulator.lattice import star_grid
from specvi_benchmark.simulator.photospheres import Cool, cool_star

CLEAN = Rates.none()


def source(kind, seed=0, where=lambda _: True):
    """The first source of a kind, from ``seed`` on, whose parameters are as asked."""
    for number in range(seed, seed + 200):
        made = make_source(kind, np.random.default_rng(number))
        if where(made.truth):
            return made
    raise AssertionError(f"no {kind} with such parameters")


def rest(made):
    """Rest-frame wavelength and flux before the telescope."""
    return made.rest_AA, made.flux


def mean(wavelength, flux, low, high):
    return float(flux[(wavelength >= low) & (wavelength <= high)].mean())


def index(made, numerator, denominator):
    wavelength, flux = rest(made)
    return mean(wavelength, flux, *numerator) / mean(wavelength, flux, *denominator)


def equivalent_width(wavelength, flux, centre, half, side):
    """Emission equivalent width over a line through two continuum windows beside the line."""
    blue, red = (centre - half - side, centre - half), (centre + half, centre + half + side)
    x = [np.mean(window) for window in (blue, red)]
    y = [np.median(flux[(wavelength > low) & (wavelength < high)]) for low, high in (blue, red)]
    inside = (wavelength > centre - half) & (wavelength < centre + half)
    continuum = np.interp(wavelength[inside], x, y)
    return float(np.trapezoid(flux[inside] / continuum - 1, wavelength[inside]))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_gives_light_and_its_parameters(kind):
    for seed in range(3):
        made = make_source(kind, np.random.default_rng(seed))
        assert made.flux.shape == star_grid().shape
        assert np.isfinite(made.flux).all()
        assert made.flux.min() >= 0
        json.dumps(made.truth, allow_nan=False)
        low, high = KINDS[kind].redshifts or (-0.0012, 0.0012)
        assert low <= made.redshift <= high


def test_an_unknown_kind_is_refused():
    with pytest.raises(UserError, match="no such kind"):
        make_source("ufo", np.random.default_rng(0))


def test_objects_are_drawn_until_they_can_be_recognised():
    for seed in range(20):
        made = make_source("carbon-h", np.random.default_rng(seed), snr=4.0)
        assert made.truth["C2_depth"] * 4.0 >= 2.5
    # A DC has no line at all: below S/N 20 noise could hide one deeper than 5 %.
    with pytest.raises(UserError, match="no wd-dc can be recognised"):
        make_source("wd-dc", np.random.default_rng(0), snr=5.0)
    make_source("wd-dc", np.random.default_rng(0), snr=40.0)


# --- what was put in is there to be measured ------------------------------------------------------


@pytest.mark.parametrize("kind", ["cv-quiescent", "cv-polar", "be-star", "nebular"])
@pytest.mark.parametrize("seed", [0, 40, 80])
def test_halpha_has_the_width_put_in(kind, seed):
    made = source(kind, seed, lambda truth: truth.get("donor_share_7500", 0) == 0)  # TiO bends the continuum
    truth = made.truth["halpha_ew_AA"]
    wavelength, flux = rest(made)
    reach = 1.6 * made.truth.get("fwhm_kms", 200) / 3e5 * 6565 + 4
    if kind == "nebular":  # [N II] 6585 stands 20 Å away
        reach = 9
    found = equivalent_width(wavelength, flux, 6564.61, reach, 15 if kind != "nebular" else 4)
    if kind == "be-star":  # it stands in an absorption line: Hα is 0.7 times as deep and wide as Hγ
        found += 2.643 * 0.7 * 0.7 * made.truth["balmer_depth"] * made.truth["balmer_half_width_AA"]
    slack = 2.0 if kind in {"be-star", "nebular"} else 0.03 * truth + 0.5
    assert found == pytest.approx(truth, abs=slack)


@pytest.mark.parametrize("seed", [0, 10, 20])
@pytest.mark.parametrize("instrument", ["lamost", "sdss", "desi"])
def test_halpha_stands_at_the_true_velocity_in_the_observed_spectrum(seed, instrument):
    made = source("active-m-dwarf", seed, lambda truth: truth["halpha_ew_AA"] > 8)
    seen = observe(made, 80.0, np.random.default_rng(seed), CLEAN, instrument)
    wavelength = wavelengths(instrument)
    expected = 6564.61 * (1 + made.redshift)
    near = np.abs(wavelength - expected) < 7
    level = np.median(seen.flux[np.abs(wavelength - expected) < 25])
    line = np.clip(seen.flux[near] - level, 0, None)
    assert np.average(wavelength[near], weights=line) == pytest.approx(expected, abs=0.35)  # 16 km/s


def test_double_peaks_are_as_far_apart_as_put_in():
    made = source("cv-quiescent", 0, lambda truth: truth["peak_separation_kms"] > 1300)
    wavelength, flux = rest(made)
    velocity = (wavelength / 6564.61 - 1) * 299792.458
    blue, red = (
        velocity[side][np.argmax(flux[side])]
        for side in ((velocity < -100) & (velocity > -1500), (velocity > 100) & (velocity < 1500))
    )
    # Peaks that overlap move a little together.
    separation = made.truth["peak_separation_kms"]
    assert separation * 0.8 < red - blue < separation * 1.05


def test_peaks_part_with_the_inclination():
    truths = [source("cv-quiescent", seed).truth for seed in range(150)]
    sines = np.sin(np.radians([truth["inclination_deg"] for truth in truths]))
    separation = np.array([truth["peak_separation_kms"] for truth in truths])
    rim = separation / sines / 2
    assert ((rim > 449) & (rim < 801)).all()
    # Orbits lie evenly over the sphere: cos i is uniform.
    assert np.mean(np.sqrt(1 - sines**2)) == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("kind", ["cv-quiescent", "cv-nova-like", "cv-polar", "be-star", "active-m-dwarf"])
def test_lines_have_the_width_put_in(kind):
    for seed in (0, 30, 60):
        made = source(
            kind, seed,
            lambda truth: truth["halpha_ew_AA"] > 8 and truth.get("donor_share_7500", 0) == 0,
        )  # fmt: skip
        wavelength, flux = rest(made)
        velocity = (wavelength / 6564.61 - 1) * 299792.458
        reach = 1.5 * made.truth["fwhm_kms"] + 100
        near = np.abs(velocity) < reach
        line = flux[near] - np.interp(velocity[near], [-reach, reach], flux[near][[0, -1]])
        above = velocity[near][line > line.max() / 2]
        assert above[-1] - above[0] == pytest.approx(made.truth["fwhm_kms"], rel=0.06, abs=70)  # two samples


def test_cvs_have_broader_lines_than_their_confusers():
    cv = [source("cv-quiescent", seed).truth["fwhm_kms"] for seed in range(60)]
    others = [
        source(kind, s).truth["fwhm_kms"]
        for kind in ("active-m-dwarf", "be-star", "t-tauri", "herbig-star", "symbiotic", "p-cygni-star")
        for s in range(10)
    ]
    assert min(cv) > max(others)


def test_an_agn_has_its_lines_at_its_redshift_only():
    made = source("agn", 0, lambda truth: truth["ew_scale"] > 0.7 and truth["redshift"] < 0.33)
    wavelength, flux = rest(made)
    assert equivalent_width(wavelength, flux, 5008.24, 14, 10) > 4
    # At z = 0 there is no line where Hα would be, unless one of its own happens to fall there.
    assert flux[np.argmin(np.abs(wavelength - 6564.61))] > 1.5 * mean(wavelength, flux, 6250, 6300)


def test_polar_he_ii_rivals_hbeta():
    made = source("cv-polar", 0)
    wavelength, flux = rest(made)
    he_ii, hbeta = (equivalent_width(wavelength, flux, centre, 22, 20) for centre in (4686.99, 4862.69))
    assert he_ii / hbeta == pytest.approx(made.truth["he_ii_to_hbeta"], rel=0.25)


# --- molecules ------------------------------------------------------------------------------------


def noisy(made, snr=30.0, seed=0):
    seen = observe(made, snr, np.random.default_rng(seed), CLEAN)
    return wavelengths() / (1 + made.redshift), seen.flux


def jump(wavelength, flux, head):
    """Flux just redward of a head over flux just blueward."""
    return mean(wavelength, flux, head + 3, head + 14) / mean(wavelength, flux, head - 14, head - 3)


def test_tio_of_giants_and_dwarfs_falls_going_redward():
    for kind in ("m-giant", "m-dwarf"):
        made = source(kind, 0, lambda truth: truth["temperature_K"] < 3500)
        wavelength, flux = noisy(made)
        assert jump(wavelength, flux, 7055.95) < 0.85
        assert jump(wavelength, flux, 6159.70) < 0.9


def test_c2_of_carbon_stars_rises_going_redward():
    for kind in ("carbon-n", "carbon-h", "carbon-j", "carbon-dwarf"):
        made = source(kind, 0, lambda truth: truth["C2_depth"] > 0.5)
        wavelength, flux = noisy(made)
        assert jump(wavelength, flux, 5166.44) > 1.3
        assert jump(wavelength, flux, 5637.56) > 1.2


def test_zro_tells_s_stars_from_m_giants():
    # ZrO 6474: 6478–6490 Å against 6464–6473 Å (vacuum).
    windows = ((6478, 6490), (6464, 6473))
    s_star = [index(source("s-star", seed, lambda t: t["zro_depth"] > 0.3), *windows) for seed in range(5)]
    giant = [index(source("m-giant", seed), *windows) for seed in range(20)]
    assert max(s_star) < 0.85
    assert min(giant) > 0.88


def test_cah_tells_m_dwarfs_from_m_giants_of_equal_tio():
    # CaH2 of PyHammer (vacuum), Zhong et al. 2015: at equal TiO5 giants have the larger CaH.
    cah2, tio5 = ((6815.9, 6847.9), (7043.9, 7047.9)), ((7128, 7137), (7043.9, 7047.9))
    giants = [source("m-giant", seed) for seed in range(40)]
    for dwarf in (
        source("m-dwarf", seed, lambda t: 3100 < t["temperature_K"] < 3500) for seed in range(0, 120, 10)
    ):
        wanted = index(dwarf, *tio5)
        giant = min(giants, key=lambda made: abs(index(made, *tio5) - wanted))
        assert index(giant, *tio5) == pytest.approx(wanted, abs=0.05)
        assert index(giant, *cah2) > index(dwarf, *cah2) + 0.05


def test_tio5_falls_along_the_m_sequence():
    wavelength = np.arange(6900.0, 7300.0, 0.5)
    stars = [cool_star(wavelength, Cool(kelvin, "giant")) for kelvin in (3900, 3700, 3500, 3300, 3100)]
    values = [mean(wavelength, flux, 7128, 7137) / mean(wavelength, flux, 7043.9, 7047.9) for flux in stars]
    assert values == sorted(values, reverse=True)
    assert values[0] > 0.65  # M0
    assert values[-1] < 0.25  # M6


# --- hot stars ------------------------------------------------------------------------------------


def width_at_twenty_percent(made):
    """D0.2 of Hδ: the full width where the line is 20 % below its continuum (Pier 1983)."""
    wavelength, flux = rest(made)
    sides = [mean(wavelength, flux, 4030, 4045), mean(wavelength, flux, 4165, 4185)]
    continuum = np.interp(wavelength, [4037, 4175], sides)
    near = np.abs(wavelength - 4102.9) < 60
    return float(np.sum(flux[near] < 0.8 * continuum[near]) * np.median(np.diff(wavelength[near])))


def test_hydrogen_lines_widen_from_horizontal_branch_to_white_dwarf():
    bhb = [width_at_twenty_percent(source("bhb-star", seed)) for seed in range(12)]
    dwarf_a = [width_at_twenty_percent(source("a-star", seed)) for seed in range(12)]
    white = [
        width_at_twenty_percent(source("wd-da", seed, lambda t: 11000 < t["temperature_K"] < 16000))
        for seed in range(12)
    ]
    # Horizontal-branch stars are below about 28 Å, A dwarfs wider (Beers et al. 1992), white dwarfs far wider.
    assert np.median(bhb) + 5 < np.median(dwarf_a) < 36
    assert max(bhb) < 28
    assert min(white) > 36


def test_hbeta_of_a_stars_is_that_of_the_reference():
    # 10 to 18 Å in A stars, tens of Å in a DA near 12,000 to 15,000 K.
    def hbeta(made):
        return -equivalent_width(*rest(made), 4862.69, 60, 30)

    stars = [hbeta(source("a-star", seed, lambda t: t["temperature_K"] > 8000)) for seed in range(0, 200, 10)]
    dwarfs = [
        hbeta(source("wd-da", seed, lambda t: 11500 < t["temperature_K"] < 15500))
        for seed in range(0, 200, 10)
    ]
    assert 10 < np.median(stars) < 18
    assert min(dwarfs) > max(stars)
    assert min(dwarfs) > 20


def test_gravity_widens_hydrogen_lines():
    # Stark width grows with the electrons' density, that with gravity: by 0.1 to 0.2 dex a dex of gravity.
    for half_width in (
        lambda log_g: hydrogen_of_a_star(9000, log_g).half_width_AA,
        lambda log_g: da_light(star_grid(), 12000, log_g)[1]["balmer_half_width_AA"],
    ):
        assert 0.1 < np.log10(half_width(4.5) / half_width(3.5)) < 0.2


def test_calcium_k_grows_to_reach_hepsilon_at_the_border_to_f():
    def ratio(made):
        wavelength, flux = rest(made)
        k, hydrogen = (equivalent_width(wavelength, flux, centre, 12, 5) for centre in (3934.77, 3971.19))
        return k / hydrogen

    solar = [source("a-star", seed, lambda t: t["metals"] > 0.8) for seed in range(0, 300, 10)]
    cool = [ratio(made) for made in solar if made.truth["temperature_K"] < 7900]
    hot = [ratio(made) for made in solar if made.truth["temperature_K"] > 9000]
    assert np.median(cool) > 0.35
    assert np.median(hot) < 0.25


def test_he_ii_equals_he_i_at_o7():
    made = [source("o-star", seed) for seed in range(80)]

    def ratio(star):
        wavelength, flux = rest(star)
        return equivalent_width(wavelength, flux, 4542.9, 10, 8) / equivalent_width(
            wavelength, flux, 4472.7, 10, 8
        )

    o7 = [ratio(star) for star in made if abs(star.truth["temperature_K"] - 36000) < 1200]
    early = [ratio(star) for star in made if star.truth["temperature_K"] > 40000]
    late = [ratio(star) for star in made if star.truth["temperature_K"] < 33000]
    assert np.median(o7) == pytest.approx(1, abs=0.3)
    assert min(early) > 1.5
    assert max(late) < 0.7


def test_he_i_is_strongest_at_b2_and_equals_magnesium_at_b8():
    truths = [source("b-star", seed).truth for seed in range(200)]
    strongest = max(truths, key=lambda t: t["he_i_ew_AA"])["temperature_K"]
    assert 18000 < strongest < 23000
    b8 = source("b-star", 0, lambda t: 11700 < t["temperature_K"] < 12700)
    wavelength, flux = rest(b8)
    helium, magnesium = (equivalent_width(wavelength, flux, centre, 4.5, 4) for centre in (4472.73, 4482.46))
    assert helium / magnesium == pytest.approx(1, abs=0.5)


def test_helium_white_dwarfs_have_no_hydrogen():
    made = source("wd-db", 0)
    wavelength, flux = rest(made)
    assert equivalent_width(wavelength, flux, 4862.69, 8, 5) == pytest.approx(0, abs=0.3)
    assert equivalent_width(wavelength, flux, 4472.73, 60, 20) < -3


def test_do_white_dwarfs_have_wide_he_ii():
    wavelength, flux = rest(source("wd-do", 0))
    assert equivalent_width(wavelength, flux, 4686.99, 60, 20) < -4
    assert abs(equivalent_width(wavelength, flux, 5700, 40, 20)) < 0.5


def test_a_magnetic_white_dwarf_shows_a_zeeman_triplet_at_halpha():
    # 20.2 Å a megagauss at Hα (e λ² B / 4π m c²; Landstreet 1980), besides the quadratic shift to the blue.
    for seed in (0, 30, 60):
        made = source("wd-magnetic", seed, lambda t: 2.5 < t["field_MG"] < 6 and t["temperature_K"] < 18000)
        wavelength, flux = rest(made)
        near = np.abs(wavelength - 6560) < 250
        depth = 1 - flux[near] / np.polyval(np.polyfit(wavelength[near], flux[near], 2), wavelength[near])
        minima = [
            place for place in range(1, depth.size - 1)
            if depth[place] > depth[place - 1] and depth[place] > depth[place + 1] and depth[place] > 0.01
        ]  # fmt: skip
        assert len(minima) == 3
        blue, _, red = wavelength[near][minima]
        assert (red - blue) / 2 == pytest.approx(20.13 * made.truth["field_MG"], rel=0.06)


def test_polars_have_humps_at_the_harmonics_of_the_cyclotron():
    # λ = 10710 Å · (100 MG / B) / n (Wickramasinghe & Ferrario 2000).
    assert cyclotron_AA(100, 1) == pytest.approx(10710, rel=1e-3)
    assert cyclotron_AA(30, 5) == pytest.approx(7140, rel=1e-3)
    made = source("cv-polar", 0, lambda t: t["cyclotron_strength"] > 0.7 and 28 < t["field_MG"] < 34)
    wavelength, flux = rest(made)
    humps = [cyclotron_AA(made.truth["field_MG"], n) for n in (4, 5)]
    valley = np.mean(humps)
    at = [float(np.median(flux[np.abs(wavelength - where) < 60])) for where in (humps[0], valley, humps[1])]
    assert at[1] < (at[0] + at[2]) / 2


def test_low_rate_systems_show_the_white_dwarfs_wings_below_the_emission():
    for seed in range(6):
        wavelength, flux = rest(source("cv-wz-sge", seed))
        assert equivalent_width(wavelength, flux, 6564.61, 45, 30) > 3  # emission
        beside = mean(wavelength, flux, 4895, 4905) / mean(wavelength, flux, 5000, 5040)
        assert beside < 0.98  # the wing of Hβ, 35 Å off


def test_am_cvn_stars_have_helium_and_no_hydrogen():
    for seed in range(4):
        made = source("cv-am-cvn", seed)
        wavelength, flux = rest(made)
        reach = 1.2 * made.truth["fwhm_kms"] / 3e5 * 5877
        assert equivalent_width(wavelength, flux, 5877.25, reach, 15) == pytest.approx(
            made.truth["he_i_ew_AA"], rel=0.1
        )
        assert abs(equivalent_width(wavelength, flux, 6450, 40, 20)) < 0.5
        hbeta = mean(wavelength, flux, 4855, 4870) / mean(wavelength, flux, 4780, 4800)
        assert hbeta < 1.1


def test_a_nebula_has_the_decrement_of_case_b():
    # Osterbrock & Ferland 2006: Hα : Hβ : Hγ = 2.86 : 1 : 0.469; [O III] 2.98, [N II] 3.05 (Storey & Zeippen 2000).
    made = source("planetary-nebula", 0, lambda t: t["oiii_to_hbeta"] > 3)
    wavelength, flux = rest(made)
    clean = flux / extinction(wavelength, made.truth["reddening_mag"])

    def area(centre, half=8):
        near = np.abs(wavelength - centre) < half
        level = np.median(clean[np.abs(wavelength - centre) < 60])
        return np.trapezoid(clean[near] - level, wavelength[near])

    assert area(6564.61) / area(4862.69) == pytest.approx(2.86, rel=0.03)
    assert area(4341.69) / area(4862.69) == pytest.approx(0.469, rel=0.05)
    assert area(5008.24) / area(4960.30) == pytest.approx(2.98, rel=0.03)
    assert area(6585.27) / area(6549.86) == pytest.approx(3.05, rel=0.04)
    assert area(5008.24) / area(4862.69) == pytest.approx(made.truth["oiii_to_hbeta"], rel=0.03)


def test_a_wind_shows_p_cygni_profiles():
    for seed in range(4):
        made = source("p-cygni-star", seed)
        wavelength, flux = rest(made)
        wind = 5877.25 * (1 - made.truth["wind_kms"] / 299792.458)
        level = mean(wavelength, flux, 5905, 5930)
        assert flux[np.abs(wavelength - 5877.25) < 2].max() > 1.2 * level
        assert flux[np.abs(wavelength - wind) < 2].min() < 0.9 * level


def test_symbiotic_stars_are_m_giants_with_narrow_lines():
    wavelength, flux = rest(source("symbiotic", 0, lambda t: t["raman"] and t["temperature_K"] < 3500))
    assert mean(wavelength, flux, 7059, 7070) / mean(wavelength, flux, 7042, 7053) < 0.9  # TiO
    assert equivalent_width(wavelength, flux, 6826.9, 30, 8) > 1


@pytest.mark.parametrize("seed", [0, 50, 100])
def test_quasars_have_their_lines_at_their_redshift(seed):
    made = source("quasar", seed, lambda t: 0.6 < t["redshift"] < 2.0)
    wavelength = made.wavelength_AA
    there = 2798.75 * (1 + made.redshift)
    peak = (wavelength > there - 150) & (wavelength < there + 150)
    assert wavelength[peak][np.argmax(made.flux[peak])] == pytest.approx(there, abs=12)


def test_the_forest_absorbs_blueward_of_lyman_alpha_more_at_higher_redshift():
    def transmitted(made):
        wavelength, flux = rest(made)
        return mean(wavelength, flux, 1090, 1160) / mean(wavelength, flux, 1280, 1350)

    # At z = 2.5 three quarters of the light come through, at 3.9 less than 60 % (Press et al. 1993); the power
    # law rises a little to the blue.
    near = [transmitted(source("quasar", s, lambda t: 2.4 < t["redshift"] < 2.7)) for s in range(0, 400, 40)]
    far = [transmitted(source("quasar", s, lambda t: 3.6 < t["redshift"] < 4.0)) for s in range(0, 400, 40)]
    assert np.median(far) < 0.85 * np.median(near)


def test_galaxies_have_their_features_at_their_redshift():
    made = source("galaxy", 0, lambda t: t["redshift"] > 0.1)
    wavelength, flux = rest(made)
    k_line = (wavelength > 3910) & (wavelength < 3952)
    assert wavelength[k_line][np.argmin(flux[k_line])] == pytest.approx(3934.8, abs=3)
    # The 4000 Å break of old stars (Balogh et al. 1999): mean flux 4000–4100 over 3850–3950, per frequency.
    frequency = flux * wavelength**2
    assert mean(wavelength, frequency, 4000, 4100) / mean(wavelength, frequency, 3850, 3950) > 1.3


def test_star_forming_and_seyfert_galaxies_part_in_the_diagram_of_baldwin_phillips_and_terlevich():
    # Kauffmann et al. 2003: log [O III]/Hβ against 0.61 / (log [N II]/Hα − 0.05) + 1.3.
    for seed in range(30):
        for kind, above in (("star-forming-galaxy", False), ("seyfert-2", True)):
            truth = source(kind, seed).truth
            oxygen, nitrogen = np.log10(truth["oiii_to_hbeta"]), np.log10(truth["nii_to_halpha"])
            border = 0.61 / (nitrogen - 0.05) + 1.3 if nitrogen < 0.05 else -np.inf
            assert bool(oxygen > border) is above


def test_the_unknown_have_no_line():
    for seed in range(5):
        wavelength, flux = rest(source("unknown", seed))
        smooth = np.polyval(np.polyfit(wavelength - 6500, flux, 9), wavelength - 6500)
        inside = (wavelength > 4000) & (wavelength < 9000)
        assert np.abs(flux / smooth - 1)[inside].max() < 0.15
        assert np.abs(np.diff(flux)).max() < 0.01


def test_carbon_stars_of_class_r_are_warm_and_have_c2():
    for seed in range(0, 80, 20):
        made = source("carbon-r", seed, lambda t: t["C2_depth"] > 0.5)
        wavelength, flux = noisy(made)
        assert jump(wavelength, flux, 5166.44) > 1.2
        assert jump(wavelength, flux, 5637.56) > 1.1
        # Light in the blue tells them from C-N stars.
        cool = source("carbon-n", seed)
        blue_to_red = ((4450, 4650), (7300, 7600))
        assert index(made, *blue_to_red) > 3 * index(cool, *blue_to_red)


def test_m_subdwarfs_have_weak_tio_for_their_cah():
    # Gizis 1997: at equal CaH2 a subdwarf has the larger TiO5.
    cah2, tio5 = ((6815.9, 6847.9), (7043.9, 7047.9)), ((7128, 7137), (7043.9, 7047.9))
    dwarfs = [source("m-dwarf", seed) for seed in range(40)]
    for seed in range(0, 100, 20):
        made = source("m-subdwarf", seed)
        dwarf = min(dwarfs, key=lambda other: abs(index(other, *cah2) - index(made, *cah2)))
        assert index(made, *tio5) > index(dwarf, *tio5) + 0.05
