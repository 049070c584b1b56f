"""Units: understood ones against astropy, and one spectrum in every unit and file reads the same."""

import warnings
from dataclasses import dataclass

import astropy.units as u
import numpy as np
import pytest
from astropy.io import fits
from astropy.table import Table
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specvi_benchmark.errors import UserError
from specvi_benchmark.lines import vacuum_to_air
from specvi_benchmark.surveys import read_spectra
from specvi_benchmark.surveys.formats._units import flux_unit, inverse_variance_unit, wavelength_unit

CGS = u.erg / u.s / u.cm**2 / u.AA

# Ours and the same in words that astropy takes.
SPELLINGS = {
    "erg/s/cm2/A": "erg s-1 cm-2 Angstrom-1",
    "1E-17 erg/cm^2/s/Ang": "1e-17 erg s-1 cm-2 Angstrom-1",
    "10-17 ergs/s/cm2/A": "1e-17 erg s-1 cm-2 Angstrom-1",
    "10**-17 erg s-1 cm-2 AA-1": "1e-17 erg s-1 cm-2 Angstrom-1",
    "10^(-16) erg/(s cm2 Å)": "1e-16 erg s-1 cm-2 Angstrom-1",
    "erg /s /cm2 /angstroms": "erg s-1 cm-2 Angstrom-1",
    "FLAM": "erg s-1 cm-2 Angstrom-1",
    "W m-2 nm-1": "W m-2 nm-1",
    "W/m2/µm": "W m-2 um-1",
    "W m**-2 micron**-1": "W m-2 um-1",
    "erg.s-1.cm-2.0.1nm-1": "erg s-1 cm-2 Angstrom-1",
    "g.cm-1.s-3": "g cm-1 s-3",
    "fnu": "erg s-1 cm-2 Hz-1",
    "erg/s/cm**2/Hz": "erg s-1 cm-2 Hz-1",
    "W m-2 Hz-1": "W m-2 Hz-1",
    "Jy": "Jy",
    "mJy": "mJy",
    "MJy": "MJy",
    "uJy": "uJy",
    "\u00b5Jy": "uJy",
    "\u03bcJy": "uJy",
    "nJy": "nJy",
}


@pytest.mark.parametrize("written", SPELLINGS)
def test_flux_units_are_those_of_astropy(written):
    found = flux_unit(written)
    per_wavelength = found.kind == "per wavelength"
    ours = CGS if per_wavelength else u.erg / u.s / u.cm**2 / u.Hz
    assert found.kind in {"per wavelength", "per frequency"}
    assert found.factor == pytest.approx(u.Unit(SPELLINGS[written]).to(ours), rel=1e-12)


@pytest.mark.parametrize(
    "written",
    [
        "K",
        "mag",
        "erg/s",
        "photons/s/cm2/A",
        "10-17 erg",
        "erg/s/cm2/A/sr",
        "Jy/beam",
        "per A",
        "m" * 200,
        "0 Jy",
    ],
)
def test_flux_units_that_are_no_flux_density_are_not_understood(written):
    assert flux_unit(written) is None


@pytest.mark.parametrize(
    "written", ["", " ", "/", "((", "10**", "1e99999 Jy", "Jy**99", "\x00", "1/0", "Å" * 81]
)
def test_broken_units_are_not_understood_and_raise_nothing(written):
    assert flux_unit(written) is None
    assert inverse_variance_unit(written) is None


@pytest.mark.parametrize(
    ("written", "factor"),
    [
        *(("Angstrom", 1), ("A", 1), ("ANGSTROMS", 1), ("\u212b", 1), ("Å", 1), ("0.1nm", 1), ("AA", 1)),
        *(
            ("nm", 10),
            ("um", 1e4),
            ("\u00b5m", 1e4),
            ("\u03bcm", 1e4),
            ("micron", 1e4),
            ("cm", 1e8),
            ("m", 1e10),
        ),
    ],
)
def test_wavelength_units(written, factor):
    assert wavelength_unit(written) == (factor, False)


def test_logarithms_of_wavelengths_and_what_is_none():
    assert wavelength_unit("log10(Angstrom)") == wavelength_unit("dex(AA)") == (1.0, True)
    assert wavelength_unit("log(nm)") == (10.0, True)
    for written in ("Hz", "eV", "km/s", "pixel", "cm-1"):
        assert wavelength_unit(written) is None


@given(st.text(max_size=40))
def test_any_text_as_unit_raises_nothing(text):
    flux_unit(text)
    wavelength_unit(text)
    inverse_variance_unit(text)


# One spectrum, written in every way.

VACUUM_AA = np.linspace(3801.3, 8999.7, 40)
FLUX = 20 + 10 * np.sin(VACUUM_AA / 300)  # 1e-17 erg/s/cm²/Å
SIGMA = 0.5 + 0.01 * np.arange(40)

WAVELENGTHS = {"Angstrom": 1.0, "nm": 0.1, "um": 1e-4, "m": 1e-10, "log10(Angstrom)": None}
FLUXES = {
    "1e-17 erg/s/cm2/A": u.Unit("1e-17 erg s-1 cm-2 Angstrom-1"),
    "erg/s/cm2/nm": u.Unit("erg s-1 cm-2 nm-1"),
    "W/m2/um": u.Unit("W m-2 um-1"),
    "fnu": u.Unit("erg s-1 cm-2 Hz-1"),
    "Jy": u.Jy,
    "mJy": u.mJy,
    "ABmag": u.ABmag,
    "STmag": u.STmag,
}


@dataclass(frozen=True)
class Written:
    """The spectrum in the units of a file."""

    wavelength: np.ndarray
    flux: np.ndarray
    error: np.ndarray


def written(wavelength_unit: str, medium: str, flux_unit: str, errors: str) -> Written:
    """Return the spectrum in other units, converted by astropy."""
    stored_AA = VACUUM_AA if medium == "vacuum" else vacuum_to_air(VACUUM_AA)
    factor = WAVELENGTHS[wavelength_unit]
    wavelength = np.log10(stored_AA) if factor is None else stored_AA * factor
    at = u.spectral_density(VACUUM_AA * u.AA)
    unit = FLUXES[flux_unit]
    densities = FLUX * 1e-17 * CGS
    if flux_unit.endswith("mag"):
        flux = densities.to(unit, at).value
        sigma = 2.5 / np.log(10) * SIGMA / FLUX
    else:
        flux = densities.to(unit, at).value
        sigma = (SIGMA * 1e-17 * CGS).to(unit, at).value
    error = {"sigma": sigma, "ivar": 1 / sigma**2, "variance": sigma**2}[errors]
    return Written(wavelength, flux, error)


def write_text(path, spectrum, units, names, delimiter):
    head = delimiter.join(
        f"{name} ({unit})" if unit else name for name, unit in zip(names, units, strict=True)
    )
    rows = zip(spectrum.wavelength, spectrum.flux, spectrum.error, strict=True)
    lines = [head, *(delimiter.join(repr(float(value)) for value in row) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_fits(path, spectrum, units, names):
    arrays = (spectrum.wavelength, spectrum.flux, spectrum.error)
    columns = [
        fits.Column(name=name, format="D", array=array) for name, array in zip(names, arrays, strict=True)
    ]
    table = fits.BinTableHDU.from_columns(columns)
    for number, unit in enumerate(units, start=1):
        if unit:
            table.header[f"TUNIT{number}"] = unit
    fits.HDUList([fits.PrimaryHDU(), table]).writeto(path, overwrite=True)


def write_ecsv(path, spectrum, units, names):
    lines = ["# %ECSV 1.0", "# ---", "# datatype:"]
    lines += [
        f"# - {{name: {name}, unit: '{unit}', datatype: float64}}"
        if unit
        else f"# - {{name: {name}, datatype: float64}}"
        for name, unit in zip(names, units, strict=True)
    ]
    rows = zip(spectrum.wavelength, spectrum.flux, spectrum.error, strict=True)
    lines += [" ".join(names), *(" ".join(repr(float(value)) for value in row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


def write_votable(path, spectrum, units, names):
    table = Table([spectrum.wavelength, spectrum.flux, spectrum.error], names=names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table.write(path, format="votable", overwrite=True)
    text = path.read_text()
    for name, unit in zip(names, units, strict=True):
        if unit:
            text = text.replace(f'name="{name}"', f'name="{name}" unit="{unit}"', 1)
    path.write_text(text)


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    wavelength=st.sampled_from(list(WAVELENGTHS)),
    medium=st.sampled_from(["air", "vacuum"]),
    flux=st.sampled_from(list(FLUXES)),
    errors=st.sampled_from(["sigma", "ivar", "variance"]),
    container=st.sampled_from(["csv", "space", "tab", "fits", "ecsv", "votable"]),
    falling=st.booleans(),
)
def test_one_spectrum_in_every_unit_is_one_spectrum(
    tmp_path, wavelength, medium, flux, errors, container, falling
):
    spectrum = written(wavelength, medium, flux, errors)
    if falling:
        spectrum = Written(spectrum.wavelength[::-1], spectrum.flux[::-1], spectrum.error[::-1])
    names = ("wavelength", "flux", errors)
    error_unit = flux if errors == "sigma" and not flux.endswith("mag") else ""
    units = (wavelength, flux, error_unit)
    path = tmp_path / f"spectrum.{container}"
    if container in {"csv", "space", "tab"}:
        write_text(path, spectrum, units, names, {"csv": ",", "space": "  ", "tab": "\t"}[container])
    else:
        {"fits": write_fits, "ecsv": write_ecsv, "votable": write_votable}[container](
            path, spectrum, units, names
        )
    reading = read_spectra(path, medium=medium)
    (found,) = reading.spectra
    np.testing.assert_allclose(found.wavelength_AA, VACUUM_AA, rtol=1e-10)
    np.testing.assert_allclose(found.flux, FLUX, rtol=1e-7)
    np.testing.assert_allclose(found.ivar, SIGMA**-2, rtol=1e-7)
    assert not found.mask.any()
    assert reading.notes == ()


def test_inverse_variance_carries_the_inverse_square_of_a_unit(tmp_path):
    table = Table(
        {"wavelength": VACUUM_AA * u.AA, "flux": FLUX * 1e-17 * CGS, "ivar": 1e34 / SIGMA**2 / CGS**2}
    )
    table.write(tmp_path / "a.ecsv")
    (found,) = read_spectra(tmp_path / "a.ecsv", medium="vacuum").spectra
    np.testing.assert_allclose(found.ivar, SIGMA**-2, rtol=1e-10)


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        (("wavelength (Hz)", "flux (Jy)", "error"), "unit of the wavelengths"),
        (("frequency (Hz)", "flux (Jy)", "error"), "axis is frequency"),
        (("wavenumber", "flux", "error"), "axis is wavenumber"),
        (("wavelength (A)", "flux (K)", "error"), "unit of the flux"),
        (("wavelength (A)", "mag", "error"), "which system"),
        (("wavelength (A)", "flux (Jy)", "error (erg/s/cm2/A)"), "does not fit the flux"),
        (("wavelength (A)", "flux (Jy)", "error (K)"), "does not fit the flux"),
        (("wavelength (A)", "flux (Jy)", "ivar (Jy)"), "does not fit the flux"),
        (("wavelength (A)", "flux (Jy)", "variance (Jy2)"), "unit of a variance"),
        (("loglam", "flux", "error"), "no logarithms"),
        (("wavelength (pm)", "flux", "error"), "unit of the wavelengths"),
        (("pixel", "counts", "error"), "axis is pixel"),
    ],
)
def test_units_that_do_not_fit_are_refused_in_one_sentence(tmp_path, columns, complaint):
    path = tmp_path / "a.csv"
    path.write_text(",".join(columns) + "\n" + "\n".join(f"{4000 + i},1.{i},0.1" for i in range(9)))
    with pytest.raises(UserError, match=complaint):
        read_spectra(path, medium="vacuum")


def test_wavelengths_far_outside_of_optical_light_are_a_wrong_unit(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("wavelength (A),flux\n" + "\n".join(f"{0.3 + 0.1 * i},1.{i}" for i in range(9)))
    with pytest.raises(UserError, match="no wavelengths from ultraviolet"):
        read_spectra(path, medium="vacuum")
