"""`read_spectrum` and `read_spectra`: from a path to immutable spectra, or one clear refusal."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np

from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.surveys.registry import Format, Note, Skipped, recognise
from specvi_benchmark.surveys.source import Medium, Source, open_source


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file holds: its spectra with their row numbers, and the rows left out and why.

    ``notes`` tell what the file does not say and was taken for granted.
    """

    format: str
    spectra: tuple[Spectrum, ...]
    rows: tuple[int, ...]
    skipped: tuple[Skipped, ...]
    notes: tuple[str, ...] = ()


def read_spectra(path: str | os.PathLike[str], *, medium: Medium | None = None) -> Reading:
    """Read every usable spectrum of a file.

    The format is told from the content, not the name; gzip bytes are unpacked under any name.

    Parameters
    ----------
    path
        The file.
    medium
        ``air`` or ``vacuum``: what the wavelengths are measured in, for files that don't say it.
        Text and tables that don't say are refused without it.

    Raises
    ------
    UserError
        The file can't be read, is damaged, is of no known format or one out of scope, holds no
        usable spectrum, does not say what its wavelengths are measured in, or says something else
        than ``medium``.
    """
    source = open_source(Path(path), medium)
    known = recognise(source)
    _check_medium(source, known)
    spectra: list[Spectrum] = []
    rows: list[int] = []
    skipped: list[Skipped] = []
    notes: list[str] = []
    with np.errstate(all="ignore"):  # bytes can be any float; what is not finite is masked, with no warning
        for found in known.read(source):
            if isinstance(found, Note):
                notes.append(found.text)
            elif isinstance(found, Skipped):
                skipped.append(found)
            else:
                _check_range(source, known, found)
                rows.append(len(spectra) + len(skipped))
                spectra.append(found)
    if not spectra:
        raise source.fault(
            "no usable spectrum in the file",
            expected="at least one row with light",
            got=examples(f"row {row.row}: {row.reason}" for row in skipped) or "no rows",
            fix="leave this file out",
        )
    return Reading(known.name, tuple(spectra), tuple(rows), tuple(skipped), tuple(dict.fromkeys(notes)))


def read_spectrum(
    path: str | os.PathLike[str], row: int | None = None, *, medium: Medium | None = None
) -> Spectrum:
    """Read one spectrum of a file.

    Parameters
    ----------
    path
        The file.
    row
        Which row, counted from 0, where the file holds several.
    medium
        As in `read_spectra`.

    Raises
    ------
    UserError
        As `read_spectra`; also when the file holds several spectra and ``row`` is not given, or
        there is no usable spectrum in that row.
    """
    reading = read_spectra(path, medium=medium)
    if row is None:
        if len(reading.spectra) == 1:
            return reading.spectra[0]
        raise UserError(
            "the file holds several spectra",
            where=path,
            expected="a row number",
            got=f"rows {examples(reading.rows, limit=8)}",
            fix="name one with row=N (--row N on the command line)",
        )
    if row in reading.rows:
        return reading.spectra[reading.rows.index(row)]
    reasons = {skipped.row: skipped.reason for skipped in reading.skipped}
    raise UserError(
        "no usable spectrum in that row",
        where=f"{path}, row {row}",
        expected=f"one of rows {examples(reading.rows, limit=8)}",
        got=reasons.get(row, "no such row"),
    )


def _check_range(source: Source, known: Format, spectrum: Spectrum) -> None:
    """Refuse a file whose wavelengths lie where the format has none."""
    low, high = known.range_AA or (0.0, np.inf)
    first, last = spectrum.wavelength_AA[0], spectrum.wavelength_AA[-1]
    if not (low <= first and last <= high):
        raise source.fault(
            "the wavelength grid can't be true",
            expected=f"wavelengths of {known.name} files, from {low:g} to {high:g} Å",
            got=f"{first:g} to {last:g} Å in {spectrum.name}",
            fix="nm or log10 λ where this format has Å, or a damaged header: fetch the survey's own file",
        )


def _check_medium(source: Source, known: Format) -> None:
    """Refuse a medium that is none, or that contradicts the format's definition."""
    if source.medium not in {None, *get_args(Medium)}:
        raise UserError(
            "no such medium", where="medium", expected=" or ".join(get_args(Medium)), got=source.medium
        )
    if source.medium is not None and known.reads and known.medium not in {"stated", source.medium}:
        raise source.fault(
            f"{known.name} files have {known.medium} wavelengths",
            expected=f"medium {known.medium}, or none given",
            got=f"medium {source.medium}",
            fix="leave the medium out: it is only asked for where a file does not say",
        )
