"""FITS tables and images that are no survey's: grids, units, air or vacuum, the libraries' own marks."""

import warnings

import numpy as np
import pytest
from astropy.io import fits
from astropy.wcs import WCS

from specvi_benchmark.errors import UserError
from specvi_benchmark.lines import air_to_vacuum
from specvi_benchmark.surveys import read_spectra

WAVELENGTH = np.linspace(4000.0, 7000.0, 61)
FLUX = 5 + np.sin(WAVELENGTH / 100)
ERROR = np.linspace(0.1, 0.4, 61)


def table(columns, *, primary=None, name="", **cards):
    """Return HDUs of one table; ``columns`` are (name, format, unit, array)."""
    made = [fits.Column(name=n, format=f, unit=u, array=a) for n, f, u, a in columns]
    hdu = fits.BinTableHDU.from_columns(made, name=name)
    hdu.header.update(cards)
    return [fits.PrimaryHDU(header=fits.Header(primary or {})), hdu]


def spectrum_table(**cards):
    return table([("WAVE", "D", "Angstrom", WAVELENGTH), ("FLUX", "D", "1e-17 erg/s/cm2/A", FLUX), ("ERR", "D", None, ERROR)], **cards)  # fmt: skip


def image(flux=FLUX, **cards):
    header = fits.Header()
    header.update(cards)
    return [fits.PrimaryHDU(np.asarray(flux), header=header)]


def read(tmp_path, hdus, medium="vacuum"):
    path = tmp_path / "spectrum.fits"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits.HDUList(hdus).writeto(path, overwrite=True)
    return read_spectra(path, medium=medium)


# Tables.


def test_a_table_with_a_pixel_a_row(tmp_path):
    reading = read(tmp_path, spectrum_table())
    (spectrum,) = reading.spectra
    assert (reading.format, reading.notes, spectrum.name) == ("fits-table", (), "spectrum.fits")
    np.testing.assert_array_equal(spectrum.wavelength_AA, WAVELENGTH)
    np.testing.assert_allclose(spectrum.flux, FLUX, rtol=1e-15)
    np.testing.assert_allclose(spectrum.ivar, ERROR**-2, rtol=1e-12)


def test_a_table_with_arrays_in_rows_is_a_spectrum_a_row(tmp_path):
    flux = np.stack([FLUX, np.full(61, np.nan), 2 * FLUX])
    wavelength = np.stack([WAVELENGTH, WAVELENGTH, np.r_[WAVELENGTH[:-2], -1, -1]])
    reading = read(tmp_path, table([("lambda", "61D", "nm", wavelength / 10), ("flux", "61E", "Jy", flux)]))
    assert [spectrum.wavelength_AA.size for spectrum in reading.spectra] == [61, 59]
    assert (reading.rows, reading.skipped[0].row, reading.skipped[0].reason) == (
        (0, 2),
        1,
        "every pixel is bad",
    )
    assert reading.spectra[1].name == "spectrum.fits[HDU 1, row 2]"
    janskys = flux[0].astype("f4").astype("f8") * 1e-23 * 2.99792458e18 / WAVELENGTH**2 / 1e-17
    np.testing.assert_allclose(reading.spectra[0].flux, janskys, rtol=1e-12)


def test_one_row_of_arrays_as_eso_publishes_them(tmp_path):
    hdus = table(
        [("WAVE", "61D", "angstrom", WAVELENGTH[None]), ("FLUX", "61E", "erg.cm**(-2).s**(-1).angstrom**(-1)", 1e-15 * FLUX[None])],
        primary={"PRODCATG": "SCIENCE.SPECTRUM", "OBJECT": "HD 1"},
        TUCD1="em.wl;obs.atmos",
    )  # fmt: skip
    (spectrum,) = read(tmp_path, hdus, medium=None).spectra
    assert spectrum.survey_id == "HD 1"
    np.testing.assert_array_equal(spectrum.wavelength_AA, air_to_vacuum(WAVELENGTH))
    np.testing.assert_allclose(spectrum.flux, FLUX * 100, rtol=1e-6)
    hdus[1].header["TUCD1"] = "em.wl"
    np.testing.assert_array_equal(read(tmp_path, hdus, medium=None).spectra[0].wavelength_AA, WAVELENGTH)
    hdus[0].header["PRODCATG"] = "other"  # elsewhere plain em.wl says nothing of the medium
    with pytest.raises(UserError, match="in air or in vacuum"):
        read(tmp_path, hdus, medium=None)


@pytest.mark.parametrize(
    ("hdus", "air"),
    [
        (lambda: spectrum_table(primary={"AIRORVAC": "air"}), True),
        (lambda: spectrum_table(AIRORVAC="vac"), False),
        (lambda: spectrum_table(primary={"VACUUM": True}), False),
        (lambda: spectrum_table(primary={"VACUUM": False}), True),
        (lambda: spectrum_table(primary={"WAVETYPE": "Vacuum"}), False),
        (lambda: spectrum_table(primary={"HISTORY": "All wavelengths are in vacuum."}), False),
        (lambda: spectrum_table(COMMENT="wavelengths in air"), True),
    ],
)
def test_headers_that_say_air_or_vacuum(tmp_path, hdus, air):
    expected = air_to_vacuum(WAVELENGTH) if air else WAVELENGTH
    np.testing.assert_array_equal(read(tmp_path, hdus(), medium=None).spectra[0].wavelength_AA, expected)
    with pytest.raises(UserError, match="says that its wavelengths"):
        read(tmp_path, hdus(), medium="vacuum" if air else "air")


def test_pairs_of_columns_that_share_an_ending_in_several_tables(tmp_path):
    hdus = [fits.PrimaryHDU()]
    for kind, factor in (("STAR", 1), ("QSO", 2)):
        hdus += table(
            [(f"wave_{kind}", "D", None, WAVELENGTH), (f"flux_{kind}", "D", None, factor * FLUX)], NAME=kind
        )[1:]
    reading = read(tmp_path, hdus)
    assert [spectrum.name for spectrum in reading.spectra] == ["spectrum.fits[STAR]", "spectrum.fits[QSO]"]
    np.testing.assert_array_equal(reading.spectra[1].flux, 2 * FLUX)
    with pytest.raises(UserError, match="in air or in vacuum"):
        read(tmp_path, hdus, medium=None)


def test_integers_scales_nulls_and_logical_masks(tmp_path):
    counts = np.arange(61, dtype=np.int32) + 7
    hdus = table(
        [
            ("wavelength", "E", "nm", WAVELENGTH / 10),
            ("counts", "J", "adu", counts),
            ("mask", "L", None, counts == 9),
        ],
        TNULL2=8,
    )
    reading = read(tmp_path, hdus)
    (spectrum,) = reading.spectra
    np.testing.assert_array_equal(np.flatnonzero(spectrum.mask), [1, 2])  # the null, then the flag
    assert spectrum.flux[5] == 12
    assert "the flux is in counts: its shape is that of the instrument" in reading.notes


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ([("wavelength", "D", "Angstrom", WAVELENGTH), ("flux", "PD()", None, [FLUX] * 61)], "variable length"),
        ([("wavelength", "D", "Hz", WAVELENGTH), ("flux", "D", None, FLUX)], "unit of the wavelengths"),
        ([("wavelength", "D", "Angstrom", WAVELENGTH), ("flux", "2D", None, np.ones((61, 2)))], "differ in length|no usable"),
        ([("wavelength", "10A", "Angstrom", ["a"] * 61), ("flux", "D", None, FLUX)], "no known format"),
        ([("wavelength", "D", "Angstrom", WAVELENGTH), ("flux", "C", None, FLUX.astype(complex))], "no known format"),
        ([("name", "10A", None, ["a"] * 61), ("ra", "D", None, FLUX)], "no known format"),
        ([("wavelength", "D", "Angstrom", np.r_[WAVELENGTH[:-1], 4000]), ("flux", "D", None, FLUX)], "not increasing"),
    ],
)  # fmt: skip
def test_tables_that_hold_no_spectrum_are_refused(tmp_path, columns, complaint):
    with pytest.raises(UserError, match=complaint):
        read(tmp_path, table(columns))


# Images.


@pytest.mark.parametrize(
    "cards",
    [
        {"CRVAL1": 4000.0, "CDELT1": 1.5, "CRPIX1": 1.0, "CTYPE1": "WAVE", "CUNIT1": "Angstrom"},
        {"CRVAL1": 4000.0, "CDELT1": 1.5, "CRPIX1": 3.5, "CTYPE1": "WAVE", "CUNIT1": "Angstrom"},
        {"CRVAL1": 450.0, "CDELT1": 0.1, "CRPIX1": 30.0, "CTYPE1": "WAVE", "CUNIT1": "nm"},
        {"CRVAL1": 4e-7, "CDELT1": 1e-10, "CRPIX1": 1.0, "CTYPE1": "WAVE", "CUNIT1": "m"},
        {"CRVAL1": 5000.0, "CDELT1": 1.5, "CRPIX1": 10.0, "CTYPE1": "WAVE-LOG", "CUNIT1": "Angstrom"},
    ],
)
def test_grids_are_those_of_astropy(tmp_path, cards):
    hdus = image(**cards)
    (spectrum,) = read(tmp_path, hdus, medium=None).spectra
    expected = WCS(hdus[0].header).wcs_pix2world(np.arange(61.0)[:, None], 0)[:, 0] * 1e10  # in metres
    np.testing.assert_allclose(spectrum.wavelength_AA, expected, rtol=1e-12)
    np.testing.assert_array_equal(spectrum.flux, FLUX)


def test_a_missing_reference_pixel_is_the_first_and_that_is_told(tmp_path):
    reading = read(tmp_path, image(CRVAL1=4000.0, CDELT1=2.0, CUNIT1="Angstrom", BUNIT="relative"))
    assert reading.spectra[0].wavelength_AA[0] == 4000
    assert reading.notes == ("CRPIX1 is missing: CRVAL1 is taken as the wavelength of the first pixel",)


def test_iraf_grids_and_units(tmp_path):
    linear = image(CRVAL1=4000.0, CD1_1=2.0, CRPIX1=1.0, CTYPE1="LINEAR", WAT1_001="wtype=linear label=Wavelength units=angstroms", **{"DC-FLAG": 0})  # fmt: skip
    np.testing.assert_array_equal(read(tmp_path, linear).spectra[0].wavelength_AA, 4000 + 2.0 * np.arange(61))
    logarithmic = image(CRVAL1=3.6, CD1_1=1e-4, CDELT1=1e-4, CTYPE1="LAMBDA", **{"DC-FLAG": 1})
    found = read(tmp_path, logarithmic).spectra[0].wavelength_AA
    np.testing.assert_allclose(found, 10 ** (3.6 + 1e-4 * np.arange(61)), rtol=1e-14)
    with pytest.raises(UserError, match="in air or in vacuum"):
        read(tmp_path, linear, medium=None)


def test_awav_is_air_and_wave_is_vacuum_by_the_standard(tmp_path):
    grid = 4000 + 2.0 * np.arange(61)
    air = image(CRVAL1=4000.0, CDELT1=2.0, CTYPE1="AWAV", CUNIT1="Angstrom")
    np.testing.assert_array_equal(
        read(tmp_path, air, medium=None).spectra[0].wavelength_AA, air_to_vacuum(grid)
    )
    with pytest.raises(UserError, match="measured in air"):
        read(tmp_path, air, medium="vacuum")


def test_bands_of_apall_give_flux_and_sigma(tmp_path):
    bands = np.stack([FLUX, 2 * FLUX, 3 * FLUX, ERROR])[:, None, :]
    hdus = image(bands, CRVAL1=4000.0, CDELT1=2.0, CUNIT1="Angstrom", BANDID1="spectrum - background fit", BANDID4="sigma - background fit")  # fmt: skip
    (spectrum,) = read(tmp_path, hdus).spectra
    np.testing.assert_array_equal(spectrum.flux, FLUX)
    np.testing.assert_allclose(spectrum.ivar, ERROR**-2, rtol=1e-12)


@pytest.mark.parametrize(
    ("cards", "complaint"),
    [
        ({"CRVAL1": 4000.0, "CDELT1": 2.0, "CTYPE1": "MULTISPE"}, "axis of the kind MULTISPE"),
        ({"CRVAL1": 4000.0, "CDELT1": 2.0, "CTYPE1": "WAVE-TAB"}, "axis of the kind WAVE-TAB"),
        ({"CRVAL1": 4000.0}, "no wavelength grid"),
        ({"CRVAL1": 4000.0, "CDELT1": 0.0}, "no wavelength grid"),
        ({"CRVAL1": 4000.0, "CDELT1": 2.0, "CD1_1": 2.1}, "two steps"),
        ({"CRVAL1": 3.6, "CDELT1": 1e-4}, "Å is not certain"),  # logarithms that are not called so
        ({"CRVAL1": 4000.0, "CDELT1": 2.0, "CUNIT1": "km/s"}, "unit of the wavelengths"),
        ({"CRVAL1": 4000.0, "CDELT1": 2.0, "BUNIT": "K"}, "unit of the flux"),
        ({}, "no known format"),
    ],
)
def test_images_whose_grid_is_not_certain_are_refused(tmp_path, cards, complaint):
    with pytest.raises(UserError, match=complaint):
        read(tmp_path, image(**cards))


# Libraries by their own marks.


def miles(flux=None, **cards):
    flux = np.linspace(0.5, 1.5, 4300) if flux is None else flux
    return image(flux, TPLLIB="MILES", FWHM=2.5, **{"CRPIX1": 1, "CRVAL1": 3540.5, "CDELT1": 0.9, **cards})


def test_miles_is_air_by_its_mark(tmp_path):
    reading = read(tmp_path, miles(), medium=None)
    (spectrum,) = reading.spectra
    assert (reading.format, spectrum.survey, spectrum.has_errors) == ("miles", "miles", False)
    np.testing.assert_allclose(
        spectrum.wavelength_AA, air_to_vacuum(3540.5 + 0.9 * np.arange(4300)), rtol=1e-15
    )
    with pytest.raises(UserError, match="air wavelengths"):
        read(tmp_path, miles())
    with pytest.raises(UserError, match="grid can't be true"):
        read(tmp_path, miles(CRVAL1=5540.5), medium=None)


def stelib(path, flux, card=None):
    cards = {
        "CRVAL1": 3202.34,
        "CRPIX1": 1.0,
        "CDELT1": 1.0004,
        "CD1_1": 1.0004,
        "CTYPE1": "LINEAR",
        "DC-FLAG": 0,
    }
    about = {
        "STARIDEN": "HD002857",
        "SPECTYPE": "A2",
        "ISEXTINC": 0.25,
        "RADVEL": -145.0,
        "APNUM1": "malformed",
    }
    fits.HDUList(image(flux.astype(">f4"), **cards, **about)).writeto(path, overwrite=True)
    if card is not None:
        content = path.read_bytes()
        start = content.index(b"APNUM1  ")
        path.write_bytes(content[:start] + card.ljust(80) + content[start + 80 :])


def test_stelib_is_air_by_its_keywords_masks_gaps_and_survives_a_broken_card(tmp_path):
    flux = np.linspace(1e-12, 3e-12, 6700).astype("f4")
    flux[:260] = flux[3000:3099] = 0
    flux[5000:5003] = 0
    path = tmp_path / "star.fits"
    stelib(path, flux, b"APNUM1  =                  1 0")
    with pytest.raises(fits.VerifyError), fits.open(path) as hdus:
        [card.value for card in hdus[0].header.cards]  # what makes it a trap
    (spectrum,) = read_spectra(path).spectra
    assert (spectrum.survey, spectrum.survey_id, spectrum.claims.subclass) == ("stelib", "HD002857", "A2")
    bad = np.zeros(6700, dtype=bool)
    bad[:260] = bad[3000:3099] = True
    np.testing.assert_array_equal(spectrum.mask, bad)
    np.testing.assert_allclose(
        spectrum.wavelength_AA, air_to_vacuum(3202.34 + 1.0004 * np.arange(6700)), rtol=1e-15
    )
    np.testing.assert_allclose(spectrum.flux, flux.astype("f8") * 1e17, rtol=1e-12)


def calspec(**changes):
    statistical = ERROR * 1e-15
    statistical[3], statistical[4], statistical[5] = 0.0, 1.6e38, np.nan
    quality = np.ones(61, dtype=np.int16)
    quality[7] = 0
    columns = {
        "WAVELENGTH": ("E", WAVELENGTH),
        "FLUX": ("E", FLUX * 1e-14),
        "STATERROR": ("E", statistical),
        "SYSERROR": ("E", 0.01 * FLUX * 1e-14),
        "DATAQUAL": ("I", quality),
    } | changes
    return table(
        [(name, form, None, array) for name, (form, array) in columns.items()],
        primary={"DBTABLE": "CRSPECTRUM", "TARGETID": "GD 71"},
    )


def test_calspec_errors_nulls_and_quality(tmp_path):
    reading = read(tmp_path, calspec(), medium=None)
    (spectrum,) = reading.spectra
    assert (reading.format, spectrum.survey_id) == ("calspec", "GD 71")
    np.testing.assert_array_equal(np.flatnonzero(spectrum.mask), [4, 5, 7])  # two nulls, one bad by DATAQUAL
    np.testing.assert_allclose(spectrum.flux, FLUX * 1e3, rtol=1e-6)
    expected = ERROR * 100
    expected[3] = 0.01 * FLUX[3] * 1e3  # no statistical error: the systematic one
    good = ~spectrum.mask
    np.testing.assert_allclose(spectrum.ivar[good], expected[good] ** -2.0, rtol=1e-5)
    np.testing.assert_allclose(spectrum.wavelength_AA, WAVELENGTH, rtol=1e-7)
    with pytest.raises(UserError, match="vacuum wavelengths"):
        read(tmp_path, calspec(), medium="air")


def test_calspec_with_wrong_types_is_refused(tmp_path):
    with pytest.raises(UserError, match="not of real numbers"):
        read(tmp_path, calspec(FLUX=("J", np.arange(61))), medium=None)
    with pytest.raises(UserError, match="holds arrays"):
        read(tmp_path, calspec(FLUX=("2E", np.ones((61, 2)))), medium=None)


def test_bochanski_takes_the_mean_and_asks_for_the_medium(tmp_path):
    rows = np.stack([FLUX, 2 * FLUX, ERROR, ERROR])
    hdus = image(rows, CRVAL1=4000.0, CRPIX1=1.0, CD1_1=0.1, NUMOFFIL=25, CTYPE1="LINEAR")
    reading = read(tmp_path, hdus)
    assert reading.format == "bochanski"
    np.testing.assert_array_equal(reading.spectra[0].flux, FLUX)
    with pytest.raises(UserError, match="in air or in vacuum"):
        read(tmp_path, hdus, medium=None)
