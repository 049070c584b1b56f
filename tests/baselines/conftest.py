"""Labelled library spectra, read with NumPy and astropy alone, and the same as LAMOST would see them."""

import csv
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits

from specvi_benchmark.lines import air_to_vacuum
from specvi_benchmark.spectrum import Spectrum, clean_spectrum
from specvi_benchmark.splits import Candidate, Split
from specvi_benchmark.tasks import get_task

LIGHT_KMS = 299_792.458
LAMOST_AA = 3700 * 10 ** (1e-4 * np.arange(3909))


def read_columns(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return wavelength and flux of any library file, as stored."""
    if path.suffix == ".csv":
        table = np.genfromtxt(path, delimiter=",", names=True)
        return table[table.dtype.names[0]], table[table.dtype.names[1]]
    if path.name.endswith(".mrt.txt"):
        table = np.loadtxt(path, skiprows=23)
        return table[:, 0], table[:, 1]
    if path.suffix == ".dat":  # Oke (1990): AB magnitudes
        wavelength, magnitude = np.loadtxt(path, usecols=(0, 1), unpack=True)
        return wavelength, 1e18 * 10 ** (-0.4 * magnitude) / wavelength**2
    with fits.open(path) as hdus, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # STELIB's malformed cards
        if hdus[0].data is None:
            return np.array(hdus[1].data["WAVELENGTH"], float), np.array(hdus[1].data["FLUX"], float)
        flux = np.array(hdus[0].data, float).ravel()
        return hdus[0].header["CRVAL1"] + hdus[0].header["CDELT1"] * np.arange(flux.size), flux


def library_spectrum(path: Path, frame: str, redshift: float = 0.0) -> Spectrum:
    """Return a library spectrum in vacuum, moved to ``redshift``; zero flux means no data."""
    wavelength, flux = read_columns(path)
    order = np.argsort(wavelength, kind="stable")
    wavelength, flux = wavelength[order], flux[order]
    if frame == "air" or "oke1990" in str(path):
        wavelength = air_to_vacuum(wavelength)
    wavelength = wavelength * (1 + redshift)
    kept = (wavelength > 3500) & (wavelength < 10400) & np.concatenate([[True], np.diff(wavelength) > 0])
    return clean_spectrum(wavelength[kept], flux[kept], mask=flux[kept] == 0, name=path.name)


@pytest.fixture(scope="session")
def library(shared_data: Path) -> list[tuple[dict[str, str], Spectrum]]:
    """Return every library spectrum with the verdict ``clear``; galaxies and quasars at several redshifts."""
    found = []
    for row in csv.DictReader((shared_data / "library/labels.csv").read_text().splitlines()):
        if row["verdict"] == "clear":
            redshifts = {"GAL": (0.03, 0.1), "QSO": (0.1, 0.3, 0.6, 1.2, 2.2, 3.2)}.get(
                row["class_key"], (0.0,)
            )
            frame = row["wavelength"].split()[0]
            path = shared_data / "library" / row["file"]
            found += [(row, library_spectrum(path, frame, redshift)) for redshift in redshifts]
    return found


@pytest.fixture(scope="session")
def pipeline_spectrum(shared_data: Path):
    """Return a reader of the single SDSS spectra kept as CSV (vacuum, no errors)."""

    def read(name: str) -> Spectrum:
        (path,) = shared_data.glob(f"real/**/{name}.csv")
        wavelength, flux = read_columns(path)
        kept = (wavelength > 3850) & (wavelength < 9150)  # beyond is constant padding
        return clean_spectrum(wavelength[kept], flux[kept], survey="sdss", name=name)

    return read


@pytest.fixture(scope="session")
def as_lamost():
    """Return a function that puts a spectrum on the LAMOST grid with noise of a given S/N and a velocity."""

    def observe(
        spectrum: Spectrum, snr: float, rng: np.random.Generator, velocity_kms: float = 0.0
    ) -> Spectrum:
        wavelength = spectrum.wavelength_AA[spectrum.good] * (1 + velocity_kms / LIGHT_KMS)
        flux = np.interp(LAMOST_AA, wavelength, spectrum.flux[spectrum.good])
        nearest = np.clip(np.searchsorted(wavelength, LAMOST_AA), 1, wavelength.size - 1)
        mask = (wavelength[0] > LAMOST_AA) | (wavelength[-1] < LAMOST_AA)
        mask |= np.diff(wavelength)[nearest - 1] > 30
        typical = np.median(flux[~mask])
        sigma = typical / snr * np.sqrt(np.clip(flux / typical, 0.2, None))
        noisy = flux + rng.normal(size=flux.size) * sigma
        return clean_spectrum(LAMOST_AA, noisy, sigma**-2, mask, survey="lamost", name=spectrum.name)

    return observe


PLANTED_AA = 6000.0


def planted_split(
    n: int = 60, *, seed: int = 0, shuffled: bool = False, tasks: tuple[str, ...] = ("cv",)
) -> Split:
    """Return spectra of 390 pixels in four parts, half of them YES: those have an emission line at 6000 Å.

    ``n`` candidates a task in train, half as many in each other part. ``shuffled``: truths without the line.
    """
    rng = np.random.default_rng(seed)
    wavelength = 3700.0 * 10 ** (1e-3 * np.arange(390))
    line = np.exp(-0.5 * ((wavelength - PLANTED_AA) / 25) ** 2)
    candidates = []
    for task in tasks:
        for part, size in (("train", n), ("dev", n // 2), ("cal", n // 2), ("test", n // 2)):
            for number in range(size):
                truth = number % 2 == 0
                shown = bool(rng.random() < 0.5) if shuffled else truth
                slope = (wavelength / 6000) ** rng.normal(0, 0.7)
                flux = slope * (1 + shown * 1.2 * line) + rng.normal(0, 0.05, wavelength.size)
                name = f"{task}-{part}-{number:03d}"
                spectrum = clean_spectrum(
                    wavelength, flux, np.full(wavelength.size, 400.0), name=name, survey="simulated-lamost"
                )
                candidates.append(Candidate(
                    id=name, task=get_task(task), track="main", part=part, spectrum=spectrum, redshift=None,
                    truth="YES" if truth else "NO", object_id=name, object_id_source="simulated", label_source="test",
                ))  # fmt: skip
    return Split("planted", "1", tuple(candidates), {"made": "by a test"})


@pytest.fixture
def make_planted() -> Callable[..., Split]:
    """Return the maker of splits with a planted line: ``make_planted(n=60, seed=0, shuffled=False, tasks=("cv",))``."""
    return planted_split
