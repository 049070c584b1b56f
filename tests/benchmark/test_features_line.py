"""Line measurement against closed forms: Gaussians of known width and strength, spikes, gaps, noise."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specvi_benchmark.features import measure_line, prepare
from specvi_benchmark.spectrum import Spectrum, clean_spectrum

LIGHT_KMS = 299_792.458
GRID_AA = 3700 * 10 ** (1e-4 * np.arange(3909))  # LAMOST low resolution
HALPHA_AA = 6564.61
SIGMA_TO_FWHM = 2.354820045


def gaussian(centre_AA, fwhm_kms, height):
    sigma_AA = centre_AA * fwhm_kms / LIGHT_KMS / SIGMA_TO_FWHM
    return height * np.exp(-0.5 * ((GRID_AA - centre_AA) / sigma_AA) ** 2), height * sigma_AA * math.sqrt(
        2 * math.pi
    )


def spectrum(flux, sigma=0.01, mask=None, survey="lamost") -> Spectrum:
    ivar = None if sigma is None else np.full(GRID_AA.size, 1 / sigma**2)
    return clean_spectrum(GRID_AA, flux, ivar, mask, survey=survey)


@pytest.mark.parametrize("height", [2.0, -0.5])
@pytest.mark.parametrize("fwhm_kms", [300.0, 600.0, 1240.0, 2500.0])
def test_gaussian_on_a_slope_is_measured(height, fwhm_kms):
    line, area_AA = gaussian(HALPHA_AA, fwhm_kms, height)
    slope = 1 + 0.3 * (GRID_AA - HALPHA_AA) / 1000
    found = measure_line(prepare(spectrum(slope + line)), HALPHA_AA, 3000.0)
    assert found.equivalent_width_AA == pytest.approx(-area_AA, rel=0.02)  # negative in emission
    assert found.height == pytest.approx(height, rel=0.08)  # smoothing lowers a peak a little
    assert found.fwhm_kms == pytest.approx(fwhm_kms, rel=0.02)
    assert found.offset_kms == pytest.approx(0, abs=20)
    assert math.copysign(1, found.significance) == math.copysign(1, height)
    assert not found.narrower_than_instrument


def test_instrument_is_taken_off_in_quadrature():
    line, _ = gaussian(HALPHA_AA, 500.0, 1.0)
    found = measure_line(prepare(spectrum(1 + line)), HALPHA_AA, 2000.0)
    assert found.instrument_kms == pytest.approx(LIGHT_KMS / 1800, rel=1e-6)  # LAMOST: R = 1800
    assert found.intrinsic_fwhm_kms == pytest.approx(math.sqrt(found.fwhm_kms**2 - found.instrument_kms**2))
    narrow, _ = gaussian(HALPHA_AA, 150.0, 1.0)
    assert measure_line(prepare(spectrum(1 + narrow)), HALPHA_AA, 2000.0).intrinsic_fwhm_kms < 80


def test_velocity_of_a_moved_line():
    line, _ = gaussian(HALPHA_AA * (1 + 350 / LIGHT_KMS), 600.0, 1.0)
    assert measure_line(prepare(spectrum(1 + line)), HALPHA_AA, 2000.0).offset_kms == pytest.approx(
        350, abs=15
    )


def test_double_peak_has_one_width():
    # Two equal peaks 900 km/s apart: half height is reached 450 km/s plus half a component's width from the middle.
    half = [gaussian(HALPHA_AA * (1 + v / LIGHT_KMS), 400.0, 1.0)[0] for v in (-450, 450)]
    found = measure_line(prepare(spectrum(1 + half[0] + half[1])), HALPHA_AA, 3000.0)
    assert found.fwhm_kms == pytest.approx(900 + 400, rel=0.08)


@pytest.mark.parametrize("pixels", [1, 2, 3])
@pytest.mark.parametrize("height", [0.5, 30.0, -0.5])
@pytest.mark.parametrize("place", [0, 1, 5])
def test_a_spike_is_no_line(pixels, height, place):
    flux = np.ones(GRID_AA.size)
    first = int(np.argmin(np.abs(GRID_AA - HALPHA_AA))) - place
    flux[first : first + pixels] += height
    found = measure_line(prepare(spectrum(flux)), HALPHA_AA, 1500.0)
    assert abs(found.significance) > 5
    assert found.narrower_than_instrument


def test_a_line_as_narrow_as_the_instrument_is_a_line():
    line, _ = gaussian(HALPHA_AA, LIGHT_KMS / 1800, 1.0)
    found = measure_line(prepare(spectrum(1 + line, sigma=0.01)), HALPHA_AA, 1500.0)
    assert found.n_pixels >= 5
    assert not found.narrower_than_instrument


def test_a_broad_line_with_a_spike_on_it_is_a_line():
    line, _ = gaussian(HALPHA_AA, 1200.0, 1.0)
    line[int(np.argmin(np.abs(GRID_AA - HALPHA_AA)))] += 1.0
    found = measure_line(prepare(spectrum(1 + line)), HALPHA_AA, 2500.0)
    assert not found.narrower_than_instrument
    assert found.fwhm_kms > 700


def test_masked_pixels_cannot_change_a_measurement():
    line, _ = gaussian(HALPHA_AA, 1200.0, 1.0)
    mask = np.zeros(GRID_AA.size, dtype=bool)
    mask[int(np.argmin(np.abs(GRID_AA - HALPHA_AA))) + np.array([-9, 4, 15, 60])] = True
    wild = np.where(mask, 1e6, 1 + line)
    clean = measure_line(prepare(spectrum(1 + line, mask=mask)), HALPHA_AA, 2500.0)
    assert measure_line(prepare(spectrum(wild, mask=mask)), HALPHA_AA, 2500.0) == clean


@pytest.mark.parametrize("gap_kms", [(-500, 300), (1600, 2900), (-2900, -1600)])
def test_not_covered_is_none(gap_kms):
    velocity = LIGHT_KMS * (GRID_AA / HALPHA_AA - 1)
    mask = (velocity > gap_kms[0]) & (velocity < gap_kms[1])
    assert measure_line(prepare(spectrum(np.ones(GRID_AA.size), mask=mask)), HALPHA_AA, 1500.0) is None


@pytest.mark.parametrize("centre_AA", [1215.67, 3705.0, 9090.0, 12000.0])
def test_outside_or_at_the_edge_is_none(centre_AA):
    assert measure_line(prepare(spectrum(np.ones(GRID_AA.size))), centre_AA, 1500.0) is None


def test_no_continuum_gives_a_significance_and_no_width():
    line, _ = gaussian(HALPHA_AA, 1200.0, 1.0)
    noise = np.random.default_rng(1).normal(0, 0.05, GRID_AA.size)
    found = measure_line(prepare(spectrum(line + noise, sigma=0.05)), HALPHA_AA, 2500.0)
    assert found.significance > 20
    assert found.equivalent_width_AA is None
    assert found.height is None


def test_significance_of_pure_noise_is_calibrated():
    """The best of four apertures of noise: 5σ hardly ever, 3σ in about one of a hundred, spread about 1."""
    rng = np.random.default_rng(7)
    found = []
    for _ in range(40):
        prepared = prepare(spectrum(1 + rng.normal(0, 0.1, GRID_AA.size), sigma=0.1))
        found += [
            measure_line(prepared, centre, 1500.0).significance for centre in np.arange(3950, 8900, 150)
        ]
    values = np.array(found)
    assert np.abs(values).max() < 5
    assert np.mean(np.abs(values) > 3) < 0.02
    assert 0.8 < values.std() < 1.6
    assert abs(np.mean(values > 0) - 0.5) < 0.06


def test_the_error_is_the_scatter_of_repeated_measurements():
    line, area_AA = gaussian(HALPHA_AA, 1000.0, 0.5)
    rng = np.random.default_rng(3)
    found = [
        measure_line(
            prepare(spectrum(1 + line + rng.normal(0, 0.1, GRID_AA.size), sigma=0.1)), HALPHA_AA, 2500.0
        )
        for _ in range(300)
    ]
    widths = np.array([one.equivalent_width_AA for one in found])
    assert widths.mean() == pytest.approx(-area_AA, rel=0.06)
    assert widths.std() == pytest.approx(
        np.median([one.equivalent_width_error_AA for one in found]), rel=0.35
    )


@settings(max_examples=60)
@given(
    scale=st.sampled_from([1e-17, 1e-3, 1.0, 1e7]),
    fwhm_kms=st.floats(250, 2500),
    height=st.one_of(st.floats(0.2, 20), st.floats(-0.8, -0.2)),
)
def test_the_unit_of_flux_does_not_matter(scale, fwhm_kms, height):
    line, _ = gaussian(HALPHA_AA, fwhm_kms, height)
    one = measure_line(prepare(spectrum(1 + line, sigma=0.02)), HALPHA_AA, 3000.0)
    other = measure_line(prepare(spectrum(scale * (1 + line), sigma=0.02 * scale)), HALPHA_AA, 3000.0)
    assert other.significance == pytest.approx(one.significance, rel=1e-6)
    assert other.equivalent_width_AA == pytest.approx(one.equivalent_width_AA, rel=1e-6)
    assert other.fwhm_kms == pytest.approx(one.fwhm_kms, rel=1e-6)
    assert other.narrower_than_instrument == one.narrower_than_instrument


def test_constant_and_zero_spectra_show_no_line():
    for level in (0.0, 1.0, -3.0):
        for sigma in (None, 0.1):
            found = measure_line(prepare(spectrum(np.full(GRID_AA.size, level), sigma=sigma)), HALPHA_AA)
            assert found.significance == 0
