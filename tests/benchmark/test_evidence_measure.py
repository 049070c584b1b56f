"""The test in flux: maps against least squares done one pixel at a time, known signals, pure noise, simulated objects."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import erf

from specvi_benchmark.evidence.features import get_feature
from specvi_benchmark.evidence.maps import FLOOR, bin_log, line_maps, step_maps
from specvi_benchmark.evidence.measure import P_FOUND, check_claim, measure_light
from specvi_benchmark.evidence.validation import pooled, validate
from specvi_benchmark.lines import get_band, get_line
from specvi_benchmark.spectrum import Spectrum, clean_spectrum

GRID_AA = 3700.0 * 10 ** (1e-4 * np.arange(3909))
LIGHT_KMS = 299_792.458


def noisy(flux: np.ndarray, snr: float = 20.0, seed: int = 0, *, errors: bool = True) -> Spectrum:
    """Return a spectrum of a flux near 1 with white noise."""
    rng = np.random.default_rng(seed)
    return clean_spectrum(
        GRID_AA,
        flux + rng.normal(0, 1 / snr, flux.size),
        np.full(flux.size, snr**2) if errors else None,
        survey="lamost",
    )


def gaussian(centre_AA: float, fwhm_kms: float) -> np.ndarray:
    velocity = LIGHT_KMS * np.log(GRID_AA / centre_AA)
    return np.exp(-0.5 * (velocity / (fwhm_kms / 2.3548)) ** 2)


def with_line(name: str, height: float, fwhm_kms: float = 600.0) -> np.ndarray:
    return 1 + height * gaussian(get_line(name).vacuum_AA, fwhm_kms)


def with_head(name: str, step: float) -> np.ndarray:
    """Return a continuum that jumps by ``step`` at a head and comes back within 100 Å on its dark side."""
    head = get_band(name).vacuum_AA
    away = GRID_AA - head if step < 0 else head - GRID_AA
    depth = np.where(away >= 0, abs(step) * np.clip(1 - away / 100, 0, None), 0.0)
    return 1 - depth


@pytest.mark.parametrize("shape", ["line", "step"])
def test_maps_are_least_squares_at_every_pixel(shape: str) -> None:
    """Each fit by numpy's own solver: a straight line and the template, weighted, at a few pixels, bad ones among them."""
    rng = np.random.default_rng(3)
    flux = 50 + 10 * np.sin(GRID_AA / 200) + rng.normal(0, 2, GRID_AA.size)
    ivar = rng.uniform(0.05, 0.5, GRID_AA.size)
    mask = rng.random(GRID_AA.size) < 0.05
    binned = bin_log(Spectrum(GRID_AA, flux, np.where(mask, 0, ivar), mask, survey="lamost"))
    maps = line_maps(binned) if shape == "line" else step_maps(binned)
    scale = 2
    fwhm_kms = maps.width_kms[scale] if shape == "line" else 1.5 * binned.instrument_kms
    half_kms = 2.2 * fwhm_kms + 3 * binned.bin_kms if shape == "line" else maps.width_kms[scale]
    half = round(half_kms / binned.bin_kms)
    sigma = fwhm_kms / binned.bin_kms / 2.3548
    offset = np.arange(-half, half + 1)
    template = (
        np.exp(-0.5 * (offset / sigma) ** 2) if shape == "line" else 0.5 * erf(offset / (sigma * np.sqrt(2)))
    )
    design = np.stack([np.ones_like(template), offset / half, template], axis=1)
    for pixel in (500, 1501, 2750):
        here = slice(pixel - half, pixel + half + 1)
        weight = binned.weight[here]
        normal = design.T @ (weight[:, None] * design)
        solution = np.linalg.solve(normal, design.T @ (weight * binned.flux[here]))
        error = np.sqrt(np.linalg.inv(normal)[2, 2])
        expected = solution[2] / np.hypot(error, FLOOR * solution[0])
        assert maps.significance[scale, pixel] == pytest.approx(expected, rel=1e-6)
        assert maps.height[scale, pixel] == pytest.approx(solution[2] / solution[0], rel=1e-6)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("fwhm_kms", [250.0, 900.0, 2500.0])
def test_a_line_is_found_with_its_sign_and_width(sign: int, fwhm_kms: float) -> None:
    light = measure_light(noisy(with_line("Hβ", 0.5 * sign, fwhm_kms)))
    kinds = {1: "emission", -1: "absorption"}
    right = check_claim(light, get_feature("Hβ"), kinds[sign])
    assert right.outcome == "found"
    assert right.p is not None
    assert right.p < P_FOUND
    assert right.fwhm_kms == pytest.approx(fwhm_kms, rel=0.25)
    assert right.height == pytest.approx(0.5 * sign, rel=0.3)
    wrong = check_claim(light, get_feature("Hβ"), kinds[-sign])
    assert (wrong.outcome, wrong.is_opposite) == ("not found", True)
    assert check_claim(light, get_feature("Hβ"), None).outcome == "found"
    assert check_claim(light, get_feature("Hα"), kinds[sign]).outcome == "not found"


@pytest.mark.parametrize(("name", "other"), [("C2 5165", "TiO 5167"), ("TiO 5167", "C2 5165")])
def test_the_direction_of_the_edge_decides(name: str, other: str) -> None:
    """C2 5165 and TiO 5167 lie 2 Å apart: nothing but the side of the sharp edge tells them apart."""
    step = -0.4 if name.startswith("TiO") else 0.4
    light = measure_light(noisy(with_head(name, step)))
    assert check_claim(light, get_feature(name), "band").outcome == "found"
    denied = check_claim(light, get_feature(other), "band")
    assert (denied.outcome, denied.is_opposite) == ("not found", True)


HALPHA_AA = get_line("Hα").vacuum_AA


def found_of(lines: list[tuple[float, float, float]], feature: str, kind: str, snr: float) -> int:
    """Return in how many of ten noises a feature is found where lines (Å, height, km/s) are."""
    flux = 1 + sum(height * gaussian(place, fwhm) for place, height, fwhm in lines)
    lights = (measure_light(noisy(flux, snr, seed)) for seed in range(10))
    return sum(check_claim(light, get_feature(feature), kind).outcome == "found" for light in lights)


@pytest.mark.parametrize(
    ("lines", "feature", "kind"),
    [
        (
            [(HALPHA_AA * (1 + 600 / LIGHT_KMS), 0.6, 400)],
            "Hα",
            "emission",
        ),  # its flank, seen by wide templates
        ([(HALPHA_AA * (1 + 900 / LIGHT_KMS), 0.6, 400)], "Hα", "emission"),
        ([(6585.3, 0.6, 250)], "Hα", "absorption"),  # the continuum that it tilts
        ([(HALPHA_AA, 0.6, 1500)], "[N II] 6585", "emission"),
        ([(HALPHA_AA, 0.6, 1500)], "[N II]", "emission"),  # a family on both wings of one line
        ([(get_line("He II 4687").vacuum_AA, 0.6, 2500)], "Bowen", "emission"),
    ],
)
def test_a_neighbour_is_not_taken_for_the_feature(
    lines: list[tuple[float, float, float]], feature: str, kind: str
) -> None:
    assert found_of(lines, feature, kind, 20) <= 1


def test_a_weak_line_beside_a_strong_one_is_found() -> None:
    lines = [(HALPHA_AA, 0.6, 250.0), (6585.3, 0.2, 250.0), (6549.9, 0.07, 250.0)]
    assert found_of(lines, "[N II] 6585", "emission", 50) >= 9
    assert found_of(lines, "[N II]", "emission", 50) >= 9


def test_a_line_at_the_redshift_claimed() -> None:
    redshift = 0.3
    flux = 1 + 0.6 * gaussian(get_line("Hβ").vacuum_AA * (1 + redshift), 2500)
    light = measure_light(noisy(flux))
    assert check_claim(light, get_feature("Hβ"), "emission", redshift).outcome == "found"
    assert check_claim(light, get_feature("Hβ"), "emission", 0.0).outcome == "not found"


@pytest.mark.parametrize("width_px", [1, 2])
def test_what_is_narrower_than_the_instrument_is_no_line(width_px: int) -> None:
    flux = np.ones(GRID_AA.size)
    pixel = int(np.argmin(np.abs(GRID_AA - get_line("Hα").vacuum_AA)))
    flux[pixel : pixel + width_px] += 3.0
    light = measure_light(noisy(flux))
    assert light.binned.n_spikes >= width_px
    assert check_claim(light, get_feature("Hα"), "emission").outcome == "not found"


def test_an_unresolved_line_is_no_spike() -> None:
    light = measure_light(noisy(with_line("Hα", 1.0, LIGHT_KMS / 1800)))
    assert light.binned.n_spikes == 0
    assert check_claim(light, get_feature("Hα"), "emission").outcome == "found"


def test_noise_alone_is_found_rarely() -> None:
    """At most p < 0.01 each; with 600 tests more than 14 would happen with a chance below 0.2 %."""
    names = (
        "Hα",
        "He II 4687",
        "Balmer",
        "TiO 7054",
        "C2",
        "ZrO 6474",
        "He I 5877",
        "CN 7820",
        "Ca II K",
        "Mg b",
    )
    found = 0
    for seed in range(60):
        light = measure_light(noisy(np.ones(GRID_AA.size), snr=8.0, seed=seed))
        for name in names:
            feature = get_feature(name)
            found += check_claim(light, feature, "band" if feature.is_band else "emission").outcome == "found"
    assert found <= 14


def test_without_errors_the_scatter_stands_in() -> None:
    flux = with_line("Hα", 0.5)
    given, estimated = (
        check_claim(measure_light(noisy(flux, errors=errors)), get_feature("Hα"), "emission")
        for errors in (True, False)
    )
    assert given.outcome == estimated.outcome == "found"
    assert estimated.significance == pytest.approx(given.significance, rel=0.25)


def test_the_unit_of_flux_does_not_matter() -> None:
    spectrum = noisy(with_line("Hβ", -0.2))
    scaled = replace(spectrum, flux=spectrum.flux * 1e-17, ivar=spectrum.ivar * 1e34)
    first, second = (
        check_claim(measure_light(one), get_feature("Hβ"), "absorption") for one in (spectrum, scaled)
    )
    assert first.outcome == second.outcome
    assert second.significance == pytest.approx(first.significance, rel=1e-6)


def test_what_cannot_be_tested() -> None:
    spectrum = noisy(np.ones(GRID_AA.size))
    light = measure_light(spectrum)
    assert check_claim(light, get_feature("Lyα"), "emission").outcome == "not testable"  # outside the data
    assert check_claim(light, get_feature("TiO 7589"), "band").outcome == "not testable"  # telluric A band
    assert check_claim(light, get_feature("LaO 7404"), "band").outcome == "not testable"  # edge not known
    near = np.abs(GRID_AA - get_line("Hα").vacuum_AA) < 120
    masked = replace(spectrum, mask=spectrum.mask | near, ivar=np.where(near, 0, spectrum.ivar))
    assert check_claim(measure_light(masked), get_feature("Hα"), "emission").outcome == "not testable"
    few = GRID_AA < 3900  # no room for 200 shams
    short = Spectrum(
        GRID_AA[few], spectrum.flux[few], spectrum.ivar[few], spectrum.mask[few], survey="lamost"
    )
    assert check_claim(measure_light(short), get_feature("H9"), "absorption").outcome in {
        "not testable",
        "not found",
    }


@pytest.mark.slow
def test_simulated_objects_are_read_rightly() -> None:
    rates = list(validate(6, (20.0,), seed=5))
    found, n, _, _ = pooled([rate for rate in rates if rate.case.is_there])
    assert n >= 100
    assert found / n >= 0.85
    found, n, _, _ = pooled([rate for rate in rates if not rate.case.is_there])
    assert n >= 100
    assert found / n <= 0.03
