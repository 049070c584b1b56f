"""Selection features against plain sums, and against the measurements that the rules use."""

from pathlib import Path

import numpy as np
import pytest

from specvi_benchmark.features import measure_index, prepare, selection_columns, selection_features
from specvi_benchmark.features.compiled_means import window_means
from specvi_benchmark.lines import all_indices
from specvi_benchmark.spectrum import Claims, Spectrum

LAMOST = 3700 * 10 ** (1e-4 * np.arange(3909))
NAMES = [column.name for column in selection_columns()]


def spectrum(wavelength=LAMOST, flux=None, mask=None, **more):
    flux = 100 + 10 * np.sin(wavelength / 300) if flux is None else flux
    mask = np.zeros(wavelength.size, bool) if mask is None else mask
    return Spectrum(wavelength, flux, np.where(mask, 0, 1.0), mask, **more)


def feature(values, name):
    return float(values[NAMES.index(name)])


def test_names_are_unique_and_windows_in_order():
    assert len(set(NAMES)) == len(NAMES) == 167
    for column in selection_columns():
        assert all(low < high for low, high in (*column.above, *column.below))


@pytest.mark.parametrize(
    "wavelength",
    [LAMOST, np.arange(3600, 9824.5, 0.8), np.geomspace(3800, 9200, 1500)],
    ids=["lamost", "desi", "coarse"],
)
def test_a_window_mean_is_the_exact_integral_of_steps(wavelength):
    # Flux is constant within each pixel, so a fine sum over the same steps gives the mean independently.
    rng = np.random.default_rng(3)
    flux, good = rng.normal(10, 3, wavelength.size), rng.random(wavelength.size) > 0.2
    windows = np.array([[4000.0, 4011.3], [6543.21, 6600.0], [8000.0, 8300.0]])
    out = np.empty(3)
    window_means(wavelength, flux, good, windows, 1.0, 0.1, out)
    edges = np.concatenate([[0], (wavelength[1:] + wavelength[:-1]) / 2, [np.inf]])
    for (low, high), mean in zip(windows, out, strict=True):
        fine = np.arange(low, high, 1e-4) + 5e-5
        pixel = np.searchsorted(edges, fine, side="right") - 1
        inside = good[pixel]
        assert mean == pytest.approx(flux[pixel[inside]].mean(), rel=1e-4)


def test_masked_pixels_carry_no_weight():
    mask = np.zeros(LAMOST.size, bool)
    mask[::7] = True
    clean = spectrum(mask=mask)
    spoilt = spectrum(flux=np.where(mask, 1e30, clean.flux), mask=mask)
    assert np.array_equal(selection_features([clean]), selection_features([spoilt]), equal_nan=True)


@pytest.mark.parametrize("wild", [1e9, 1e40, 1e300, -1e300])
def test_a_wild_pixel_is_as_if_masked(wild):
    mask = np.zeros(LAMOST.size, bool)
    mask[[700, 2500]] = True
    struck = spectrum(flux=np.where(mask, wild, spectrum().flux))
    assert np.array_equal(
        selection_features([struck]), selection_features([spectrum(mask=mask)]), equal_nan=True
    )


def test_no_unit_of_flux_is_too_large_or_too_small_for_single_precision():
    ordinary = selection_features([spectrum()])
    for power in (-900, -200, 200, 900):  # of two: up to 1e271
        scaled = selection_features([spectrum(flux=spectrum().flux * 2.0**power)])
        assert np.array_equal(ordinary, scaled, equal_nan=True)
    next_to_nothing = spectrum(flux=np.where((LAMOST > 7000) & (LAMOST < 7100), 1e-60, spectrum().flux))
    assert not np.isinf(selection_features([next_to_nothing])).any()


def test_what_is_not_covered_is_missing():
    mask = (LAMOST > 6400) & (LAMOST < 6700)
    values = selection_features([spectrum(mask=mask)])[0]
    assert np.isnan(feature(values, "line Hα ±8"))
    assert np.isfinite(feature(values, "line Hβ ±8"))


def test_scale_of_flux_and_batch_change_nothing():
    one, other = spectrum(), spectrum(flux=50 + LAMOST / 100)
    scaled = spectrum(flux=one.flux * 1024)
    both = selection_features([one, other])
    assert np.array_equal(both[0], selection_features([scaled])[0], equal_nan=True)
    assert np.array_equal(both[1], selection_features([other])[0], equal_nan=True)


def test_indices_agree_with_the_measurements_of_the_rules():
    source = spectrum(flux=100 + 30 * np.sin(LAMOST / 50))
    values, prepared = selection_features([source])[0], prepare(source)
    for index in all_indices():
        expected = measure_index(prepared, index)
        # The rules count whole pixels, so narrow windows differ by what the end pixels hold.
        assert feature(values, f"index {index.name}") == pytest.approx(expected.value, rel=0.1), index.name


def test_a_line_of_known_equivalent_width_is_found():
    depth, sigma, centre = 0.4, 2.0, 6564.61
    flux = 1 - depth * np.exp(-0.5 * ((LAMOST - centre) / sigma) ** 2)
    width = depth * sigma * np.sqrt(2 * np.pi)  # of a Gaussian; ±8 Å are four sigma
    assert feature(selection_features([spectrum(flux=flux)])[0], "line Hα ±8") == pytest.approx(
        width, rel=0.01
    )


def test_a_step_of_known_size_is_found():
    flux = np.where(LAMOST < 5166.44, 2.0, 3.0)
    assert feature(selection_features([spectrum(flux=flux)])[0], "step C2 5165") == pytest.approx(1 / 5)


def test_a_stellar_redshift_shifts_the_windows_and_another_does_not():
    moved = LAMOST * 1.001
    at_rest = selection_features([spectrum()])[0]
    flux = spectrum().flux
    shifted = selection_features([spectrum(moved, flux, claims=Claims(redshift=0.001))])[0]
    assert np.allclose(at_rest, shifted, rtol=1e-4, atol=1e-5)
    wrong = selection_features([spectrum(claims=Claims(redshift=0.7))])[0]
    assert np.array_equal(at_rest, wrong)


def test_the_documentation_names_every_column():
    page = (Path(__file__).resolve().parents[2] / "docs" / "selection-features.md").read_text(
        encoding="utf-8"
    )
    missing = [name for name in NAMES if f"`{name}`" not in page]
    assert not missing
