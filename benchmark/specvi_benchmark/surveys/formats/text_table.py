"""Text tables: white space, CSV, and other delimiters, with or without a header."""

from collections.abc import Iterator

import numpy as np

from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.surveys.formats._columns import Column, Roles, find_roles, no_roles, read_columns
from specvi_benchmark.surveys.formats._text import TextTable, on_its_side, text_table
from specvi_benchmark.surveys.registry import Format, Note
from specvi_benchmark.surveys.source import Source

FEW_VALUES = 3  # a third column with so few different ones, all from 1 up, is bin widths

WIDE = 8  # more columns than that, and fewer rows: a table on its side


def recognises(source: Source) -> bool:
    """Return whether this is text whose lines hold two numbers or more each."""
    return source.records is None and text_table(source) is not None


def read(source: Source) -> Iterator[Spectrum | Note]:
    """Yield the spectrum. Without a header, the first column is wavelength and the second flux."""
    table = text_table(source)
    assert table is not None
    if table.names:
        columns = [
            Column(name, unit.strip("()[]"), index=index)
            for index, (name, unit) in enumerate(zip(table.names, table.units, strict=True))
        ]
        roles = find_roles(columns)
        if roles is None:
            raise no_roles(source, columns)
    else:
        roles = Roles(Column("wavelength", index=0), Column("flux", index=1))
        yield from _check_unnamed(source, table)
    yield from read_columns(
        source, roles, lambda column: table.column(column.index), remarks=table.remarks, format=FORMAT.name
    )


def _check_unnamed(source: Source, table: TextTable) -> Iterator[Note]:
    """Note what is assumed of columns without names; refuse where the second may be magnitudes."""
    if table.n_columns > WIDE and sum(1 for _ in table.rows()) < WIDE:
        raise on_its_side(source, table.n_columns)
    if table.n_columns > 2:
        third = table.column(2)
        widths = np.unique(third)
        if widths.size <= FEW_VALUES and (widths >= 1).all():
            raise source.fault(
                "three columns without names, the third like bin widths: is the second a magnitude?",
                expected="a header line that names the columns",
                got=f"values {', '.join(f'{width:g}' for width in widths)} in column 3",
                fix="put a first line: wavelength ab_mag bin (or wavelength flux bin)",
            )
        yield Note(f"{table.n_columns} columns without names: the first two are taken as wavelength and flux")
    else:
        yield Note("columns without names are taken as wavelength and flux")


FORMAT = Format(
    name="text-table",
    recognised_by="text with two numbers or more a line, whatever the delimiter, and no other format knows it",
    reads="columns by name (wavelength, wave, lambda, loglam; flux, f_lambda, fnu, ab_mag; error, sigma, ivar; mask), units "
    "and air or vacuum from names, a line of units or comments; without names wavelength, flux",
    leaves_out="further columns; files without a wavelength unit whose numbers could be something else than Å",
    recognises=recognises,
    read=read,
    medium="stated",
    general=True,
    range_AA=None,
)
