"""Catalogue tables in the forms they are published in: cells, ids and positions as they stand there."""

import gzip

import astropy.units as u
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from astropy.coordinates import FK4, SkyCoord
from astropy.io.votable import from_table, writeto
from astropy.table import MaskedColumn, Table
from hypothesis import given, settings
from hypothesis import strategies as st

from specvi_benchmark.archive.catalogue import read_catalogue
from specvi_benchmark.archive.catalogue.roles import MATCHED, of_old_equinox, roles_of
from specvi_benchmark.archive.catalogue.values import of_designations, sexagesimal, typed, whole_numbers
from specvi_benchmark.errors import UserError

GAIA = 1422012892308493568  # above 2**53: a float64 would lose its end
HEAD = ["obsid", "designation", "class", "z", "snrg", "gaia_source_id", "ra", "dec"]
ROWS = [
    ["101001", "J220848.54-020324.3", "STAR", "-0.0001387", "12.22", str(GAIA), "332.202274", "-2.056767"],
    ["101002", "J220953.17-020506.0", "Unknown", "-9999", "-9999.0", "-9999", "332.471576", "-2.085015"],
    ["353301003", "J224415.85+215706.1", "GALAXY", "0.12", "-999", "", "341.066", "21.95172"],
]


def text_table(separator):
    return "\n".join(separator.join(row) for row in [HEAD, *ROWS]) + "\n"


def written(form, folder):
    """Write the same table in one of the forms."""
    path = folder / f"table.{form}"
    if form in {"comma", "pipe", "tab", "semicolon"}:
        path.write_text(text_table({"comma": ",", "pipe": "|", "tab": "\t", "semicolon": ";"}[form]))
    elif form == "gz":
        path.write_bytes(gzip.compress(text_table("|").encode()))
    elif form == "bom":
        path.write_text("\ufeff" + text_table(",").replace("\n", "\r\n"), encoding="utf-8", newline="")
    elif form == "vizier":
        units = ["", "", "", "", "", "", "deg", "deg"]
        rules = ["-" * len(name) for name in HEAD]
        body = "\n".join("\t".join(row) for row in [HEAD, units, rules, *ROWS])
        path.write_text(f"#\n#   VizieR Astronomical Server\n#Name: J/ApJS/271/12\n\n{body}\n\n#END#\n")
    elif form == "parquet":
        pq.write_table(
            pa.table(
                {name: typed(pa.array(c)) for name, c in zip(HEAD, zip(*ROWS, strict=True), strict=True)}
            ),
            path,
        )
    else:
        table = astropy_table()
        if form == "votable":
            writeto(from_table(table), str(path))
        elif form == "fits.gz":
            plain = folder / "plain.fits"
            table.write(plain, format="fits")
            path.write_bytes(gzip.compress(plain.read_bytes()))
        else:
            table.write(path, format={"fits": "fits", "ecsv": "ascii.ecsv", "mrt": "ascii.mrt"}[form])
    return path


def astropy_table():
    columns = dict(zip(HEAD, zip(*ROWS, strict=True), strict=True))
    gaia = MaskedColumn([GAIA, -9999, 0], mask=[False, False, True])
    return Table(
        {
            "obsid": np.array(columns["obsid"], np.int64),
            "designation": list(columns["designation"]),
            "class": list(columns["class"]),
            "z": np.array(columns["z"], float),
            "snrg": np.array(columns["snrg"], float),
            "gaia_source_id": gaia,
            "ra": np.array(columns["ra"], float),
            "dec": np.array(columns["dec"], float),
        }
    )


FORMS = [
    "comma",
    "pipe",
    "tab",
    "semicolon",
    "gz",
    "bom",
    "vizier",
    "parquet",
    "votable",
    "fits",
    "fits.gz",
    "ecsv",
]


@pytest.mark.parametrize("form", FORMS)
def test_one_table_reads_the_same_in_every_form(form, tmp_path):
    table = read_catalogue(written(form, tmp_path))
    assert table.ids("obsid").tolist() == [101001, 101002, 353301003]
    assert table.ids("gaia").tolist() == [GAIA, 0, 0]
    assert table.table["z"].to_pylist() == [-0.0001387, None, 0.12]
    assert table.table["snrg"].to_pylist() == [12.22, None, None]
    assert table.table["class"].to_pylist() == ["STAR", "Unknown", "GALAXY"]
    ra, dec = table.positions()
    assert ra.tolist() == [332.202274, 332.471576, 341.066]
    assert dec.tolist() == [-2.056767, -2.085015, 21.95172]


def test_machine_readable_tables_of_the_journals_have_positions_in_parts(tmp_path):
    places = SkyCoord([332.202274, 341.066, 10.0] * u.deg, [-0.056767, 21.95172, -89.5] * u.deg)
    table = Table({"Name": ["a", "b", "c"], "obsid": [101001, 101002, 101003]})
    table["coord"] = places
    path = tmp_path / "table.mrt"
    table.write(path, format="ascii.mrt")
    # astropy's writer drops the sign of degrees that are 0.
    path.write_text(path.read_text().replace(" +00 03 ", " -00 03 "))
    found = read_catalogue(path)
    assert {"rah", "ram", "ras", "ded", "dem"} <= set(found.roles)
    ra, dec = found.positions()
    apart = SkyCoord(ra * u.deg, dec * u.deg).separation(places)
    assert apart.arcsec.max() < 0.2
    assert found.ids("obsid").tolist() == [101001, 101002, 101003]


def test_only_the_columns_that_are_wanted_are_read(tmp_path):
    for form in FORMS:
        table = read_catalogue(written(form, tmp_path), MATCHED)
        assert set(table.table.column_names) == {"obsid", "designation", "gaia_source_id", "ra", "dec"}


def test_few_columns_of_a_fits_table_are_what_astropy_reads(tmp_path, shared_data):
    path = tmp_path / "t.fits"
    astropy_table().write(path, format="fits")
    scaled = tmp_path / "scaled.fits"  # unsigned whole numbers are stored with TZERO
    Table({"obsid": np.array([101001, 101002], np.uint64), "ra": [1.0, 2.0], "dec": [1.0, 2.0]}).write(scaled)
    for one in (path, scaled, shared_data / "real/catalogs/hsd-4classification_0.9.fits"):
        few, whole = read_catalogue(one, MATCHED), read_catalogue(one)
        assert "obsid" in few.table.column_names
        assert few.table.to_pydict() == whole.table.select(few.table.column_names).to_pydict()


def test_ids_that_lost_digits_are_not_used(tmp_path):
    floats = pa.array([float(GAIA), 353301001.0, 1.5, -9999.0, float("nan"), 0.0])
    values, unusable = whole_numbers(floats)
    assert values.tolist() == [0, 353301001, 0, 0, 0, 0]
    assert unusable == 2
    text = pa.array(
        [str(GAIA), f"Gaia DR3 {GAIA}", "353301001.0", "1.42e18", " 12 ", "x", "", None, "-9999", "0"]
    )
    values, unusable = whole_numbers(text)
    assert values.tolist() == [GAIA, GAIA, 353301001, 0, 12, 0, 0, 0, 0, 0]
    assert unusable == 2


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 2**63 - 1), min_size=1, max_size=20))
def test_ids_keep_every_digit(numbers):
    for column in (pa.array(numbers, pa.int64()), pa.array(list(map(str, numbers)))):
        assert whole_numbers(column)[0].tolist() == numbers


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 359.999), st.floats(-89.999, 89.999)), min_size=1, max_size=10),
    st.sampled_from([":", " ", "hms"]),
)
def test_sexagesimal_positions_as_astropy_writes_them(places, separator):
    sky = SkyCoord([ra for ra, _ in places] * u.deg, [dec for _, dec in places] * u.deg)
    ra = sky.ra.to_string(u.hour, sep=separator, precision=6, pad=True)
    dec = sky.dec.to_string(
        u.deg, sep="dms" if separator == "hms" else separator, precision=6, alwayssign=True
    )
    found = SkyCoord(sexagesimal(list(ra), hours=True) * u.deg, sexagesimal(list(dec), hours=False) * u.deg)
    assert found.separation(sky).arcsec.max() < 1e-4


def test_sexagesimal_columns_and_designations(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('Name,RAJ2000,DEJ2000\na,"22 08 48.54","-00 03 24.3"\nb,22:44:15.85,+21:57:06.1\nc,,\n')
    ra, dec = read_catalogue(path).positions()
    np.testing.assert_allclose(ra[:2], [332.20225, 341.0660416667])
    np.testing.assert_allclose(dec[:2], [-0.0567500, 21.9516944444])
    assert np.isnan([ra[2], dec[2]]).all()
    ra, dec = of_designations(["LAMOST J220848.54-000324.3", "nothing", None])
    np.testing.assert_allclose(ra, [332.20225, np.nan, np.nan])
    np.testing.assert_allclose(dec, [-0.05675, np.nan, np.nan])


def test_positions_outside_the_sky_are_none(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("ra,dec\n10,20\n-9999,5\n361,5\n5,-91\n360,90\n")
    ra, dec = read_catalogue(path).positions()
    assert np.isfinite(ra).tolist() == [True, False, False, False, True]
    assert np.isfinite(dec).tolist() == [True, False, False, False, True]


def test_names_are_known_with_units_case_and_marks():
    found = roles_of(["#ObsID", "RA (deg)", "DEC [deg]", "Gaia DR3", "Plate", "MJD", "FIBERID", "RA"])
    assert found == {
        "obsid": "#ObsID",
        "ra": "RA (deg)",
        "dec": "DEC [deg]",
        "gaia": "Gaia DR3",
        "plate": "Plate",
        "mjd": "MJD",
        "fiberid": "FIBERID",
    }


def test_lines_of_another_length_are_left_out_and_told(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("obsid,ra,dec\n101001,1,2\n101002,1\n101003,3,4\n101004,1,2,3\n")
    table = read_catalogue(path)
    assert table.ids("obsid").tolist() == [101001, 101003]
    (note,) = table.notes
    assert note.startswith("2 lines left out, of another number of cells than 3")


def test_later_lines_may_break_what_the_first_ones_promise(tmp_path):
    path = tmp_path / "t.csv"
    rows = "".join(
        f"{101001 + number},1.5,Gaia\n" for number in range(20_000)
    )  # more than is looked at first
    path.write_bytes(b"obsid,snrg,note\n" + rows.encode() + b"none,bright,\xc5\n")
    table = read_catalogue(path)
    assert table.ids("obsid")[[0, 19_999, 20_000]].tolist() == [101001, 121000, 0]
    assert table.table["snrg"].to_pylist()[-2:] == ["1.5", "bright"]
    assert table.table["note"].to_pylist()[-1] == "Å"


@pytest.mark.parametrize(
    "before",
    [
        "# made by hand\n# twice, of two papers\n",
        "\n\n",
        "# made by hand\n\n#",
        "#",
        "#names follow\r\n\r\n# ",
    ],
)
def test_comments_and_blank_lines_may_stand_before_the_names(before, tmp_path):
    path = tmp_path / "t.csv"
    end = "\r\n" if "\r" in before else "\n"
    path.write_bytes(f"{before}obsid,ra,dec{end}1234567,1,2{end}1234568,3,4{end}".encode())
    table = read_catalogue(path)
    assert (table.ids("obsid").tolist(), table.notes) == ([1234567, 1234568], ())
    assert table.positions()[0].tolist() == [1.0, 3.0]


def test_a_list_without_names_gets_some(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "/lamost/B6212/spec-55862-B6212_sp06-005.fits\n/lamost/B6212/spec-55862-B6212_sp06-025.fits\n"
    )
    table = read_catalogue(path)
    assert table.spectrum_names() == ["55862-B6212-6-5", "55862-B6212-6-25"]
    path.write_text("101001,332.2,-2.0\n101002,332.4,-2.1\n")
    assert read_catalogue(path).table.column_names == ["column1", "column2", "column3"]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "empty"),
        (b"obsid,ra\n", "no rows"),
        (b"<!DOCTYPE html><html>sign in</html>", "web page"),
        (b"\x00\x01\x02binary", "not a table"),
        (b"obsid,obsid\n1,2\n", "twice"),
        (b"SIMPLE  =                    T", "can't be read"),
        (gzip.compress(b"obsid,ra\n" + bytes(range(48, 58)) * 50000)[:200], "Truncated"),
        (b"HD   249  K1IV   4741\nHD   400  F7V    6205\nHD   417  K0III  4888\n", "no separator"),
    ],
)
def test_what_is_no_table_is_told(content, what, tmp_path):
    path = tmp_path / "t"
    path.write_bytes(content)
    with pytest.raises(UserError, match=what):
        read_catalogue(path)


def test_a_table_without_any_known_column_is_told(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("star,magnitude\na,1\n")
    assert len(read_catalogue(path)) == 1
    with pytest.raises(UserError, match="no column tells"):
        read_catalogue(path, MATCHED)


def test_a_missing_column_is_told(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("name,ra,dec\na,1,2\n")
    with pytest.raises(UserError, match="a column is missing"):
        read_catalogue(path).ids("obsid")


@pytest.mark.parametrize("form", ["fits", "votable", "ecsv", "vizier", "csv"])
def test_right_ascensions_in_hours_are_hours(form, tmp_path):
    """12.5 h are 187.5°, and a bracket with an equinox is no unit."""
    path = tmp_path / "hours"
    if form == "csv":
        path.write_text("obsid,ra [h],dec (J2000)\n7,12.5,3\n")
    elif form == "vizier":
        path.write_text("#VizieR\n\nra\tdec\nh\tdeg\n---\t---\n12.5\t3\n")
    else:
        unit = u.h if form == "fits" else u.hourangle
        table = Table({"obsid": [7], "ra": [12.5] * unit, "dec": [3.0] * u.deg})
        table.write(path, format={"ecsv": "ascii.ecsv"}.get(form, form))
    for roles in (None, ("ra", "dec")):
        ra, dec = read_catalogue(path, roles).positions()
        assert (ra.tolist(), dec.tolist()) == ([187.5], [3.0])


def test_a_sexagesimal_column_beside_a_decimal_one(tmp_path):
    path = tmp_path / "mixed.csv"
    path.write_text("ra,dec\n12:30:00,3.5\n00:00:04,-1\n")
    ra, dec = read_catalogue(path).positions()
    np.testing.assert_allclose(ra, [187.5, 1 / 60])
    assert dec.tolist() == [3.5, -1.0]


REAL = {
    "CV-PS1dr1.csv": ("comma", 1283, 1283, 0),
    "DR7lamost-True-PN-duplicate.ecsv": ("ecsv", 28, 28, 28),
    "PyHammerResults_VarStar.csv": ("comma", 23883, 0, 23883),
    "candidates-by-hand.csv": ("comma", 670, 0, 670),
    "carbon_screen_objects.csv": ("comma", 34, 0, 0),
    "hot_subdwarfs_176parameter.csv": ("comma", 176, 176, 0),
    "hsd-4classification_0.9.fits": ("fits", 30, 30, 30),
    "lamost-dr1-be-stars.csv": ("comma", 203, 203, 0),
    "lamost_dr3_catalog_part.csv": ("comma", 35, 35, 35),
    "lamost_sql_response.csv": ("comma", 3, 3, 3),
    "parameter_sdss_and_lamost.csv": ("comma", 889, 0, 889),
}


@pytest.mark.parametrize("name", REAL)
def test_real_catalogues(name, shared_data):
    """Form, rows, rows with a position, rows that name a spectrum: counted with other tools."""
    table = read_catalogue(shared_data / "real/catalogs" / name)
    found = sum(one is not None for one in table.spectrum_names())
    assert (table.form, len(table), int(np.isfinite(table.positions()[0]).sum()), found) == REAL[name]
    assert table.notes == ()


def test_designations_of_a_real_table_are_its_positions(shared_data):
    table = read_catalogue(shared_data / "real/catalogs/hot_subdwarfs_176parameter.csv")
    stated = SkyCoord(*(values * u.deg for values in of_designations(table.texts("designation"))))
    given_ = SkyCoord(*(values * u.deg for values in table.positions()))
    assert np.median(stated.separation(given_).arcsec) < 0.2
    gaia = read_catalogue(shared_data / "real/catalogs/carbon_screen_objects.csv").ids("gaia")
    assert gaia[:2].tolist() == [5666458346271348992, 1422012892308493568]


OLD = SkyCoord(ra=[10.0, 200.0] * u.deg, dec=[41.0, -5.0] * u.deg)  # of 2000


def old_parts():
    """The two places as a catalogue of 1900 prints them: precessed by astropy, twenty minutes of arc away and more."""
    then = OLD.transform_to(FK4(equinox="B1900"))
    ra, dec = then.ra.hms, then.dec.signed_dms
    return then, [
        np.array(ra.h, int), np.array(ra.m, int), ra.s,
        ["-" if sign < 0 else "+" for sign in dec.sign], np.array(dec.d, int), np.array(dec.m, int), dec.s,
    ]  # fmt: skip


@pytest.mark.parametrize("form", ["mrt", "votable", "ecsv", "vizier"])
def test_positions_of_1900_are_not_taken_for_those_of_2000(form, tmp_path):
    """Stephenson's catalogue of S stars gives positions of B1900: VizieR's own column of J2000 counts, if there."""
    then, parts = old_parts()
    assert then.ra.deg[0] - OLD.ra.deg[0] == pytest.approx(
        -1.37, abs=0.02
    )  # 3.3 s of time a year at this place
    names = ["RAh", "RAm", "RAs", "DE-", "DEd", "DEm", "DEs"]
    told = {"RAh": "Right Ascension B1900 (hours)", "DEd": "Declination B1900 (degrees)"}
    path = tmp_path / "old.txt"
    if form == "vizier":
        about = "".join(f"#Column\t{name}\t(I2)\t{told.get(name, 'a part')}\t[ucd]\n" for name in names)
        rows = "\n".join("\t".join(map(str, row)) for row in zip(*parts, strict=True))
        rules = "\t".join("-" * len(name) for name in names)
        path.write_text(
            "#\n" + about + "\t".join(names) + "\n" + "\t" * 6 + "\n" + rules + "\n" + rows + "\n"
        )
    else:
        table = Table(dict(zip(names, parts, strict=True)))
        for name, text in told.items():
            table[name].description = text
        table.write(path, format={"mrt": "ascii.mrt", "votable": "votable", "ecsv": "ascii.ecsv"}[form])
    catalogue = read_catalogue(path)
    assert not np.isfinite(catalogue.positions()[0]).any()
    assert "equinox before 2000" in catalogue.notes[0]


def test_names_and_descriptions_tell_old_equinoxes_from_present_ones(tmp_path):
    told = {
        "Right Ascension B1900 (hours)": True, "Right ascension (1950)": True, "Declination, B1875.0": True,
        "Right Ascension J2000 (hours) at Epoch 1950": False, "RA (ICRS) at Ep=1991.25": False, "RA, 19000 rows": False,
        "Right ascension of the fibre": False, "": False,
    }  # fmt: skip
    assert {text: of_old_equinox(text) for text in told} == told
    (tmp_path / "t.csv").write_text("RA (1950),DEC (1950),RAJ2000,DEJ2000\n9.0,40.7,10.0,41.0\n")
    catalogue = read_catalogue(tmp_path / "t.csv")
    assert [float(one[0]) for one in catalogue.positions()] == [10.0, 41.0]
    (tmp_path / "o.csv").write_text("obsid,RA (1950),DEC (1950)\n1,9.0,40.7\n")
    assert not np.isfinite(read_catalogue(tmp_path / "o.csv").positions()[0]).any()


def test_sdss_v_spectra_are_named_by_field_night_and_catalogid(tmp_path):
    """Its files are spec-FIELD-MJD-CATALOGID.fits; a CV's label by SDSS-V holds for that spectrum only."""
    (tmp_path / "f.csv").write_text("file\nspec-015000-59146-4375786564.fits\nspec-0266-51602-0031.fits\n")
    (tmp_path / "c.csv").write_text("field,mjd,catalogid\n15000,59146,4375786564\n")
    files, parts = (read_catalogue(tmp_path / name) for name in ("f.csv", "c.csv"))
    assert files.spectrum_names() == ["15000-59146-4375786564", "266-51602-31"]
    assert parts.spectrum_names() == files.spectrum_names()[:1]


def test_the_positions_of_sdss_names_count(tmp_path):
    """VizieR's J/MNRAS/536/1057 has a column SDSS of names, and GaiaEDR3."""
    (tmp_path / "i.csv").write_text("SDSS,GaiaEDR3,Vtype\nJ063259.37+045622.5,1422012892308493568,polar\n")
    catalogue = read_catalogue(tmp_path / "i.csv")
    ra, dec = catalogue.positions()
    there = SkyCoord("06h32m59.37s", "+04d56m22.5s")
    assert (ra[0], dec[0]) == pytest.approx((there.ra.deg, there.dec.deg), abs=1e-9)
    assert catalogue.ids("gaia").tolist() == [GAIA]


def test_a_line_of_another_length_may_hold_any_bytes(tmp_path):
    """A note in Latin-1 at the end: left out and told, as every line of another length, without any other word."""
    path = tmp_path / "t.csv"
    path.write_bytes(b"obsid,ra,dec\n1,10.0,5.0\n2,11.0,5.0\n\xa9 Universit\xe9\n")
    catalogue = read_catalogue(path)
    assert catalogue.ids("obsid").tolist() == [1, 2]
    (note,) = catalogue.notes
    assert "1 lines left out" in note
    assert "Universit\u00e9" in note
