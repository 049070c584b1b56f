"""How surveys name and serve their files: addresses as documented, searches as their services answer."""

import json
from io import BytesIO

import astropy.units as u
import numpy as np
import pytest
from astropy.coordinates import SkyCoord
from astropy.io.votable import from_table, writeto
from astropy.table import Table
from astropy_healpix import HEALPix
from hypothesis import given, settings
from hypothesis import strategies as st

from specvi_benchmark.archive.catalogue import read_catalogue
from specvi_benchmark.archive.fetch import Lookup, get_scheme
from specvi_benchmark.archive.fetch.asked import Cone, ask, read_ids
from specvi_benchmark.archive.fetch.verify import read_sums
from specvi_benchmark.errors import UserError


def one(survey, release, key):
    scheme = get_scheme(survey, release)
    (item,) = scheme.items([key])
    return item


@pytest.mark.parametrize(
    ("survey", "release", "key", "first", "path"),
    [
        (  # public addresses, as documentation and other clients print them
            "lamost",
            "dr10/v2.0",
            "353301001",
            "https://www.lamost.org/openapi/dr10/v2.0/lrs/spectrum/fits?obsid=353301001",
            "spectra/3533/353301001.fits.gz",
        ),
        (
            "lamost",
            "dr11_v2.0",
            "101009",
            "https://www.lamost.org/openapi/dr11/v2.0/lrs/spectrum/fits?obsid=101009",
            "spectra/1/101009.fits.gz",
        ),
        (
            "sdss",
            None,
            "2488-54149-1",
            "https://data.sdss.org/sas/dr17/sdss/spectro/redux/26/spectra/lite/2488/spec-2488-54149-0001.fits",
            "spectra/2488/spec-2488-54149-0001.fits",
        ),
        (
            "sdss",
            "dr17",
            "7166-56602-536",
            "https://data.sdss.org/sas/dr17/eboss/spectro/redux/v5_13_2/spectra/lite/7166/spec-7166-56602-0536.fits",
            "spectra/7166/spec-7166-56602-0536.fits",
        ),
        (
            "sdss",
            "dr19",
            "15000-59146-4375924756",
            "https://data.sdss.org/sas/dr19/spectro/boss/redux/v6_1_3/spectra/lite/015000/59146/spec-015000-59146-4375924756.fits",
            "spectra/015000/59146/spec-015000-59146-4375924756.fits",
        ),
        (
            "desi",
            "edr",
            "sv3-dark-26065",
            "https://data.desi.lbl.gov/public/edr/spectro/redux/fuji/healpix/sv3/dark/260/26065/coadd-sv3-dark-26065.fits",
            "spectra/sv3/dark/260/26065/coadd-sv3-dark-26065.fits",
        ),
        (
            "desi",
            None,
            "main-bright-23",
            "https://data.desi.lbl.gov/public/dr1/spectro/redux/iron/healpix/main/bright/0/23/coadd-main-bright-23.fits",
            "spectra/main/bright/0/23/coadd-main-bright-23.fits",
        ),
    ],
)
def test_addresses_are_the_documented_ones(survey, release, key, first, path):
    item = one(survey, release, key)
    assert item.addresses[0] == first
    assert item.path == path


def test_lamost_pages_and_catalogues():
    assert one("lamost", None, "101009").addresses[1] == (
        "https://www.lamost.org/dr10/v2.0/spectrum/fits/101009"
    )
    item = get_scheme("lamost").catalogue("LRS_cv")
    assert item.addresses == ("https://www.lamost.org/dr10/v2.0/catdl?name=dr10_v2.0_LRS_cv.csv.gz",)
    assert get_scheme("lamost", "dr11/v2.0").folder != get_scheme("lamost").folder


def test_desi_names_its_lists_of_sums_by_folder():
    assert one("desi", None, "main-dark-27247").checksums == (
        "https://data.desi.lbl.gov/public/dr1/spectro/redux/iron/healpix/main/dark/272/27247/"
        "redux_iron_healpix_main_dark_272_27247.sha256sum"
    )
    item = get_scheme("desi").catalogue("zall-pix")
    redux = "https://data.desi.lbl.gov/public/dr1/spectro/redux/iron"
    assert item.addresses == (f"{redux}/zcatalog/v1/zall-pix-iron.fits",)
    assert item.checksums == f"{redux}/zcatalog/v1/redux_iron_zcatalog_v1.sha256sum"


def test_sdss_catalogues():
    assert get_scheme("sdss").catalogue("specObj").addresses == (
        "https://data.sdss.org/sas/dr17/sdss/spectro/redux/specObj-dr17.fits",
    )
    assert get_scheme("sdss", "dr19").catalogue("spAll-lite").addresses == (
        "https://data.sdss.org/sas/dr19/spectro/boss/redux/v6_1_3/spAll-lite-v6_1_3.fits.gz",
    )


@pytest.mark.parametrize(
    ("survey", "release"),
    [("kepler", None), ("lamost", "dr10"), ("sdss", "dr7"), ("desi", "dr9"), ("sparcl", "DESI DR1")],
)
def test_unknown_surveys_and_releases_are_told(survey, release):
    with pytest.raises(UserError, match="no "):
        get_scheme(survey, release)


@pytest.mark.parametrize("survey", ["lamost", "sdss", "desi", "sparcl"])
def test_unknown_catalogues_are_told(survey):
    with pytest.raises(UserError) as caught:
        get_scheme(survey).catalogue("nothing")
    assert caught.value.where == "--catalogue"


def lookup(survey, cone, release=None):
    (found,) = get_scheme(survey, release).cone(cone)
    assert isinstance(found, Lookup)
    return found


def test_lamost_cone_search_is_read_as_a_votable():
    found = lookup("lamost", Cone(10.5, -2.25, 0.5))
    assert found.address == (
        "https://www.lamost.org/openapi/dr10/v2.0/lrs/voservice/conesearch?ra=10.5&dec=-2.25&sr=0.5"
    )
    stream = BytesIO()
    writeto(from_table(Table({"obsid": np.array([101001, 353301001]), "ra": [1.0, 2.0]})), stream)
    assert found.read(stream.getvalue()) == ["101001", "353301001"]
    without = BytesIO()
    writeto(from_table(Table({"ra": [1.0]})), without)
    with pytest.raises(ValueError, match="no column obsid"):
        found.read(without.getvalue())


def test_sdss_sql_search_is_read_as_csv():
    found = lookup("sdss", Cone(180.0, 1.5, 0.1))
    assert found.address.startswith(
        "https://skyserver.sdss.org/dr17/SkyServerWS/SearchTools/SqlSearch?cmd=SELECT+"
    )
    assert "fGetNearbySpecObjAllEq%28180.0%2C1.5%2C6.0%29" in found.address  # minutes of arc
    answer = b"#Table1\nrun2d,plate,mjd,fiberID\n26,266,51602,13\nv5_13_2,4055,55359,1\nv9,4055,55359,2\n"
    assert found.read(answer) == ["26:266-51602-13", "v5_13_2:4055-55359-1", "4055-55359-2"]
    with pytest.raises(ValueError, match="no table of spectra"):
        found.read(b'{"Error": "Incorrect syntax"}')


def test_sdss_dr19_is_searched_in_its_table():
    with pytest.raises(UserError, match="not searched by position"):
        next(get_scheme("sdss", "dr19").cone(Cone(1, 1, 1)))


@settings(max_examples=25, deadline=None)
@given(
    ra=st.floats(0, 360, exclude_max=True),
    dec=st.floats(-89, 89),
    radius=st.floats(0.05, 3.0),
    seed=st.integers(0, 1000),
)
def test_desi_pixels_of_a_circle_hold_every_place_in_it(ra, dec, radius, seed):
    rng = np.random.default_rng(seed)
    centre = SkyCoord(ra * u.deg, dec * u.deg)
    places = centre.directional_offset_by(
        rng.uniform(0, 360, 50) * u.deg, radius * np.sqrt(rng.random(50)) * u.deg
    )
    inside = HEALPix(64, "nested").lonlat_to_healpix(places.ra, places.dec)
    ids = set(get_scheme("desi").cone(Cone(ra, dec, radius)))
    assert {f"main-dark-{pixel}" for pixel in inside} <= ids


@settings(max_examples=50, deadline=None)
@given(
    ra=st.floats(0, 360),
    dec=st.floats(-90, 90),
    radius=st.floats(0.01, 20.0),
    places=st.lists(st.tuples(st.floats(0, 360), st.floats(-90, 90)), min_size=1, max_size=20),
)
def test_a_circle_holds_what_lies_nearer_than_its_radius(ra, dec, radius, places):
    lon, lat = np.array(places).T
    apart = SkyCoord(ra * u.deg, dec * u.deg).separation(SkyCoord(lon * u.deg, lat * u.deg)).deg
    clear = np.abs(apart - radius) > 1e-9
    np.testing.assert_array_equal(Cone(ra, dec, radius).holds(lon, lat)[clear], (apart <= radius)[clear])


@settings(max_examples=40, deadline=None)
@given(
    ra=st.floats(0, 360, exclude_max=True),
    dec=st.floats(-90, 90),
    radius=st.floats(0.05, 10.0),
    seed=st.integers(0, 1000),
)
def test_the_box_that_sparcl_is_asked_for_holds_the_circle(ra, dec, radius, seed):
    rng = np.random.default_rng(seed)
    centre = SkyCoord(ra * u.deg, dec * u.deg)
    places = centre.directional_offset_by(rng.uniform(0, 360, 40) * u.deg, radius * rng.random(40) * u.deg)
    found = np.zeros(40, bool)
    for question in get_scheme("sparcl").cone(Cone(ra, dec, radius)):
        (_, west, east), (_, south, north) = question.post["search"]
        lon, lat = places.ra.deg, places.dec.deg
        edge = 1e-9
        found |= (west - edge <= lon) & (lon <= east + edge) & (south - edge <= lat) & (lat <= north + edge)
    assert found.all()


def test_sparcl_finds_are_cut_to_the_circle():
    found = lookup("sparcl", Cone(150.0, 2.0, 1.0), "DESI-DR1")
    assert ["data_release", "DESI-DR1"] in found.post["search"]
    records = [
        {"sparcl_id": "near", "ra": 150.5, "dec": 2.1},
        {"sparcl_id": "corner", "ra": 150.95, "dec": 2.95},
    ]
    assert found.read(json.dumps([{"status": "ok"}, *records]).encode()) == ["near"]


def test_tables_name_spectra_by_columns_or_files(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("plate,mjd,fiberID,run2d\n266,51602,13,26\n4055,55359,1,v5_13_2\n,,,\n")
    table = read_catalogue(path)
    assert list(get_scheme("sdss").rows(table)) == ["26:266-51602-13", "v5_13_2:4055-55359-1", None]
    path.write_text(
        "name\nspec-0266-51602-0013.fits\nspSpec-51993-0542-631.fit\nspec-55859-F5902_sp01-001.fits\n"
    )
    assert list(get_scheme("sdss").rows(read_catalogue(path))) == ["266-51602-13", "542-51993-631", None]
    path.write_text(
        "SURVEY,PROGRAM,HEALPIX,TARGETID\nmain,dark,27247,39627\nmain,dark,27247,39628\nsv3,bright,9,1\n"
    )
    desi = get_scheme("desi")
    asked = ask(desi, table=read_catalogue(path))
    assert list(asked.entries) == ["main-dark-27247", "sv3-bright-9"]
    path.write_text("field,mjd,catalogid\n15000,59146,4375924756\n")
    assert list(get_scheme("sdss", "dr19").rows(read_catalogue(path))) == ["15000-59146-4375924756"]
    with pytest.raises(UserError, match="--against"):
        list(get_scheme("lamost").rows(read_catalogue(path)))


def test_rows_inside_a_circle_only(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("obsid,ra,dec\n101001,10.0,5.0\n101002,10.0,9.0\n,10.1,5.0\n101004,,\n")
    lamost = get_scheme("lamost")
    asked = ask(lamost, table=read_catalogue(path), cone=Cone(10.0, 5.0, 1.0))
    assert list(asked.entries) == ["101001"]
    assert asked.rows_without_id == (2,)


def test_lists_of_ids(tmp_path):
    path = tmp_path / "ids.txt"
    path.write_text("\ufeff# carbon stars\n101001  first\n\n101002,0.5\n 101003 # third\n", encoding="utf-8")
    assert list(read_ids(path)) == ["101001", "101002", "101003"]
    with pytest.raises(UserError, match="nothing to fetch"):
        ask(get_scheme("lamost"))
    with pytest.raises(UserError, match="can't be read"):
        list(read_ids(tmp_path / "none"))


@pytest.mark.parametrize("text", ["1,2", "a,b,c", "400,0,1", "0,91,1", "0,0,0", "nan,0,1"])
def test_circles_outside_the_sky_are_told(text):
    with pytest.raises(UserError, match="circle"):
        Cone.parse(text)


def test_lists_of_sums_as_the_tools_write_them():
    text = f"{'a' * 64}  ./folder/one.fits\n{'B' * 40} *two.fits\n{'c' * 32}  three.fits\nnot a sum\n"
    assert read_sums(text) == {"one.fits": "a" * 64, "two.fits": "b" * 40, "three.fits": "c" * 32}


def test_a_desi_circle_asks_for_pairs_that_the_release_has():
    dr1 = set(get_scheme("desi").cone(Cone(150.1, 2.2, 0.1)))
    edr = set(get_scheme("desi", "edr").cone(Cone(150.1, 2.2, 0.1)))
    pixels = {name.rsplit("-", 1)[1] for name in dr1}
    assert len(dr1) == 18 * len(pixels)
    assert dr1 - edr == {
        f"main-{programme}-{one}" for programme in ("dark", "bright", "backup") for one in pixels
    }
    assert len(list(get_scheme("desi").items(dr1))) == len(dr1)


@pytest.mark.parametrize(
    "address",
    [
        "mirror.example.org",
        "ftp://mirror.example.org",
        "https://me:s3cret@mirror.example.org",
        "http://x/?token=s3cret",
    ],
)
def test_a_mirror_is_a_plain_address_and_its_secrets_are_not_repeated(address):
    with pytest.raises(UserError, match="not the address of a server") as caught:
        get_scheme("lamost", None, address)
    assert "s3cret" not in str(caught.value)


def test_ids_that_a_program_has_made_floats_are_whole_again_or_no_ids(tmp_path):
    """Below 2**53 a float tells every whole number; above it, it is some other spectrum's."""
    path = tmp_path / "t.csv"
    path.write_text("targetid\n39627000000001.0\n-9999\n-12.0\n\n299489677444933632.0\n")
    scheme = get_scheme("sparcl")
    named = list(scheme.rows(read_catalogue(path)))
    assert named[:3] == ["39627000000001", None, "-12"]
    with pytest.raises(UserError, match="lost its last digits"):
        list(scheme.resolve(named[-1:]))
    path.write_text("survey,program,healpix\nmain,DARK,27247.0\n")
    scheme = get_scheme("desi")
    (item,) = scheme.items(scheme.rows(read_catalogue(path)))
    assert item.key == "main-dark-27247"


def test_a_name_with_two_sums_has_none():
    first, other = "a" * 64, "b" * 64
    text = f"{first}  lite/spec-1.fits\n{other}  full/spec-1.fits\n{other}  full/spec-2.fits\n{other}  spec-2.fits\n"
    assert read_sums(text) == {"spec-2.fits": other}
