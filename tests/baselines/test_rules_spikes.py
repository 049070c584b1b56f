"""Spikes: what is sharper than the instrument goes, what came through it stays."""

import numpy as np
import pytest

from specvi_baselines.rules import explain
from specvi_baselines.rules.spikes import without_spikes
from specvi_benchmark.features import prepare
from specvi_benchmark.lines import get_line
from specvi_benchmark.spectrum import clean_spectrum
from specvi_benchmark.surveys import read_spectrum
from specvi_benchmark.tasks import TASK_KEYS, get_task
from specvi_benchmark.vetting import Question

GRID_AA = 3700 * 10 ** (1e-4 * np.arange(3909))
LIGHT_KMS = 299_792.458


def observed(flux, snr=30.0, seed=0):
    sigma = np.full(GRID_AA.size, 1 / snr)
    noisy = flux + sigma * np.random.default_rng(seed).normal(size=GRID_AA.size)
    return clean_spectrum(GRID_AA, noisy, sigma**-2, survey="lamost")


def gaussian(centre_AA, fwhm_kms, height):
    width = centre_AA * fwhm_kms / LIGHT_KMS / 2.3548
    return height * np.exp(-0.5 * ((GRID_AA - centre_AA) / width) ** 2)


def red():
    """The continuum of a K star: no rule says YES to it."""
    return (GRID_AA / 5500) ** 1.0


@pytest.mark.parametrize("height", [5.0, 1e3, 1e9, -5.0, -1e9])
@pytest.mark.parametrize("width", [1, 2, 3])
def test_every_pixel_of_a_spike_goes_and_no_other(height, width):
    flux = red()
    struck = np.zeros(flux.size, dtype=bool)
    for place in (400, 1500, 2600, 3500):
        struck[place : place + width] = True
    spectrum = observed(np.where(struck, height, flux))
    rest, dropped = without_spikes(prepare(spectrum))
    # A million times the median is a fault before it is a spike: such pixels are not in what is prepared.
    assert dropped == (0 if abs(height) > 1e6 else struck.sum())
    np.testing.assert_array_equal(rest.wavelength_AA, GRID_AA[~struck])
    np.testing.assert_array_equal(rest.width_AA, prepare(observed(flux)).width_AA[~struck])


@pytest.mark.parametrize("height", [1.0, 10.0, 1e4])
@pytest.mark.parametrize("fwhm_kms", [LIGHT_KMS / 1800, 400, 1500])
def test_a_line_that_came_through_the_instrument_stays(height, fwhm_kms):
    lines = sum(
        gaussian(centre + shift, fwhm_kms, height) for centre in (4500, 5500, 6600) for shift in (0.0, 30.0)
    )
    for shift in np.linspace(0, 1, 5):
        flux = red() + np.interp(GRID_AA + shift, GRID_AA, lines)
        assert without_spikes(prepare(observed(flux)))[1] == 0


def test_narrow_emission_in_a_broad_trough_stays():
    flux = red() * (1 - gaussian(4862.7, 2500, 0.6)) + gaussian(4862.7, LIGHT_KMS / 1800, 1.2)
    assert without_spikes(prepare(observed(flux)))[1] == 0


def test_noise_alone_loses_nothing():
    for snr in (0.5, 3.0, 50.0):
        assert without_spikes(prepare(observed(red(), snr)))[1] <= 1


def test_lines_of_a_real_galaxy_stay(shared_data):
    (path,) = shared_data.glob("real/sdss/*/Mrk477.fits")  # [O III] 5008 a hundred times the continuum
    assert without_spikes(prepare(read_spectrum(path)))[1] == 0


@pytest.mark.parametrize("height", [10.0, 1e3, 1e9, -1e9])
@pytest.mark.parametrize("number", [1, 20])
def test_spikes_are_no_object(height, number):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        flux = red()
        for place in rng.integers(5, flux.size - 5, number):
            flux[place : place + rng.integers(1, 4)] = height
        spectrum = observed(flux, snr=10, seed=seed)
        said = {task: explain(Question("q", get_task(task), spectrum))[0].answer for task in TASK_KEYS}
        assert set(said.values()) == {"NO"}, (seed, said)


def test_spikes_do_not_hide_an_object():
    lines = (("Hα", 3.0), ("Hβ", 2.0), ("Hγ", 1.5), ("He I 5877", 0.7))
    flux = (GRID_AA / 5500) ** -2.5
    flux = flux * (1 + sum(gaussian(get_line(name).vacuum_AA, 1500, height) for name, height in lines))
    clean = explain(Question("q", get_task("cv"), observed(flux)))[0].answer
    for place in np.random.default_rng(1).integers(5, flux.size - 5, 30):
        flux[place : place + 2] = 1e9
    assert (clean, explain(Question("q", get_task("cv"), observed(flux)))[0].answer) == ("YES", "YES")


def test_a_few_pixels_are_left_as_they_are():
    few = clean_spectrum([4000.0, 4001.0, 4002.0], [1.0, 1e9, 1.0])
    assert without_spikes(prepare(few))[1] == 0
