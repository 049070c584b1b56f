"""Columns of any table into a Spectrum: which column is what, units, air or vacuum, errors, masks."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.spectrum import BoolArray, FloatArray, Spectrum, clean_spectrum
from specvi_benchmark.surveys.formats import _names
from specvi_benchmark.surveys.formats._medium import medium_in_text, to_vacuum
from specvi_benchmark.surveys.formats._names import parse_name
from specvi_benchmark.surveys.formats._padding import filled, missing
from specvi_benchmark.surveys.formats._units import (
    AB_MAG,
    RELATIVE,
    RELATIVE_PER_FREQUENCY,
    ST_MAG,
    FluxUnit,
    flux_unit,
    inverse_variance_unit,
    wavelength_unit,
)
from specvi_benchmark.surveys.registry import Note
from specvi_benchmark.surveys.source import Medium, Source

# A column without a unit is taken as Å only where no other unit fits: optical wavelengths in nm or µm
# are smaller numbers, and rows that are merely counted begin at 0 or 1.
SHORTEST_TAKEN_AS_AA = 100.0
LONGEST_TAKEN_AS_AA = (3000.0, 30000.0)
RANGE_AA = (500.0, 300000.0)  # a spectrum wholly outside has another unit than it says
LOGARITHMS = (2.0, 5.0)  # log10 of 100 to 100,000 Å

OPTICAL_AA = (3000.0, 11000.0)

_NAMED_UNITS = {"abmag": AB_MAG, "magab": AB_MAG, "abnu": AB_MAG, "stmag": ST_MAG, "magst": ST_MAG}
_OTHER_UNIT = re.compile(
    r"^.*\b(?:wave|wl|lam).*(?:\b(?:nm|um|nanomet\w*|micron\w*|micromet\w*)\b|[\u00b5\u03bc]m\b).*$",
    re.IGNORECASE | re.MULTILINE,
)
_AT_REST = re.compile(r"\brest[- ]?(?:frame|wave\w*)|\brestframe|\bDOPCOR", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Column:
    """A column as its table describes it.

    Attributes
    ----------
    name, unit, description
        As written; empty where there is none.
    medium
        Air or vacuum, where the table says it by other means than name and description.
    index
        Its place in the table.
    """

    name: str
    unit: str = ""
    description: str = ""
    medium: Medium | None = None
    index: int = 0


@dataclass(frozen=True, slots=True)
class Roles:
    """Which column is what. ``sigma`` is a standard deviation, an inverse variance or a variance."""

    wavelength: Column
    flux: Column
    sigma: Column | None = None
    sigma_is: str = ""
    mask: Column | None = None
    mask_is_good: bool = False
    unsure: tuple[str, ...] = ()


def find_roles(columns: Sequence[Column]) -> Roles | None:
    """Return which column is what, None where the table has no wavelength or no flux."""
    names = [parse_name(column.name) for column in columns]
    wavelength, flux = _names.find(names, _names.WAVELENGTH), _names.find(names, _names.FLUX)
    if wavelength is None or flux is None:
        paired = _names.pair([column.name for column in columns])
        if paired is None:
            return None
        return Roles(columns[paired[0]], columns[paired[1]])
    sigmas = {
        kind: found
        for kind, words in (("ivar", _names.IVAR), ("sigma", _names.SIGMA), ("variance", _names.VARIANCE))
        if (found := _names.find(names, words)) is not None
    }
    sigma_is = next(iter(sigmas), "")
    mask, good = _names.find(names, _names.BAD), _names.find(names, _names.GOOD)
    flags = mask if mask is not None else good
    return Roles(
        columns[wavelength],
        columns[flux],
        sigma=columns[sigmas[sigma_is]] if sigmas else None,
        sigma_is=sigma_is,
        mask=None if flags is None else columns[flags],
        mask_is_good=mask is None and good is not None,
        unsure=tuple(columns[i].name for i, name in enumerate(names) if name.word in _names.UNSURE),
    )


def no_roles(source: Source, columns: Sequence[Column]) -> UserError:
    """Return the refusal of a table in which no wavelength or no flux is found."""
    names = [parse_name(column.name) for column in columns]
    other = [
        column.name for column, name in zip(columns, names, strict=True) if name.word in _names.NOT_WAVELENGTH
    ]
    shown = examples([column.name or "(no name)" for column in columns], limit=12)
    rest = [column.name for column, name in zip(columns, names, strict=True) if name.word in _names.AT_REST]
    if rest and _names.find(names, _names.WAVELENGTH) is None:
        return source.fault(
            f"{rest[0]} is not as observed",
            expected="a column of observed wavelengths",
            got=shown,
            fix="multiply it by 1 + z, and name the column wavelength",
        )
    if other and _names.find(names, _names.WAVELENGTH) is None:
        return source.fault(
            f"the axis is {other[0]}, not wavelength",
            expected="a column of wavelengths in Å, nm or µm",
            got=shown,
            fix="convert it to wavelengths first, and name the column wavelength",
        )
    return source.fault(
        "the table has no wavelength and flux",
        expected="columns named wavelength (wave, lambda, loglam) and flux (f_lambda, fnu, ab_mag)",
        got=shown,
        fix="name the two columns wavelength and flux, with units if not Å: wavelength_nm",
    )


def read_columns(
    source: Source,
    roles: Roles,
    values: Callable[[Column], FloatArray],
    *,
    remarks: str = "",
    media: Iterable[Medium | None] = (),
    **about: object,
) -> Iterator[Spectrum | Note]:
    """Yield the spectrum that a table's columns hold, and a note for all that was taken for granted.

    Parameters
    ----------
    source
        The file.
    roles
        Which column is what.
    values
        Returns a column as ``(n,)`` float64, NaN where a value is missing.
    remarks
        Free text of the file, which may say air or vacuum.
    media
        What other parts of the file say of air and vacuum.
    about
        The other fields of `Spectrum`.

    Raises
    ------
    UserError
        A unit is not understood, air or vacuum is not known, or the values make no spectrum.
    """
    stored = values(roles.wavelength)
    if stored.size == 0:
        raise source.fault("the table has no rows", expected="wavelengths and fluxes")
    values = partial(_of_length, source, values, stored.size)
    wavelength, notes = _wavelengths(source, roles.wavelength, stored, remarks)
    yield from notes
    kept = _pixels(wavelength)
    if kept.size < wavelength.size:
        yield Note(f"{wavelength.size - kept.size} rows without a wavelength are left out")
    name = parse_name(roles.wavelength.name)
    said = [*media, roles.wavelength.medium, name.medium]
    if not any(said):
        said = [medium_in_text(f"{roles.wavelength.description}\n{remarks}")]
    wavelength = to_vacuum(source, wavelength[kept], said)
    if _AT_REST.search(f"{roles.wavelength.description}\n{remarks}"):
        yield Note("the file speaks of a rest frame: its wavelengths are taken as they are, for redshift 0")
    unit, notes = _flux_unit(source, roles.flux)
    yield from notes
    measured = values(roles.flux)[kept]
    absent = missing(measured, magnitudes=unit in {AB_MAG, ST_MAG})
    if absent.any():
        yield Note(
            f"{absent.sum()} pixels hold a number that stands for no value ({measured[absent][0]:g}): masked"
        )
    flux, slope = unit.convert(np.where(absent, np.nan, measured), wavelength)
    ivar = _ivar(source, roles, values, unit, slope, kept)
    bad = _masked(roles, values, kept)
    if ivar is None:
        padding = filled(flux)
        bad = bad | padding
        if padding.any():
            yield Note(f"{padding.sum()} pixels that repeat one value are taken as no data and masked")
    if roles.unsure:
        yield Note(f"column {examples(roles.unsure)} is not read: which of its values are bad is not known")
    yield clean_spectrum(wavelength, flux, ivar, bad, **{"name": source.name, **about})


def _of_length(
    source: Source, values: Callable[[Column], FloatArray], size: int, column: Column
) -> FloatArray:
    found = values(column)
    if found.size != size:
        raise source.fault(
            "columns differ in length",
            expected=f"{size} values in {column.name}, as wavelength has",
            got=found.size,
        )
    return found


def _wavelengths(
    source: Source, column: Column, stored: FloatArray, remarks: str
) -> tuple[FloatArray, list[Note]]:
    """Return wavelengths in Å as stored (air or vacuum), and what was taken for granted."""
    name = parse_name(column.name)
    text = column.unit.strip() or name.unit
    unit = wavelength_unit(text) if text not in {"", "-", "---"} else None
    if unit is None and text not in {"", "-", "---"}:
        raise source.fault(
            f"the unit of the wavelengths is not understood: {text}",
            expected="Å, nm, µm, cm or m, or log10 of one of them",
            fix="convert frequencies, energies and velocities to wavelengths first",
        )
    scale, logarithm = unit or (1.0, False)
    logarithm = logarithm or name.logarithm
    known = stored[np.isfinite(stored)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    if logarithm and not (LOGARITHMS[0] <= low and high <= LOGARITHMS[1]):
        raise source.fault(
            "these are no logarithms of wavelengths",
            expected=f"log10 of Å, from {LOGARITHMS[0]:g} to {LOGARITHMS[1]:g}",
            got=f"{low:g} to {high:g}",
        )
    with np.errstate(all="ignore"):
        wavelength = (10.0**stored if logarithm else stored) * scale
    if unit is not None or logarithm:
        return wavelength, _check_range(source, wavelength)
    if (other := _OTHER_UNIT.search(remarks)) is not None:
        raise source.fault(
            "the wavelengths have no unit, and a comment names one that is not Å",
            expected="the unit with the column",
            got=" ".join(other[0].split())[:80],
            fix="put the unit into the column's name: wavelength_AA, wavelength_nm or wavelength_um",
        )
    if not (low >= SHORTEST_TAKEN_AS_AA and LONGEST_TAKEN_AS_AA[0] <= high <= LONGEST_TAKEN_AS_AA[1]):
        raise source.fault(
            "the wavelengths have no unit, and Å is not certain",
            expected="a unit, or numbers that can only be Å: from 100 up, the longest 3000 to 30,000",
            got=f"{low:g} to {high:g}",
            fix="put the unit into the column's name: wavelength_AA, wavelength_nm or wavelength_um",
        )
    return wavelength, [Note("the wavelengths have no unit and are taken as Å")]


def _check_range(source: Source, wavelength_AA: FloatArray) -> list[Note]:
    """Refuse what is no light at all, and note what is all beyond optical light."""
    finite = wavelength_AA[np.isfinite(wavelength_AA)]
    if finite.size and (finite.max() < RANGE_AA[0] or finite.min() > RANGE_AA[1]):
        raise source.fault(
            "these are no wavelengths from ultraviolet to infrared",
            expected=f"some between {RANGE_AA[0]:g} and {RANGE_AA[1]:g} Å",
            got=f"{finite.min():g} to {finite.max():g} Å",
            fix="correct the unit",
        )
    if finite.size and (finite.max() < OPTICAL_AA[0] or finite.min() > OPTICAL_AA[1]):
        return [Note(f"{finite.min():.0f} to {finite.max():.0f} Å is no optical light: is the unit right?")]
    return []


def _pixels(wavelength: FloatArray) -> NDArray[np.intp]:
    """Return the rows that have a wavelength, by increasing wavelength if they are in falling order."""
    kept = np.flatnonzero(np.isfinite(wavelength) & (wavelength > 0))
    falling = kept.size > 1 and (np.diff(wavelength[kept]) < 0).all()
    return kept[::-1] if falling else kept


def _flux_unit(source: Source, column: Column) -> tuple[FluxUnit, list[Note]]:
    name = parse_name(column.name)
    text = column.unit.strip() or name.unit
    by_name = _NAMED_UNITS.get(name.word)
    unit = flux_unit(text) if text else None
    if by_name is not None and (not text or unit is None):
        return by_name, []
    if text and unit is None:
        raise source.fault(
            f"the unit of the flux is not understood: {text}",
            expected="erg/s/cm2/Å, W/m2/µm, erg/s/cm2/Hz, Jy, ABmag, STmag, counts or relative",
            fix="convert the flux, or write its unit in one of these forms",
        )
    if unit is None and name.word in {"mag", "magnitude"}:
        raise source.fault(
            "magnitudes of which system?", expected="a column named ab_mag or st_mag", got=column.name
        )
    if name.per_frequency and unit in {None, RELATIVE}:
        return RELATIVE_PER_FREQUENCY, [Note("the flux has no unit; by its name it is per unit frequency")]
    if unit is None:
        return RELATIVE, [Note("the flux has no unit and is taken as per unit wavelength")]
    if unit.kind == "counts":
        return unit, [Note("the flux is in counts: its shape is that of the instrument")]
    return unit, []


def _ivar(
    source: Source,
    roles: Roles,
    values: Callable[[Column], FloatArray],
    unit: FluxUnit,
    slope: FloatArray,
    kept: NDArray[np.intp],
) -> FloatArray | None:
    """Return the inverse variance of the converted flux; 0 where an error is missing or not above 0."""
    column = roles.sigma
    if column is None:
        return None
    given = values(column)[kept]
    given = np.where(missing(given), np.nan, given)
    text = column.unit.strip() or parse_name(column.name).unit
    if text and roles.sigma_is == "variance":
        raise source.fault("the unit of a variance is not understood", expected="no unit", got=text)
    if text:
        own = flux_unit(text) if roles.sigma_is == "sigma" else inverse_variance_unit(text)
        slope = slope * _ratio(source, column, own, unit, text)
    with np.errstate(all="ignore"):
        inverse = {"ivar": given, "sigma": 1 / given**2, "variance": 1 / given}[roles.sigma_is] / slope**2
    usable = np.isfinite(inverse) & (given > 0) & (inverse > 0)
    return np.where(usable, inverse, 0.0)


def _ratio(source: Source, column: Column, own: FluxUnit | None, unit: FluxUnit, text: str) -> float:
    """Return the size of the errors' unit in units of the flux."""
    if own is None and unit in {AB_MAG, ST_MAG} and text.casefold() == "mag":
        return 1.0
    if own is None or own.kind != unit.kind:
        raise source.fault(
            f"the unit of {column.name} does not fit the flux",
            expected=f"a unit {unit.kind}, as the flux has",
            got=text,
            fix="convert the errors to the unit of the flux",
        )
    return own.factor / unit.factor


def _masked(roles: Roles, values: Callable[[Column], FloatArray], kept: NDArray[np.intp]) -> BoolArray:
    """Return where the mask column says bad; a missing value is bad."""
    if roles.mask is None:
        return np.zeros(kept.shape, dtype=np.bool_)
    given = values(roles.mask)[kept]
    bad: BoolArray = (given == 0) if roles.mask_is_good else (given != 0)
    return bad | np.isnan(given)
