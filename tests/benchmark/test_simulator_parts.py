import numpy as np
import pytest
from astropy import units as u
from astropy.modeling.models import BlackBody
from scipy.signal import peak_widths

from specvi_benchmark.simulator import artefacts, instrument
from specvi_benchmark.simulator.artefacts import Rates
from specvi_benchmark.simulator.bands import optical_depth
from specvi_benchmark.simulator.continuum import extinction, planck, power_law
from specvi_benchmark.simulator.lines import (
    add_emission,
    balmer_AA,
    balmer_absorption,
    double_peak,
    gaussian,
    stark_absorption,
)

FINE = np.arange(3700.0, 9100.0, 0.25)


def width_at_half(wavelength, profile):
    peak = int(np.argmax(profile))
    return peak_widths(profile, [peak], rel_height=0.5)[0][0] * (wavelength[1] - wavelength[0])


# --- continuum ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kelvin", [2900, 5772, 40000])
def test_planck_is_the_black_body_of_astropy(kelvin):
    body = BlackBody(kelvin * u.K, scale=1 * u.erg / (u.s * u.cm**2 * u.AA * u.sr))
    reference = body(FINE * u.AA).value
    at_5500 = body(5500 * u.AA).value
    assert planck(FINE, kelvin) == pytest.approx(reference / at_5500, rel=1e-6)


def test_power_law_of_a_quasar():
    # F_ν ∝ ν^−0.44 is F_λ ∝ λ^(0.44 − 2): from 4000 to 8000 Å a factor 2^−1.56.
    ratio = power_law(np.array([4000.0, 8000.0]), 1.56)
    assert ratio[1] / ratio[0] == pytest.approx(2**-1.56)


@pytest.mark.parametrize(("per_micron", "magnitudes"), [(1.82, 3.1), (2.27, 4.1), (1.43, 3.1 * 0.751)])
def test_extinction_has_the_published_ratios(per_micron, magnitudes):
    # Cardelli, Clayton & Mathis 1989 for E(B−V) = 1: A(V) = R = 3.1, A(B) = R + 1; A(R) from their table 3.
    found = -2.5 * np.log10(extinction(np.array([1e4 / per_micron]), 1.0)[0])
    assert found == pytest.approx(magnitudes, abs=0.006)


# --- lines ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("upper", "air"), [(3, 6562.80), (4, 4861.33), (10, 3797.90), (11, 3770.63), (12, 3750.15)]
)
def test_balmer_wavelengths(upper, air):
    # NIST air wavelengths; 1.1 Å to vacuum at 3800 Å, 1.8 at Hα.
    offset = {3: 1.81, 4: 1.36}.get(upper, 1.08)
    assert balmer_AA(upper) == pytest.approx(air + offset, abs=0.06)


def test_a_gaussian_has_unit_area_and_its_width():
    profile = gaussian(1200, shift_kms=300)(FINE, 6564.61)
    assert np.trapezoid(profile, FINE) == pytest.approx(1, abs=1e-6)
    assert width_at_half(FINE, profile) / 6564.61 * 299792.458 == pytest.approx(1200, rel=0.01)
    assert FINE[np.argmax(profile)] == pytest.approx(6564.61 * (1 + 300 / 299792.458), abs=0.15)


def test_two_peaks_are_as_far_apart_as_asked():
    profile = double_peak(300, 900, blue_share=0.7)(FINE, 6564.61)
    assert np.trapezoid(profile, FINE) == pytest.approx(1, abs=1e-6)
    left, right = FINE < 6564.61, FINE > 6564.61
    blue, red = (FINE[side][np.argmax(profile[side])] for side in (left, right))
    assert (red - blue) / 6564.61 * 299792.458 == pytest.approx(900, abs=15)
    assert np.trapezoid(profile[left], FINE[left]) == pytest.approx(0.7, abs=0.01)


def test_emission_has_the_equivalent_width_asked_for():
    continuum = 3 * power_law(FINE, 1.0)
    with_line = add_emission(FINE, continuum, 6564.61, 25.0, gaussian(500))
    # The continuum changes by 0.2 % over the line.
    assert np.trapezoid(with_line / continuum - 1, FINE) == pytest.approx(25, rel=2e-3)
    assert add_emission(FINE, continuum, 12000.0, 25.0, gaussian(500)) is continuum


def test_stark_wings():
    depth = 1 - stark_absorption(FINE, 5000.0, 0.5, 20.0)
    at = {step: float(np.interp(5000 + step, FINE, depth)) for step in (0, 20, 200, 400)}
    assert at[0] == pytest.approx(0.5)
    assert at[20] == pytest.approx(0.25)
    assert at[200] / at[400] == pytest.approx(2**2.5, rel=0.01)  # far out the wing falls as Δλ^−5/2
    wide = np.linspace(-40000.0, 50000.0, 2_000_001)
    area = np.trapezoid(1 - stark_absorption(wide, 5000.0, 0.5, 20.0), wide)
    assert area == pytest.approx(2 * 0.5 * 20 * (np.pi / 2.5) / np.sin(np.pi / 2.5), rel=1e-3)


def test_balmer_lines_end_sooner_in_dense_gas():
    dwarf = balmer_absorption(FINE, 0.55, 25, last=11, fade=4)
    giant = balmer_absorption(FINE, 0.65, 7, last=20, fade=2)

    def contrast(series, upper):
        middle = (balmer_AA(upper) + balmer_AA(upper + 1)) / 2
        return float(np.interp(middle, FINE, series) - np.interp(balmer_AA(upper), FINE, series))

    assert contrast(dwarf, 6) > 0.3
    assert contrast(dwarf, 12) < 0.02  # H11 and higher have dissolved
    assert contrast(giant, 10) > 0.2


# --- bands ----------------------------------------------------------------------------------------


def step_across(wavelength, values, head, side):
    """Mean just redward minus mean just blueward of a head, each over ``side`` Å."""
    red = (wavelength > head + 1) & (wavelength < head + side)
    blue = (wavelength < head - 1) & (wavelength > head - side)
    return values[red].mean() - values[blue].mean()


@pytest.mark.parametrize(
    ("species", "head_vacuum", "sharp"),
    [("TiO", 7055.95, "blue"), ("ZrO", 6475.79, "blue"), ("CN", 7878.17, "blue"),
     ("C2", 4738.33, "red"), ("C2", 5166.44, "red"), ("C2", 5637.56, "red"), ("CN", 4217.19, "red")],
)  # fmt: skip
def test_bands_start_on_the_right_side(species, head_vacuum, sharp):
    depth = optical_depth(FINE, {species: 1.0})
    # A blue-sharp band absorbs redward of its head; a red-sharp one blueward.
    sign = 1 if sharp == "blue" else -1
    near = sign * step_across(FINE, depth, head_vacuum, 8)
    assert near > 0.25
    into_the_band = float(np.interp(head_vacuum + sign * 2, FINE, depth))
    assert into_the_band > float(np.interp(head_vacuum + sign * 16, FINE, depth))  # and fades into the band


def test_bands_of_no_strength_are_nothing():
    assert not optical_depth(FINE, {}).any()
    assert not optical_depth(FINE, {"TiO": 0.0}).any()


# --- instrument -----------------------------------------------------------------------------------


def test_the_grid_is_lamosts():
    grid = instrument.pixel_grid()
    assert grid.size == 3909
    assert (grid[0], grid[-1]) == (3700.0, pytest.approx(9099.2, abs=0.2))
    assert np.diff(np.log10(grid)) == pytest.approx(np.full(3908, 1e-4), rel=5e-4)


@pytest.mark.parametrize("centre", [4500.0, 6564.6, 8500.0])
def test_a_narrow_line_comes_out_at_resolution_1800(centre):
    spread = instrument.to_pixels(gaussian(60.0)(instrument.fine_grid(), centre))
    grid = instrument.pixel_grid()
    assert np.trapezoid(spread, grid) == pytest.approx(1, rel=1e-3)
    mean = np.average(grid, weights=spread)
    sigma = np.sqrt(np.average((grid - mean) ** 2, weights=spread))
    assert mean == pytest.approx(centre, abs=0.05)
    # Line (60 km/s) and pixel (69 km/s / √12) add to the line spread in quadrature.
    lsf, line, pixel = 299792.458 / 1800 / 2.3548, 60 / 2.3548, 69.03 / np.sqrt(12)
    assert sigma / centre * 299792.458 == pytest.approx(np.hypot(np.hypot(lsf, line), pixel), rel=0.02)


def test_level_light_stays_level():
    assert instrument.to_pixels(np.full_like(instrument.fine_grid(), 7.0)) == pytest.approx(
        np.full(3909, 7.0)
    )


@pytest.mark.parametrize("snr", [3.0, 15.0, 80.0])
@pytest.mark.parametrize("sky", [60.0, 500.0])
def test_an_exposure_reaches_the_snr_asked_for(snr, sky):
    flux = 200 * planck(instrument.pixel_grid(), 6000)
    seen = instrument.expose(flux, snr, sky)
    assert np.median(seen.flux / seen.sigma) == pytest.approx(snr, rel=1e-3)


def test_noise_follows_throughput_and_sky():
    flux = np.full(3909, 100.0)
    sigma = instrument.expose(flux, 10.0, 100.0).sigma
    at = {
        wave: float(np.interp(wave, instrument.pixel_grid(), sigma))
        for wave in (3750, 5000, 5800, 7050, 9050)
    }
    assert at[3750] > 3 * at[5000]
    assert at[5800] > 1.3 * at[5000]  # between the arms
    assert at[9050] > 1.5 * at[7050]
    line, beside = (np.interp(wave, instrument.pixel_grid(), sigma) for wave in (5578.9, 5560.0))
    assert line > 1.5 * beside  # airglow


def test_more_light_from_the_source_means_poisson_noise():
    # Without much sky, σ/flux of a pixel falls as 1/√electrons: four times the electrons at twice the S/N.
    flux = np.full(3909, 100.0)
    faint, bright = (instrument.expose(flux, snr, 1.0) for snr in (100.0, 200.0))
    assert faint.sigma[2000] / bright.sigma[2000] == pytest.approx(2, rel=0.05)


# --- artefacts ------------------------------------------------------------------------------------

NO_FAULTS = Rates(0, 0, 0, 0, 0, 0, 0)


@pytest.fixture
def exposure():
    return instrument.expose(np.full(3909, 100.0), 10.0, 200.0)


def draws(count=400):
    return (np.random.default_rng(number) for number in range(count))


def test_without_faults_nothing_goes_wrong(exposure):
    rng = np.random.default_rng(0)
    assert not artefacts.sky_left(exposure, NO_FAULTS, rng)[0].any()
    hits, flagged, _ = artefacts.cosmic_rays(exposure, NO_FAULTS, rng)
    assert not hits.any()
    assert not flagged.any()
    assert artefacts.miscalibrated(exposure.flux, NO_FAULTS, rng)[0] == pytest.approx(exposure.flux)


def test_sky_residue_is_a_share_of_the_sky(exposure):
    pixel = int(np.argmin(np.abs(instrument.pixel_grid() - 5578.89)))
    left = np.array([artefacts.sky_left(exposure, Rates(sky_residue=0.03), rng)[0][pixel] for rng in draws()])
    peak = exposure.sky_unit * instrument.sky_lines()[pixel]
    assert left.mean() == pytest.approx(0, abs=0.01 * peak)
    assert left.std() == pytest.approx(0.03 * peak, rel=0.15)


def test_sky_lines_stand_where_the_sky_has_them():
    lines, grid = instrument.sky_lines(), instrument.pixel_grid()
    for vacuum, least in ((5578.89, 15), (6302.04, 5), (8401.5, 8)):
        near = (grid > vacuum - 4) & (grid < vacuum + 4)
        assert lines[near].max() > least
        assert grid[near][np.argmax(lines[near])] == pytest.approx(vacuum, abs=1.5)
    assert lines[(grid > 4700) & (grid < 5400)].max() < 1e-6


def test_cosmic_rays_come_at_their_rate_and_half_are_masked(exposure):
    rates = Rates(cosmic_rays=2.0, cosmic_ray_flagged=0.5)
    unflagged = masked = 0
    for rng in draws():
        hits, flagged, truth = artefacts.cosmic_rays(exposure, rates, rng)
        assert (hits >= 0).all()
        unflagged += len(truth["cosmic_rays_AA"])
        masked += int(np.diff(flagged.astype(int), prepend=0).clip(0).sum())
    # Poisson: 400 expected of each kind, standard deviation 20.
    assert abs(unflagged - 400) < 80
    assert abs(masked - 400) < 80


def test_dead_pixels_at_their_rates():
    found = [artefacts.dead_pixels(Rates(dead_segment=0.2, blue_end_lost=0.1), rng) for rng in draws()]
    runs = [
        np.diff(np.flatnonzero(np.diff(np.r_[0, dead.astype(int), 0]))[:]).max(initial=0) for dead, _ in found
    ]
    assert sum(dead[:50].all() for dead, _ in found) / 400 == pytest.approx(0.1, abs=0.05)
    assert all(truth["dead_share"] == dead.mean() for dead, truth in found)
    assert any(run >= 15 for run in runs)


def test_the_red_arm_steps_by_what_is_recorded():
    rates = Rates(0, arm_step=0.1, calibration=0, cosmic_rays=0, dead_segment=0, blue_end_lost=0)
    flux, truth = artefacts.miscalibrated(np.ones(3909), rates, np.random.default_rng(3))
    grid = instrument.pixel_grid()
    assert flux[grid > 6100] == pytest.approx(1 + truth["red_arm_step"])
    assert flux[grid < 5600] == pytest.approx(1)


def test_air_absorbs_where_oxygen_and_water_do():
    grid = instrument.pixel_grid()
    for rng in draws(5):
        flux, truth = artefacts.through_air(np.ones(3909), rng)
        depth = -np.log(flux) / truth["telluric_residue"]
        assert depth[(grid > 7605) & (grid < 7625)].max() == pytest.approx(
            0.8, abs=0.25
        )  # A band, one air mass
        assert depth[(grid > 6000) & (grid < 6800)] == pytest.approx(0, abs=1e-9)
