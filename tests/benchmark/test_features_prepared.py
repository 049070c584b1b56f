"""Noise, resolution, frame and the selection of pixels that every measurement starts from."""

import numpy as np
import pytest

from specvi_benchmark.features import MAX_STELLAR_REDSHIFT, choose_shift, prepare
from specvi_benchmark.features.noise import scatter_sigma
from specvi_benchmark.spectrum import clean_spectrum
from specvi_benchmark.surveys import read_spectrum

GRID_AA = 3700 * 10 ** (1e-4 * np.arange(3909))


@pytest.mark.parametrize("level", [0.0, 100.0, -50.0])
def test_scatter_gives_the_noise_that_was_put_in(level):
    flux = np.random.default_rng(0).normal(level, 2.5, 4000)
    assert np.median(scatter_sigma(flux)) == pytest.approx(2.5, rel=0.04)


def test_scatter_is_not_moved_by_lines_slopes_and_spikes():
    rng = np.random.default_rng(0)
    x = np.arange(4000)
    flux = rng.normal(0, 1.0, x.size) + 0.05 * x + 200 * np.exp(-0.5 * ((x - 2000) / 15) ** 2)
    flux[rng.integers(0, x.size, 60)] += 1000
    assert scatter_sigma(flux) == pytest.approx(np.ones(x.size), rel=0.35)


def test_scatter_follows_noise_that_grows():
    x = np.linspace(0, 1, 8000)
    truth = 1 + 4 * x
    found = scatter_sigma(np.random.default_rng(0).normal(0, 1, x.size) * truth)
    assert np.median(np.abs(found / truth - 1)) < 0.1


@pytest.mark.parametrize("size", [0, 1, 4])
def test_scatter_of_too_few_pixels_is_zero(size):
    assert scatter_sigma(np.arange(float(size))).tolist() == [0.0] * size


def test_errors_of_the_survey_are_used_where_there_are_any():
    flux = np.full(GRID_AA.size, 10.0)
    with_errors = prepare(clean_spectrum(GRID_AA, flux, np.full(GRID_AA.size, 4.0)))
    assert (with_errors.noise_from, with_errors.snr) == ("ivar", 20.0)
    without = prepare(clean_spectrum(GRID_AA, flux + np.random.default_rng(0).normal(0, 0.5, flux.size)))
    assert without.noise_from == "scatter"
    assert without.snr == pytest.approx(20, rel=0.05)


def test_masked_pixels_are_left_out_and_not_bridged():
    mask = (GRID_AA > 5000) & (GRID_AA < 5500)
    prepared = prepare(clean_spectrum(GRID_AA, np.ones(GRID_AA.size), mask=mask))
    assert prepared.wavelength_AA.size == (~mask).sum()
    assert prepared.coverage((4900.0, 5000.0)) > 0.98
    assert prepared.coverage((5100.0, 5400.0)) == 0
    assert prepared.coverage((4500.0, 5500.0)) == pytest.approx(0.5, abs=0.01)
    assert prepared.width_AA.max() < 3  # the gap is no pixel of 500 Å


def test_rest_frame_divides_by_one_plus_z():
    prepared = prepare(clean_spectrum(GRID_AA, np.ones(GRID_AA.size)), redshift=0.001)
    assert prepared.wavelength_AA == pytest.approx(GRID_AA / 1.001)
    assert prepared.redshift == 0.001


@pytest.mark.parametrize(
    ("survey", "at_AA", "fwhm_kms"),
    [
        ("lamost", 5500, 299_792.458 / 1800),
        ("SDSS", 3800, 199.86),
        ("sdss", 9200, 119.9),
        ("desi", 3600, 149.9),
    ],
)
def test_resolution_of_a_survey(survey, at_AA, fwhm_kms):
    grid = np.linspace(3600, 9800, 6000)
    prepared = prepare(clean_spectrum(grid, np.ones(grid.size), survey=survey))
    assert np.interp(at_AA, grid, prepared.instrument_kms) == pytest.approx(fwhm_kms, rel=0.002)


def test_resolution_of_an_unknown_survey_is_two_pixels():
    prepared = prepare(clean_spectrum(GRID_AA, np.ones(GRID_AA.size)))
    assert prepared.instrument_kms == pytest.approx(2 * 299_792.458 * np.log(10) * 1e-4, rel=1e-3)


@pytest.mark.parametrize("value", [0.0, 1e-17, 1.0, -5.0, 1e7])
def test_constant_flux_has_finite_noise(value):
    prepared = prepare(clean_spectrum(GRID_AA, np.full(GRID_AA.size, value)))
    assert np.isfinite(prepared.sigma).all()
    assert (prepared.sigma > 0).all()
    assert abs(prepared.snr) <= 1000.001


def test_shift_of_stars_only():
    assert choose_shift(0.0012, "rest").redshift == 0.0012
    assert choose_shift(-0.0049, "rest").redshift == -0.0049
    for redshift, frame in (
        (None, "rest"),
        (MAX_STELLAR_REDSHIFT, "rest"),
        (-0.3, "rest"),
        (0.001, "observed"),
    ):
        assert choose_shift(redshift, frame).redshift == 0
    assert "ignored" in choose_shift(0.31, "rest").words
    assert "0.00120" in choose_shift(0.0012, "rest").words
    assert "no redshift given" in choose_shift(None, "rest").words


def test_scatter_agrees_with_the_errors_of_a_real_survey(shared_data):
    """LAMOST's own errors and the scatter of its pixels differ by less than a factor of two in an F star."""
    spectrum = read_spectrum(shared_data / "real/lamost/dr6/spec-57287-KP193637N444141V03_sp10-161.fits.gz")
    bare = clean_spectrum(spectrum.wavelength_AA, spectrum.flux, mask=spectrum.mask)
    red = spectrum.wavelength_AA[spectrum.good] > 7800  # few lines there
    ratio = prepare(bare).sigma[red] / prepare(spectrum).sigma[red]
    assert 0.5 < np.median(ratio) < 2
