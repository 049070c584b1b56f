"""Grids, line spread, noise of the three instruments, against what is published of them."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d

from specvi_benchmark.errors import UserError
from specvi_benchmark.simulator import wavelengths
from specvi_benchmark.simulator.continuum import planck
from specvi_benchmark.simulator.instrument import expose, get_instrument, instruments, middle
from specvi_benchmark.simulator.lattice import STEP_DEX, star_grid
from specvi_benchmark.simulator.lines import gaussian

LAMOST = get_instrument("lamost")
C = 299792.458


def test_there_are_three_instruments():
    assert {"lamost", "sdss", "desi"} <= set(instruments())
    with pytest.raises(UserError, match="no such instrument"):
        wavelengths("hubble")


def test_lamosts_grid():
    grid = wavelengths()
    assert grid.size == 3909
    assert (grid[0], grid[-1]) == (3700.0, pytest.approx(9099.2, abs=0.2))
    assert np.diff(np.log10(grid)) == pytest.approx(np.full(3908, 1e-4), rel=5e-4)


def test_sdss_grid():
    grid = wavelengths("sdss")
    assert (grid[0], grid[-1]) == (pytest.approx(3800, abs=1), pytest.approx(9200, abs=5))
    assert np.diff(np.log10(grid)) == pytest.approx(np.full(grid.size - 1, 1e-4), rel=1e-3)


def test_desis_grid():
    grid = wavelengths("desi")
    assert grid.size == 7781
    assert (grid[0], grid[-1]) == (3600.0, 9824.0)
    assert np.diff(grid) == pytest.approx(np.full(7780, 0.8), abs=2e-4)


@pytest.mark.parametrize(
    ("name", "centre", "resolving_power"),
    [
        ("lamost", 4500.0, 1800), ("lamost", 6564.6, 1800), ("lamost", 8500.0, 1800),
        ("sdss", 3900.0, 1523), ("sdss", 6000.0, 2000), ("sdss", 9000.0, 2469),
        ("desi", 3700.0, 2046), ("desi", 6564.6, 3700), ("desi", 9500.0, 4882),
    ],
)  # fmt: skip
@pytest.mark.parametrize("shift", [0.0, 0.3, -7.85])
def test_a_narrow_line_comes_out_at_the_stated_resolution(name, centre, resolving_power, shift):
    looking = get_instrument(name)
    grid = looking.wavelength_AA
    there = centre * 10 ** (STEP_DEX * shift)
    if shift:
        there = centre
    line = gaussian(100.0)(star_grid(), centre * 10 ** (-STEP_DEX * shift))
    spread = looking.see(line, shift)
    step = np.gradient(grid)
    assert (spread * step).sum() == pytest.approx(1, rel=1e-3)
    weights = spread * step
    mean = np.average(grid, weights=weights)
    sigma = np.sqrt(np.average((grid - mean) ** 2, weights=weights))
    assert mean == pytest.approx(there, abs=0.05)
    # The line and the pixel (a box: width / √12) add to the line spread in quadrature.
    pixel = float(np.interp(centre, grid, step)) / centre * C
    expected = np.sqrt((C / resolving_power / 2.3548) ** 2 + (100 / 2.3548) ** 2 + pixel**2 / 12)
    assert sigma / centre * C == pytest.approx(expected, rel=0.02)


def test_level_light_stays_level_up_to_the_ends():
    for name in instruments():
        looking = get_instrument(name)
        for shift in (-10.2, 0.0, 10.2):
            assert looking.see(np.full(star_grid().size, 7.0), shift) == pytest.approx(7.0, rel=3e-5)


def test_the_line_spread_is_scipys_gaussian():
    rng = np.random.default_rng(0)
    flux = gaussian_filter1d(rng.normal(1, 0.3, star_grid().size), 3.0)
    # At R = 1800 and a pixel of two samples: σ² in samples.
    variance = (1 / 1800 / 2.3548 / np.log(10) / STEP_DEX) ** 2 + 2**2 / 12
    smooth = gaussian_filter1d(flux, np.sqrt(variance), truncate=6)
    expected = np.interp(LAMOST.wavelength_AA, star_grid(), smooth)
    assert LAMOST.see(flux, 0.0) == pytest.approx(expected, abs=2e-3)


def test_a_shift_moves_light_to_the_red_by_the_velocity():
    line = gaussian(150.0)(star_grid(), 6000.0)
    for kms in (-300.0, 20.0, 300.0):
        seen = LAMOST.see(line, float(np.log10(1 + kms / C) / STEP_DEX))
        mean = np.average(LAMOST.wavelength_AA, weights=seen * LAMOST.wavelength_AA)
        assert (mean / 6000 - 1) * C == pytest.approx(kms, abs=2.5)  # 0.05 Å


@pytest.mark.parametrize("snr", [3.0, 15.0, 80.0])
@pytest.mark.parametrize("sky", [60.0, 500.0])
@pytest.mark.parametrize("name", ["lamost", "sdss", "desi"])
def test_an_exposure_reaches_the_snr_asked_for(snr, sky, name):
    looking = get_instrument(name)
    flux = 200 * planck(looking.wavelength_AA, 6000)
    seen = expose(looking, flux, snr, sky)
    assert np.median(flux / seen.sigma) == pytest.approx(snr, rel=2e-3)


def test_noise_follows_throughput_and_sky():
    sigma = expose(LAMOST, np.full(3909, 100.0), 10.0, 100.0).sigma
    at = {wave: float(np.interp(wave, wavelengths(), sigma)) for wave in (3750, 5000, 5800, 7050, 9050)}
    assert at[3750] > 3 * at[5000]
    assert at[5800] > 1.3 * at[5000]  # between the arms
    assert at[9050] > 1.5 * at[7050]
    line, beside = (np.interp(wave, wavelengths(), sigma) for wave in (5578.9, 5560.0))
    assert line > 1.5 * beside  # airglow


def test_noise_is_that_of_photons_and_of_the_detector():
    # σ² k² r² = k r f + sky r + n²: solve for k where the source is alone, then check every pixel.
    flux = 100 * planck(LAMOST.wavelength_AA, 9000)
    seen = expose(LAMOST, flux, 20.0, 150.0)
    k = 150.0 / seen.sky_unit
    response = LAMOST.response
    electrons = k * response * flux
    background = 150.0 * response * (LAMOST.sky_continuum + LAMOST.sky_lines) + 8.0**2
    assert seen.sigma * k * response == pytest.approx(np.sqrt(electrons + background), rel=1e-9)


def test_moonlight_adds_noise_in_the_blue():
    flux = np.full(3909, 100.0)
    dark = expose(LAMOST, flux, 10.0, 100.0)
    moon = expose(LAMOST, flux, 10.0, 100.0, moon=5 * (LAMOST.wavelength_AA / 5500) ** -3)
    ratio = moon.sigma / dark.sigma
    assert np.interp(4300, wavelengths(), ratio) > 1.1 * np.interp(8000, wavelengths(), ratio)


def test_more_light_from_the_source_means_poisson_noise():
    # Without much sky, σ/flux of a pixel falls as 1/√electrons: four times the electrons at twice the S/N.
    flux = np.full(3909, 100.0)
    faint, bright = (expose(LAMOST, flux, snr, 1.0) for snr in (100.0, 200.0))
    assert faint.sigma[2000] / bright.sigma[2000] == pytest.approx(2, rel=0.05)


def test_sky_lines_stand_where_the_sky_has_them():
    for name in instruments():
        looking = get_instrument(name)
        lines, grid = looking.sky_lines, looking.wavelength_AA
        for vacuum, least in ((5578.89, 15), (6302.04, 5), (8401.5, 8)):
            near = (grid > vacuum - 4) & (grid < vacuum + 4)
            assert lines[near].max() > least
            assert grid[near][np.argmax(lines[near])] == pytest.approx(vacuum, abs=1.5)
        assert lines[(grid > 4700) & (grid < 5400)].max() < 1e-6


def test_a_sky_line_has_the_same_flux_at_any_resolution():
    def flux(name):
        looking = get_instrument(name)
        near = np.abs(looking.wavelength_AA - 5578.9) < 15
        return (looking.sky_lines * np.gradient(looking.wavelength_AA))[near].sum()

    assert flux("desi") == pytest.approx(flux("lamost"), rel=0.02)


def test_middle_is_the_median():
    values = np.random.default_rng(1).normal(size=101)
    assert middle(values) == np.median(values)
