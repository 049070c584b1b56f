"""Candidates of an earlier split found again in an archive that calls their objects otherwise."""

from dataclasses import replace

import pyarrow as pa
import pytest

from specvi_benchmark.archive.earlier import COLUMNS, shown_by

DR2, DR3 = 3_425_556_780_000_000_001, 3_425_556_780_000_000_002
ARCSEC = 1 / 3600
HERE = {"ra_deg": 85.0, "dec_deg": 0.0}
BARE = {"survey": "lamost", "survey_id": "", "name": "", "gaia_id": None, "ra_deg": None, "dec_deg": None}


def look(candidate, *rows):
    """Return what a candidate shows of an archive whose n-th row is of the object ``object-n``."""
    schema = pa.schema(
        [*((name, pa.string()) for name in COLUMNS[:3]), ("gaia_id", pa.int64()),
         *((name, pa.float64()) for name in COLUMNS[4:])]
    )  # fmt: skip
    table = pa.Table.from_pylist([BARE | row for row in rows], schema)
    (found,) = shown_by([candidate], [(table, [f"object-{number}" for number in range(len(rows))])])
    return found.object_id, set(found.near)


@pytest.fixture
def earlier(make_split):
    candidate = make_split().candidates[0]

    def make(object_id="position-85.00000+0.00000", **spectrum):
        return replace(
            candidate, object_id=object_id, spectrum=replace(candidate.spectrum, **(BARE | spectrum))
        )

    return make


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ({"survey_id": "353301001"}, {"survey_id": "353301001"}),  # another release of the same spectrum
        ({"name": "spec-57278-GAC061N46V2_sp09-012.fits.gz"}, {"name": "spec-57278-GAC061N46V2_sp09-012.fits"}),
        ({"name": "spec-57278-GAC061N46V2_sp09-012.fits"}, {"name": "spec-57301-GAC061N46V2_sp09-012.fits"}),
        ({"name": "spec-0266-51602-0031.fits"}, {"name": "spec-266-51602-31.fits", "survey": "sdss"}),
        ({"gaia_id": DR3}, {"gaia_id": DR3}),
        (HERE, HERE | {"gaia_id": DR3}),  # a visit with a Gaia id has come
        (HERE | {"gaia_id": DR3}, {"ra_deg": 85.0, "dec_deg": 2.9 * ARCSEC}),
    ],
)  # fmt: skip
def test_a_star_is_known_again_under_another_object_id(earlier, before, now):
    elsewhere = {
        "survey_id": "9",
        "name": "spec-57278-GAC061N46V2_sp09-013.fits",
        "ra_deg": 86.0,
        "dec_deg": 1.0,
    }
    assert look(earlier(**before), elsewhere, now) == ("object-1", {"object-1"})


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ({"survey_id": "1"}, {"survey_id": "1", "survey": "sdss"}),
        ({"survey_id": ""}, {"survey_id": ""}),
        (
            {"name": "coadd-main-dark-1.fits"},
            {"name": "coadd-main-dark-1.fits"},
        ),  # a file of five hundred targets
        (HERE, {"ra_deg": 85.0, "dec_deg": 3.1 * ARCSEC}),
    ],
)
def test_other_stars_are_other_stars(earlier, before, now):
    assert look(earlier(**before), now) == (None, set())


def test_ids_of_two_gaia_releases_may_be_one_star_so_it_is_not_taken_again_nor_judged(earlier):
    assert look(earlier(**HERE, gaia_id=DR2), HERE | {"gaia_id": DR3}) == (None, {"object-0"})


def test_the_surest_object_counts_and_its_neighbours_are_not_taken_either(earlier):
    candidate = earlier(**HERE, survey_id="7")
    rows = (
        {"ra_deg": 85.0, "dec_deg": 1 * ARCSEC},
        {"survey_id": "7"},
        {"ra_deg": 85.0, "dec_deg": 2 * ARCSEC},
    )
    assert look(candidate, *rows) == ("object-1", {"object-0", "object-1", "object-2"})
    assert look(earlier(**HERE), rows[2], rows[0])[0] == "object-1"  # the nearest
