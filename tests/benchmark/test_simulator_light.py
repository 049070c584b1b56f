"""Light before the telescope: continua, line profiles, bands, against astropy, SciPy and published values."""

import numpy as np
import pytest
from astropy import units as u
from astropy.modeling.models import BlackBody
from scipy.integrate import quad
from scipy.signal import peak_widths
from scipy.special import voigt_profile

from specvi_benchmark.simulator.bands import optical_depth
from specvi_benchmark.simulator.continuum import extinction, planck, power_law
from specvi_benchmark.simulator.lattice import remembered, rest_window, star_grid
from specvi_benchmark.simulator.lines import (
    absorb,
    add_emission,
    balmer_AA,
    balmer_absorption,
    double_peak,
    emit,
    gaussian,
    level_at,
    p_cygni,
    pickering_AA,
    stark_absorption,
    vacuum_AA,
    voigt,
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
    assert area == pytest.approx(
        2 * 0.5 * 20 * (np.pi / 2.5) / np.sin(np.pi / 2.5), rel=3e-3
    )  # cut at 40 half widths


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


# --- added profiles and windows -------------------------------------------------------------------


def test_a_voigt_profile_is_the_convolution():
    profile = voigt(400, 300)(FINE, 6000.0)
    sigma = 6000 * 400 / 299792.458 / (2 * np.sqrt(2 * np.log(2)))
    half = 6000 * 300 / 299792.458 / 2
    for step in (0.0, 3.0, 15.0):

        def integrand(x, step=step):
            gauss = np.exp(-0.5 * (x / sigma) ** 2) / (sigma * np.sqrt(2 * np.pi))
            return gauss * half / np.pi / ((step - x) ** 2 + half**2)

        expected = quad(integrand, -8 * sigma, 8 * sigma, limit=200)[0]
        assert np.interp(6000 + step, FINE, profile) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(("fwhm", "damping"), [(400, 300), (400, 20), (60, 900), (900, 1), (100, 100)])
def test_a_voigt_profile_is_scipys(fwhm, damping):
    profile = voigt(fwhm, damping)(FINE, 6000.0)
    sigma, half = 6000 * fwhm / 299792.458 / 2.354820, 6000 * damping / 299792.458 / 2
    near = np.abs(FINE - 6000) < 5 * sigma + 60 * half
    expected = voigt_profile(FINE[near] - 6000, sigma, half)
    assert profile[near] == pytest.approx(expected, rel=1e-3, abs=1e-4 * expected.max())
    assert not profile[np.abs(FINE - 6000) > 5 * sigma + 60 * half + 1].any()


def test_p_cygni_emits_at_rest_and_absorbs_in_front_of_the_wind():
    profile = p_cygni(200, 400, absorbed=0.3)(FINE, 6000.0)
    assert FINE[np.argmax(profile)] == pytest.approx(6000.0, abs=0.3)
    assert FINE[np.argmin(profile)] == pytest.approx(6000 * (1 - 400 / 299792.458), abs=0.3)
    assert profile.min() < 0
    assert np.trapezoid(profile, FINE) == pytest.approx(0.7, abs=1e-3)


def test_named_lines_are_emitted_with_their_widths():
    continuum = power_law(FINE, 2.0)
    seen = emit(FINE, continuum, {"Hβ": 10.0, "He I 5877": 5.0, "C IV 1549": 50.0}, gaussian(300))
    for centre, width in ((4862.69, 10.0), (5877.25, 5.0)):
        near = np.abs(FINE - centre) < 30
        assert np.trapezoid((seen / continuum - 1)[near], FINE[near]) == pytest.approx(width, rel=0.01)
    assert (seen / continuum - 1)[np.abs(FINE - 5300) < 100] == pytest.approx(0, abs=1e-12)


def test_named_lines_are_absorbed_with_their_widths_while_they_are_weak():
    seen = absorb(FINE, {"Mg II 4482": 0.3, "He I 5877": 0.2}, 300)
    for centre, width in ((4482.46, 0.3), (5877.25, 0.2)):
        near = np.abs(FINE - centre) < 30
        assert np.trapezoid(1 - seen[near], FINE[near]) == pytest.approx(width, rel=0.05)


@pytest.mark.parametrize(("upper", "air"), [(7, 5411.52), (9, 4541.59), (11, 4199.83), (5, 10123.6)])
def test_pickering_wavelengths(upper, air):
    # NIST, air; fine structure moves the blends by 0.1 Å.
    in_vacuum = air * (1 + 2.73e-4 + 0.05e-4)
    assert pickering_AA(upper) == pytest.approx(in_vacuum, abs=0.35)
    if upper == 9:
        assert pickering_AA(8) == pytest.approx(4862.69 - 1.98, abs=0.1)  # beside Hβ


def test_the_balmer_jump_lowers_what_lies_beyond_the_series():
    grid = np.arange(3500.0, 6000.0, 0.25)
    with_jump, without = (balmer_absorption(grid, 0.6, 9, 16, 3, jump) for jump in (0.5, 0.0))
    ratio = with_jump / without
    assert ratio[grid < 3600].max() < 10**-0.48
    assert ratio[grid > 3800] == pytest.approx(1, abs=1e-3)


def test_level_between_samples():
    grid = np.array([1.0, 2.0, 4.0])
    for where in (0.5, 1.0, 1.5, 3.0, 4.0, 9.0):
        assert level_at(grid, np.array([10.0, 20.0, 0.0]), where) == np.interp(where, grid, [10, 20, 0])


def test_names_give_vacuum_wavelengths():
    assert vacuum_AA("Hα") == 6564.61


# --- the lattice ----------------------------------------------------------------------------------


def test_windows_of_the_lattice_share_their_samples():
    star, far = rest_window(0.0), rest_window(0.35)
    assert star is star_grid()
    assert rest_window(0.001) is star  # no star moves so fast
    assert star.size == far.size == 8800
    assert np.intersect1d(star, far).size > 5000  # the very same numbers
    assert far[0] * 1.35 == pytest.approx(star[0], rel=6e-5)  # half a sample
    assert np.diff(np.log10(star)) == pytest.approx(5e-5, rel=1e-6)
    assert (star[0], star[-1]) == (pytest.approx(3583.4, abs=0.1), pytest.approx(9868.5, abs=0.2))


def test_a_remembered_function_is_computed_once_and_gives_the_same_numbers():
    calls = []

    def cubes(wavelength, factor):
        calls.append(wavelength.size)
        return factor * (wavelength / 5000) ** 3

    quick = remembered(cubes)
    for window in (rest_window(0.0), rest_window(0.35), rest_window(2.0)):
        assert quick(window, 2.0) == pytest.approx(2 * (window / 5000) ** 3, rel=1e-12)
    assert len(calls) == 1
    assert not quick(rest_window(0.0), 2.0).flags.writeable
    other = np.linspace(4000, 5000, 7)
    assert quick(other, 2.0) == pytest.approx(2 * (other / 5000) ** 3)
    assert quick(rest_window(0.0)[::2], 2.0).size == 4400
    assert len(calls) == 3
