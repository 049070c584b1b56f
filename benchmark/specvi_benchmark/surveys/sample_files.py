"""Small files in the layouts of the surveys, with made-up light: to measure readers, and to try them.

They are laid out as the surveys' own files are (headers cut to the keywords that matter), and are no
observations. `specvi bench read` and the tests write them.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from astropy.io import fits
from numpy.typing import NDArray

LAMOST_PIXELS = 3909
LAMOST_HEADER = {
    "OBSID": 101001,
    "AUTHOR": "LAMOST Pipeline",
    "DATA_V": "LAMOST DR8",
    "EXTEN0": "Flux, Inverse, Wavelength, Andmask, Ormask",
    "ORIGIN": "NAOC-LAMOST",
    "TELESCOP": "LAMOST",
    "LMJD": 55859,
    "PLANID": "F5902",
    "SPID": 1,
    "FIBERID": 1,
    "RA": 332.202274,
    "DEC": -2.056767,
    "FIBERTYP": "Obj",
    "VACUUM": True,
    "COEFF0": 3.5682,
    "COEFF1": 0.0001,
    "CRVAL1": 3.5682,
    "CD1_1": 0.0001,
    "DC-FLAG": 1,
    "CLASS": "STAR",
    "SUBCLASS": "G7",
    "Z": -0.0001387,
    "SNRU": 0.7,
    "SNRG": 12.22,
    "SNRR": 27.16,
    "SNRI": -9999.0,
    "SNRZ": 21.07,
}
SDSS_PIXELS = 4606
DESI_ARMS_AA = {"B": (3600.0, 5800.0), "R": (5760.0, 7620.0), "Z": (7520.0, 9824.0)}
DESI_STEP_AA = 0.8

Floats = NDArray[np.float64]


def light(shape: tuple[int, ...], seed: int = 0) -> tuple[Floats, Floats]:
    """Return flux with noise about a slope, and its ivar, in which the first 50 pixels are unknown."""
    rng = np.random.default_rng(seed)
    ivar = rng.uniform(1.0, 9.0, shape)
    flux = np.linspace(20.0, 10.0, shape[-1]) + rng.standard_normal(shape) / np.sqrt(ivar)
    ivar[..., :50] = 0.0
    return flux, ivar


def lamost_array(path: Path, seed: int = 0) -> None:
    """Write an old-layout LAMOST file: five rows in the primary array."""
    flux, ivar = light((LAMOST_PIXELS,), seed)
    wavelength = 10 ** (3.5682 + 0.0001 * np.arange(LAMOST_PIXELS))
    masks = np.zeros((2, LAMOST_PIXELS))
    masks[:, :50] = 1.0
    rows = np.vstack([flux, ivar, wavelength, masks]).astype(np.float32)
    fits.PrimaryHDU(rows, fits.Header(LAMOST_HEADER)).writeto(path)


def lamost_coadd(path: Path, seed: int = 0) -> None:
    """Write a new-layout LAMOST file: a COADD table of one row."""
    flux, ivar = light((LAMOST_PIXELS,), seed)
    columns = {
        "FLUX": flux,
        "IVAR": ivar,
        "WAVELENGTH": 10 ** (3.5682 + 0.0001 * np.arange(LAMOST_PIXELS)),
        "ANDMASK": np.arange(LAMOST_PIXELS) < 50,
        "ORMASK": np.arange(LAMOST_PIXELS) < 60,
        "NORMALIZATION": flux / 15.0,
    }
    table = fits.BinTableHDU.from_columns(
        [fits.Column(name, f"{LAMOST_PIXELS}E", array=[values]) for name, values in columns.items()],
        name="COADD",
    )
    header = fits.Header({**LAMOST_HEADER, "DATA_V": "LAMOST DR10"})
    fits.HDUList([fits.PrimaryHDU(header=header), table]).writeto(path)


def sdss_spec(path: Path, seed: int = 0) -> None:
    """Write an eBOSS spec-lite file: COADD, SPALL, SPZLINE."""
    flux, ivar = light((SDSS_PIXELS,), seed)
    mask = np.where(np.arange(SDSS_PIXELS) < 50, 1 << 24, 0)
    coadd = [
        *(("flux", "E", flux), ("loglam", "E", 3.5534 + 1e-4 * np.arange(SDSS_PIXELS)), ("ivar", "E", ivar)),
        *(
            ("and_mask", "J", mask),
            ("or_mask", "J", mask),
            ("wdisp", "E", flux),
            ("sky", "E", flux),
            ("model", "E", flux),
        ),
    ]
    row: list[tuple[str, str, Any]] = [
        *(("PLATE", "J", 10000), ("MJD", "J", 57346), ("FIBERID", "J", 2), ("RUN2D", "7A", "v5_10_0")),
        *(("OBJTYPE", "16A", "QSO"), ("PLUG_RA", "D", 31.282286), ("PLUG_DEC", "D", 29.815837)),
        *(("CLASS", "6A", "QSO"), ("SUBCLASS", "21A", ""), ("Z", "E", 0.64711), ("ZWARNING", "J", 0)),
        *(("SN_MEDIAN", "5E", [0.4, 2.3, 3.1, 4.0, 3.1]), ("SN_MEDIAN_ALL", "E", 2.82)),
        *((f"PHOTOMETRY{number}", "5E", np.zeros(5)) for number in range(100)),
    ]
    lines = [("LINENAME", "13A", ["H_alpha"] * 32), ("LINEWAVE", "D", np.linspace(1200.0, 6700.0, 32))]
    primary = {"TELESCOP": "SDSS 2.5-M", "PLATEID": 10000, "MJD": 57346, "FIBERID": 2, "VACUUM": True}
    hdus = [
        fits.PrimaryHDU(header=fits.Header(primary)),
        _table("COADD", coadd),
        _table("SPALL", [(name, code, [value]) for name, code, value in row]),
        _table("SPZLINE", lines),
    ]
    fits.HDUList(hdus).writeto(path)


def sdss_spspec(path: Path, seed: int = 0) -> None:
    """Write a DR7 spSpec file: five rows in the primary array, errors in the third."""
    flux, ivar = light((3853,), seed)
    error = np.divide(1.0, np.sqrt(ivar), out=np.zeros_like(ivar), where=ivar > 0)
    rows = np.vstack([flux, flux - 15.0, error, np.where(ivar > 0, 0, 1 << 24), flux]).astype(np.float32)
    header = {
        "TELESCOP": "SDSS 2.5-M",
        "PLATEID": 542,
        "MJD": 51993,
        "FIBERID": 631,
        "VERS2D": "v5_3_12",
        "ARRAY1": "SPECTRUM",
        "ARRAY2": "CONTINUUM-SUBTRACTED SPECTRUM",
        "ARRAY3": "ERROR",
        "ARRAY4": "MASK",
        "RAOBJ": 117.99709,
        "DECOBJ": 35.560681,
        "RA": 116.35858,
        "DEC": 34.985486,
        "VACUUM": True,
        "COEFF0": 3.5796,
        "COEFF1": 0.0001,
        "CRVAL1": 3.5796,
        "CD1_1": 0.0001,
        "DC-FLAG": 1,
        "SPEC_CLN": 3,
        "Z": 2.2319,
        "Z_WARNIN": 0,
        "SN_G": 20.8012,
        "SN_R": 26.235,
        "SN_I": 26.6243,
    }
    fits.PrimaryHDU(rows, fits.Header(header)).writeto(path)


def desi_spectra(path: Path, seed: int = 0, targets: int = 5) -> None:
    """Write a DESI coadd of ``targets`` rows, with the resolution matrices that make up most of a file."""
    ids = [
        ("TARGETID", "K", 39_633_300_968_442_591 + np.arange(targets)),
        ("OBJTYPE", "3A", ["TGT"] * targets),
    ]
    place = [("TARGET_RA", "D", np.full(targets, 215.5)), ("TARGET_DEC", "D", np.full(targets, 53.5))]
    hdus: list[Any] = [fits.PrimaryHDU(), _table("FIBERMAP", [*ids, *place])]
    for number, (arm, (first, last)) in enumerate(DESI_ARMS_AA.items()):
        wavelength = first + DESI_STEP_AA * np.arange(round((last - first) / DESI_STEP_AA) + 1)
        flux, ivar = light((targets, wavelength.size), seed + number)
        images = {
            "WAVELENGTH": wavelength,
            "FLUX": flux.astype(np.float32),
            "IVAR": ivar.astype(np.float32),
            "MASK": np.zeros(flux.shape, np.int32),
            "RESOLUTION": np.full((targets, 11, wavelength.size), 1 / 11, np.float32),
        }
        hdus += [fits.ImageHDU(image, name=f"{arm}_{part}") for part, image in images.items()]
    fits.HDUList(hdus).writeto(path)


def desi_table(path: Path, seed: int = 0) -> None:
    """Write a teaching table: wavelengths of three arms, and a column of flux for each of five targets."""
    arms = [
        first + DESI_STEP_AA * np.arange(round((last - first) / DESI_STEP_AA) + 1)
        for first, last in DESI_ARMS_AA.values()
    ]
    wavelength = np.sort(np.concatenate(arms))
    flux, _ = light((5, wavelength.size), seed)
    columns = [(f"TARGET{35_191_325_330_507_548 + row}", "D", flux[row]) for row in range(5)]
    fits.HDUList([fits.PrimaryHDU(), _table("", [("WAVELENGTH", "D", wavelength), *columns])]).writeto(path)


def desi_stack(path: Path, seed: int = 0) -> None:
    """Write a DESI stack of two rows."""
    flux, ivar = light((2, 11217), seed)
    hdus = [
        fits.PrimaryHDU(),
        fits.ImageHDU(flux.astype(np.float32), name="FLUX"),
        fits.ImageHDU(ivar.astype(np.float32), name="IVAR"),
        fits.ImageHDU(2487.2 + 0.4 * np.arange(11217), name="WAVE"),
        _table("STACKINFO", [("STACKID", "J", [0, 1]), ("Z", "D", [0.0, 0.0]), ("NOBJ", "J", [5, 7])]),
    ]
    fits.HDUList(hdus).writeto(path)


WRITERS: dict[str, Callable[..., None]] = {
    "lamost-array": lamost_array,
    "lamost-coadd": lamost_coadd,
    "sdss-spec": sdss_spec,
    "sdss-spspec": sdss_spspec,
    "desi-spectra": desi_spectra,
    "desi-table": desi_table,
    "desi-stack": desi_stack,
}


def _table(name: str, columns: list[tuple[str, str, Any]]) -> fits.BinTableHDU:
    return fits.BinTableHDU.from_columns(
        [fits.Column(column, code, array=np.asarray(values)) for column, code, values in columns], name=name
    )
