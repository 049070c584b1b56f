"""Text tables in the forms people write them; what is assumed is told, what is unclear is refused."""

import codecs
import tracemalloc

import numpy as np
import pytest

from specvi_benchmark.errors import UserError
from specvi_benchmark.lines import air_to_vacuum
from specvi_benchmark.surveys import read_spectra, read_spectrum

WAVELENGTH = np.array([4000.0, 4001.5, 4003.0, 4004.5, 6500.0, 6501.5])
FLUX = np.array([1.5, -2.25, 3.0, 1e-3, 5.5, 6.0])
ERROR = np.array([0.5, 0.25, 1.0, 2.0, 0.5, 0.125])


def rows(delimiter=",", *columns, number=repr):
    arrays = columns or (WAVELENGTH, FLUX)
    return (
        "\n".join(delimiter.join(number(float(v)) for v in row) for row in zip(*arrays, strict=True)) + "\n"
    )


def write(tmp_path, text, encoding="utf-8", name="spectrum.txt"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return path


def read(tmp_path, text, *, medium="vacuum", encoding="utf-8"):
    reading = read_spectra(write(tmp_path, text, encoding), medium=medium)
    assert len(reading.spectra) == 1
    return reading


def is_the_spectrum(spectrum, *, errors=False):
    np.testing.assert_array_equal(spectrum.wavelength_AA, WAVELENGTH)
    np.testing.assert_array_equal(spectrum.flux, FLUX)
    assert spectrum.has_errors is errors
    if errors:
        np.testing.assert_allclose(spectrum.ivar, ERROR**-2, rtol=1e-15)


@pytest.mark.parametrize("delimiter", [",", ", ", ";", "\t", "|", " ", "   "])
def test_every_delimiter(tmp_path, delimiter):
    text = delimiter.join(("wavelength", "flux", "error")) + "\n" + rows(delimiter, WAVELENGTH, FLUX, ERROR)
    is_the_spectrum(read(tmp_path, text).spectra[0], errors=True)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("tail", ["", "\n\n", "\x1a"])
def test_line_ends_and_what_editors_leave_at_the_end(tmp_path, end, tail):
    text = ("wavelength,flux\n" + rows() + tail).replace("\n", end)
    is_the_spectrum(read(tmp_path, text).spectra[0])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1"])
def test_encodings(tmp_path, encoding):
    text = "Wavelength (Å),Flux (µJy)\n" + rows()
    spectrum = read(tmp_path, text, encoding=encoding).spectra[0]
    np.testing.assert_array_equal(spectrum.wavelength_AA, WAVELENGTH)
    microjansky = FLUX * 1e-29 * 2.99792458e18 / WAVELENGTH**2 / 1e-17
    np.testing.assert_allclose(spectrum.flux, microjansky, rtol=1e-12)


@pytest.mark.parametrize(
    "names",
    [
        *(("wavelength", "flux", "error"), ("WAVELENGTH", "FLUX", "SIGMA"), ("lambda", "f_lambda", "err")),
        *(("wave", "flam", "flux_err"), ("lam", "Flux density", "Flux error"), ("Wave", "FluxD", "e_FluxD")),
        *(("wl", "F", "unc"), ("λ", "Fλ", "σ_flux"), ("obs_wavelength", "flux_cal", "sigma(flux)")),
        *(
            ("wavelength / Å", "flux", "noise"),
            ("wave_AA", "mean_flux", "mean_err"),
            ("wvl", "counts", "stdev"),
        ),
        *(("Wavelength_vac", "intensity", "error"), ("vacuum wavelength", "signal", "uncertainty")),
    ],
)
def test_the_usual_names(tmp_path, names):
    names = tuple(name.replace("σ", "sigma") for name in names)
    spectrum = read(tmp_path, ",".join(names) + "\n" + rows(",", WAVELENGTH, FLUX, ERROR)).spectra[0]
    is_the_spectrum(spectrum, errors=True)


def test_inverse_variance_is_preferred_and_columns_may_stand_in_any_order(tmp_path):
    text = "error,name,ivar,flux,x,wavelength\n"
    text += "\n".join(
        f"9,a b,{1 / e**2!r},{f!r},,{w!r}"
        for w, f, e in zip(*map(np.ndarray.tolist, (WAVELENGTH, FLUX, ERROR)), strict=True)
    )
    is_the_spectrum(read(tmp_path, text).spectra[0], errors=True)


@pytest.mark.parametrize(
    ("name", "values", "bad"),
    [
        ("mask", "010010", "010010"),
        ("and_mask", ("0", "4", "0", "0", "65536", "0"), "010010"),
        ("bad", ("False", "True", "false", "F", "T", "no"), "010010"),
        ("good", "101101", "010010"),
        ("mask", ("0", "", "0", "0", "nan", "0"), "010010"),
    ],
)
def test_masks_are_true_where_bad(tmp_path, name, values, bad):
    body = rows().splitlines()
    text = f"wavelength,flux,{name}\n" + "\n".join(
        f"{row},{value}" for row, value in zip(body, values, strict=True)
    )
    spectrum = read(tmp_path, text).spectra[0]
    np.testing.assert_array_equal(spectrum.mask, [flag == "1" for flag in bad])


def test_a_flag_of_unknown_sense_is_not_read_and_that_is_told(tmp_path):
    body = rows().splitlines()
    reading = read(tmp_path, "wavelength,flux,quality\n" + "\n".join(f"{row},1" for row in body))
    assert not reading.spectra[0].mask.any()
    assert any("quality is not read" in note for note in reading.notes)


@pytest.mark.parametrize(
    "text",
    [
        "# wavelength flux error\n{}",
        "# made by hand\n# wavelength  flux  error\n# Angstrom  1e-17erg/s/cm2/A  1e-17erg/s/cm2/A\n{}",
        "#wavelength,flux,error\n{}",
        "# Wavelength (Angstrom)   Flux (relative)   Error\n{}",
        "HD 1234, night 3\n\nwavelength flux error\n{}",
        "wavelength flux error\n---------- ---- -----\n{}",
        "wavelength flux error\nAngstrom - -\n{}",
        "%wavelength flux error\n{}",
        '"wavelength" "flux" "error"\n{}',
        "\\origin = 'x'\n|wavelength|flux|error|\n|double|double|double|\n|Angstrom| | |\n{}",
    ],
)
def test_headers_above_the_rows_and_in_comments(tmp_path, text):
    spectrum = read(tmp_path, text.format(rows(" ", WAVELENGTH, FLUX, ERROR))).spectra[0]
    is_the_spectrum(spectrum, errors=True)


def test_a_line_of_units(tmp_path):
    text = "wave;f;err\nnm;mJy;mJy\n" + rows(";", WAVELENGTH / 10, FLUX, ERROR)
    spectrum = read(tmp_path, text).spectra[0]
    np.testing.assert_allclose(spectrum.wavelength_AA, WAVELENGTH, rtol=1e-15)
    factor = 1e-26 * 2.99792458e18 / WAVELENGTH**2 / 1e-17
    np.testing.assert_allclose(spectrum.flux, FLUX * factor, rtol=1e-12)
    np.testing.assert_allclose(spectrum.ivar, (ERROR * factor) ** -2, rtol=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        "wavelength;flux\n" + rows(";").replace(".", ","),
        "wavelength\tflux\n" + rows("\t").replace(".", ","),
        "wavelength flux\n" + rows(" ").replace(".", ","),
        "wavelength flux\n" + rows(" ", number="{:.17E}".format).replace("E", "D"),
        "wavelength,flux\n" + rows(",", number="{:+.17e}".format),
    ],
)
def test_numbers_of_europe_and_fortran(tmp_path, text):
    is_the_spectrum(read(tmp_path, text).spectra[0])


def test_missing_values_are_bad_pixels(tmp_path):
    text = "wavelength,flux\n" + rows() + "7000,\n7001,nan\n7002,--\n7003,N/A\n7004,inf\n7005,2\n"
    spectrum = read(tmp_path, text).spectra[0]
    np.testing.assert_array_equal(spectrum.mask, [False] * 6 + [True] * 5 + [False])


def test_falling_wavelengths_are_turned_round(tmp_path):
    is_the_spectrum(read(tmp_path, "wavelength,flux\n" + rows(",", WAVELENGTH[::-1], FLUX[::-1])).spectra[0])


def test_gzip_is_unpacked_under_any_name(tmp_path):
    import gzip

    is_the_spectrum(read(tmp_path, gzip.compress(("wavelength,flux\n" + rows()).encode())).spectra[0])


# Air and vacuum.


@pytest.mark.parametrize(
    ("text", "medium"),
    [
        ("wavelength_air,flux\n", "air"),
        ("wavelength_vac,flux\n", "vacuum"),
        ("air wavelength,flux\n", "air"),
        ('"wavelength (air, A)",flux\n', "air"),
        ("Lambda_vacuum_AA,flux\n", "vacuum"),
        ("# All wavelengths are in vacuum.\nwavelength,flux\n", "vacuum"),
        ("# wavelengths: air\nwavelength,flux\n", "air"),
        ("# medium = vacuum\nwavelength,flux\n", "vacuum"),
        ("# AIRORVAC = 'air     '\nwavelength,flux\n", "air"),
    ],
)
def test_a_file_that_says_air_or_vacuum(tmp_path, text, medium):
    expected = WAVELENGTH if medium == "vacuum" else air_to_vacuum(WAVELENGTH)
    found = read(tmp_path, text + rows(), medium=None).spectra[0]
    np.testing.assert_array_equal(found.wavelength_AA, expected)
    np.testing.assert_array_equal(
        read(tmp_path, text + rows(), medium=medium).spectra[0].wavelength_AA, expected
    )
    other = "air" if medium == "vacuum" else "vacuum"
    with pytest.raises(UserError, match=f"says that its wavelengths are measured in {medium}"):
        read(tmp_path, text + rows(), medium=other)


@pytest.mark.parametrize(
    "text",
    [
        "wavelength,flux\n",
        "# converted from air to vacuum wavelengths\nwavelength,flux\n",
        "# wavelengths are not in vacuum\nwavelength,flux\n",
        "# airmass 1.3\nwavelength,flux\n",
        "# wavelengths in air or vacuum\nwavelength,flux\n",
        "# wavelengths in air. Some wavelengths in vacuum.\nwavelength,flux\n",
    ],
)
def test_a_file_that_does_not_say_is_refused_until_the_caller_does(tmp_path, text):
    with pytest.raises(UserError, match="in air or in vacuum") as caught:
        read(tmp_path, text + rows(), medium=None)
    assert "medium='air'" in str(caught.value)
    is_the_spectrum(read(tmp_path, text + rows(), medium="vacuum").spectra[0])
    found = read(tmp_path, text + rows(), medium="air").spectra[0]
    np.testing.assert_array_equal(found.wavelength_AA, air_to_vacuum(WAVELENGTH))
    assert found.wavelength_AA[4] - WAVELENGTH[4] == pytest.approx(
        1.796, abs=1e-3
    )  # the known shift at 6500 Å


def test_both_in_one_file_is_a_contradiction(tmp_path):
    text = (
        "# %ECSV 1.0\n# ---\n# datatype:\n# - {name: wavelength_air, datatype: float64, unit: Angstrom}\n"
        "# - {name: flux, datatype: float64}\n# meta: {vacuum: true}\nwavelength_air flux\n"
    )
    with pytest.raises(UserError, match="both air and vacuum"):
        read(tmp_path, text + rows(" "), medium=None)


def test_below_2000_angstrom_there_is_only_vacuum(tmp_path):
    wavelength = np.array([1200.0, 1201.0, 1999.9])
    found = read(tmp_path, "wavelength (A),flux\n" + rows(",", wavelength, FLUX[:3]), medium=None).spectra[0]
    np.testing.assert_array_equal(found.wavelength_AA, wavelength)


def test_another_medium_than_the_two_is_refused(tmp_path):
    with pytest.raises(UserError, match="no such medium"):
        read(tmp_path, "wavelength,flux\n" + rows(), medium="water")


# Units that are not given.


def test_missing_units_are_assumed_only_where_nothing_else_fits_and_that_is_told(tmp_path):
    reading = read(tmp_path, "wavelength,flux\n" + rows())
    assert reading.notes == (
        "the wavelengths have no unit and are taken as Å",
        "the flux has no unit and is taken as per unit wavelength",
    )
    assert read(tmp_path, "wavelength (A),flux (relative)\n" + rows()).notes == ()


@pytest.mark.parametrize(
    "wavelength",
    [
        np.linspace(350.0, 1000.0, 6),  # nm, surely, but it was not said
        np.linspace(0.35, 1.0, 6),  # µm
        np.linspace(994.0, 2480.0, 6),  # near infrared in nm, or ultraviolet in Å
        np.linspace(1.0, 4000.0, 6),  # pixels
        np.linspace(0.0, 4000.0, 6),
        np.linspace(3e4, 5e4, 6),
    ],
)
def test_numbers_that_may_be_something_else_than_angstrom_are_refused(tmp_path, wavelength):
    with pytest.raises(UserError, match="Å is not certain") as caught:
        read(tmp_path, "wavelength,flux\n" + rows(",", wavelength, FLUX))
    assert "wavelength_nm" in str(caught.value)


def test_flux_per_frequency_by_name_without_a_unit_changes_shape(tmp_path):
    reading = read(tmp_path, "wavelength,f_nu\n" + rows())
    np.testing.assert_allclose(reading.spectra[0].flux, FLUX * (5500 / WAVELENGTH) ** 2, rtol=1e-12)
    assert any("per unit frequency" in note for note in reading.notes)


# Columns without names.


def test_without_a_header_the_first_two_columns_are_taken_and_that_is_told(tmp_path):
    reading = read(tmp_path, rows(" ", WAVELENGTH, FLUX, ERROR))
    is_the_spectrum(reading.spectra[0])
    assert reading.notes[0] == "3 columns without names: the first two are taken as wavelength and flux"


def test_a_third_column_of_bin_widths_makes_the_second_suspect(tmp_path):
    widths = np.array([50.0, 50, 50, 100, 100, 100])
    with pytest.raises(UserError, match="is the second a magnitude"):
        read(tmp_path, rows(" ", WAVELENGTH, FLUX + 15, widths))
    named = read(tmp_path, "wavelength ab_mag bin\n" + rows(" ", WAVELENGTH, FLUX + 15, widths)).spectra[0]
    fnu = 10 ** (-0.4 * (FLUX + 15 + 48.6))
    np.testing.assert_allclose(named.flux, fnu * 2.99792458e18 / WAVELENGTH**2 / 1e-17, rtol=1e-12)


def test_oke_tables_are_ab_magnitudes(tmp_path):
    wavelength = np.r_[np.arange(3200.0, 3206), np.arange(9190.0, 9201, 2)]
    magnitude = np.linspace(16.8, 15.8, 12)
    widths = np.r_[np.full(6, 7.0), np.full(6, 13.0)]
    text = "".join(
        f"{w:10.2f}{m:10.3f}{b:10.1f}\n" for w, m, b in zip(wavelength, magnitude, widths, strict=True)
    )
    reading = read_spectra(write(tmp_path, text), medium="vacuum")
    assert reading.format == "oke"
    fnu = 10 ** (-0.4 * (np.round(magnitude, 3) + 48.6))
    np.testing.assert_allclose(
        reading.spectra[0].flux, fnu * 2.99792458e18 / wavelength**2 / 1e-17, rtol=1e-12
    )
    with pytest.raises(UserError, match="in air or in vacuum"):
        read_spectra(write(tmp_path, text))
    with pytest.raises(UserError, match="neither 7 nor 13"):
        read_spectra(
            write(tmp_path, text.replace("7.0\n", "9.0\n").replace("9.0\n", "7.0\n", 3)), medium="vacuum"
        )


def pickles_text(flux):
    grid = 1150 + 5.0 * np.arange(1895)
    return "".join(f"{w:7.1f}{f:10.6f}{0.0:10.6f}\n" for w, f in zip(grid, flux, strict=True))


def test_pickles_columns_may_touch_and_are_in_air(tmp_path):
    flux = np.linspace(0.5, 150.0, 1895)  # from 100 up the cells touch
    flux[:300] = 0
    reading = read_spectra(write(tmp_path, pickles_text(flux)))
    spectrum = reading.spectra[0]
    assert reading.format == "pickles"
    np.testing.assert_array_equal(spectrum.flux, np.round(flux, 6))
    np.testing.assert_array_equal(spectrum.mask, np.arange(1895) < 300)
    np.testing.assert_array_equal(spectrum.wavelength_AA, air_to_vacuum(1150 + 5.0 * np.arange(1895)))
    with pytest.raises(UserError, match="air wavelengths"):
        read_spectra(write(tmp_path, pickles_text(flux)), medium="vacuum")


def test_a_pickles_file_with_another_grid_inside_is_refused(tmp_path):
    text = pickles_text(np.ones(1895) + np.arange(1895) % 2).replace("5000.0", "5001.0", 1)
    with pytest.raises(UserError, match="not those of the Pickles library"):
        read_spectra(write(tmp_path, text))


def test_the_csv_of_the_sdss_pages_is_vacuum(tmp_path):
    body = "\n".join(f"{w},{f},1,2" for w, f in zip(WAVELENGTH, FLUX, strict=True))
    reading = read_spectra(write(tmp_path, "Wavelength,Flux,BestFit,SkyFlux\n" + body))
    assert (reading.format, reading.spectra[0].survey) == ("sdss-csv", "sdss")
    is_the_spectrum(reading.spectra[0])


MRT = """Title: A spectrum
================================================================================
Byte-by-byte Description of file: t1.txt
--------------------------------------------------------------------------------
   Bytes Format Units   Label  Explanations
--------------------------------------------------------------------------------
   1-  6 F6.1   0.1nm   Wave   Wavelength, {said}
   7- 13 F7.3   ---     FluxD  Relative flux density
  15- 19 F5.3   ---   e_FluxD  Uncertainty
--------------------------------------------------------------------------------
"""


def test_machine_readable_tables_are_cut_by_place_and_blanks_are_missing(tmp_path):
    body = "4000.0  1.500 0.500\n4001.0        0.250\n4002.0-12.000 0.500\n4003.0  2.000 0.100\n"
    text = MRT.format(said="vacuum wavelength") + body
    reading = read_spectra(write(tmp_path, text))
    spectrum = reading.spectra[0]
    assert reading.format == "mrt"
    np.testing.assert_array_equal(spectrum.flux, [1.5, 0, -12, 2])
    np.testing.assert_array_equal(spectrum.mask, [False, True, False, False])
    np.testing.assert_allclose(spectrum.ivar, [4, 0, 4, 100], rtol=1e-12)
    with pytest.raises(UserError, match="in air or in vacuum"):
        read_spectra(write(tmp_path, MRT.format(said="in Angstrom") + body))


# Padding.


def test_runs_of_five_zeros_are_no_data_and_shorter_ones_are(tmp_path):
    flux = np.r_[np.zeros(5), 1, 2, np.zeros(4), 3, 4, np.zeros(6), 5, 6.0]
    wavelength = 4000.0 + np.arange(flux.size)
    reading = read(tmp_path, "wavelength,flux\n" + rows(",", wavelength, flux))
    expected = np.zeros(flux.size, dtype=bool)
    expected[:5] = expected[13:19] = True
    np.testing.assert_array_equal(reading.spectra[0].mask, expected)
    assert any("11 pixels that repeat one value" in note for note in reading.notes)


def test_zeros_with_errors_are_measurements(tmp_path):
    flux = np.r_[1.0, 2, np.zeros(6), 3]
    text = "wavelength,flux,error\n" + rows(",", 4000.0 + np.arange(9), flux, np.ones(9))
    assert not read(tmp_path, text).spectra[0].mask.any()


def test_a_value_repeated_up_to_an_end_is_padding_unless_it_is_the_normalised_continuum(tmp_path):
    wavelength = 4000.0 + np.arange(20)
    flux = np.r_[np.full(6, 0.37), np.arange(1, 9), np.full(6, 1.0)]
    spectrum = read(tmp_path, "wavelength,flux\n" + rows(",", wavelength, flux)).spectra[0]
    np.testing.assert_array_equal(spectrum.mask, np.arange(20) < 6)
    constant = read(tmp_path, "wavelength,flux\n" + rows(",", wavelength, np.full(20, 3.0))).spectra[0]
    assert not constant.mask.any()


# Refusals.


@pytest.mark.parametrize(
    ("text", "complaint", "place"),
    [
        ("wavelength,flux\n" + rows() + "7000,1,2\n", "a row of the table", "line 8"),
        ("wavelength,flux\n" + rows() + "7000\n", "a row of the table", "line 8"),
        ("wavelength,flux\n" + rows() + "7000,abc\n", "a row of the table", "line 8"),
        ("wavelength,flux\n" + rows() + "7000,1_5\n", "a row of the table", "line 8"),
        ("wavelength,flux\n" + rows() + "6501.5,3\n", "not increasing", ""),
        ("wavelength,flux\n" + rows() + "4002,3\n", "not increasing", ""),
        ("wavelength,flux\n4000,1\n", "arrays do not make", ""),
        ("wavelength,flux\n4000,nan\n4001,nan\n4002,nan\n", "every pixel is bad", ""),
        ("id,ra,dec\n1,2,3\n2,3,4\n", "no wavelength and flux", ""),
        ("a line of prose\nand one more\n", "no known format", ""),
        ("wavelength flux density error\n" + rows(" ", WAVELENGTH, FLUX, ERROR), "header does not fit", ""),
        ("# wavelength flux density error\n" + rows(" ", WAVELENGTH, FLUX, ERROR), "header does not fit", ""),
        ("wavelength,flux,error\n" + rows(",", WAVELENGTH, FLUX, -ERROR), "every pixel is bad", ""),
    ],
)
def test_what_is_no_spectrum_is_refused_with_its_place(tmp_path, text, complaint, place):
    with pytest.raises(UserError, match=complaint) as caught:
        read(tmp_path, text)
    assert place in str(caught.value)


def test_read_spectrum_takes_the_medium_too(tmp_path):
    path = write(tmp_path, "wavelength,flux\n" + rows())
    np.testing.assert_array_equal(read_spectrum(path, medium="vacuum").wavelength_AA, WAVELENGTH)


def test_binary_files_are_no_text(tmp_path):
    for content in (b"\x00\x01\x02" * 50, codecs.BOM_UTF16_LE + b"\x00\xd8" * 3, bytes(range(256)) * 4):
        with pytest.raises(UserError, match="no known format"):
            read_spectra(write(tmp_path, content))


def test_a_long_table_takes_no_more_memory_than_a_few_times_its_size(tmp_path):
    wavelength = 3000 + 0.1 * np.arange(60_000)
    text = "wavelength,flux,error\n" + rows(",", wavelength, np.sqrt(wavelength), np.ones(60_000))
    path = write(tmp_path, text)
    read_spectra(path, medium="vacuum")  # what is imported on the way does not count
    tracemalloc.start()
    try:
        read_spectra(path, medium="vacuum")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 6 * len(text)
