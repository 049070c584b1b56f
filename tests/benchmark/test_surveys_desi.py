"""DESI files: every real one against its description and a second recipe, and every variant written here."""

import gzip
import io
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits
from hypothesis import given, settings
from hypothesis import strategies as st

from specvi_benchmark.errors import UserError
from specvi_benchmark.spectrum import Claims, Spectrum
from specvi_benchmark.surveys import read_spectra, read_spectrum

TARGETS = np.array([39633300968442591, 616088619186127404, -1695072, 39633297352951412, 39633300968442592])
ARMS = {
    "B": np.arange(3600.0, 3680.0, 0.8),
    "R": np.arange(3672.0, 3760.0, 0.8),
    "Z": np.arange(3744.0, 3800.0, 0.8),
}


def table(name: str, columns: dict[str, tuple[str, Any]]) -> fits.BinTableHDU:
    fields = [fits.Column(key, form, array=np.asarray(values)) for key, (form, values) in columns.items()]
    return fits.BinTableHDU.from_columns(fields, name=name)


def fibermap(**changes: Any) -> fits.BinTableHDU:
    """Return a fibre map of five rows: target, sky, stuck, target, target."""
    columns = {
        "TARGETID": ("K", TARGETS),
        "OBJTYPE": ("3A", ["TGT", "SKY", "", "TGT", "TGT"]),
        "TARGET_RA": ("D", np.arange(5.0)),
        "TARGET_DEC": ("D", -np.arange(5.0)),
        "REF_CAT": ("2A", ["G2", "", "", "", "L3"]),
        "REF_ID": ("K", [3131330365573443072, 0, 0, 0, 12]),
        "MEAN_MJD": ("D", np.full(5, 59324.247)),
    } | changes
    return table("FIBERMAP", {key: value for key, value in columns.items() if value is not None})


def arrays(seed: int = 1) -> dict[str, dict[str, np.ndarray]]:
    """Return wavelength, flux, ivar and mask of each arm; row 3 has no light."""
    rng = np.random.default_rng(seed)
    found = {}
    for arm, wavelength in ARMS.items():
        shape = (5, wavelength.size)
        mask = (rng.random(shape) < 0.1).astype(np.int32)
        ivar = rng.uniform(0.5, 2.0, shape).astype(np.float32)
        ivar[3] = 0.0
        flux = rng.normal(10.0, 1.0, shape).astype(np.float32)
        found[arm] = {"WAVELENGTH": wavelength, "FLUX": flux, "IVAR": ivar, "MASK": mask}
    return found


def write(
    path: Path, parts: dict, fibres: fits.BinTableHDU | None = None, mask: str = "int", **header: Any
) -> Path:
    hdus: list[Any] = [fits.PrimaryHDU(header=fits.Header(header)), fibres or fibermap()]
    for arm, images in parts.items():
        for name, image in images.items():
            label = f"{arm}_{name}"
            if name != "MASK" or mask == "int":
                hdus.append(fits.ImageHDU(image, name=label))
            elif mask == "unsigned":
                hdus.append(fits.ImageHDU(image.astype(np.uint32), name=label))
            elif mask == "gzip":
                hdus.append(fits.CompImageHDU(image.astype(np.uint32), name=label, compression_type="GZIP_1"))
        hdus.append(
            fits.ImageHDU(np.zeros((5, 11, images["WAVELENGTH"].size), np.float32), name=f"{arm}_RESOLUTION")
        )
    fits.HDUList(hdus).writeto(path)
    return path


def labels(path: Path, hdu: str = "REDSHIFTS", targets: np.ndarray = TARGETS, **more: Any) -> Path:
    n = len(targets)
    columns = {
        "TARGETID": ("K", targets),
        "Z": ("D", np.arange(n) / 10),
        "ZWARN": ("K", np.arange(n)),
        "SPECTYPE": ("6A", ["STAR", "GALAXY", "GALAXY", "QSO", "STAR"][:n]),
        "SUBTYPE": ("20A", ["CV", "", "", "LOZ", "M"][:n]),
    }
    fits.HDUList([fits.PrimaryHDU(), table(hdu, columns | more)]).writeto(path)
    return path


def join_by_pixel(parts: dict, row: int) -> dict[float, tuple[float, float]]:
    """Return flux and ivar at each wavelength the slow way: one pixel after another."""
    sums: dict[float, list[float]] = {}
    for images in parts.values():
        mask = images.get("MASK", np.zeros_like(images["IVAR"]))
        for wavelength, flux, ivar, bad in zip(
            images["WAVELENGTH"], images["FLUX"][row], images["IVAR"][row], mask[row], strict=True
        ):
            weight = 0.0 if bad or not np.isfinite(flux) else float(ivar)
            cell = sums.setdefault(round(float(wavelength), 2), [0.0, 0.0])
            cell[0] += weight * (float(flux) if weight else 0.0)
            cell[1] += weight
    return {key: (total / weight if weight else 0.0, weight) for key, (total, weight) in sums.items()}


def check_join(spectrum: Spectrum, parts: dict, row: int) -> None:
    expected = join_by_pixel(parts, row)
    assert spectrum.wavelength_AA.round(2).tolist() == sorted(expected)
    flux, ivar = np.array([expected[key] for key in sorted(expected)]).T
    assert np.array_equal(spectrum.good, ivar > 0)
    assert np.allclose(spectrum.flux[spectrum.good], flux[ivar > 0], rtol=1e-12)
    assert np.allclose(spectrum.ivar, ivar, rtol=1e-12)


@pytest.mark.parametrize("mask", ["int", "unsigned", "gzip", "none"])
def test_arms_are_joined_as_pixel_by_pixel(tmp_path: Path, mask: str) -> None:
    parts = arrays()
    reading = read_spectra(write(tmp_path / "coadd-a.fits", parts, mask=mask))
    assert reading.format == "desi-spectra"
    assert reading.rows == (0, 4)
    if mask == "none":
        parts = {
            arm: {key: image for key, image in images.items() if key != "MASK"}
            for arm, images in parts.items()
        }
    for row, spectrum in zip(reading.rows, reading.spectra, strict=True):
        check_join(spectrum, parts, row)


def test_rows_without_an_object_or_light_are_skipped_with_the_reason(tmp_path: Path) -> None:
    reading = read_spectra(write(tmp_path / "coadd-a.fits", arrays()))
    assert [(item.row, item.name) for item in reading.skipped] == [
        (row, str(TARGETS[row])) for row in (1, 2, 3)
    ]
    assert [item.reason for item in reading.skipped] == [
        "not a target fibre (OBJTYPE SKY)",
        "no target on this fibre (TARGETID below 0: stuck or sky)",
        "no pixel with information",
    ]
    with pytest.raises(UserError, match="no usable spectrum in that row") as caught:
        read_spectrum(tmp_path / "coadd-a.fits", row=1)
    assert "SKY" in caught.value.got


def test_who_a_target_is(tmp_path: Path) -> None:
    header = {"SURVEY": "main", "PROGRAM": "dark", "DEPNAM00": "numpy", "DEPVER00": "1.2"}
    header |= {"DEPNAM01": "SPECPROD", "DEPVER01": "iron"}
    first, last = read_spectra(write(tmp_path / "coadd-a.fits", arrays(), **header)).spectra
    assert (first.survey, first.release, first.survey_id) == ("desi", "iron-main-dark", str(TARGETS[0]))
    assert (first.name, last.name) == ("coadd-a.fits[0]", "coadd-a.fits[4]")
    assert (last.ra_deg, last.dec_deg, last.mjd) == (4.0, -4.0, 59324)
    assert (first.gaia_id, last.gaia_id) == (3131330365573443072, None)
    assert first.claims == Claims()


@pytest.mark.parametrize("kind", ["redrock", "zbest"])
@pytest.mark.parametrize("ending", [".fits", ".fits.gz"])
@pytest.mark.parametrize("spectra", ["coadd-main-dark-9.fits", "spectra-main-dark-9.fits.gz"])
def test_labels_come_from_the_table_beside_the_file(
    tmp_path: Path, spectra: str, kind: str, ending: str
) -> None:
    path = write(tmp_path / spectra, arrays())
    shuffled = TARGETS[[4, 0, 1]]
    labels(tmp_path / f"{kind}-main-dark-9{ending}", "ZBEST" if kind == "zbest" else "REDSHIFTS", shuffled)
    labels(tmp_path / f"{kind}-main-dark-10.fits")
    first, last = read_spectra(path).spectra
    assert last.claims == Claims("STAR", "CV", 0.0, 0)
    assert first.claims == Claims("GALAXY", None, 0.1, 1)


def test_a_target_without_a_row_of_labels_has_none(tmp_path: Path) -> None:
    labels(tmp_path / "redrock-a.fits", targets=TARGETS[:2])
    first, last = read_spectra(write(tmp_path / "coadd-a.fits", arrays())).spectra
    assert first.claims.object_class == "STAR"
    assert last.claims == Claims()


def test_a_broken_table_of_labels_is_told_not_ignored(tmp_path: Path) -> None:
    path = write(tmp_path / "coadd-a.fits", arrays())
    (tmp_path / "redrock-a.fits").write_bytes(path.read_bytes())
    with pytest.raises(UserError, match="not a redshift table") as caught:
        read_spectra(path)
    assert "redrock-a.fits" in caught.value.where
    (tmp_path / "redrock-a.fits").write_bytes(path.read_bytes()[:5000])
    with pytest.raises(UserError, match="truncated"):
        read_spectra(path)


@pytest.mark.parametrize("name", ["redrock-a.fits", "zbest-a.fits", "anything.fits"])
def test_a_table_of_labels_says_which_file_to_open(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="no spectra") as caught:
        read_spectra(labels(tmp_path / name))
    assert "coadd-" in caught.value.fix


@given(seed=st.integers(0, 2**32 - 1), data=st.data())
@settings(max_examples=30)
def test_joining_agrees_with_the_slow_way_whatever_is_masked_or_missing(
    seed: int, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    parts = arrays(seed)
    kept = data.draw(st.sets(st.sampled_from("BRZ"), min_size=1))
    parts = {arm: parts[arm] for arm in "BRZ" if arm in kept}
    for images in parts.values():
        for _ in range(data.draw(st.integers(0, 6))):
            pixel = data.draw(st.integers(0, images["WAVELENGTH"].size - 1))
            images[data.draw(st.sampled_from(["FLUX", "IVAR"]))][0, pixel] = data.draw(
                st.sampled_from([0.0, np.nan])
            )
        images["IVAR"][~np.isfinite(images["IVAR"])] = 0.0
    path = tmp_path_factory.mktemp("desi") / "coadd-a.fits"
    check_join(read_spectra(write(path, parts)).spectra[0], parts, 0)


def test_wavelengths_are_shared_by_the_spectra_of_a_file(tmp_path: Path) -> None:
    first, last = read_spectra(write(tmp_path / "coadd-a.fits", arrays())).spectra
    assert first.wavelength_AA is last.wavelength_AA
    with pytest.raises(ValueError, match="read-only"):
        first.wavelength_AA[0] = 1.0


def broken(what: str) -> tuple[dict, fits.BinTableHDU | None]:
    parts = arrays()
    if what == "grid":
        parts["R"]["WAVELENGTH"] = parts["R"]["WAVELENGTH"] + 0.3
    elif what == "order":
        parts["R"]["WAVELENGTH"] = parts["R"]["WAVELENGTH"][::-1]
    elif what == "ivar":
        del parts["Z"]["IVAR"]
    elif what == "shape":
        parts["B"]["IVAR"] = parts["B"]["IVAR"][:, :-1]
    elif what == "whole":
        parts["B"]["FLUX"] = parts["B"]["FLUX"].astype(np.int32)
    fibres = {
        "rows": table("FIBERMAP", {"TARGETID": ("K", TARGETS[:3])}),
        "ids": fibermap(TARGETID=("D", TARGETS)),
        "noids": fibermap(TARGETID=None),
    }
    return parts, fibres.get(what)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("grid", "do not lie on one grid"),
        ("order", "do not increase"),
        ("ivar", "an HDU is missing"),
        ("shape", "arrays of arm B do not fit"),
        ("whole", "not of real numbers"),
        ("rows", "fibre map does not fit"),
        ("ids", "fibre map does not fit"),
        ("noids", "fibre map does not fit"),
    ],
)
def test_files_whose_parts_do_not_fit_are_refused(tmp_path: Path, what: str, message: str) -> None:
    parts, fibres = broken(what)
    with pytest.raises(UserError, match=message):
        read_spectra(write(tmp_path / "coadd-a.fits", parts, fibres))


def test_a_file_of_sky_fibres_alone_holds_no_spectrum(tmp_path: Path) -> None:
    fibres = fibermap(OBJTYPE=("3A", ["SKY"] * 5))
    with pytest.raises(UserError, match="no usable spectrum in the file"):
        read_spectra(write(tmp_path / "coadd-a.fits", arrays(), fibres))


def real_arms(path: Path) -> dict[str, dict[str, np.ndarray]]:
    """Return the arms of a real file as astropy gives them."""
    content = path.read_bytes()
    content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    with fits.open(io.BytesIO(content)) as hdus:
        return {
            arm: {
                part: np.array(hdus[f"{arm}_{part}"].data) for part in ("WAVELENGTH", "FLUX", "IVAR", "MASK")
            }
            for arm in "BRZ"
        }


@pytest.mark.parametrize(
    ("name", "usable", "skipped"),
    [
        ("coadd-special-dark-27247.fits", [0], 0),
        ("coadd-5-169-thru20210419.fits.gz", [4], 4),
        ("spectra-sv3-dark-26065.fits.gz", [2], 4),
    ],
)
def test_real_coadds_and_spectra(described: dict, name: str, usable: list[int], skipped: int) -> None:
    item = described[f"desi/coadd/{name}"]
    reading = read_spectra(item.path)
    assert list(reading.rows) == usable
    assert len(reading.skipped) == skipped
    assert len(usable) + skipped == item.spectra
    parts = real_arms(item.path)
    assert sum(images["WAVELENGTH"].size for images in parts.values()) == item.pixels
    for row, spectrum in zip(reading.rows, reading.spectra, strict=True):
        assert spectrum.wavelength_AA.size == 7781
        assert (round(spectrum.wavelength_AA[0]), round(spectrum.wavelength_AA[-1])) == item.range_AA
        check_join(spectrum, parts, row)
        # SOURCES.md took the median over the pixels of all arms, overlaps counted twice.
        flux, ivar = (
            np.concatenate([images[key][row] for images in parts.values()]) for key in ("FLUX", "IVAR")
        )
        stored = float(np.median((flux * np.sqrt(ivar))[ivar > 0]))
        assert stored == pytest.approx(item.median_snr[row], abs=0.051)
        assert spectrum.snr == pytest.approx(stored, abs=0.05)


def test_a_real_coadd_takes_its_label_from_redrock_beside_it(described: dict) -> None:
    claims = read_spectrum(described["desi/coadd/coadd-special-dark-27247.fits"].path).claims
    assert claims == Claims("GALAXY", None, pytest.approx(0.00727, abs=1e-5), 0)


def teaching(path: Path, wave: str = "WAVELENGTH", order: slice = slice(None)) -> Path:
    wavelength = np.sort(np.concatenate([ARMS["B"], ARMS["R"] + 5e-10]))[order]
    columns = {
        wave: ("D", wavelength),
        "TARGET11": ("D", wavelength * 2),
        "TARGET12": ("D", np.zeros(wavelength.size)),
    }
    fits.HDUList([fits.PrimaryHDU(), table("", columns)]).writeto(path)
    return path


@pytest.mark.parametrize("wave", ["WAVELENGTH", "WAVE", "wavelength"])
@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)], ids=["up", "down"])
def test_a_teaching_table_has_one_pixel_where_arms_overlap_and_no_errors(
    tmp_path: Path, wave: str, order: slice
) -> None:
    positions = {"TARGET_RA": ("D", [7.5]), "TARGET_DEC": ("D", [-1.5])}
    labels(tmp_path / "zbest-a.fits", "ZBEST", np.array([11]), **positions)
    reading = read_spectra(teaching(tmp_path / "coadd-a.fits", wave, order))
    (spectrum,) = reading.spectra
    assert reading.format == "desi-table"
    assert [(item.row, item.name) for item in reading.skipped] == [(1, "12")]
    assert spectrum.wavelength_AA.round(2).tolist() == sorted({*ARMS["B"].round(2), *ARMS["R"].round(2)})
    assert np.allclose(spectrum.flux, spectrum.wavelength_AA * 2)
    assert not spectrum.has_errors
    assert spectrum.survey_id == "11"
    assert spectrum.claims == Claims("STAR", "CV", 0.0, 0)
    assert (spectrum.ra_deg, spectrum.dec_deg) == (7.5, -1.5)


@pytest.mark.parametrize("name", ["bgs", "elg", "qso", "mws"])
def test_real_teaching_tables(described: dict, name: str) -> None:
    key = next(key for key in described if f"desihigh/coadd-{name}" in key and not key.endswith("-wd.fits"))
    item = described[key]
    reading = read_spectra(item.path)
    assert len(reading.spectra) == item.spectra
    with (
        fits.open(item.path) as hdus,
        fits.open(item.path.with_name(item.path.name.replace("coadd", "zbest"))) as zbest,
    ):
        stored, rows = hdus[1].data, {int(row["TARGETID"]): row for row in zbest[1].data}
        assert len(stored) == item.pixels
        for spectrum, column in zip(reading.spectra, stored.names[1:], strict=True):
            assert spectrum.survey_id == column.removeprefix("TARGET")
            # Every stored value is a pixel, or the mean of two with the same wavelength.
            pixel = np.searchsorted(spectrum.wavelength_AA, stored["WAVELENGTH"] - 0.01)
            sums = np.bincount(pixel, stored[column])
            assert np.allclose(spectrum.flux, sums / np.bincount(pixel))
            assert spectrum.wavelength_AA.size == 7781
            row = rows[int(spectrum.survey_id)]
            assert spectrum.claims.redshift == row["Z"]
            assert spectrum.claims.object_class == row["SPECTYPE"].strip()
            assert spectrum.claims.subclass == (row["SUBTYPE"].strip() or None)
            assert spectrum.ra_deg == row["TARGET_RA"]


def test_the_real_white_dwarf_is_labelled_so(described: dict, tmp_path: Path) -> None:
    path = described["desi/desihigh/coadd-mws-66003-20200315-wd.fits"].path
    assert read_spectrum(path).claims.subclass == "WD"
    alone = shutil.copy(path, tmp_path / path.name)
    assert read_spectrum(alone).claims == Claims()


def test_stacks_are_read_on_their_own_wavelengths(tmp_path: Path) -> None:
    flux = np.ones((2, 50), np.float32)
    ivar = np.array([np.full(50, 4.0), np.zeros(50)], np.float32)
    info = table("STACKINFO", {"STACKID": ("J", [7, 8]), "Z": ("D", [0.25, 0.0])})
    hdus = [
        fits.PrimaryHDU(),
        fits.ImageHDU(flux, name="FLUX"),
        fits.ImageHDU(ivar, name="IVAR"),
        fits.ImageHDU(np.arange(3000.0, 3050.0), name="WAVE"),
        info,
    ]
    fits.HDUList(hdus).writeto(tmp_path / "stack.fits")
    reading = read_spectra(tmp_path / "stack.fits")
    assert reading.format == "desi-stack"
    assert (reading.spectra[0].survey_id, reading.spectra[0].snr) == ("stack-7", 2.0)
    assert reading.spectra[0].claims == Claims(redshift=0.25)
    assert [(item.row, item.name) for item in reading.skipped] == [(1, "8")]


def test_the_real_stack(described: dict) -> None:
    item = described["desi/coadd/stack-LRG.fits"]
    spectrum = read_spectrum(item.path)
    assert spectrum.wavelength_AA.size == item.pixels
    assert (round(spectrum.wavelength_AA[0]), round(spectrum.wavelength_AA[-1])) == item.range_AA
    assert spectrum.snr == pytest.approx(item.median_snr[0], abs=0.051)
    assert spectrum.claims == Claims(redshift=0.0)


def test_stacks_whose_parts_do_not_fit_are_refused(tmp_path: Path) -> None:
    hdus = [
        fits.PrimaryHDU(),
        *(fits.ImageHDU(np.ones((2, 50), np.float32), name=name) for name in ("FLUX", "IVAR")),
    ]
    hdus += [fits.ImageHDU(np.arange(49.0), name="WAVE"), table("STACKINFO", {"STACKID": ("J", [7, 8])})]
    fits.HDUList(hdus).writeto(tmp_path / "stack.fits")
    with pytest.raises(UserError, match="do not fit"):
        read_spectra(tmp_path / "stack.fits")
