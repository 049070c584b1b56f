"""SDSS files: every real one against its description, and every variant written here."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

from specvi_benchmark.errors import UserError
from specvi_benchmark.surveys import read_spectra, read_spectrum

SPEC_FOLDERS = ("sdss/spec_full/", "sdss/spec_lite/", "sdss/eboss_lite/")
ODD_SPEC = "sdss/odd/spec-5400-56308-0220.fits"
N = 300
LOGLAM = 3.58 + 1e-4 * np.arange(N)
TELESCOPE = {"TELESCOP": "SDSS 2.5-M", "VACUUM": True}


def table(name: str, columns: dict[str, tuple[str, Any]]) -> fits.BinTableHDU:
    fields = [fits.Column(key, form, array=np.asarray(values)) for key, (form, values) in columns.items()]
    return fits.BinTableHDU.from_columns(fields, name=name)


def coadd(*, upper: bool = False, mask: np.ndarray | None = None, name: str = "COADD") -> fits.BinTableHDU:
    ivar = np.full(N, 4.0)
    ivar[:10] = 0.0
    columns = {
        "flux": ("E", 10.0 + np.arange(N) % 5),
        "loglam": ("E", LOGLAM),
        "ivar": ("E", ivar),
        "and_mask": ("J", np.zeros(N, int) if mask is None else mask),
        "or_mask": ("J", np.full(N, 1 << 24)),
        "wdisp": ("E", np.ones(N)),
        "sky": ("E", np.ones(N)),
        "model": ("E", np.ones(N)),
    }
    return table(name, {key.upper() if upper else key: value for key, value in columns.items()})


def catalogue(name: str, **changes: Any) -> fits.BinTableHDU:
    """Return a catalogue row; None removes a column, a tuple is format and value."""
    cells = {
        "PLATE": ("J", 266),
        "MJD": ("J", 51602),
        "FIBERID": ("J", 31),
        "RUN2D": ("7A", "v5_10_0"),
        "OBJTYPE": ("16A", "QSO"),
        "PLUG_RA": ("D", 147.32107),
        "PLUG_DEC": ("D", -0.5),
        "CLASS": ("6A", "STAR"),
        "SUBCLASS": ("21A", "WD"),
        "Z": ("E", -3.5e-5),
        "ZWARNING": ("J", 4),
        "SN_MEDIAN": ("5E", [1.0, 2.0, 3.0, 4.0, 5.0]),
        "SN_MEDIAN_ALL": ("E", 2.5),
    } | changes
    return table(name, {key: (cell[0], [cell[1]]) for key, cell in cells.items() if cell is not None})


def write(path: Path, *hdus: Any, **header: Any) -> Path:
    primary = fits.PrimaryHDU(header=fits.Header(TELESCOPE | header))
    fits.HDUList([primary, *hdus]).writeto(path)
    return path


def test_every_real_spec_file_has_the_described_pixels_range_and_signal_to_noise(described: dict) -> None:
    files = {n: item for n, item in described.items() if n.startswith(SPEC_FOLDERS) or n == ODD_SPEC}
    assert len(files) == 26
    for name, item in files.items():
        spectrum = read_spectrum(item.path)
        assert spectrum.format == "sdss-spec"
        assert spectrum.wavelength_AA.size == item.pixels, name
        assert (round(spectrum.wavelength_AA[0]), round(spectrum.wavelength_AA[-1])) == item.range_AA, name
        assert spectrum.snr == pytest.approx(item.median_snr[0], abs=0.051), name
        claimed = float(re.match(r"SN_MEDIAN_ALL=([\d.]+)", item.snr)[1])
        assert spectrum.header_snr["median"] == pytest.approx(claimed, abs=0.0051), name
        plate, mjd, fibre = map(int, spectrum.survey_id.split("-"))
        stem = re.fullmatch(r"spec-(\d+)-(\d+)-(\d+)", item.path.stem)
        assert stem is None or (plate, mjd, fibre) == tuple(map(int, stem.groups())), name
        assert spectrum.mjd == mjd


def test_every_real_spec_file_claims_what_its_catalogue_row_says(described: dict) -> None:
    compared = 0
    for name, item in described.items():
        label = re.search(r"CLASS=(\S+) SUBCLASS=(.*?) Z=(\S+) ZWARNING=(\d+)", item.label)
        if label is None:
            continue
        claims = read_spectrum(item.path).claims
        assert claims.object_class == label[1], name
        assert claims.subclass == (None if label[2] == "''" else label[2]), name
        assert claims.redshift == pytest.approx(float(label[3]), abs=6e-6), name
        assert claims.redshift_warning == int(label[4]), name
        compared += 1
    assert compared == 25


@pytest.mark.parametrize("catalogue_name", ["SPECOBJ", "SPALL"])
@pytest.mark.parametrize("full", [False, True])
def test_full_and_lite_files_of_sdss_and_boss_are_read_as_written(
    tmp_path: Path, catalogue_name: str, full: bool
) -> None:
    lines = table("SPZLINE", {"LINENAME": ("13A", ["H_alpha"] * 3), "LINEZ": ("E", [0.1] * 3)})
    exposures = [coadd(name=f"B1-0{number}") for number in range(3)] if full else []
    spectrum = read_spectrum(
        write(tmp_path / "a.fits", coadd(), catalogue(catalogue_name), lines, *exposures)
    )
    assert spectrum.format == "sdss-spec"
    assert np.array_equal(spectrum.flux, 10.0 + np.arange(N) % 5)
    assert np.allclose(spectrum.wavelength_AA, 10**LOGLAM, rtol=1e-6)
    assert np.array_equal(np.flatnonzero(spectrum.mask), np.arange(10))
    assert spectrum.survey_id == "266-51602-31"
    assert (spectrum.survey, spectrum.release, spectrum.mjd) == ("sdss", "v5_10_0", 51602)
    assert (spectrum.ra_deg, spectrum.dec_deg, spectrum.gaia_id) == (147.32107, -0.5, None)
    assert (spectrum.claims.object_class, spectrum.claims.subclass) == ("STAR", "WD")
    assert spectrum.claims.redshift == pytest.approx(-3.5e-5, rel=1e-6)
    assert spectrum.claims.redshift_warning == 4
    assert dict(spectrum.header_snr) == {"median": 2.5, "u": 1.0, "g": 2.0, "r": 3.0, "i": 4.0, "z": 5.0}


@pytest.mark.parametrize(
    ("bit", "bad"),
    [(18, True), (22, True), (24, True), (0, False), (16, False), (19, False), (23, False), (27, False)],
)
def test_only_mask_bits_that_leave_nothing_are_bad(tmp_path: Path, bit: int, bad: bool) -> None:
    mask = np.zeros(N, int)
    mask[100] = 1 << bit
    spectrum = read_spectrum(write(tmp_path / "a.fits", coadd(mask=mask), catalogue("SPALL")))
    assert spectrum.mask[100] == bad
    assert not spectrum.mask[101]


def test_names_of_hdus_are_not_needed(tmp_path: Path) -> None:
    spectrum = read_spectrum(write(tmp_path / "a.fits", coadd(name=""), catalogue("")))
    assert spectrum.claims.subclass == "WD"


def test_without_a_catalogue_row_the_header_says_who_it_is(tmp_path: Path) -> None:
    header = {
        "PLATEID": 4055,
        "MJD": 55359,
        "FIBERID": 6,
        "PLUG_RA": 237.8,
        "PLUG_DEC": 2.1,
        "RUN2D": "v5_13_2",
    }
    spectrum = read_spectrum(write(tmp_path / "a.fits", coadd(), **header))
    assert spectrum.survey_id == "4055-55359-6"
    assert (spectrum.ra_deg, spectrum.dec_deg, spectrum.release) == (237.8, 2.1, "v5_13_2")
    assert spectrum.claims.object_class is None


@pytest.mark.parametrize("catalogid", [("K", 27021603187129892), ("19A", "27021603187129892")])
@pytest.mark.parametrize("position", ["RACAT", "PLUG_RA"])
def test_an_sdss_v_file_is_named_by_field_mjd_and_catalogid(
    tmp_path: Path, catalogid: tuple, position: str
) -> None:
    dec = "DECCAT" if position == "RACAT" else "PLUG_DEC"
    row = {"PLATE": None, "FIBERID": None, "PLUG_RA": None, "PLUG_DEC": None, "RUN2D": ("6A", "v6_1_3")}
    row |= {"FIELD": ("J", 15000), "CATALOGID": catalogid, "SDSS_ID": ("K", 54392544), "MJD": ("J", 59146)}
    row |= {"GAIA_ID": ("K", 3131330365573443072), position: ("D", 35.1), dec: ("D", -4.2)}
    several = {"CLASS": ("6A", ["STAR", "QSO"]), "Z": ("E", [0.0, 1.0]), "FIBERID": ("J", [1, 1])}
    hdus = [
        coadd(upper=True),
        catalogue("SPALL", **row),
        table("ZALL", several),
        coadd(upper=True, name="MJD_EXP_1"),
    ]
    spectrum = read_spectrum(write(tmp_path / "spec-015000-59146-27021603187129892.fits", *hdus))
    assert spectrum.format == "sdss-spec"
    assert spectrum.survey_id == "15000-59146-27021603187129892"
    assert spectrum.gaia_id == 3131330365573443072
    assert (spectrum.ra_deg, spectrum.dec_deg) == (35.1, -4.2)
    assert (spectrum.release, spectrum.mjd) == ("v6_1_3", 59146)
    assert spectrum.claims.subclass == "WD"


def test_the_photometric_field_of_eboss_is_no_part_of_the_name(tmp_path: Path) -> None:
    spectrum = read_spectrum(write(tmp_path / "a.fits", coadd(), catalogue("SPALL", FIELD=("J", 163))))
    assert spectrum.survey_id == "266-51602-31"


@pytest.mark.parametrize("column", ["OBJTYPE", "TARGETTYPE"])
def test_a_sky_fibre_is_no_object(tmp_path: Path, column: str) -> None:
    path = write(
        tmp_path / "a.fits", coadd(), catalogue("SPALL", **{"OBJTYPE": None, column: ("16A", "SKY")})
    )
    with pytest.raises(UserError, match="sky fibre"):
        read_spectra(path)


def test_a_grid_that_cannot_be_true_is_refused(tmp_path: Path) -> None:
    broken = coadd()
    broken.data["loglam"][-1] = 300.0
    with pytest.raises(UserError, match="no wavelength grid"):
        read_spectra(write(tmp_path / "a.fits", broken, catalogue("SPALL")))


def spspec_rows() -> np.ndarray:
    flux = 10.0 + np.arange(N) % 5
    error = np.full(N, 0.5)
    error[:5] = 0.0
    mask = np.zeros(N)
    mask[:5], mask[50], mask[60] = 1 << 24, 1 << 30, 1 << 18
    return np.vstack([flux, flux - 12.0, error, mask, np.ones(N)]).astype(np.float32)


def spspec_header(**changes: Any) -> fits.Header:
    cards = TELESCOPE | {
        "PLATEID": 542,
        "MJD": 51993,
        "FIBERID": 631,
        "VERS2D": "v5_3_12",
        "SPEC_CLN": 3,
        "Z": 2.2319,
        "ARRAY1": "SPECTRUM",
        "ARRAY2": "CONTINUUM-SUBTRACTED SPECTRUM",
        "ARRAY3": "ERROR",
        "ARRAY4": "MASK",
        "RA": 116.35858,
        "DEC": 34.985486,
        "RAOBJ": 117.99709,
        "DECOBJ": 35.560681,
        "Z_WARNIN": 0,
        "COEFF0": 3.58,
        "COEFF1": 1e-4,
        "CRVAL1": 3.58,
        "CD1_1": 1e-4,
        "CRPIX1": 1,
        "DC-FLAG": 1,
        "SN_G": 20.8,
    }
    return fits.Header({key: value for key, value in (cards | changes).items() if value is not None})


def test_the_real_spspec_file(described: dict) -> None:
    name = "sdss/spspec_dr7/spSpec-51993-0542-631.fit"
    item, spectrum = described[name], read_spectrum(described[name].path)
    assert spectrum.wavelength_AA.size == item.pixels
    assert (int(spectrum.wavelength_AA[0]), int(spectrum.wavelength_AA[-1])) == item.range_AA
    assert spectrum.snr == pytest.approx(item.median_snr[0], abs=0.051)
    assert spectrum.survey_id == "542-51993-631"
    assert (spectrum.claims.object_class, spectrum.claims.redshift) == ("QSO", 2.2319)
    # The object's place, not the plate's centre (116.36, 34.99), 1.4 degrees away.
    assert (spectrum.ra_deg, spectrum.dec_deg) == (117.99709, 35.560681)
    # The pipeline's AND mask stands again in the last table: where it has no data, there is none here.
    with fits.open(item.path) as hdus:
        no_data = (hdus[6].data["andMask"] & (1 << 24)) != 0
        error = hdus[0].data[2]
    assert np.array_equal(spectrum.mask, no_data | (error <= 0))


def test_spspec_rows_are_flux_error_and_mask(tmp_path: Path) -> None:
    path = tmp_path / "spSpec-51993-0542-631.fit"
    fits.PrimaryHDU(spspec_rows(), spspec_header()).writeto(path)
    spectrum = read_spectrum(path)
    assert spectrum.format == "sdss-spspec"
    assert np.array_equal(spectrum.flux, 10.0 + np.arange(N) % 5)
    assert spectrum.ivar[100] == 4.0
    # Bit 30 marks an emission line, which is no fault; bit 18 is FULLREJECT.
    assert np.flatnonzero(spectrum.mask).tolist() == [0, 1, 2, 3, 4, 60]
    assert np.allclose(spectrum.wavelength_AA, 10**LOGLAM)


@pytest.mark.parametrize(
    ("code", "expected"),
    [(0, None), (1, "STAR"), (2, "GALAXY"), (3, "QSO"), (4, "QSO"), (6, "STAR"), (7, "GALAXY")],
)
def test_spectro1d_classes(tmp_path: Path, code: int, expected: str | None) -> None:
    fits.PrimaryHDU(spspec_rows(), spspec_header(SPEC_CLN=code)).writeto(tmp_path / "a.fit")
    assert read_spectrum(tmp_path / "a.fit").claims.object_class == expected


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"SPEC_CLN": 5}, "sky fibre"),
        ({"ARRAY3": "MASK"}, "not the rows"),
        ({"COEFF0": 3.6}, "two wavelength grids"),
        ({"VACUUM": False}, "in air"),
        ({"COEFF1": None}, "no wavelength grid"),
    ],
)
def test_spspec_files_that_contradict_themselves_are_refused(
    tmp_path: Path, changes: dict, message: str
) -> None:
    fits.PrimaryHDU(spspec_rows(), spspec_header(**changes)).writeto(tmp_path / "a.fit")
    with pytest.raises(UserError, match=message):
        read_spectra(tmp_path / "a.fit")


def test_the_real_file_that_iraf_moved_to_rest_is_moved_back(described: dict) -> None:
    item = described["sdss/spspec_dr7/cg922.fits"]
    spectrum = read_spectrum(item.path)
    assert spectrum.format == "sdss-resaved"
    assert not spectrum.has_errors
    assert spectrum.wavelength_AA.size == item.pixels
    assert np.allclose(spectrum.wavelength_AA[[0, -1]], item.range_AA, atol=1.0)
    # Emission lines of this galaxy stand at their vacuum wavelengths times 1 + z, to half a pixel;
    # on the grid of COEFF0 and COEFF1, which the file still names, [N II] would be 280 Å away.
    for rest_AA in (4862.68, 5008.24, 6564.61, 6585.27, 6718.29):
        expected = rest_AA * (1 + spectrum.claims.redshift)
        near = spectrum.window(expected - 8, expected + 8)
        peak = spectrum.wavelength_AA[near][np.argmax(spectrum.flux[near])]
        assert peak == pytest.approx(expected, abs=1.0), rest_AA


@pytest.mark.parametrize("redshift", [0.0, 0.0486])
@pytest.mark.parametrize("moved", [False, True])
def test_a_linear_grid_is_used_as_it_is_or_moved_back(tmp_path: Path, redshift: float, moved: bool) -> None:
    ends = 10 ** LOGLAM[[0, -1]] / (1 + redshift if moved else 1)
    step = (ends[1] - ends[0]) / (N - 1)
    header = spspec_header(**{"DC-FLAG": 0, "CRVAL1": ends[0], "CD1_1": step, "Z": redshift})
    fits.PrimaryHDU(np.ones(N, np.float32), header).writeto(tmp_path / "a.fits")
    spectrum = read_spectrum(tmp_path / "a.fits")
    assert np.allclose(spectrum.wavelength_AA, np.linspace(*10 ** LOGLAM[[0, -1]], N))


def test_one_line_on_the_old_grid_and_one_on_neither(tmp_path: Path) -> None:
    flux = np.ones(N, np.float32)
    fits.PrimaryHDU(flux, spspec_header()).writeto(tmp_path / "log.fits")
    assert np.allclose(read_spectrum(tmp_path / "log.fits").wavelength_AA, 10**LOGLAM)
    header = spspec_header(**{"DC-FLAG": 0, "CRVAL1": 3700.0, "CD1_1": 1.0, "Z": 0.0})
    fits.PrimaryHDU(flux, header).writeto(tmp_path / "neither.fits")
    with pytest.raises(UserError, match="two wavelength grids"):
        read_spectra(tmp_path / "neither.fits")


def linetools(path: Path, wave: np.ndarray, images: int = 4, **changes: Any) -> Path:
    error = np.full(N, 0.5)
    error[:5] = 0.0
    arrays = [10.0 + np.arange(N) % 5, error, wave, np.ones(N)][:images]
    header = fits.Header(
        TELESCOPE | {"COEFF0": 3.58, "COEFF1": 1e-4, "PLATEID": 5063, "MJD": 55831} | changes
    )
    fits.HDUList([fits.PrimaryHDU(arrays[0], header), *map(fits.ImageHDU, arrays[1:])]).writeto(path)
    return path


@pytest.mark.parametrize("images", [3, 4])
@pytest.mark.parametrize("wave", [LOGLAM, 10**LOGLAM], ids=["log", "linear"])
def test_a_file_of_linetools_holds_wavelengths_or_their_logarithm(
    tmp_path: Path, wave: np.ndarray, images: int
) -> None:
    spectrum = read_spectrum(linetools(tmp_path / "a.fits", wave, images))
    assert spectrum.format == "sdss-linetools"
    assert np.allclose(spectrum.wavelength_AA, 10**LOGLAM)
    assert spectrum.ivar[100] == 4.0
    assert np.flatnonzero(spectrum.mask).tolist() == [0, 1, 2, 3, 4]
    assert spectrum.ra_deg is None
    assert spectrum.mjd == 55831


@pytest.mark.parametrize(
    ("wave", "message"), [(LOGLAM + 0.01, "contradict"), (np.arange(N, dtype=float), "no wavelength grid")]
)
def test_a_file_of_linetools_with_another_grid_is_refused(
    tmp_path: Path, wave: np.ndarray, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        read_spectra(linetools(tmp_path / "a.fits", wave))


def test_the_real_file_of_linetools(described: dict) -> None:
    item = described["sdss/odd/SDSSJ220248.31+123656.3.fits"]
    spectrum = read_spectrum(item.path)
    assert spectrum.wavelength_AA.size == item.pixels
    assert (round(spectrum.wavelength_AA[0]), round(spectrum.wavelength_AA[-1])) == item.range_AA
    with fits.open(item.path) as hdus:
        flux, error = hdus[0].data.astype(float), hdus[1].data.astype(float)
    assert np.array_equal(spectrum.good, error > 0)
    assert spectrum.snr == pytest.approx(np.median(flux[error > 0] / error[error > 0]))


def image(name: str, *shape: int) -> fits.ImageHDU:
    return fits.ImageHDU(np.ones(shape, np.float32), name=name)


def eigen(path: Path) -> None:
    header = fits.Header({"OBJECT": "STAR", "COEFF0": 3.58, "COEFF1": 1e-4, "NAME0": "A", "NAME1": "CV"})
    fits.PrimaryHDU(np.ones((2, N), np.float32), header).writeto(path)


def redrock_template(path: Path) -> None:
    cards = {"CRVAL1": 3.48, "CDELT1": 1e-4, "LOGLAM": 1, "RRTYPE": "STAR", "EXTNAME": "BASIS_VECTORS"}
    fits.PrimaryHDU(np.ones((1, N), np.float32), fits.Header(cards)).writeto(path)


def plate(path: Path) -> None:
    header = fits.Header(TELESCOPE | {"COEFF0": 3.58, "COEFF1": 1e-4, "PLATEID": 4055})
    fits.PrimaryHDU(np.ones((20, N), np.float32), header).writeto(path)


def manga(path: Path) -> None:
    hdus = [image("WAVE", N), *(image(name, 8, N) for name in ("FLUX", "IVAR", "MASK", "SRES"))]
    fits.HDUList([fits.PrimaryHDU(), *hdus]).writeto(path)


def mwm(path: Path) -> None:
    write(path, table("BOSS/APO", {"flux": (f"{N}E", [np.ones(N)])}), V_ASTRA="0.6.0", SDSS_ID=54392544)


@pytest.mark.parametrize(
    ("writer", "what", "tool"),
    [
        (plate, "whole plate", "astroquery.sdss"),
        (manga, "one galaxy", "Marvin"),
        (mwm, "moved to rest", "spec-FIELD-MJD-CATALOGID"),
        (eigen, "templates", "COEFF0"),
        (redrock_template, "templates", "redrock.templates"),
    ],
)
def test_what_is_no_single_spectrum_is_refused_with_what_to_do(
    tmp_path: Path, writer: Any, what: str, tool: str
) -> None:
    writer(tmp_path / "a.fits")
    with pytest.raises(UserError, match=what) as caught:
        read_spectra(tmp_path / "a.fits")
    assert tool in caught.value.fix


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("sdss/odd/spPlate-4055-55359-0020.fits", "whole plate"),
        ("sdss/manga/MaNGA_test_spectra.fits.gz", "one galaxy"),
        ("templates/sdss_pipeline/spEigenStar-51845.fits", "templates"),
        ("templates/sdss_pipeline/spEigenCVstar-53724.fits", "templates"),
        ("templates/redrock/rrtemplate-star-CV.fits", "templates"),
    ],
)
def test_the_real_ones_are_refused_too(described: dict, name: str, what: str) -> None:
    with pytest.raises(UserError, match=what):
        read_spectra(described[name].path)
