"""Spectrophotometric standards of Oke (1990, AJ 99, 1621) as ESO distributes them, in AB magnitudes."""

from collections.abc import Iterator

import numpy as np

from specvi_benchmark.spectrum import Spectrum, clean_spectrum
from specvi_benchmark.surveys.formats._medium import to_vacuum
from specvi_benchmark.surveys.formats._text import TextTable, text_table
from specvi_benchmark.surveys.formats._units import AB_MAG
from specvi_benchmark.surveys.registry import Format
from specvi_benchmark.surveys.source import Source

BINS_AA = (7.0, 13.0)
"""The two bin widths of the Double Spectrograph's arms, which no other table has as its third column."""

STEPS_AA = (1.0, 2.0)


def recognises(source: Source) -> bool:
    """Return whether this is a table without names: wavelength, magnitude, bin width of 7 and 13 Å."""
    return _table(source) is not None


def read(source: Source) -> Iterator[Spectrum]:
    """Yield the spectrum, F_λ from AB magnitudes. The files don't say whether wavelengths are in air."""
    table = _table(source)
    assert table is not None
    wavelength, magnitude, widths = (table.column(index) for index in range(3))
    if not np.isin(widths, BINS_AA).all():
        raise source.fault("a bin width is neither 7 nor 13 Å", expected="an Oke (1990) table")
    vacuum = to_vacuum(source, wavelength)
    flux, _ = AB_MAG.convert(magnitude, vacuum)
    yield clean_spectrum(vacuum, flux, survey="oke1990", name=source.name, format=FORMAT.name)


def _table(source: Source) -> TextTable | None:
    """Return the table, judged by its first and last three lines."""
    if source.text is None or source.records is not None or "13.0" not in source.text[-40:]:
        return None
    table = text_table(source)
    if table is None or table.names or table.n_columns != 3:
        return None
    head, tail = (lines.split("\n") for lines in (source.text[:200].strip(), source.text[-200:].strip()))
    ends = [line.split()[-1:] for line in (*head[:3], *tail[-3:])]
    return table if ends == [["7.0"]] * 3 + [["13.0"]] * 3 else None


FORMAT = Format(
    name="oke",
    recognised_by="text without a header, three columns, the third 7.0 at the beginning and 13.0 at the end (bin width in Å)",
    reads="wavelength and AB magnitude, converted to F_λ in 1e-17 erg/s/cm²/Å",
    leaves_out="bin widths; errors, which the files don't have",
    recognises=recognises,
    read=read,
    medium="stated",
)
