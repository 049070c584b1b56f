"""ECSV and VOTable as astropy writes them, and hostile ones."""

import warnings

import astropy.units as u
import numpy as np
import pytest
from astropy.table import MaskedColumn, QTable, Table

from specvi_benchmark.errors import UserError
from specvi_benchmark.surveys import read_spectra

WAVELENGTH = np.linspace(380.0, 900.0, 80)
FLUX = np.random.default_rng(3).normal(5, 1, 80)
ERROR = np.full(80, 0.25)


def make(**meta):
    table = QTable({"wavelength": WAVELENGTH * u.nm, "flux": FLUX * u.mJy, "error": ERROR * 1e3 * u.uJy})
    table.meta.update(meta)
    return table


def write(table, path, form, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table.write(path, format=form, overwrite=True, **options)
    return path


def check(reading):
    (spectrum,) = reading.spectra
    at = u.spectral_density(WAVELENGTH * u.nm)
    unit = u.Unit("1e-17 erg s-1 cm-2 Angstrom-1")
    np.testing.assert_allclose(spectrum.wavelength_AA, WAVELENGTH * 10, rtol=1e-14)
    np.testing.assert_allclose(spectrum.flux, (FLUX * u.mJy).to_value(unit, at), rtol=1e-9)
    np.testing.assert_allclose(spectrum.ivar, (ERROR * u.mJy).to_value(unit, at) ** -2.0, rtol=1e-9)
    assert reading.notes == ()


@pytest.mark.parametrize("delimiter", [" ", ","])
def test_ecsv(tmp_path, delimiter):
    path = write(
        make(comments=["All wavelengths are in vacuum."]), tmp_path / "a", "ascii.ecsv", delimiter=delimiter
    )
    reading = read_spectra(path)
    assert reading.format == "ecsv"
    check(reading)


@pytest.mark.parametrize("form", ["tabledata", "binary", "binary2"])
def test_votable(tmp_path, form):
    path = write(make(), tmp_path / "a", "votable", tabledata_format=form)
    reading = read_spectra(path, medium="vacuum")
    assert reading.format == "votable"
    check(reading)
    with pytest.raises(UserError, match="in air or in vacuum"):
        read_spectra(path)


def test_fits_of_astropy(tmp_path):
    path = write(make(comments=["wavelengths in vacuum"]), tmp_path / "a.fits", "fits")
    check(read_spectra(path))


@pytest.mark.parametrize("form", ["ascii.ecsv", "votable", "fits"])
def test_masked_values_are_bad_pixels(tmp_path, form):
    flux = MaskedColumn(FLUX, mask=np.arange(80) == 7)
    table = Table({"wavelength": WAVELENGTH * 10, "flux": flux}, masked=True)
    table["wavelength"].unit = u.AA
    reading = read_spectra(write(table, tmp_path / "a", form), medium="vacuum")
    np.testing.assert_array_equal(np.flatnonzero(reading.spectra[0].mask), [7])


@pytest.mark.parametrize("meta", [{"medium": "air"}, {"AIRORVAC": "air"}, {"vacuum": False}])
def test_ecsv_metadata_that_says_air(tmp_path, meta):
    path = write(make(**meta), tmp_path / "a", "ascii.ecsv")
    assert read_spectra(path).spectra[0].wavelength_AA[40] > WAVELENGTH[40] * 10 + 1.5
    with pytest.raises(UserError, match="measured in air"):
        read_spectra(path, medium="vacuum")


def test_votable_fields_that_say_air(tmp_path):
    path = write(make(), tmp_path / "a", "votable")
    text = path.read_text()
    for told in (
        text.replace('name="wavelength"', 'name="wavelength" ucd="em.wl;obs.atmos"'),
        text.replace("<TABLE>", '<TABLE><PARAM name="medium" datatype="char" arraysize="*" value="air"/>'),
        text.replace('name="wavelength"', 'name="wavelength_air"'),
    ):
        assert told != text
        path.write_text(told)
        assert read_spectra(path).spectra[0].wavelength_AA[40] > WAVELENGTH[40] * 10 + 1.5


def test_a_votable_that_points_elsewhere_is_not_followed(tmp_path):
    path = write(make(), tmp_path / "a", "votable", tabledata_format="binary")
    text = path.read_text()
    start, end = text.index("<STREAM"), text.index("</STREAM>")
    path.write_text(text[:start] + '<STREAM href="file:///etc/hostname">' + text[end:])
    with pytest.raises(UserError, match="lie elsewhere"):
        read_spectra(path, medium="vacuum")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("# %ECSV 1.0\n# ---\n# datatype: [\nwavelength flux\n1 2\n", "can't be read"),
        ("# %ECSV 1.0\n", "declares no columns"),
        (
            "# %ECSV 1.0\n# ---\n# datatype:\n# - {name: a, datatype: float64}\na\n1\n",
            "no wavelength and flux",
        ),
        (
            "# %ECSV 1.0\n# ---\n# datatype:\n# - {name: a, datatype: float64}\nb\n1\n",
            "does not fit its rows",
        ),
        ("# %ECSV 1.0\n# ---\n# datatype:\n# - {name: a, datatype: float64}\n", "does not fit its rows"),
        ("# %ECSV 1.0\n# ---\n# datatype: !!python/object/apply:os.system ['true']\na\n1\n", "can't be read"),
        (
            "# %ECSV 1.0\n# ---\n# a: &a [x, x]\n# b: &b [*a, *a]\n# datatype: [*b, *b]\na\n1\n",
            "does not fit its rows",
        ),
        ("<?xml version='1.0'?><VOTABLE version='1.3'>", "can't be read|no wavelength"),
        ("<VOTABLE><RESOURCE><TABLE></TABLE></RESOURCE></VOTABLE>", "no wavelength"),
    ],
)
def test_damaged_and_hostile_files_are_refused(tmp_path, text, complaint):
    path = tmp_path / "a"
    path.write_text(text)
    with pytest.raises(UserError, match=complaint):
        read_spectra(path, medium="vacuum")


def test_objects_in_ecsv_metadata_are_passed_over(tmp_path):
    from astropy.time import Time

    path = write(
        make(observed=Time("2020-01-01"), comments=["wavelengths in vacuum"]), tmp_path / "a", "ascii.ecsv"
    )
    check(read_spectra(path))


def test_a_table_without_rows_is_refused(tmp_path):
    with pytest.raises(UserError, match="no rows"):
        read_spectra(write(make()[:0], tmp_path / "a", "ascii.ecsv"), medium="vacuum")
    with pytest.raises(UserError, match="no rows"):
        read_spectra(write(make()[:0], tmp_path / "a", "votable"), medium="vacuum")
    with pytest.raises(UserError, match="no rows"):
        read_spectra(write(make()[:0], tmp_path / "a", "fits"), medium="vacuum")
