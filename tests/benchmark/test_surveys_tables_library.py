"""Every labelled library star and every template, against labels.csv and independent readings."""

import csv
import gzip
import re
import warnings
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits

from specvi_benchmark.errors import UserError
from specvi_benchmark.lines import air_to_vacuum, vacuum_to_air
from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.surveys import read_spectra, read_spectrum

FORMATS = {
    "miles": "miles",
    "stelib": "stelib",
    "calspec": "calspec",
    "galaxy": "fits-table",
    "indous_csv": "text-table",
    "oke1990": "oke",
}
ASKED = ("galaxy", "indous_csv", "oke1990", "qso")  # folders whose files don't say air or vacuum
FLAM = 1e17  # 1e-17 erg/s/cm²/Å in one erg/s/cm²/Å


@pytest.fixture(scope="module")
def labels(shared_data: Path) -> list[dict[str, str]]:
    with (shared_data / "library" / "labels.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 251
    return rows


def unpacked(path: Path) -> bytes:
    content = path.read_bytes()
    return gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content


def independent(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return wavelength and flux as stored, read by astropy or numpy, AB magnitudes as F_λ."""
    folder = path.parent.name
    if folder in {"miles", "stelib", "calspec", "galaxy"}:
        with warnings.catch_warnings(), fits.open(BytesIO(unpacked(path)), memmap=False) as hdus:
            warnings.simplefilter("ignore")
            if folder in {"calspec", "galaxy"}:
                data = hdus[1].data
                return data["WAVELENGTH"].astype("f8"), data["FLUX"].astype("f8") * FLAM
            header = hdus[0].header
            grid = header["CRVAL1"] + header["CDELT1"] * (np.arange(hdus[0].data.size) + 1 - header["CRPIX1"])
            return grid, hdus[0].data.astype("f8") * (FLAM if folder == "stelib" else 1)
    if path.suffix == ".csv":
        columns = np.loadtxt(path, delimiter=",", skiprows=1, unpack=True)
    elif path.name.endswith(".mrt.txt"):
        columns = np.loadtxt(path, skiprows=23, unpack=True)
    else:
        wavelength, magnitude, _ = np.loadtxt(path, unpack=True)
        return wavelength, 10 ** (-0.4 * (magnitude + 48.6)) * 2.99792458e18 / wavelength**2 * FLAM
    return columns[0], columns[1]


def coverage(text: str) -> tuple[float, float, list[tuple[float, float]]]:
    """Return the first and last wavelength and the zero-filled stretches of a cell of labels.csv."""
    ends, *gaps = (np.array(pair, dtype=float) for pair in re.findall(r"(\d+)-(\d+)", text))
    return ends[0], ends[1], [(gap[0], gap[1]) for gap in gaps]


def test_every_library_file_reads_as_an_independent_reader_has_it(shared_data, labels):
    for label in labels:
        path = shared_data / "library" / label["file"]
        folder = path.parent.name
        medium = None
        if folder in ASKED:
            with pytest.raises(UserError, match="in air or in vacuum"):
                read_spectra(path)
            medium = "vacuum"
        reading = read_spectra(path, medium=medium)
        (spectrum,) = reading.spectra
        expected_format = FORMATS.get(folder, "mrt" if path.name.endswith(".mrt.txt") else "text-table")
        assert reading.format == spectrum.format == expected_format, path
        wavelength, flux = independent(path)
        stored_in_air = label["wavelength"] == "air"
        assert stored_in_air == (folder in {"miles", "stelib"}), path
        expected = air_to_vacuum(wavelength) if stored_in_air else wavelength
        np.testing.assert_allclose(spectrum.wavelength_AA, expected, rtol=1e-12, err_msg=str(path))
        good = spectrum.good
        np.testing.assert_allclose(spectrum.flux[good], flux[good], rtol=1e-6, err_msg=str(path))


def test_every_library_file_covers_what_its_label_says(shared_data, labels):
    for label in labels:
        path = shared_data / "library" / label["file"]
        if not label["coverage"]:
            continue
        spectrum = read_spectrum(path, medium="vacuum" if path.parent.name in ASKED else None)
        first, last, gaps = coverage(label["coverage"])
        low, high = spectrum.range_AA
        if label["wavelength"] == "air":
            low, high = vacuum_to_air(low), vacuum_to_air(high)
        if path.parent.name == "calspec":  # the labels leave out what is below 1150 and above 25,000 Å
            assert low < first + 2, path
            assert high >= last, path
            continue
        if path.name == "sa_template.fits":
            last = 9940.0  # its last 11 pixels are zero
        if path.name == "type2_quasar_composite.csv":
            last = 9415.5
        assert low == pytest.approx(first, abs=1.01), path
        assert high == pytest.approx(last, abs=1.01), path
        air = vacuum_to_air(spectrum.wavelength_AA)
        for start, end in gaps:
            assert spectrum.mask[(air > start + 1) & (air < end - 1)].all(), path


def test_only_zeros_are_masked_in_libraries_without_errors(shared_data, labels):
    for label in labels:
        path = shared_data / "library" / label["file"]
        if path.parent.name in {"miles", "stelib"}:
            _, flux = independent(path)
            spectrum = read_spectrum(path)
            assert (flux[spectrum.mask] == 0).all(), path
            runs = np.diff(np.flatnonzero(np.r_[True, flux != 0, True])) - 1
            assert spectrum.mask.sum() == runs[runs >= 5].sum(), path


def test_calspec_errors_are_those_of_the_table(shared_data, labels):
    for label in labels:
        path = shared_data / "library" / label["file"]
        if path.parent.name != "calspec":
            continue
        with warnings.catch_warnings(), fits.open(BytesIO(unpacked(path)), memmap=False) as hdus:
            warnings.simplefilter("ignore")
            data = hdus[1].data
            statistical = data["STATERROR"].astype("f8") * FLAM
            flagged = data["DATAQUAL"] == 0 if "DATAQUAL" in data.names else np.zeros(len(data), dtype=bool)
        spectrum = read_spectrum(path)
        null = ~np.isfinite(statistical) | (statistical > 1e50)
        np.testing.assert_array_equal(spectrum.mask, flagged | null, err_msg=str(path))
        given = (statistical > 1e-6 * np.abs(spectrum.flux)) & ~spectrum.mask
        np.testing.assert_allclose(spectrum.ivar[given], statistical[given] ** -2.0, rtol=1e-6)


def minima(shared_data, labels, folder: str, classes: set[str], line_AA: float) -> Iterator[float]:
    """Yield how far the deepest point near a line lies from it, by a parabola through five pixels."""
    for label in labels:
        if not (
            label["file"].startswith(folder) and label["class_key"] in classes and label["verdict"] == "clear"
        ):
            continue
        spectrum: Spectrum = read_spectrum(shared_data / "library" / label["file"])
        near = spectrum.good & (np.abs(spectrum.wavelength_AA - line_AA) < 12)
        wavelength, flux = spectrum.wavelength_AA[near], spectrum.flux[near]
        if wavelength.size < 10:
            continue
        deepest = int(np.clip(np.argmin(flux), 2, flux.size - 3))
        around = slice(deepest - 2, deepest + 3)
        square, slope, _ = np.polyfit(wavelength[around] - line_AA, flux[around], 2)
        yield -slope / 2 / square


@pytest.mark.parametrize(
    ("folder", "classes", "vacuum_AA", "widest"),
    [
        ("miles", {"A", "BHB", "F"}, 6564.61, 0.5),  # Hα
        ("miles", {"A", "BHB", "F"}, 4862.69, 0.5),  # Hβ
        ("stelib", {"A", "BHB", "F"}, 6564.61, 1.0),
        ("stelib", {"K", "GKG", "G"}, 8544.44, 1.0),  # Ca II triplet
        ("stelib", {"K", "GKG", "G"}, 8664.52, 1.0),
    ],
)
def test_lines_stand_at_their_vacuum_wavelengths(shared_data, labels, folder, classes, vacuum_AA, widest):
    offsets = np.array(list(minima(shared_data, labels, folder, classes, vacuum_AA)))
    assert offsets.size >= 10
    assert abs(np.median(offsets)) < 0.45  # in air they would be 1.3 to 2.4 Å lower
    assert np.abs(offsets).max() < widest


def test_ab_magnitudes_of_oke_have_the_shape_of_calspec(shared_data):
    """Two hot DA white dwarfs have nearly one shape; GD 50's comes as F_λ, SA 95-42's as AB magnitudes."""
    gd50 = read_spectrum(shared_data / "library" / "calspec" / "gd50_004.fits.gz")
    other = read_spectrum(shared_data / "library" / "oke1990" / "sa95_42.dat", medium="air")
    ratios = []
    for spectrum in (gd50, other):
        blue, red = (
            np.median(spectrum.flux[spectrum.window(start, start + 300)]) for start in (4500.0, 7900.0)
        )
        ratios.append(blue / red)
    assert ratios[0] == pytest.approx(ratios[1], rel=0.25)  # a flux per frequency would be 3.1 times lower


# The templates beside the survey files.


def templates(shared_data: Path, folder: str) -> list[Path]:
    return sorted((shared_data / "real" / "templates" / folder).iterdir())


def test_pickles_templates(shared_data):
    paths = templates(shared_data, "pickles")
    assert len(paths) == 13
    for path in paths:
        reading = read_spectra(path)
        (spectrum,) = reading.spectra
        lines = path.read_text().splitlines()
        flux = np.array([float(line[7:17]) for line in lines])
        assert (reading.format, spectrum.wavelength_AA.size) == ("pickles", 1895)
        np.testing.assert_array_equal(spectrum.flux, flux)
        assert (flux[spectrum.mask] == 0).all()
        assert spectrum.range_AA[1] == pytest.approx(10620 + 2.91, abs=0.01)
        first = {"m0iii.dat": 2555, "m5v.dat": 2765, "m9iii.dat": 2025, "o5v.dat": 1150}.get(path.name)
        if first is not None:
            assert vacuum_to_air(spectrum.range_AA[0]) == pytest.approx(first, abs=0.01)


def test_the_balmer_lines_of_pickles_a0v_show_that_it_was_air(shared_data):
    spectrum = read_spectrum(shared_data / "real" / "templates" / "pickles" / "a0v.dat")
    for line_AA in (4341.69, 4862.69, 6564.61):
        near = np.abs(spectrum.wavelength_AA - line_AA) < 40
        around = ~near & (np.abs(spectrum.wavelength_AA - line_AA) < 100)
        offset = spectrum.wavelength_AA - line_AA
        continuum = np.polyval(np.polyfit(offset[around], spectrum.flux[around], 1), offset)
        depth = np.clip(continuum - spectrum.flux, 0, None)[near]
        assert abs((offset[near] * depth).sum() / depth.sum()) < 0.8


def test_stelib_and_miles_templates(shared_data):
    for folder, count in (("stelib", 15), ("miles", 13)):
        paths = templates(shared_data, folder)
        assert len(paths) == count
        for path in paths:
            (spectrum,) = read_spectra(path).spectra
            assert (spectrum.format, spectrum.wavelength_AA.size) == (
                folder,
                {"stelib": 6700, "miles": 4300}[folder],
            )
            wavelength, flux = independent(path)
            np.testing.assert_allclose(spectrum.wavelength_AA, air_to_vacuum(wavelength), rtol=1e-12)
            np.testing.assert_allclose(spectrum.flux, flux, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "gaps"),
    [("HD112300", [(4751, 7849)]), ("HD005820", [(4549, 5528), (7524, 8549)]), ("HD089758", [])],
)
def test_known_gaps_of_stelib_are_masked(shared_data, name, gaps):
    spectrum = read_spectrum(shared_data / "real" / "templates" / "stelib" / f"STELIB_v3.2_{name}.fits")
    air = vacuum_to_air(spectrum.wavelength_AA)
    for start, end in gaps:
        assert spectrum.mask[(air >= start) & (air <= end)].all()
    assert spectrum.mask.sum() >= 250
    assert spectrum.survey_id in {name, name.replace("HD0", "HD")}  # as the header writes it


def test_pyhammer_bochanski_and_prospect_templates_ask_for_the_medium(shared_data):
    folder = shared_data / "real" / "templates"
    paths = [
        *templates(shared_data, "pyhammer"),
        *templates(shared_data, "bochanski"),
        folder / "redrock" / "std_templates.fits",
    ]
    for path in paths:
        with pytest.raises(UserError, match="in air or in vacuum"):
            read_spectra(path)
    for path in templates(shared_data, "pyhammer"):
        (spectrum,) = read_spectra(path, medium="vacuum").spectra
        with fits.open(BytesIO(unpacked(path)), memmap=False) as hdus:
            data = hdus[1].data
            np.testing.assert_allclose(spectrum.wavelength_AA, 10 ** data["LogLam"].astype("f8"), rtol=1e-14)
            good = np.isfinite(data["PropErr"])
            np.testing.assert_array_equal(spectrum.good, good)
            np.testing.assert_allclose(
                spectrum.ivar[good], data["PropErr"].astype("f8")[good] ** -2, rtol=1e-12
            )
    (path,) = templates(shared_data, "bochanski")
    spectrum = read_spectrum(path, medium="vacuum")
    assert spectrum.wavelength_AA.size == 53750
    assert spectrum.range_AA == pytest.approx((3825.0, 9199.9))
    reading = read_spectra(folder / "redrock" / "std_templates.fits", medium="vacuum")
    assert [s.wavelength_AA.size for s in reading.spectra] == [3258, 2667, 3063]
    assert [s.name.partition("[")[2] for s in reading.spectra] == ["GALAXY]", "STAR]", "QSO]"]


@pytest.mark.parametrize(("folder", "count", "pixels"), [("templates/sdss_pipeline_csv", 12, 5933), ("sdss/pipeline_single_csv", 7, 3847)])  # fmt: skip
def test_csv_of_the_sdss_pipeline(shared_data, folder, count, pixels):
    paths = sorted((shared_data / "real" / folder).iterdir())
    assert len(paths) == count
    for path in paths:
        with pytest.raises(UserError, match="in air or in vacuum"):
            read_spectra(path)
        spectrum = read_spectrum(path, medium="vacuum")
        wavelength, flux = np.loadtxt(path, delimiter=",", skiprows=1, unpack=True)
        assert spectrum.wavelength_AA.size == pixels
        np.testing.assert_array_equal(spectrum.wavelength_AA, wavelength)
        np.testing.assert_array_equal(spectrum.flux, flux)
        padded = np.zeros(pixels, dtype=bool)  # constant outside of the observed range, says SOURCES.md
        head = int(np.argmax(flux != flux[0]))
        tail = int(np.argmax(flux[::-1] != flux[-1]))
        padded[: head if head >= 5 else 0] = True
        padded[pixels - (tail if tail >= 5 else 0) :] = True
        np.testing.assert_array_equal(spectrum.mask, padded, err_msg=str(path))


def test_catalogues_are_no_spectra(shared_data):
    paths = sorted((shared_data / "real" / "catalogs").iterdir())
    assert len(paths) == 13
    for path in paths:
        with pytest.raises(UserError):
            read_spectra(path, medium="vacuum")
