"""LAMOST files: every real one against its description, and every variant written here."""

import gzip
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

from specvi_benchmark.errors import UserError
from specvi_benchmark.surveys import read_spectra, read_spectrum
from specvi_benchmark.surveys.source import open_source

LOW_RESOLUTION = "lamost/dr"


def header(**changes: Any) -> fits.Header:
    """Return a header as the pipeline writes it; None removes a keyword."""
    cards = {
        "TELESCOP": "LAMOST",
        "DATA_V": "LAMOST DR8",
        "OBSID": 103232,
        "LMJD": 55859,
        "PLANID": "F5902",
        "SPID": 3,
        "FIBERID": 232,
        "RA": 330.909453,
        "DEC": -0.5,
        "FIBERTYP": "Obj",
        "VACUUM": True,
        "COEFF0": 3.5682,
        "COEFF1": 0.0001,
        "EXTEN0": "Flux, Inverse, Wavelength, Andmask, Ormask",
        "CLASS": "STAR",
        "SUBCLASS": "F4",
        "Z": 3.402e-05,
        "SNRG": 94.11,
        "SNRR": -9999.0,
    } | changes
    return fits.Header({key: value for key, value in cards.items() if value is not None})


def five_rows(n: int = 3909, start: float = 3.5682) -> np.ndarray:
    flux = 100.0 + np.arange(n) % 7
    ivar = np.full(n, 4.0)
    ivar[:20] = 0.0
    masks = np.zeros((2, n))
    masks[0, 30:40] = 1
    return np.vstack([flux, ivar, 10 ** (start + 1e-4 * np.arange(n)), masks])


def write_array(path: Path, rows: np.ndarray, dtype: str = "f4", **changes: Any) -> Path:
    fits.PrimaryHDU(rows.astype(dtype), header(**changes)).writeto(path)
    return path


def write_coadd(
    path: Path, rows: np.ndarray, mask_form: str = "E", names: tuple[str, ...] = ("COADD",), **changes: Any
) -> Path:
    n = rows.shape[1]
    columns = dict(zip(("FLUX", "IVAR", "WAVELENGTH", "ANDMASK", "ORMASK"), rows, strict=True))
    hdus: list[Any] = [fits.PrimaryHDU(header=header(**{"DATA_V": "LAMOST DR10", "EXTEN0": None} | changes))]
    for name in names:
        fields = [
            fits.Column(key, f"{n}{mask_form if 'MASK' in key else 'E'}", array=[values])
            for key, values in columns.items()
        ]
        hdus.append(fits.BinTableHDU.from_columns(fields, name=name))
    fits.HDUList(hdus).writeto(path)
    return path


def test_every_real_file_has_the_described_pixels_range_and_signal_to_noise(described: dict) -> None:
    files = {name: item for name, item in described.items() if name.startswith(LOW_RESOLUTION)}
    assert len(files) == 48
    for name, item in files.items():
        spectrum = read_spectrum(item.path)
        assert spectrum.format == ("lamost-coadd" if "COADD" in item.variant else "lamost-array"), name
        assert spectrum.wavelength_AA.size == item.pixels, name
        assert (round(spectrum.wavelength_AA[0]), round(spectrum.wavelength_AA[-1])) == item.range_AA, name
        assert spectrum.snr == pytest.approx(item.median_snr[0], abs=0.051), name
        assert spectrum.survey == "lamost"
        assert 50000 < spectrum.mjd < 65000


def test_every_real_file_claims_what_its_header_says_and_sentinels_are_unknown(described: dict) -> None:
    unknown = {"Unknown": None, "Non": None, "-9999": None}
    sentinels = 0
    for name, item in described.items():
        label = re.match(r"CLASS=(\S+) SUBCLASS=(\S+) Z=(\S+)", item.label)
        if not name.startswith(LOW_RESOLUTION) or label is None:
            continue
        claims = read_spectrum(item.path).claims
        object_class, subclass, redshift = (unknown.get(word, word) for word in label.groups())
        assert (claims.object_class, claims.subclass) == (object_class, subclass), name
        assert claims.redshift == (None if redshift is None else pytest.approx(float(redshift), rel=1e-6)), (
            name
        )
        bands = re.match(r"SNR?_?G/R/I=(.*);", item.snr)[1].split("/")
        header_snr = read_spectrum(item.path).header_snr
        for band, value in zip("gri", map(float, bands), strict=True):
            known = value not in {99.0, -9999.0}
            sentinels += not known
            assert (band in header_snr) == known, name
            assert not known or header_snr[band] == value
    assert sentinels > 10


def test_releases_and_ids_are_what_the_files_say(described: dict) -> None:
    releases = {
        name.split("/")[1]: read_spectrum(item.path).release
        for name, item in described.items()
        if name.startswith(LOW_RESOLUTION)
    }
    assert releases == {
        "dr1": None,
        "dr2": None,  # no DATA_V in the first releases
        **{f"dr{number}": f"DR{number}" for number in (3, 6, 7, 8, 9, 10)},
        "dr13": "DR13 Q1",
    }
    assert read_spectrum(described["lamost/dr7/101009.fits"].path).survey_id == "101009"
    first = read_spectrum(described["lamost/dr1/spec-55862-B6212_sp06-005.fits"].path)
    assert first.survey_id == "55862-B6212-06-005"


def test_the_documented_formula_gives_the_stored_wavelengths(described: dict) -> None:
    stored = 0
    for name, item in described.items():
        if not name.startswith(LOW_RESOLUTION):
            continue
        file = open_source(item.path).fits
        if file[0].is_image:
            rows = file[0].image()
            wavelengths = rows[2].astype(float) if "Wavelength" in file.primary["EXTEN0"] else None
        else:
            wavelengths = file[1].column("WAVELENGTH")[0].astype(float)
        grid = 10 ** (file.primary["COEFF0"] + file.primary["COEFF1"] * np.arange(item.pixels))
        spectrum = read_spectrum(item.path)
        assert np.abs(spectrum.wavelength_AA - grid).max() < 0.04, name
        if wavelengths is not None:
            stored += 1
            assert np.abs(spectrum.wavelength_AA - wavelengths).max() < 0.04, name
    assert stored == 38


def test_the_same_bytes_under_two_names_are_one_spectrum(described: dict) -> None:
    one, other = (
        read_spectrum(described[f"lamost/dr10/spec-59614-GAC084N35B4_sp11-246.{ending}"].path)
        for ending in ("fits.gz", "fits.fits")
    )
    for name in ("wavelength_AA", "flux", "ivar", "mask"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    assert one.claims == other.claims


def test_a_spectrum_whose_red_third_is_empty_ends_where_its_light_ends(described: dict) -> None:
    spectrum = read_spectrum(described["lamost/dr10/spec-59614-GAC084N35B4_sp11-246.fits.gz"].path)
    assert spectrum.bad_fraction == pytest.approx(0.33, abs=0.01)
    assert spectrum.range_AA[1] < 7000 < spectrum.wavelength_AA[-1]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("n", "start"), [(3909, 3.5682), (3820, 3.5682), (3751, 3.584)])
def test_the_old_layout_is_read_as_written(tmp_path: Path, dtype: str, n: int, start: float) -> None:
    rows = five_rows(n, start)
    spectrum = read_spectrum(write_array(tmp_path / "spec.fits", rows, dtype, COEFF0=start))
    assert np.array_equal(spectrum.flux, rows[0])
    assert np.allclose(spectrum.wavelength_AA, 10 ** (start + 1e-4 * np.arange(n)), rtol=1e-12)
    assert np.array_equal(np.flatnonzero(spectrum.mask), [*range(20), *range(30, 40)])
    assert spectrum.snr == pytest.approx(np.median(rows[0][40:] * 2.0), rel=0.02)
    assert (spectrum.release, spectrum.survey_id, spectrum.mjd) == ("DR8", "103232", 55859)
    assert dict(spectrum.header_snr) == {"g": 94.11}


def test_the_first_release_has_no_wavelength_row(tmp_path: Path) -> None:
    rows = five_rows()
    rows[2] = rows[0] - 100.0
    changes = {"EXTEN0": "Flux Inverse Subcontinum Andmask Ormask", "DATA_V": None, "OBSID": None}
    changes |= {
        "SNRG": None,
        "SNRR": None,
        "SN_G": 99.0,
        "SN_R": 12.5,
        "CLASS": "Unknown",
        "SUBCLASS": "Non",
        "Z": -9999.0,
    }
    spectrum = read_spectrum(write_array(tmp_path / "spec.fits", rows, **changes))
    assert spectrum.wavelength_AA[0] == pytest.approx(10**3.5682)
    assert spectrum.survey_id == "55859-F5902-03-232"
    assert dict(spectrum.header_snr) == {"r": 12.5}
    assert spectrum.claims.object_class is None
    assert spectrum.claims.subclass is None
    assert spectrum.claims.redshift is None
    assert spectrum.release is None


@pytest.mark.parametrize("mask_form", ["E", "D", "I", "J", "K", "B"])
def test_the_new_layout_is_read_as_written_with_masks_of_any_type(tmp_path: Path, mask_form: str) -> None:
    rows = five_rows()
    spectrum = read_spectrum(write_coadd(tmp_path / "spec.fits.fits", rows, mask_form))
    assert spectrum.format == "lamost-coadd"
    assert np.array_equal(spectrum.flux, rows[0])
    assert np.allclose(spectrum.wavelength_AA, rows[2], rtol=1e-7)
    assert np.array_equal(np.flatnonzero(spectrum.mask), [*range(20), *range(30, 40)])
    assert spectrum.release == "DR10"


@pytest.mark.parametrize("name", ["spec.fits.gz", "spec.fits", "spec", "101009.dat"])
def test_gzip_bytes_are_unpacked_under_any_name(tmp_path: Path, name: str) -> None:
    plain = write_array(tmp_path / "plain.fits", five_rows())
    packed = tmp_path / name
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert np.array_equal(read_spectrum(packed).flux, read_spectrum(plain).flux)


def test_pixels_that_are_not_finite_are_bad(tmp_path: Path) -> None:
    rows = five_rows()
    rows[0, 100], rows[1, 101], rows[3, 102] = np.nan, np.inf, np.nan
    spectrum = read_spectrum(write_array(tmp_path / "spec.fits", rows))
    assert spectrum.mask[100:104].tolist() == [True, True, True, False]


@pytest.mark.parametrize("layout", [write_array, write_coadd])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"COEFF0": 3.5692}, "contradict the header"),
        ({"COEFF1": 0.000101}, "contradict the header"),
        ({"COEFF0": 35.682}, "can't be true"),
        ({"COEFF1": -0.0001}, "can't be true"),
        ({"VACUUM": False}, "in air"),
        ({"CRVAL1": 3.5, "CD1_1": 0.0001, "DC-FLAG": 1}, "two wavelength grids"),
        ({"FIBERTYP": "Sky"}, "sky fibre"),
    ],
)
def test_what_contradicts_itself_is_refused(tmp_path: Path, layout: Any, changes: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_spectra(layout(tmp_path / "spec.fits", five_rows(), **changes))


def test_a_length_that_shears_the_rows_is_noticed(tmp_path: Path) -> None:
    path = write_array(tmp_path / "spec.fits", five_rows(3904))
    content = path.read_bytes()
    assert content.count(b"NAXIS1  =                 3904") == 1
    path.write_bytes(content.replace(b"NAXIS1  =                 3904", b"NAXIS1  =                 3905"))
    with pytest.raises(UserError, match="contradict the header"):
        read_spectra(path)


def test_no_light_and_no_grid_are_told(tmp_path: Path) -> None:
    dark = five_rows()
    dark[1] = 0.0
    with pytest.raises(UserError, match="every pixel is bad"):
        read_spectra(write_array(tmp_path / "dark.fits", dark))
    with pytest.raises(UserError, match="no wavelength grid"):
        read_spectra(write_array(tmp_path / "gridless.fits", five_rows(), COEFF0=None))
    with pytest.raises(UserError, match="not of real numbers"):
        read_spectra(write_array(tmp_path / "whole.fits", five_rows(), "i4"))


@pytest.mark.parametrize("names", [("COADD_B", "COADD_R", "B-84420148"), ("COADD_B",)])
def test_medium_resolution_is_refused_with_the_reason_and_what_to_do(tmp_path: Path, names: tuple) -> None:
    path = write_coadd(tmp_path / "med-58625-TD.fits", five_rows(), names=names)
    with pytest.raises(UserError) as caught:
        read_spectra(path)
    assert "medium-resolution" in str(caught.value)
    assert "low-resolution spectrum" in caught.value.fix


def test_the_real_medium_resolution_file_is_refused(described: dict) -> None:
    item = next(item for name, item in described.items() if "mrs_out_of_scope" in name)
    with pytest.raises(UserError, match="medium-resolution"):
        read_spectra(item.path)
