"""`read_spectrum` and `read_spectra`: from a path to immutable spectra, or one clear refusal."""

import os
from dataclasses import dataclass
from pathlib import Path

from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.surveys.registry import Skipped, recognise
from specvi_benchmark.surveys.source import open_source


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file holds: its spectra with their row numbers, and the rows that were left out and why."""

    format: str
    spectra: tuple[Spectrum, ...]
    rows: tuple[int, ...]
    skipped: tuple[Skipped, ...]


def read_spectra(path: str | os.PathLike[str]) -> Reading:
    """Read every usable spectrum of a file.

    The format is told from the content, not the name; gzip bytes are unpacked under any name.

    Raises
    ------
    UserError
        The file can't be read, is damaged, is of no known format or one out of scope, or holds no
        usable spectrum.
    """
    source = open_source(Path(path))
    known = recognise(source)
    spectra: list[Spectrum] = []
    rows: list[int] = []
    skipped: list[Skipped] = []
    for row, found in enumerate(known.read(source)):
        if isinstance(found, Skipped):
            skipped.append(found)
        else:
            spectra.append(found)
            rows.append(row)
    if not spectra:
        raise source.fault(
            "no usable spectrum in the file",
            expected="at least one row with light",
            got=examples(f"row {row.row}: {row.reason}" for row in skipped) or "no rows",
            fix="leave this file out",
        )
    return Reading(known.name, tuple(spectra), tuple(rows), tuple(skipped))


def read_spectrum(path: str | os.PathLike[str], row: int | None = None) -> Spectrum:
    """Read one spectrum of a file.

    Parameters
    ----------
    path
        The file.
    row
        Which row, counted from 0, where the file holds several.

    Raises
    ------
    UserError
        As `read_spectra`; also when the file holds several spectra and ``row`` is not given, or
        there is no usable spectrum in that row.
    """
    reading = read_spectra(path)
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
