"""Records: SPARCL, MultimodalUniverse and SpecVI-Bench rows, in the files they come in."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from specvi_benchmark.errors import UserError
from specvi_benchmark.lines import air_to_vacuum
from specvi_benchmark.spectrum import Spectrum, clean_spectrum
from specvi_benchmark.splits.rows import to_table
from specvi_benchmark.splits.schema import OFFICIAL
from specvi_benchmark.splits.split import Candidate
from specvi_benchmark.surveys import read_spectra
from specvi_benchmark.tasks import get_task

SIZE = 40
WAVELENGTH = np.linspace(3800.0, 9200.0, SIZE)
RNG = np.random.default_rng(5)


def write_json(path, document):
    path.write_text(json.dumps(document))
    return path


def write_lines(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def write_parquet(path, records):
    pq.write_table(pa.Table.from_pylist(records), path)
    return path


def write_arrow(path, records, kind=pa.ipc.new_stream):
    table = pa.Table.from_pylist(records)
    with kind(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    return path


# SPARCL.


def sparcl(**changes):
    record = {
        "sparcl_id": "00000a2e-6b4e-11ed-a9b7-525400f334e1",
        "specid": 1234567890123456789,
        "data_release": "SDSS-DR16",
        "wavelength": WAVELENGTH.tolist(),
        "flux": RNG.normal(5, 1, SIZE).tolist(),
        "ivar": [0.0] + [4.0] * (SIZE - 1),
        "mask": [0] * 10 + [1 << 23] * 5 + [1 << 24] * 2 + [0] * (SIZE - 17),
        "model": [0.0] * SIZE,
        "ra": 10.5,
        "dec": -1.25,
        "dateobs_center": "2010-01-02T03:04:05Z",
        "redshift": 0.0012,
        "redshift_warning": 4,
        "spectype": "STAR",
    }
    return {key: value for key, value in (record | changes).items() if value is not ...}


def check_sparcl(spectrum):
    assert (spectrum.survey, spectrum.release, spectrum.survey_id) == ("sdss", "DR16", "1234567890123456789")
    assert (spectrum.ra_deg, spectrum.dec_deg, spectrum.mjd) == (10.5, -1.25, 55198)  # MJD of 2010-01-02
    claims = spectrum.claims
    assert (claims.object_class, claims.redshift, claims.redshift_warning) == ("STAR", 0.0012, 4)
    np.testing.assert_array_equal(np.flatnonzero(spectrum.mask), [0, 15, 16])  # ivar 0; NODATA, not BRIGHTSKY
    np.testing.assert_array_equal(spectrum.wavelength_AA, WAVELENGTH)


HEADER = {"status": {"success": True, "info": ["Successfully found 2 records"], "warnings": []}}


@pytest.mark.parametrize(
    ("write", "document"),
    [
        (write_json, sparcl()),
        (write_json, [sparcl()]),
        (write_json, [HEADER, sparcl()]),
        (write_json, {"header": HEADER, "records": [sparcl()]}),
        (write_lines, [sparcl()]),
        (write_parquet, [sparcl()]),
        (write_arrow, [sparcl()]),
    ],
)
def test_a_sparcl_record_in_every_file(tmp_path, write, document):
    reading = read_spectra(write(tmp_path / "a", document))
    assert reading.format == "sparcl"
    (spectrum,) = reading.spectra
    check_sparcl(spectrum)


@pytest.mark.parametrize("write", [write_lines, write_parquet, write_arrow])
def test_several_sparcl_records_in_order_and_broken_ones_named(tmp_path, write):
    records = [
        sparcl(),
        sparcl(specid=2, data_release="DESI-EDR"),
        sparcl(specid=3, flux=None),
        sparcl(specid=4, flux=[1.0]),
        sparcl(specid=5, wavelength=WAVELENGTH[::-1].tolist()),
        sparcl(specid=6, data_release="BOSS-DR16"),
    ]
    reading = read_spectra(write(tmp_path / "a", records))
    assert [spectrum.survey_id for spectrum in reading.spectra] == ["1234567890123456789", "2", "6"]
    assert reading.rows == (0, 1, 5)
    assert [(skipped.row, skipped.name) for skipped in reading.skipped] == [(2, "3"), (3, "4"), (4, "5")]
    desi = reading.spectra[1]
    assert (desi.survey, desi.release, desi.mask.sum()) == ("desi", "EDR", 8)  # any bit counts


def test_a_release_whose_medium_is_not_known_is_asked_for(tmp_path):
    path = write_json(tmp_path / "a", sparcl(data_release="OTHER-DR1"))
    with pytest.raises(UserError, match="in air or in vacuum"):
        read_spectra(path)
    np.testing.assert_array_equal(
        read_spectra(path, medium="air").spectra[0].wavelength_AA, air_to_vacuum(WAVELENGTH)
    )


def test_nan_and_null_in_json_are_bad_pixels(tmp_path):
    flux = [float("nan"), None, *[1.0] * (SIZE - 3), 2.0]
    spectrum = read_spectra(write_json(tmp_path / "a", sparcl(flux=flux, mask=..., ivar=...))).spectra[0]
    np.testing.assert_array_equal(np.flatnonzero(spectrum.mask), [0, 1])


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (json.dumps([sparcl()])[:-40], "not valid JSON"),
        (json.dumps(sparcl()) + "\n" + json.dumps(sparcl())[:200], "record 2 is not valid JSON"),
        ("[" * 100_000, "no known format"),
        ('{"a": ' * 100_000, "not valid JSON"),
        ('{"sparcl_id": "x", "wavelength": 1, "flux": 2}', "no usable spectrum"),
        ('{"sparcl_id": "x", "wavelength": [[1], [2, 3]], "flux": ["a"]}', "no usable spectrum"),
        (
            '{"data_release": 7, "wavelength": [4000, 4001], "flux": [1, 2], "ra": "x", "dateobs_center": "never"}',
            "in air or",
        ),
        ("{}", "no known format"),
        ("[]", "no known format"),
    ],
)
def test_damaged_json_is_refused(tmp_path, content, complaint):
    path = tmp_path / "a"
    path.write_text(content)
    with pytest.raises(UserError, match=complaint):
        read_spectra(path)


# MultimodalUniverse.


def universe(number=0, padding=5, **changes):
    wavelength = WAVELENGTH.astype("f4")
    ivar = np.full(SIZE, 4.0, "f4")
    mask = np.zeros(SIZE, dtype=bool)
    mask[3] = True
    if padding:
        wavelength[-padding:], ivar[-padding:], mask[-padding:] = -1, 0, True
    arrays = {
        "flux": np.full(SIZE, 2.5, "f4"),
        "ivar": ivar,
        "lsf_sigma": np.ones(SIZE, "f4"),
        "lambda": wavelength,
        "mask": mask,
    }
    row = {
        "spectrum": {name: array.tolist() for name, array in arrays.items()},
        "VDISP": 100.0,
        "Z": 0.125,
        "ZWARNING": True,
        "SPECTROFLUX_G": 3.0,
        "object_id": f"b' 46161402802307993{number}'",
    }
    return {key: value for key, value in (row | changes).items() if value is not ...}


def as_list_of_structures(row):
    names = list(row["spectrum"])
    pixels = zip(*row["spectrum"].values(), strict=True)
    return row | {"spectrum": [dict(zip(names, pixel, strict=True)) for pixel in pixels]}


@pytest.mark.parametrize("write", [write_lines, write_parquet, write_arrow])
@pytest.mark.parametrize("shape", [lambda row: row, as_list_of_structures])
def test_universe_rows_of_sdss(tmp_path, write, shape):
    rows = [shape(universe(number, padding)) for number, padding in enumerate((5, 0, 7))]
    reading = read_spectra(write(tmp_path / "a", rows))
    assert reading.format == "multimodal-universe"
    assert [spectrum.wavelength_AA.size for spectrum in reading.spectra] == [35, 40, 33]
    first = reading.spectra[0]
    assert (first.survey, first.survey_id, first.claims.redshift) == ("sdss", "461614028023079930", 0.125)
    assert first.claims.redshift_warning is None
    np.testing.assert_array_equal(np.flatnonzero(first.mask), [3])
    np.testing.assert_array_equal(first.wavelength_AA, WAVELENGTH.astype("f4")[:35])
    np.testing.assert_array_equal(first.ivar[4:], 4.0)


def test_universe_rows_that_datasets_wrote(tmp_path):
    datasets = pytest.importorskip("datasets")
    rows = [universe(number) for number in range(3)]
    arrays = {name: datasets.Value("float32") for name in ("flux", "ivar", "lsf_sigma", "lambda")}
    made = datasets.Dataset.from_list(
        rows,
        features=datasets.Features(
            {
                "spectrum": datasets.Sequence(feature=arrays | {"mask": datasets.Value("bool")}),
                **{name: datasets.Value("float32") for name in ("VDISP", "Z", "SPECTROFLUX_G")},
                "ZWARNING": datasets.Value("bool"),
                "object_id": datasets.Value("string"),
            }
        ),
    )
    made.to_parquet(tmp_path / "a.parquet")
    made.save_to_disk(tmp_path / "disk")
    for path in (tmp_path / "a.parquet", *sorted((tmp_path / "disk").glob("*.arrow"))):
        assert [spectrum.wavelength_AA.size for spectrum in read_spectra(path).spectra] == [35] * 3


def test_universe_rows_of_desi_lamost_and_others(tmp_path):
    desi = universe(VDISP=..., SPECTROFLUX_G=..., ZWARNING=..., ZWARN=False, EBV=0.1, ZERR=1e-5)
    assert read_spectra(write_parquet(tmp_path / "desi", [desi])).spectra[0].survey == "desi"
    flux = np.r_[np.linspace(1, 2, SIZE - 6), np.zeros(6)]
    lamost = {
        "spectrum_flux": flux.tolist(),
        "spectrum_wavelength": np.r_[WAVELENGTH[:-2], 0, 0].tolist(),
        "obsid": "101009",
        "object_id": "7",
        "snrg": 12.5,
        "snrr": -9999.0,
        "ra": 1.0,
        "dec": 2.0,
    }
    spectrum = read_spectra(write_parquet(tmp_path / "lamost", [lamost])).spectra[0]
    assert (spectrum.survey, spectrum.survey_id, dict(spectrum.header_snr)) == (
        "lamost",
        "101009",
        {"g": 12.5},
    )
    assert spectrum.wavelength_AA.size == SIZE - 2
    assert spectrum.mask.sum() == 4  # six zeros, two of them padding
    vipers = universe(VDISP=..., SPECTROFLUX_G=..., ZWARNING=..., Z=..., REDSHIFT=0.7, REDFLAG=4.0)
    path = write_parquet(tmp_path / "vipers", [vipers])
    with pytest.raises(UserError, match="in air or in vacuum"):
        read_spectra(path)
    found = read_spectra(path, medium="air").spectra[0]
    assert (found.survey, found.claims.redshift) == ("", 0.7)


# SpecVI-Bench.


def candidate(number=0, **changes):
    spectrum = clean_spectrum(
        WAVELENGTH + number,
        RNG.normal(5, 1, SIZE),
        np.full(SIZE, 4.0),
        np.arange(SIZE) == 2,
        survey="lamost",
        release="DR10",
        survey_id=str(number),
        name=f"spec-{number}.fits",
        format="lamost-coadd",
        ra_deg=1.0,
    )
    return Candidate(
        id=f"id-{number}", task=get_task("cv"), track="main", part="test", spectrum=spectrum, redshift=None, truth="YES",
        object_id=str(number), object_id_source="file-name", label_source="test", **changes,
    )  # fmt: skip


def same(found: Spectrum, expected: Spectrum):
    for name in ("wavelength_AA", "flux", "ivar", "mask"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert (found.survey, found.release, found.survey_id, found.name) == (
        expected.survey, expected.release, expected.survey_id, expected.name,
    )  # fmt: skip


def test_our_rows_give_the_spectra_that_were_written(tmp_path):
    candidates = [candidate(number) for number in range(70)]  # more than are decoded at once
    pq.write_table(to_table(candidates, picture=lambda _: b"\x89PNG" * 100), tmp_path / "rows")
    reading = read_spectra(tmp_path / "rows")
    assert (reading.format, len(reading.spectra), reading.skipped) == ("official", 70, ())
    for found, expected in zip(reading.spectra, candidates, strict=True):
        same(found, expected.spectrum)


def test_official_rows_have_no_errors_and_a_bad_one_hides_no_other(tmp_path):
    table = to_table([candidate(number) for number in range(3)]).select(OFFICIAL.names)
    broken = table.to_pylist()
    broken[1]["reward_model"]["ground_truth"] = "MAYBE"
    pq.write_table(pa.Table.from_pylist(broken, schema=OFFICIAL), tmp_path / "test_cv.parquet")
    reading = read_spectra(tmp_path / "test_cv.parquet")
    assert reading.rows == (0, 2)
    assert reading.skipped[0].row == 1
    assert not reading.spectra[0].has_errors
    np.testing.assert_array_equal(reading.spectra[1].wavelength_AA, WAVELENGTH + 2)


def test_a_file_without_the_official_columns_says_which_are_missing(tmp_path):
    table = to_table([candidate()]).drop_columns(["reward_model"])
    pq.write_table(table, tmp_path / "rows")
    with pytest.raises(UserError, match="official columns are missing") as caught:
        read_spectra(tmp_path / "rows")
    assert "reward_model" in str(caught.value)


def test_rows_are_read_without_their_pictures(tmp_path):
    small = to_table([candidate(number) for number in range(4)])
    large = to_table(
        [candidate(number) for number in range(4)], picture=lambda _: bytes(RNG.integers(0, 256, 10**6, "u1"))
    )
    pq.write_table(large, tmp_path / "large")
    pq.write_table(small, tmp_path / "small")
    assert len(read_spectra(tmp_path / "large").spectra) == len(read_spectra(tmp_path / "small").spectra) == 4


def test_a_parquet_file_of_something_else_is_no_spectrum(tmp_path):
    with pytest.raises(UserError, match="no known format"):
        read_spectra(write_parquet(tmp_path / "a", [{"ra": 1.0, "dec": 2.0}]))
