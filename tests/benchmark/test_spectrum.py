"""The Spectrum: immutable, checked, and cleaned of what carries no information."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from specvi_benchmark.errors import UserError
from specvi_benchmark.spectrum import Claims, Spectrum, clean_spectrum

WAVE = np.array([4000.0, 4001.0, 4002.0, 4003.0])


def make(**changes: object) -> Spectrum:
    values: dict = {
        "wavelength_AA": WAVE,
        "flux": [1.0, 2, 3, 4],
        "ivar": [4.0, 4, 4, 4],
        "mask": [False] * 4,
    }
    return Spectrum(**(values | changes))


def test_arrays_are_copies_that_cannot_be_written() -> None:
    flux = np.arange(4.0)
    spectrum = make(flux=flux)
    flux[0] = 99
    assert spectrum.flux[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        spectrum.flux[0] = 1
    with pytest.raises(AttributeError):
        spectrum.flux = flux
    with pytest.raises(TypeError):
        spectrum.header_snr["g"] = 1.0


def test_a_pickled_spectrum_is_equal_and_immutable() -> None:
    spectrum = make(claims=Claims("STAR", "dM4", 1e-4), header_snr={"g": 3.5}, survey="lamost")
    again = pickle.loads(pickle.dumps(spectrum))
    assert np.array_equal(again.flux, spectrum.flux)
    assert again.claims == spectrum.claims
    assert dict(again.header_snr) == {"g": 3.5}
    assert not again.flux.flags.writeable


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"wavelength_AA": WAVE[::-1]}, "not increasing"),
        ({"wavelength_AA": [4000, 4001, 4001, 4002]}, "not increasing"),
        ({"wavelength_AA": [np.nan, 4001, 4002, 4003]}, "not increasing"),
        ({"wavelength_AA": [0, 1, 2, 3]}, "not increasing"),
        ({"flux": [1, 2, 3]}, "do not make a spectrum"),
        ({"flux": [1, np.nan, 3, 4]}, "no finite flux"),
        ({"ivar": [1, -1, 1, 1]}, "at least 0"),
        ({"ivar": [1, np.inf, 1, 1]}, "at least 0"),
    ],
)
def test_broken_arrays_are_refused(changes: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        make(**changes)


def test_unsorted_wavelengths_are_told_with_pixel_and_values() -> None:
    with pytest.raises(UserError) as caught:
        make(wavelength_AA=[4000, 4002, 4001, 4003], name="row 7")
    assert "row 7" in str(caught.value)
    assert "4002 then 4001 Å at pixel 1" in str(caught.value)


def test_clean_marks_what_carries_no_information() -> None:
    spectrum = clean_spectrum(
        np.arange(4000.0, 4006), [1, np.nan, 3, 4, np.inf, 6], [1, 1, 0, np.nan, 1, 4], [0, 0, 0, 0, 0, 0]
    )
    assert spectrum.mask.tolist() == [False, True, True, True, True, False]
    assert spectrum.ivar.tolist() == [1, 0, 0, 0, 0, 4]
    assert spectrum.snr == pytest.approx(np.median([1.0, 12.0]))


def test_without_errors_no_pixel_is_bad_for_lack_of_one() -> None:
    spectrum = clean_spectrum(WAVE, [1, 2, 3, 4])
    assert not spectrum.has_errors
    assert not spectrum.mask.any()
    assert spectrum.snr is None


@pytest.mark.parametrize("ivar", [[0, 0, 0, 0], [-1, -1, -1, -1], [np.nan] * 4])
def test_given_errors_without_information_make_every_pixel_bad(ivar: list) -> None:
    with pytest.raises(UserError, match="every pixel is bad"):
        clean_spectrum(WAVE, [1, 2, 3, 4], ivar)


def test_usable_pixels_are_good_have_an_error_where_there_are_any_and_are_not_wild() -> None:
    assert make().usable.all()
    assert make(mask=[True, False, False, False], ivar=[9, 0, 4, 4]).usable.tolist() == [
        False,
        False,
        True,
        True,
    ]
    assert make(mask=[True, False, False, False], ivar=[0] * 4).usable.tolist() == [False, True, True, True]
    assert make(flux=[1.0, -1e300, 2, 3]).usable.tolist() == [True, False, True, True]
    assert make(flux=[0.0, 0, 0, 0]).usable.all()
    assert make(flux=[0.0, 0, 0, 1e300]).usable.all()  # nothing else says how large flux is
    assert not make(mask=[True] * 4).usable.any()


@given(arrays(np.float64, st.integers(2, 9), elements=st.floats(-1e300, 1e300)), st.integers(-600, 20))
def test_a_wild_pixel_is_a_million_times_the_median_of_what_is_not_zero(flux: np.ndarray, power: int) -> None:
    flux = np.append(flux, np.ldexp(1.0, power))
    found = make(
        wavelength_AA=4000.0 + np.arange(flux.size),
        flux=flux,
        ivar=np.ones(flux.size),
        mask=np.zeros(flux.size),
    )
    size = np.abs(flux)
    expected = size <= 1e6 * np.median(size[size > 0])
    # Which side the last digit falls on is open.
    near = np.isclose(size, 1e6 * np.median(size[size > 0]), rtol=1e-9)
    assert np.array_equal(found.usable | near, expected | near)


def test_empty_and_unequal_arrays_are_told_apart() -> None:
    with pytest.raises(UserError, match="empty"):
        clean_spectrum([], [])
    with pytest.raises(UserError, match="differ in length"):
        clean_spectrum(WAVE, [1, 2, 3])


@given(
    flux=arrays(np.float64, 6, elements=st.floats(allow_nan=True, allow_infinity=True)),
    ivar=arrays(np.float64, 6, elements=st.floats(allow_nan=True, allow_infinity=True)),
    mask=arrays(np.bool_, 6),
)
def test_clean_never_returns_a_good_pixel_without_information(
    flux: np.ndarray, ivar: np.ndarray, mask: np.ndarray
) -> None:
    usable = ~mask & np.isfinite(flux) & np.isfinite(ivar) & (ivar > 0)
    wave = np.arange(5000.0, 5006)
    if not usable.any():
        with pytest.raises(UserError):
            clean_spectrum(wave, flux, ivar, mask)
        return
    spectrum = clean_spectrum(wave, flux, ivar, mask)
    assert np.array_equal(spectrum.good, usable)
    assert (spectrum.ivar[spectrum.mask] == 0).all()


@given(low=st.floats(3990, 4010), width=st.floats(-1, 10))
def test_window_holds_exactly_the_pixels_inside(low: float, width: float) -> None:
    spectrum = make()
    inside = (low <= WAVE) & (low + width >= WAVE)
    assert np.array_equal(WAVE[spectrum.window(low, low + width)], WAVE[inside])
