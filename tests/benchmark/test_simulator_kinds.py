import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specvi_benchmark.errors import UserError
from specvi_benchmark.simulator import KINDS, Rates, make_source, observe, wavelengths
from specvi_benchmark.simulator.instrument import fine_grid
from specvi_benchmark.simulator.photospheres import Cool, cool_star
from specvi_benchmark.spectrum import Spectrum

CLEAN = Rates(0, 0, 0, 0, 0, 0, 0)


def source(kind, seed=0, where=lambda _: True):
    """The first source of a kind, from ``seed`` on, whose parameters are as asked."""
    for number in range(seed, seed + 200):
        made = make_source(kind, np.random.default_rng(number))
        if where(made.truth):
            return made
    raise AssertionError(f"no {kind} with such parameters")


def rest(made):
    """Rest-frame wavelength and flux before the telescope."""
    return fine_grid() / (1 + made.redshift), made.flux


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
        assert made.flux.shape == fine_grid().shape
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
def test_halpha_stands_at_the_true_velocity_in_the_observed_spectrum(seed):
    made = source(
        "cv-quiescent", seed, lambda truth: truth["peak_separation_kms"] == 0 and truth["halpha_ew_AA"] > 40
    )
    seen = observe(made, 60.0, np.random.default_rng(seed), CLEAN)
    wavelength = wavelengths()
    expected = 6564.61 * (1 + made.redshift)
    near = np.abs(wavelength - expected) < 1.5 * made.truth["fwhm_kms"] / 3e5 * 6565
    level = np.median(seen.flux[np.abs(wavelength - expected) < 150])
    centre = np.average(wavelength[near], weights=seen.flux[near] - level)
    assert centre == pytest.approx(expected, abs=1.5)


def test_double_peaks_are_seen_when_put_in():
    made = source("cv-quiescent", 0, lambda truth: truth["peak_separation_kms"] > 700)
    wavelength, flux = rest(made)
    velocity = (wavelength / 6564.61 - 1) * 299792.458
    separation = made.truth["peak_separation_kms"]
    blue = velocity[(velocity < 0) & (velocity > -1500)][np.argmax(flux[(velocity < 0) & (velocity > -1500)])]
    red = velocity[(velocity > 0) & (velocity < 1500)][np.argmax(flux[(velocity > 0) & (velocity < 1500)])]
    # Peaks that overlap move a little together.
    assert separation * 0.75 < red - blue < separation * 1.1


def test_cvs_have_broader_lines_than_their_confusers():
    cv = [source("cv-quiescent", seed).truth["fwhm_kms"] for seed in range(30)]
    others = [
        source(kind, s).truth["fwhm_kms"]
        for kind in ("active-m-dwarf", "be-star", "t-tauri")
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
    for dwarf in (source("m-dwarf", seed, lambda t: t["temperature_K"] < 3500) for seed in range(0, 120, 10)):
        wanted = index(dwarf, *tio5)
        giant = min(giants, key=lambda made: abs(index(made, *tio5) - wanted))
        assert index(giant, *tio5) == pytest.approx(wanted, abs=0.05)
        assert index(giant, *cah2) > index(dwarf, *cah2) + 0.08


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
    # Horizontal-branch stars are below about 28 Å, A dwarfs 30 to 40 (Beers et al. 1992), white dwarfs above.
    assert np.median(bhb) < 28 < np.median(dwarf_a) < 36
    assert min(white) > 36


def test_helium_white_dwarfs_have_no_hydrogen():
    made = source("wd-db", 0)
    wavelength, flux = rest(made)
    assert equivalent_width(wavelength, flux, 4862.69, 8, 5) == pytest.approx(0, abs=0.3)
    assert equivalent_width(wavelength, flux, 4472.73, 60, 20) < -3


# --- observation ----------------------------------------------------------------------------------


@settings(max_examples=25)
@given(
    kind=st.sampled_from(sorted(KINDS)), seed=st.integers(0, 10**6), snr=st.floats(1.5, 150),
    dead=st.floats(0, 1), blue=st.floats(0, 1),
)  # fmt: skip
def test_an_observation_is_a_valid_spectrum(kind, seed, snr, dead, blue):
    rng = np.random.default_rng(seed)
    seen = observe(make_source(kind, rng), snr, rng, Rates(dead_segment=dead, blue_end_lost=blue))
    spectrum = Spectrum(wavelengths(), seen.flux, seen.ivar, seen.mask)  # checks itself
    assert ((seen.ivar == 0) == seen.mask).all()
    assert spectrum.has_errors
    assert spectrum.bad_fraction < 0.15


@pytest.mark.parametrize("snr", [4.0, 12.0, 50.0])
def test_the_achieved_snr_is_the_asked_one(snr):
    achieved = []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        seen = observe(make_source("a-star", rng), snr, rng, CLEAN)
        achieved.append(Spectrum(wavelengths(), seen.flux, seen.ivar, seen.mask).snr)
    assert np.mean(achieved) == pytest.approx(snr, rel=0.06)


def test_ivar_is_the_inverse_variance_of_the_noise():
    made = source("fg-star", 0)
    visits = [observe(made, 20.0, np.random.default_rng(seed), CLEAN) for seed in range(60)]
    # Scale and sky differ from visit to visit, so compare each with its own smooth neighbourhood.
    pulls = []
    for seen in visits:
        good = ~seen.mask
        difference = seen.flux[2:] - (seen.flux[1:-1] + seen.flux[:-2]) / 2
        window = slice(2200, 2400)  # 6140–6430 Å: few lines in an F or G star at this noise
        whole = (good[2:] & good[1:-1] & good[:-2])[window]
        pulls.append((difference[window] * np.sqrt(seen.ivar[2:][window] / 1.5))[whole])
    assert np.std(np.concatenate(pulls)) == pytest.approx(1, abs=0.06)


def test_two_visits_differ_and_each_can_be_repeated():
    made = source("cv-polar", 0)
    first, again, other = (observe(made, 20.0, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first.flux.tobytes() == again.flux.tobytes()
    assert first.truth == again.truth
    assert first.flux.tobytes() != other.flux.tobytes()


def test_flux_is_stored_in_steps_well_below_the_noise():
    seen = observe(source("a-star", 0), 30.0, np.random.default_rng(0), CLEAN)
    step = 2.0 ** np.floor(np.log2(np.median(seen.ivar[seen.ivar > 0] ** -0.5) / 16))
    counts = seen.flux / step
    assert np.abs(counts - np.round(counts)).max() == 0
