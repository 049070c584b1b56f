"""Steps at band heads, flux ratios, slope, and the redshift scan, against closed forms."""

import math

import numpy as np
import pytest

from specvi_benchmark.features import (
    bin_spectrum,
    continuum_slope,
    flux_ratio,
    measure_edge,
    measure_index,
    prepare,
    scan_lines,
    window_mean,
)
from specvi_benchmark.lines import get_index
from specvi_benchmark.spectrum import clean_spectrum

GRID_AA = 3700 * 10 ** (1e-4 * np.arange(3909))
QUASAR = {"Lyα": 1215.67, "C IV": 1549.06, "C III]": 1908.73, "Mg II": 2798.75, "Hβ": 4862.69, "Hα": 6564.61}


def prepared(flux, sigma=0.05, mask=None, seed=None):
    noise = 0.0 if seed is None else np.random.default_rng(seed).normal(0, sigma, GRID_AA.size)
    return prepare(clean_spectrum(GRID_AA, flux + noise, np.full(GRID_AA.size, sigma**-2), mask))


def test_the_sign_of_a_step_is_the_direction_of_the_sharp_edge():
    head = 5166.4
    swan = np.where(head > GRID_AA, 0.4, 1.0)  # C2: dark blueward, sharp red edge
    oxide = np.where(head < GRID_AA, 0.4, 1.0)  # TiO: dark redward, sharp blue edge
    assert measure_edge(prepared(swan), head, 40.0).step == pytest.approx(math.log(2.5), rel=1e-6)
    assert measure_edge(prepared(oxide), head, 40.0).step == pytest.approx(-math.log(2.5), rel=1e-6)
    assert measure_edge(prepared(oxide), head, 40.0).ratio == pytest.approx(0.4)


def test_error_of_a_step_is_that_of_two_means():
    steps = [
        measure_edge(prepared(np.ones(GRID_AA.size), 0.2, seed=seed), 6475.8, 15.0) for seed in range(300)
    ]
    assert np.std([edge.step for edge in steps]) == pytest.approx(steps[0].error, rel=0.15)
    pixels = 15 / (6475.8 * math.log(10) * 1e-4)
    assert steps[0].error == pytest.approx(0.2 * math.sqrt(2 / pixels), rel=0.1)


def test_no_step_without_flux_or_cover():
    assert measure_edge(prepared(-np.ones(GRID_AA.size)), 5166.4, 40.0) is None
    gap = (GRID_AA > 5180) & (GRID_AA < 5205)
    assert measure_edge(prepared(np.ones(GRID_AA.size), mask=gap), 5166.4, 40.0) is None
    assert measure_edge(prepared(np.ones(GRID_AA.size)), 9500.0, 40.0) is None


def test_window_mean_weighs_pixels_by_width():
    wavelength = np.concatenate([np.arange(5000.0, 5050, 1), np.arange(5050.0, 5100, 0.1)])
    found = window_mean(prepare(clean_spectrum(wavelength, wavelength)), (5010.0, 5090.0))
    assert found.value == pytest.approx(5050, abs=0.5)  # pixels alone would give 5065


def test_ratio_of_a_known_spectrum():
    flux = np.where((GRID_AA > 7128) & (GRID_AA < 7137), 0.43, 1.0)
    found = measure_index(prepared(flux), get_index("PyHammer TiO5"))
    assert found.value == pytest.approx(0.43, abs=0.02)
    assert found.error > 0


def test_two_windows_on_one_side_are_averaged_equally():
    flux = np.where(GRID_AA < 6380, 2.0, 1.0)
    # PMSU CaH1: 6380–6390 Å over the mean of 6345–6355 (2.0) and 6410–6420 (1.0).
    found = flux_ratio(prepared(flux), [(6382.0, 6391.0)], [(6346.8, 6356.8), (6411.8, 6421.8)])
    assert found.value == pytest.approx(1 / 1.5, rel=0.01)


def test_ratio_without_a_denominator_is_none():
    flux = np.where(GRID_AA < 5000, 1.0, 0.001)
    assert flux_ratio(prepared(flux, 0.5), [(4500.0, 4600.0)], [(6600.0, 6700.0)]) is None


@pytest.mark.parametrize("alpha", [-3.9, -1.56, 0.0, 2.0])
def test_slope_of_a_power_law_with_lines(alpha):
    flux = (GRID_AA / 5500) ** alpha
    flux *= (
        1 - 0.6 * np.exp(-0.5 * ((GRID_AA - 4862) / 8) ** 2) + 3 * np.exp(-0.5 * ((GRID_AA - 6564) / 12) ** 2)
    )
    found = continuum_slope(bin_spectrum(prepared(flux)), (4000.0, 8000.0))
    assert found.value == pytest.approx(alpha, abs=0.05)


def test_slope_needs_light():
    assert continuum_slope(bin_spectrum(prepared(-np.ones(GRID_AA.size))), (4000.0, 8000.0)) is None
    assert continuum_slope(bin_spectrum(prepared(np.ones(GRID_AA.size))), (2000.0, 3000.0)) is None


def test_bins_keep_the_mean_and_shrink_the_error():
    binned = bin_spectrum(prepared(np.full(GRID_AA.size, 3.0), 0.5))
    assert binned.flux == pytest.approx(np.full(binned.flux.size, 3.0))
    assert np.median(binned.sigma[binned.covered]) == pytest.approx(0.5 / math.sqrt(10), rel=0.05)
    assert binned.continuum == pytest.approx(np.full(binned.flux.size, 3.0))


def test_a_gap_is_not_covered_and_does_not_spread():
    gap = (GRID_AA > 5500) & (GRID_AA < 6000)
    wild = np.where(gap, 1e9, 1.0)
    binned = bin_spectrum(prepared(wild, mask=gap))
    inside = (binned.wavelength_AA > 5520) & (binned.wavelength_AA < 5980)
    assert not binned.covered[inside].any()
    assert binned.flux == pytest.approx(np.ones(binned.flux.size))


def quasar(redshift, height=1.0, fwhm_kms=4000):
    flux = (GRID_AA / 5500) ** -1.56
    for rest_AA in QUASAR.values():
        centre = rest_AA * (1 + redshift)
        flux *= 1 + height * np.exp(
            -0.5 * ((GRID_AA - centre) / (centre * fwhm_kms / 299_792.458 / 2.3548)) ** 2
        )
    return flux


@pytest.mark.parametrize("redshift", [0.15, 0.6, 1.2, 1.8, 2.4, 3.2])
def test_scan_finds_the_redshift(redshift):
    scan = scan_lines(bin_spectrum(prepared(quasar(redshift), 0.2, seed=1)), (3, 6, 12))
    fit = scan.best(QUASAR, 0.02, 5.5)
    assert fit.redshift == pytest.approx(redshift, abs=0.01 * (1 + redshift))
    assert set(fit.seen) == {name for name, rest in QUASAR.items() if 3800 < rest * (1 + redshift) < 8900}


def test_scan_sees_nothing_in_a_smooth_or_noisy_continuum():
    for seed in range(5):
        scan = scan_lines(bin_spectrum(prepared((GRID_AA / 5500) ** -1.56, 0.3, seed=seed)), (3, 6, 12))
        assert len(scan.best(QUASAR, 0.02, 5.5).seen) == 0


def test_at_agrees_with_best():
    scan = scan_lines(bin_spectrum(prepared(quasar(1.2), 0.2, seed=1)), (3, 6, 12))
    best = scan.best(QUASAR, 0.02, 5.5)
    assert scan.at(QUASAR, best.redshift) == best
    assert scan.at(QUASAR, 0.3).score < best.score
