"""Bringing spectra to LAMOST's pixels: flux kept, widths in quadrature, noise as promised."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d

from specvi_benchmark.errors import UserError
from specvi_benchmark.realism.degrade import blur, to_lamost, with_noise
from specvi_benchmark.simulator import wavelengths
from specvi_benchmark.spectrum import clean_spectrum

FWHM = 2.3548200450309493


def line_on(grid, centre, sigma, level=0.0):
    return clean_spectrum(grid, level + np.exp(-0.5 * ((grid - centre) / sigma) ** 2) + 1e-12)


def moments(flux):
    """Return area, centre and σ of a line on LAMOST's pixels, from what lies within 30 Å of its peak."""
    grid = wavelengths()
    near = np.abs(grid - grid[flux.argmax()]) < 30
    width = np.gradient(grid) * near
    area = np.sum(flux * width)
    centre = np.sum(flux * width * grid) / area
    return area, centre, np.sqrt(np.sum(flux * width * (grid - centre) ** 2) / area)


@pytest.mark.parametrize("centre", [4500.0, 6563.0, 8500.0])
def test_a_line_keeps_its_flux_and_gets_lamosts_width(centre):
    sigma = 1.5
    grid = np.arange(3600, 9200, 0.2)
    area, where, width = moments(to_lamost(line_on(grid, centre, sigma)).flux)
    assert area == pytest.approx(sigma * np.sqrt(2 * np.pi), rel=2e-3)
    assert where == pytest.approx(centre, abs=0.02)
    pixel = centre * np.log(10) * 1e-4
    lsf = centre / 1800 / FWHM
    assert width == pytest.approx(np.sqrt(sigma**2 + lsf**2 + pixel**2 / 12), rel=0.01)


def test_only_what_is_missing_of_the_width_is_added():
    centre, resolution = 7000.0, 2.5
    own = resolution / FWHM
    grid = np.arange(3600, 9200, 0.2)
    _, _, width = moments(to_lamost(line_on(grid, centre, own), resolution).flux)
    pixel = centre * np.log(10) * 1e-4
    assert width == pytest.approx(np.sqrt((centre / 1800 / FWHM) ** 2 + pixel**2 / 12), rel=0.01)


def test_what_is_blurrier_than_lamost_stays_as_it_is():
    own = 10.0 / FWHM
    grid = np.arange(3600, 9200, 0.2)
    _, _, width = moments(to_lamost(line_on(grid, 4500.0, own), 10.0).flux)
    assert width == pytest.approx(own, rel=0.01)


def test_a_template_is_moved_to_its_redshift():
    grid = np.arange(3000, 9200, 0.2)
    _, where, _ = moments(to_lamost(line_on(grid, 5000.0, 2.0), redshift=0.1).flux)
    assert where == pytest.approx(5500.0, abs=0.02)


def test_a_flat_spectrum_stays_flat_to_its_ends_and_gaps_are_bad():
    grid = np.arange(3900.0, 9000.0, 1.0)
    flux = np.full(grid.size, 3.0)
    flux[(grid > 6000) & (grid < 6100)] = 0.0  # zero is no measurement
    pixels = to_lamost(clean_spectrum(grid, flux))
    lamost = wavelengths()
    assert pixels.bad[(lamost < 3895) | (lamost > 9005)].all()
    assert pixels.bad[(lamost > 6003) & (lamost < 6097)].all()
    inside = ((lamost > 3905) & (lamost < 5995)) | ((lamost > 6105) & (lamost < 8995))
    assert not pixels.bad[inside].any()
    assert pixels.flux[~pixels.bad] == pytest.approx(3.0, rel=1e-6)


def test_a_spectrum_of_another_range_is_refused():
    grid = np.arange(10000.0, 12000.0, 1.0)
    with pytest.raises(UserError, match="LAMOST"):
        to_lamost(clean_spectrum(grid, np.ones(grid.size)))


def test_blur_of_one_width_is_scipys():
    values = np.random.default_rng(1).normal(size=4000)
    values = gaussian_filter1d(values, 3)
    ours = blur(values, np.full(values.size, 4.0))
    assert ours[100:-100] == pytest.approx(gaussian_filter1d(values, 4.0)[100:-100], abs=2e-3)


def test_noise_has_the_size_that_is_promised_and_the_signal_to_noise_asked_for():
    grid = np.arange(3600.0, 9200.0, 0.5)
    pixels = to_lamost(clean_spectrum(grid, 1 + 0.3 * np.sin(grid / 300)))
    noisy = with_noise(pixels, 20.0, np.random.default_rng(3))
    expected = pixels.flux / np.median(pixels.flux)
    pull = (noisy.flux - expected) * np.sqrt(noisy.ivar)
    assert pull.mean() == pytest.approx(0, abs=3 / np.sqrt(pull.size))
    assert pull.std() == pytest.approx(1, abs=3 / np.sqrt(2 * pull.size))
    assert np.median(expected * np.sqrt(noisy.ivar)) == pytest.approx(20, rel=0.01)
    blue, green = (
        np.median(noisy.ivar[(grid_ > low) & (grid_ < low + 200)])
        for grid_, low in ((wavelengths(), 3700), (wavelengths(), 5200))
    )
    assert blue < 0.5 * green


def test_noise_is_the_same_for_the_same_seed():
    grid = np.arange(3600.0, 9200.0, 2.0)
    pixels = to_lamost(clean_spectrum(grid, np.ones(grid.size)))
    first, second = (with_noise(pixels, 10.0, np.random.default_rng(5)).flux for _ in range(2))
    assert (first == second).all()
