"""Rows of two catalogues brought together: by spectrum, Gaia id, position, and what does not match."""

import astropy.units as u
import numpy as np
import pyarrow as pa
import pytest
from astropy.coordinates import SkyCoord
from hypothesis import given, settings
from hypothesis import strategies as st

from specvi_benchmark.archive.catalogue import Catalogue, match, read_catalogue, report
from specvi_benchmark.archive.catalogue.roles import roles_of

GAIA = 1422012892308493568


def catalogue(name="table", **columns):
    table = pa.table(columns)
    return Catalogue(name, "test", table, roles_of(table.column_names))


def pairs(found):
    return list(zip(found.rows.tolist(), found.partners.tolist(), found.by.tolist(), strict=True))


def test_obsid_goes_before_gaia_and_gaia_before_position():
    wanted = catalogue(
        obsid=[11, None, None, 14],
        gaia_source_id=[2, 2, None, 3],
        ra=[50.0, 50.0, 50.0, 50.0],
        dec=[0.0, 0.0, 0.0, 0.0],
    )
    known = catalogue(
        obsid=[11, 12, 13], gaia_source_id=[1, 2, 3], ra=[10.0, 20.0, 50.0], dec=[0.0, 0.0, 1 / 3600]
    )
    found = match(wanted, known)
    assert pairs(found) == [(0, 0, "spectrum"), (1, 1, "gaia"), (2, 2, "position"), (3, 2, "gaia")]
    assert found.separation_arcsec[2] == pytest.approx(1.0)
    assert found.contradictions().tolist() == [True, True, False, False]
    told = report(found, wanted, known)
    assert (told.rows, told.by, told.pairs) == (4, {"spectrum": 1, "gaia": 2, "position": 1}, 4)
    assert told.contradictory == 2
    assert told.remarks == ("1 spectra are named by more than one row: rows 2 and 3",)


def test_every_visit_of_an_object_is_found():
    wanted = catalogue(gaia_source_id=[GAIA, 5], ra=[1.0, 2.0], dec=[1.0, 2.0])
    known = catalogue(
        obsid=[1, 2, 3, 4],
        gaia_source_id=[GAIA, 7, GAIA, None],
        ra=[1.0, 3.0, 1.0, 2.0],
        dec=[1.0, 3.0, 1.0, 2.0],
    )
    assert pairs(match(wanted, known)) == [(0, 0, "gaia"), (0, 2, "gaia"), (1, 3, "position")]


def test_ids_that_differ_by_less_than_a_float_can_tell_stay_apart():
    wanted = catalogue(gaia_source_id=[GAIA, GAIA + 1])
    known = catalogue(gaia_source_id=[GAIA + 1, GAIA + 2])
    found = match(wanted, known)
    assert pairs(found) == [(1, 0, "gaia")]
    assert [one.row for one in found.unmatched] == [0]


def test_of_two_objects_in_the_radius_the_nearer_is_taken_and_told():
    arcsec = 1 / 3600
    wanted = catalogue(ra=[100.0, 200.0], dec=[0.0, 0.0])
    known = catalogue(
        gaia_source_id=[1, 2, 2, None],
        ra=[100.0 + 2 * arcsec, 100.0 + 1 * arcsec, 100.0 + 1.5 * arcsec, 100.0 - 1 * arcsec],
        dec=[0.0] * 4,
    )
    found = match(wanted, known)
    assert sorted(found.partners.tolist()) == [1, 2, 3]
    assert found.ambiguous == (0,)
    assert [one.row for one in found.unmatched] == [1]
    assert report(found, wanted, known).ambiguous == 1


def test_partners_at_two_places_without_gaia_ids_are_told():
    """2.4″ apart they may be two stars; visits of one star are pointed by one catalogue; equal Gaia ids decide."""
    arcsec = 1 / 3600
    wanted = catalogue(ra=[100.0, 200.0, 300.0], dec=[0.0] * 3)
    places = {
        "ra": [100.0 - 1.2 * arcsec, 100.0 + 1.2 * arcsec, 200.0, 200.0 + 0.5 * arcsec, 300.0, 300.0],
        "dec": [0.0, 0.0, 0.0, 0.0, 0.0, 2 * arcsec],
    }
    for gaia, expected in ((None, (0, 2)), ([None, None, None, None, 7, 7], (0,))):
        known = catalogue(**places, **({} if gaia is None else {"gaia_source_id": gaia}))
        found = match(wanted, known)
        assert len(found.rows) == 6
        assert found.spread == expected
        (told,) = [line for line in report(found, wanted, known).sentences() if "apart" in line]
        assert told.startswith(f"{len(expected)} rows")


def test_right_ascensions_that_look_like_hours_are_asked_about():
    ra = np.linspace(0.1, 23.9, 30)
    known = catalogue(ra=ra * 15, dec=np.zeros(30))
    (told,) = report(
        match(catalogue(ra=ra, dec=np.zeros(30)), known), catalogue(ra=ra, dec=ra), known
    ).remarks
    assert "hours?" in told
    degrees = catalogue(ra=ra * 15, dec=np.zeros(30))
    assert report(match(degrees, known), degrees, known).remarks == ()


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 12),
    m=st.integers(1, 30),
    radius=st.floats(0.5, 10.0),
    dec0=st.floats(-89.9, 89.9),
)
def test_positions_match_as_every_pair_compared_says(seed, n, m, radius, dec0):
    rng = np.random.default_rng(seed)
    here = SkyCoord(
        rng.uniform(0, 20, n) * u.arcsec + 0 * u.deg, (dec0 + rng.uniform(0, 20, n) / 3600) * u.deg
    )
    there = SkyCoord(rng.uniform(0, 20, m) * u.arcsec, (dec0 + rng.uniform(0, 20, m) / 3600) * u.deg)
    apart = here[:, None].separation(there[None, :]).arcsec
    found = match(
        catalogue(ra=here.ra.deg, dec=here.dec.deg), catalogue(ra=there.ra.deg, dec=there.dec.deg), radius
    )
    clear = np.abs(apart - radius).min() > 1e-6
    if clear:
        assert set(zip(found.rows.tolist(), found.partners.tolist(), strict=True)) == set(
            zip(*(axis.tolist() for axis in np.nonzero(apart <= radius)), strict=True)
        )
    np.testing.assert_allclose(found.separation_arcsec, apart[found.rows, found.partners], atol=1e-6)
    inside_row = [
        group.tolist() for group in np.split(found.separation_arcsec, np.flatnonzero(np.diff(found.rows)) + 1)
    ]
    assert all(group == sorted(group) for group in inside_row)  # nearest first


def test_across_the_meridian():
    wanted = catalogue(ra=[0.0002, 359.9999], dec=[10.0, 10.0])
    known = catalogue(ra=[359.9999, 180.0], dec=[10.0, 10.0])
    found = match(wanted, known)
    assert pairs(found) == [(0, 0, "position"), (1, 0, "position")]


def test_files_name_spectra():
    wanted = catalogue(
        file=[
            "a/spec-55859-F5902_sp01-001.fits.gz",
            "spec-55859-F5902_sp16-250.fits",
            "spec-4055-55359-0001.fits",
        ]
    )
    known = catalogue(
        obsid=[1, 2], lmjd=[55859, 55859], planid=["F5902", "F5902"], spid=[16, 1], fiberid=[250, 1]
    )
    found = match(wanted, known)
    assert pairs(found) == [(0, 1, "spectrum"), (1, 0, "spectrum")]
    assert found.unmatched[0].reason == "no obsid, no Gaia id, no position"
    plates = catalogue(plate=[4055], mjd=[55359], fiberid=[1])
    assert pairs(match(wanted, plates)) == [(2, 0, "spectrum")]


def test_what_was_tried_is_told_and_lost_ids_too():
    wanted = catalogue(obsid=[77], gaia_source_id=[float(GAIA)], ra=[10.0], dec=[-20.0])
    known = catalogue(obsid=[1], gaia_source_id=[GAIA], ra=[200.0], dec=[0.0])
    found = match(wanted, known)
    assert found.unmatched[0].reason == "not found by obsid 77, position 10.00000 -20.00000"
    (remark,) = report(found, wanted, known).remarks
    assert "1 cells of gaia_source_id hold no id" in remark
    assert "1 rows did not match" in report(found, wanted, known).sentences()


def test_nothing_in_common_is_no_error():
    wanted, known = catalogue(star=["a", "b"]), catalogue(obsid=[1])
    found = match(wanted, known)
    assert found.rows.size == 0
    assert len(found.unmatched) == 2
    assert report(found, wanted, known).sentences()[0].startswith("0 of 2")


def test_real_tables_find_themselves_and_each_other(shared_data):
    folder = shared_data / "real/catalogs"
    part = read_catalogue(folder / "lamost_dr3_catalog_part.csv")
    shuffled = np.random.default_rng(1).permutation(len(part))
    found = match(part, part.take(shuffled))
    assert shuffled[found.partners].tolist() == found.rows.tolist() == list(range(len(part)))
    assert set(found.by) == {"spectrum"}
    np.testing.assert_allclose(found.separation_arcsec, 0, atol=1e-4)
    # 30 hot subdwarf candidates of another list, by obsid; two of them lie 4″ from where this list has them.
    first = read_catalogue(folder / "hsd-4classification_0.9.fits")
    second = read_catalogue(folder / "hot_subdwarfs_176parameter.csv")
    by_id = match(first, second)
    assert len(by_id.rows) == 30
    assert by_id.rows[by_id.contradictions()].tolist() == [18, 20]
    by_place = match(first, Catalogue("x", "x", second.table.drop(["obsid"]), roles_of(["Ra", "dec"])))
    same = {(row, partner) for row, partner, _ in pairs(by_id)}
    assert same - {(row, partner) for row, partner, _ in pairs(by_place)} == {(18, 110), (20, 114)}
