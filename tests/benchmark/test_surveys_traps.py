"""Files that would give a wrong spectrum in silence, hang, or take all memory: each is read right or refused."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from astropy.io import fits

from specvi_benchmark.errors import UserError
from specvi_benchmark.spectrum import Spectrum, clean_arrays, clean_spectrum
from specvi_benchmark.surveys import read_spectra
from specvi_benchmark.surveys.packed import unpack
from specvi_benchmark.surveys.sample_files import LAMOST_HEADER, lamost_coadd, sdss_spec

WAVELENGTH = np.linspace(4000.0, 8000.0, 41)
FLUX = 2.0 + np.sin(WAVELENGTH / 500.0)


def written(folder: Path, columns: dict[str, np.ndarray], above: str = "") -> Path:
    path = folder / "spectrum.txt"
    lines = [
        ",".join(columns),
        *(",".join(map(repr, map(float, row))) for row in zip(*columns.values(), strict=True)),
    ]
    path.write_text(above + "\n".join(lines) + "\n")
    return path


def refused(path: Path, medium: str | None = "vacuum") -> UserError:
    with pytest.raises(UserError) as caught:
        read_spectra(path, medium=medium)
    return caught.value


@pytest.mark.parametrize("sentinel", [-9999.0, -999.0, 1e30, -1.6e38, 9.9e99])
def test_a_number_that_stands_for_no_value_is_masked_and_told(tmp_path: Path, sentinel: float) -> None:
    flux = FLUX.copy()
    flux[[7, 20]] = sentinel
    for more in ({}, {"error": np.full(41, 0.1)}):
        reading = read_spectra(
            written(tmp_path, {"wavelength": WAVELENGTH, "flux": flux, **more}), medium="vacuum"
        )
        (spectrum,) = reading.spectra
        assert np.flatnonzero(spectrum.mask).tolist() == [7, 20]
        np.testing.assert_array_equal(spectrum.flux[~spectrum.mask], FLUX[~spectrum.mask])
        assert any("stands for no value" in note for note in reading.notes)


def test_absurd_errors_are_no_errors_and_large_spectra_are_left_alone(tmp_path: Path) -> None:
    error = np.where(np.arange(41) < 4, 1e30, 0.1)
    columns = {"wavelength": WAVELENGTH, "flux": FLUX, "error": error}
    (spectrum,) = read_spectra(written(tmp_path, columns), medium="vacuum").spectra
    assert np.flatnonzero(spectrum.mask).tolist() == [0, 1, 2, 3]
    columns = {"wavelength": WAVELENGTH, "flux": FLUX * 1e42}  # luminosities
    assert not read_spectra(written(tmp_path, columns), medium="vacuum").spectra[0].mask.any()


def test_magnitudes_of_99_are_missing(tmp_path: Path) -> None:
    magnitude = np.where(np.arange(41) == 3, 99.0, 15.0)
    path = written(tmp_path, {"wavelength": WAVELENGTH, "ab_mag": magnitude})
    assert np.flatnonzero(read_spectra(path, medium="vacuum").spectra[0].mask).tolist() == [3]


@pytest.mark.parametrize(
    "words", ["wavelength in nm", "Wavelengths are given in µm", "lambda (micron), flux"]
)
def test_a_unit_in_a_comment_is_not_passed_over(tmp_path: Path, words: str) -> None:
    columns = {"wavelength": np.linspace(1000.0, 3500.0, 41), "flux": FLUX}  # might be Å by its numbers
    assert "comment names one" in refused(written(tmp_path, columns, f"# {words}\n")).what
    read_spectra(written(tmp_path, columns, "# taken with a slit of 200 um\n"), medium="vacuum")


def test_rest_frames_are_told_or_refused(tmp_path: Path) -> None:
    path = written(tmp_path, {"wavelength": WAVELENGTH, "flux": FLUX}, "# rest-frame spectrum\n")
    assert any("rest frame" in note for note in read_spectra(path, medium="vacuum").notes)
    error = refused(written(tmp_path, {"rest_wavelength": WAVELENGTH, "flux": FLUX}))
    assert "not as observed" in error.what
    assert "1 + z" in str(error.fix)


@pytest.mark.parametrize("unit", ["nm", "A"])
def test_light_that_is_not_optical_is_noted(tmp_path: Path, unit: str) -> None:
    stored = WAVELENGTH if unit == "nm" else WAVELENGTH / 10
    path = written(tmp_path, {f"wavelength_{unit}": stored, "flux": FLUX})
    assert any("no optical light" in note for note in read_spectra(path, medium="vacuum").notes)


@pytest.mark.parametrize("missing", ["nan", "NaN", "--", "null"])
def test_a_spectrum_may_begin_with_missing_flux(tmp_path: Path, missing: str) -> None:
    path = tmp_path / "spectrum.csv"
    rows = [f"{w},{missing if i < 30 else f}" for i, (w, f) in enumerate(zip(WAVELENGTH, FLUX, strict=True))]
    path.write_text("\n".join(["wavelength,flux", *rows]))
    (spectrum,) = read_spectra(path, medium="vacuum").spectra
    np.testing.assert_array_equal(spectrum.wavelength_AA, WAVELENGTH)
    assert spectrum.mask.tolist() == [True] * 30 + [False] * 11


def test_a_table_on_its_side_is_told(tmp_path: Path) -> None:
    path = tmp_path / "spectrum.txt"
    for head in ("", "x "):
        path.write_text("\n".join(head + " ".join(map(str, row)) for row in (WAVELENGTH, FLUX, FLUX / 10)))
        assert "on its side" in refused(path).what
    path.write_text(" ".join(["4000"] * 200_000))
    assert "on its side" in refused(path).what


@pytest.mark.parametrize("stored", [WAVELENGTH / 10, np.log10(WAVELENGTH), WAVELENGTH * 10])
def test_a_survey_file_with_other_numbers_than_angstrom_is_refused(
    tmp_path: Path, stored: np.ndarray
) -> None:
    columns = {"FLUX": FLUX, "IVAR": FLUX, "WAVELENGTH": stored, "ANDMASK": 0 * FLUX}
    table = fits.BinTableHDU.from_columns(
        [fits.Column(name, "41D", array=[values]) for name, values in columns.items()]
    )
    path = tmp_path / "a.fits"
    fits.HDUList([fits.PrimaryHDU(header=fits.Header({"TELESCOP": "LAMOST"})), table]).writeto(path)
    assert "can't be true" in refused(path, None).what


@pytest.mark.parametrize("kind", ["FREQ", "VELO-LSR", "VRAD", "PIXEL", "WAVN", "ENER", "RA---TAN"])
def test_an_image_axis_that_is_no_wavelength_is_refused(tmp_path: Path, kind: str) -> None:
    header = fits.Header({"CRVAL1": 4000.0, "CDELT1": 100.0, "CRPIX1": 1.0, "CTYPE1": kind})
    fits.PrimaryHDU(FLUX, header).writeto(tmp_path / "a.fits")
    assert f"the axis is {kind}" in refused(tmp_path / "a.fits").what


def test_images_beside_the_flux_are_noted(tmp_path: Path) -> None:
    header = fits.Header({"CRVAL1": 4000.0, "CDELT1": 100.0, "CRPIX1": 1.0, "DOPCOR01": "0.1"})
    fits.HDUList([fits.PrimaryHDU(FLUX, header), fits.ImageHDU(FLUX, name="ERR")]).writeto(
        tmp_path / "a.fits"
    )
    notes = " ".join(read_spectra(tmp_path / "a.fits", medium="vacuum").notes)
    assert "ERR" in notes
    assert "rest frame" in notes


@pytest.mark.parametrize(("scale", "zero"), [(1.0, 0.0), (0.5, 100.0), (1.0, 32768.0)])
def test_tnull_means_the_number_as_stored(tmp_path: Path, scale: float, zero: float) -> None:
    stored = np.arange(41, dtype=np.int16)
    wavelength = fits.Column("wavelength", "D", unit="Angstrom", array=WAVELENGTH)
    table = fits.BinTableHDU.from_columns([wavelength, fits.Column("flux", "I", array=stored)])
    table.header.update(
        {"TNULL2": 5, "TSCAL2": scale, "TZERO2": zero}
    )  # below astropy: bytes stay as they are
    fits.HDUList([fits.PrimaryHDU(), table]).writeto(tmp_path / "a.fits")
    (spectrum,) = read_spectra(tmp_path / "a.fits", medium="vacuum").spectra
    assert np.flatnonzero(spectrum.mask).tolist() == [5]
    assert spectrum.flux[7] == 7 * scale + zero


def test_columns_without_width_do_not_make_rows(tmp_path: Path) -> None:
    names = {"TTYPE1": "wavelength", "TFORM1": "0D", "TTYPE2": "flux", "TFORM2": "0E"}
    counts = {
        "BITPIX": 8,
        "NAXIS": 2,
        "NAXIS1": 0,
        "NAXIS2": 4_000_000_000,
        "PCOUNT": 0,
        "GCOUNT": 1,
        "TFIELDS": 2,
    }
    header = fits.Header([("XTENSION", "BINTABLE"), *counts.items(), *names.items()])
    content = fits.PrimaryHDU().header.tostring() + header.tostring()
    (tmp_path / "a.fits").write_bytes(content.encode())
    assert refused(tmp_path / "a.fits").what == "no known format of spectra"


def test_gzip_in_gzip_members_and_padding(tmp_path: Path) -> None:
    lamost_coadd(tmp_path / "a.fits")
    content = (tmp_path / "a.fits").read_bytes()
    half = len(content) // 2
    for packed in (
        gzip.compress(gzip.compress(content)),
        gzip.compress(content[:half]) + gzip.compress(content[half:]),
        gzip.compress(content) + b"\0" * 512,
    ):
        (tmp_path / "b.fits").write_bytes(packed)
        assert read_spectra(tmp_path / "b.fits").format == "lamost-coadd"


def test_a_damaged_gzip_stream_is_noticed() -> None:
    packed = gzip.compress(b"light" * 1000)
    for damaged in (
        packed[:-1],
        packed[:20],
        packed[:-8] + b"\1\2\3\4" + packed[-4:],
        packed + b"more",
        b"\x1f\x8b",
    ):
        with pytest.raises(ValueError, match=r"\w"):
            unpack(damaged)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gzip", "parquet"])
def test_a_small_file_cannot_take_all_memory(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "bomb"
    if kind == "gzip":
        zeros = gzip.compress(bytes(10 * 2**20))
        path.write_bytes(zeros * 200)  # 2 GB
    else:
        pq.write_table(
            pa.table({name: [np.zeros(20_000_000)] for name in ("spectrum_flux", "spectrum_wavelength")}),
            path,
        )
    script = (
        "import re, sys\n"
        "from specvi_benchmark.surveys import read_spectra\n"
        "from specvi_benchmark.errors import UserError\n"
        "try:\n    read_spectra(sys.argv[1])\nexcept UserError as error:\n    print(error)\n"
        "print(int(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1]) // 1024)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True
    )
    assert "no spectrum does that" in done.stdout or "more values than" in done.stdout
    assert int(done.stdout.split()[-1]) < 450  # MB, Python and Arrow themselves some 150


def test_what_is_no_regular_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path, message in [
        (tmp_path / "pipe", "device, pipe"),
        (Path("/dev/zero"), "device, pipe"),
        (tmp_path / "loop", "can't be read"),
        (tmp_path / ("x" * 300), "can't be read"),
        (Path("a\0b"), "no such file"),
    ]:
        assert message in refused(path).what
    odd = tmp_path / "späce λ.fits"
    sdss_spec(odd)
    (tmp_path / "link").symlink_to(odd)
    assert read_spectra(tmp_path / "link").format == "sdss-spec"


@pytest.mark.parametrize(
    ("content", "held", "advice"),
    [
        (b"<!DOCTYPE html><html>Not found</html>", "web page", "fetch the file itself"),
        (b"BZh91AY&SY\0", "bzip2", "bunzip2"),
        (b"PK\x03\x04\x14\0", "zip archive", "unpack it"),
        (b"\x89HDF\r\n\x1a\n", "HDF5", "FITS table or CSV"),
        (b"version https://git-lfs.github.com/spec/v1\n", "pointer of Git LFS", "git lfs pull"),
        (b"\x93NUMPY\x01\0v\0", "numpy array", "CSV"),
        (b"\x00\x01\x02\x03", "not FITS and not text", "FITS table or CSV"),
        (b"a line of prose\n", "no line holds two numbers", "a pixel a line"),
        (json.dumps([{"star": "Vega", "magnitude": 0.03}]).encode(), "magnitude, star", "SPARCL"),
    ],
)
def test_a_file_of_no_known_format_is_named_and_advised(
    tmp_path: Path, content: bytes, held: str, advice: str
) -> None:
    (tmp_path / "file").write_bytes(content)
    error = refused(tmp_path / "file")
    assert error.what == "no known format of spectra"
    assert held in str(error.got)
    assert advice in str(error.fix)
    assert len(str(error)) < 700


def test_a_survey_layout_that_does_not_fit_is_told_the_nearest(tmp_path: Path) -> None:
    fits.PrimaryHDU(np.zeros((3, 100)), fits.Header(LAMOST_HEADER)).writeto(tmp_path / "a.fits")
    fix = str(refused(tmp_path / "a.fits").fix)
    assert "LAMOST" in fix
    assert "lamost-array (" in fix
    assert "sdss-spec" not in fix


def test_arrays_are_cleaned_alike_one_by_one_and_in_a_block() -> None:
    rng = np.random.default_rng(5)
    flux, ivar = rng.normal(5.0, 1.0, (6, 50)), rng.uniform(0.0, 3.0, (6, 50))
    ivar[0, :5], ivar[1, 3], ivar[2, 4], ivar[3, 5] = 0.0, np.nan, np.inf, -1.0
    flux[4, 6], flux[5, 7] = np.nan, np.inf
    block = clean_arrays(flux, ivar)
    for row in range(6):
        alone = clean_spectrum(np.arange(1.0, 51.0), flux[row], ivar[row])
        for together, one in zip(block, (alone.flux, alone.ivar, alone.mask), strict=True):
            np.testing.assert_array_equal(together[row], one)
        expected_bad = ~(np.isfinite(flux[row]) & (ivar[row] > 0) & np.isfinite(ivar[row]))
        np.testing.assert_array_equal(alone.mask, expected_bad)


def test_spectra_may_be_rows_of_a_closed_block_and_never_of_an_open_one() -> None:
    grid = np.arange(1.0, 51.0)
    block = np.ones((3, 50))
    opened = Spectrum(grid, block[1], block[1], np.zeros(50, bool))
    block[1] = 7.0
    assert (opened.flux == 1.0).all()
    block.setflags(write=False)
    shared = Spectrum(grid, block[2], block[2], np.zeros(50, bool))
    assert shared.flux.base is block


def test_a_grid_is_looked_at_again_when_it_is_another() -> None:
    ones, mask = np.ones(50), np.zeros(50, bool)
    for _ in range(3):
        grid = np.arange(1.0, 51.0)
        grid.setflags(write=False)
        Spectrum(grid, ones, ones, mask)
        falling = grid[::-1].copy()
        falling.setflags(write=False)
        with pytest.raises(UserError, match="not increasing"):
            Spectrum(falling, ones, ones, mask)
