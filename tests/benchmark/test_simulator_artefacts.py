"""Every artefact: where it strikes, how strongly, and that its dial at 0 does nothing."""

import numpy as np
import pytest

from specvi_benchmark.errors import UserError
from specvi_benchmark.simulator import Rates, make_source, observe, wavelengths
from specvi_benchmark.simulator.artefacts import Visit, all_artefacts
from specvi_benchmark.simulator.artefacts.sunlight import moonlight
from specvi_benchmark.simulator.instrument import expose, get_instrument

GRID = wavelengths()
DRAWS = 400


def visit(moon=None, flux=100.0, instrument="lamost"):
    looking = get_instrument(instrument)
    size = looking.wavelength_AA.size
    new = Visit(looking, np.full(size, flux), moon, np.zeros(size, bool), np.zeros(size, bool))
    exposure = expose(looking, new.flux, 10.0, 200.0)
    new.sigma, new.sky_unit = exposure.sigma, exposure.sky_unit
    return new


def spoiled(name, dial, seed=0, **about):
    made = visit(**about)
    all_artefacts()[name].spoil(made, dial, np.random.default_rng(seed))
    return made


def at(made, wavelength, half=0.8):
    return made.flux[np.abs(made.instrument.wavelength_AA - wavelength) < half].mean()


# --- the dials ------------------------------------------------------------------------------------


def test_every_artefact_of_the_reference_has_a_dial():
    assert set(all_artefacts()) >= {
        "sky_residue", "telluric_residue", "arm_step", "flux_calibration", "cosmic_rays", "fringes", "dead_pixels",
        "dead_stretch", "blue_end_lost", "moon_residue", "nebular_residue", "neighbour_light",
    }  # fmt: skip
    stages = [one.stage for one in all_artefacts().values()]
    assert stages == sorted(stages, key=["light", "detector", "calibration"].index)
    assert all(one.meaning and one.default > 0 for one in all_artefacts().values())


def test_a_dial_is_checked():
    with pytest.raises(UserError, match="no such artefact"):
        Rates(gremlins=1)
    with pytest.raises(UserError, match="at least 0"):
        Rates(fringes=-1)
    with pytest.raises(UserError, match="at least 0"):
        Rates(fringes=float("nan"))
    assert Rates(fringes=0.5)["fringes"] == 0.5
    assert Rates()["fringes"] == all_artefacts()["fringes"].default
    assert set(Rates.none().values()) == {0.0}
    assert Rates.none(fringes=0.5)["fringes"] == 0.5


@pytest.mark.parametrize("instrument", ["lamost", "sdss", "desi"])
def test_all_dials_at_zero_leave_light_and_noise_alone(instrument):
    made = make_source("a-star", np.random.default_rng(0))
    looking = get_instrument(instrument)
    seen = observe(made, 1e5, np.random.default_rng(1), Rates.none(), instrument)
    expected = looking.see(made.flux, float(np.log10(1 + made.redshift) / 5e-5))
    assert not seen.mask.any()
    assert seen.flux / seen.flux.mean() == pytest.approx(expected / expected.mean(), rel=1e-3)


@pytest.mark.parametrize("name", sorted(all_artefacts()))
def test_one_dial_changes_its_own_artefact_only(name):
    made = make_source("k-giant", np.random.default_rng(3))
    clean = observe(made, 20.0, np.random.default_rng(4), Rates.none())
    changed = False
    for seed in range(60):
        clean = observe(made, 20.0, np.random.default_rng(seed), Rates.none())
        seen = observe(made, 20.0, np.random.default_rng(seed), Rates.none(**{name: 1.0}))
        differs = (seen.flux != clean.flux) | (seen.mask != clean.mask)
        changed |= bool(differs.any())
        # The noise is drawn first: where the artefact does not strike, the pixels are the same.
        if name in {"cosmic_rays", "dead_pixels", "dead_stretch", "blue_end_lost"}:
            assert (~differs).mean() > 0
        if changed:
            break
    assert changed


# --- one by one -----------------------------------------------------------------------------------


def test_sky_residue_is_a_share_of_the_sky():
    pixel = int(np.argmin(np.abs(GRID - 5578.89)))
    clean = visit()
    left = np.array([spoiled("sky_residue", 0.03, seed).flux[pixel] - 100 for seed in range(DRAWS)])
    peak = clean.sky_unit * clean.instrument.sky_lines[pixel]
    assert left.mean() == pytest.approx(0, abs=0.01 * peak)
    assert left.std() == pytest.approx(0.03 * peak, rel=0.15)


def test_sky_lines_shifted_by_the_wavelength_calibration_look_like_p_cygni():
    made = next(
        one for one in (spoiled("sky_residue", 0.05, seed) for seed in range(200))
        if abs(one.truth["sky_shift_pixels"]) > 8 * abs(one.truth["sky_oxygen_residue"])
    )  # fmt: skip
    level = at(made, 5540, 15)
    blue, red = at(made, 5577.2) - level, at(made, 5580.6) - level
    assert blue * red < 0


def test_moonlight_left_behind_is_sunlight_at_rest():
    moon = 5 * moonlight("lamost")
    clean = visit(moon=moon)
    for seed in range(20):
        made = spoiled("moon_residue", 0.1, seed, moon=moon)
        added = (made.flux - 100) / made.truth["moon_residue"] / clean.sky_unit
        assert added == pytest.approx(moon, rel=1e-6)
    # The Sun's Ca II K and Mg b at their vacuum wavelengths, and a blue slope.
    k_line = (GRID > 3925) & (GRID < 3945)
    assert GRID[k_line][np.argmin(moon[k_line])] == pytest.approx(3934.8, abs=2)
    assert moon[np.abs(GRID - 5177) < 12].min() < 0.9 * moon[np.abs(GRID - 5230) < 10].max()
    assert spoiled("moon_residue", 0.1).flux == pytest.approx(100)  # no moon, no moonlight


def test_cosmic_rays_come_at_their_rate_and_half_are_masked():
    unflagged = masked = 0
    for seed in range(DRAWS):
        made = spoiled("cosmic_rays", 2.0, seed)
        assert (made.flux >= 100).all()
        assert ((made.flux > 100) | ~made.flagged).all()
        unflagged += len(made.truth["cosmic_rays_AA"])
        masked += int(np.diff(made.flagged.astype(int), prepend=0).clip(0).sum())
        for where in made.truth["cosmic_rays_AA"]:
            assert at(made, where, 3) > 100
    # Poisson: 400 expected of each, standard deviation 20.
    assert abs(unflagged - 400) < 80
    assert abs(masked - 400) < 80


def test_dead_pixels_stretches_and_ends_at_their_rates():
    stretches = [spoiled("dead_stretch", 0.2, seed).lost for seed in range(DRAWS)]
    ends = [spoiled("blue_end_lost", 0.1, seed).lost for seed in range(DRAWS)]
    single = [spoiled("dead_pixels", 2.0, seed).lost.sum() for seed in range(DRAWS)]
    assert np.mean([lost.any() for lost in stretches]) == pytest.approx(0.2, abs=0.07)
    assert all(15 <= lost.sum() < 150 for lost in stretches if lost.any())
    assert np.mean([lost.any() for lost in ends]) == pytest.approx(0.1, abs=0.05)
    assert all(lost[:50].all() for lost in ends if lost.any())
    assert np.mean(single) == pytest.approx(2, abs=0.3)


def test_the_red_arm_steps_by_what_is_recorded():
    made = spoiled("arm_step", 0.1, 3)
    assert made.flux[GRID > 6100] / 100 == pytest.approx(1 + made.truth["arm_steps"][0])
    assert made.flux[GRID < 5600] / 100 == pytest.approx(1)
    three_arms = spoiled("arm_step", 0.1, 3, instrument="desi")
    first, second = three_arms.truth["arm_steps"]
    grid = three_arms.instrument.wavelength_AA
    assert three_arms.flux[grid > 7800] / 100 == pytest.approx((1 + first) * (1 + second))


def test_steps_have_the_spread_of_their_dial():
    steps = [spoiled("arm_step", 0.08, seed).truth["arm_steps"][0] for seed in range(DRAWS)]
    assert np.std(steps) == pytest.approx(0.08, rel=0.15)


def test_calibration_errors_are_slow_and_the_ends_droop():
    ends = []
    for seed in range(100):
        made = spoiled("flux_calibration", 0.05, seed)
        assert np.abs(np.diff(made.flux)).max() < 1  # percent of the flux a pixel
        middle = made.flux[(GRID > 4200) & (GRID < 8600)] / 100
        assert np.abs(middle - np.poly1d(np.polyfit(GRID[(GRID > 4200) & (GRID < 8600)], middle, 2))(
            GRID[(GRID > 4200) & (GRID < 8600)])).max() < 1e-2  # fmt: skip
        ends.append(made.flux[0] - made.flux[200])
    assert np.mean(ends) < -2


def test_fringes_are_a_quasi_sine_in_the_red_only():
    made = spoiled("fringes", 0.05, 1)
    ripple = made.flux / 100 - 1
    assert not ripple[GRID < 7390].any()
    far = ripple[GRID > 8450]
    assert np.abs(far).max() == pytest.approx(made.truth["fringe_amplitude"], rel=0.02)
    red = GRID[GRID > 8450]
    crossings = red[1:][np.diff(np.sign(far)) != 0]
    assert 15 < np.median(np.diff(crossings)) < 60  # half of 40 to 100 Å


def test_air_absorbs_where_oxygen_and_water_do():
    for seed in range(5):
        made = spoiled("telluric_residue", 0.1, seed)
        depth = -np.log(made.flux / 100) / made.truth["telluric_residue"]
        assert depth[(GRID > 7605) & (GRID < 7625)].max() == pytest.approx(
            0.8, abs=0.25
        )  # A band, one air mass
        assert depth[(GRID > 6000) & (GRID < 6800)] == pytest.approx(0, abs=1e-9)
        # The A band is sharp on its blue side.
        assert depth[np.abs(GRID - 7590) < 3].max() < 0.2 * depth[np.abs(GRID - 7604) < 4].max()


def test_nebular_residue_is_hydrogen_with_nitrogen_and_sulphur():
    struck = [made for made in (spoiled("nebular_residue", 1.0, seed) for seed in range(30)) if made.truth]
    assert len(struck) == 30
    for made in struck:
        width = np.trapezoid(
            (made.flux / 100 - 1)[np.abs(GRID - 6564.6) < 8], GRID[np.abs(GRID - 6564.6) < 8]
        )
        assert width == pytest.approx(made.truth["nebular_halpha_ew_AA"], rel=0.05)
        sign = np.sign(made.truth["nebular_halpha_ew_AA"])
        for line in (6585.3, 6718.3, 6732.7):
            assert sign * (at(made, line) - 100) > 0
        assert at(made, 6640, 20) == pytest.approx(100, rel=1e-3)
    assert (
        np.mean([made.truth["nebular_halpha_ew_AA"] < 0 for made in struck]) < 0.6
    )  # over-subtraction is rarer


def test_a_neighbours_light_is_a_share_of_the_whole():
    struck = [made for made in (spoiled("neighbour_light", 0.3, seed) for seed in range(DRAWS)) if made.truth]
    assert len(struck) / DRAWS == pytest.approx(0.3, abs=0.08)
    for made in struck[:20]:
        share = made.truth["neighbour_share"]
        assert 0.05 <= share <= 0.35
        # A flat source and a G star: Ca II K of the star is as deep as its share says.
        depth = 1 - at(made, 3934.8, 3) / 100
        assert depth > 0.3 * share
