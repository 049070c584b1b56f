"""Any FITS binary table with columns of wavelength and flux."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial

import numpy as np

from specvi_benchmark.errors import UserError
from specvi_benchmark.spectrum import FloatArray, Spectrum
from specvi_benchmark.surveys.fits import Hdu
from specvi_benchmark.surveys.formats._columns import Column, Roles, find_roles, read_columns
from specvi_benchmark.surveys.formats._fits_axis import commentary, header_medium
from specvi_benchmark.surveys.formats._medium import MediumUnknownError
from specvi_benchmark.surveys.formats._values import known_text
from specvi_benchmark.surveys.registry import Format, Note, Skipped
from specvi_benchmark.surveys.source import Medium, Source

_UCD_AIR = "em.wl;obs.atmos"  # ESO's data-product standard: so in air, plain em.wl in vacuum


def recognises(source: Source) -> bool:
    """Return whether some table has a column of wavelengths and one of fluxes."""
    return bool(_tables(source))


def read(source: Source) -> Iterator[Spectrum | Skipped | Note]:
    """Yield a spectrum for each table with a pixel a row, or for each row of a table with arrays in rows."""
    assert source.fits is not None
    remarks = commentary(source.fits)
    number = 0
    tables = _tables(source)
    for table, roles in tables:
        shapes = {table.columns[column.name.lower()].count for column in (roles.wavelength, roles.flux)}
        decoded = cache(partial(table.column, nulls=True))
        rows: Sequence[int | None] = [None] if shapes == {1} else range(table.n_rows)
        label = table.name or known_text(table.header.text("NAME")) or f"HDU {table.index}"
        for row in rows:
            name = source.name
            if len(tables) > 1 or len(rows) > 1:
                name = f"{source.name}[{label}]" if row is None else f"{source.name}[{label}, row {row}]"
            about = {"format": FORMAT.name, "name": name, "survey_id": _target(source, table)}
            media = (header_medium(table.header), header_medium(source.fits.primary))
            values = partial(_values, decoded, row)
            found = read_columns(source, roles, values, remarks=remarks, media=media, **about)
            yield from found if len(tables) * len(rows) == 1 else _or_skipped(found, number, name)
            number += 1


def _or_skipped(
    found: Iterator[Spectrum | Note], number: int, name: str
) -> Iterator[Spectrum | Skipped | Note]:
    """Yield what was found; one of several spectra that is none does not hide the others."""
    try:
        yield from list(found)
    except MediumUnknownError:
        raise  # true of all of them, and the caller can help
    except UserError as error:
        yield Skipped(number, name, error.what)


def _tables(source: Source) -> list[tuple[Hdu, Roles]]:
    if source.fits is None:
        return []
    found = []
    for hdu in source.fits.hdus:
        roles = find_roles(_columns(source, hdu)) if hdu.columns else None
        if roles is not None:
            found.append((hdu, roles))
    return found


def _columns(source: Source, table: Hdu) -> list[Column]:
    assert source.fits is not None
    eso = (source.fits.primary.text("PRODCATG") or "").startswith("SCIENCE.SPECTRUM")
    columns = []
    for name, column in table.columns.items():
        told = (table.header.text(f"{key}{column.number}") for key in ("TTYPE", "TUNIT", "TUCD", "TCOMM"))
        title, unit, ucd, comment = (text or "" for text in told)
        if column.code in "AXCM" or column.count == 0:  # text, bits, complex numbers, nothing: no spectrum
            continue
        medium = _ucd_medium(ucd, eso)
        columns.append(Column(title or name, known_text(unit) or "", comment, medium, column.number))
    return columns


def _ucd_medium(ucd: str, eso: bool) -> Medium | None:
    plain = ucd.replace(" ", "").casefold()
    if plain.startswith(_UCD_AIR):
        return "air"
    return "vacuum" if eso and plain == "em.wl" else None


def _values(decoded: Callable[[str], np.ndarray], row: int | None, column: Column) -> FloatArray:
    """Return a column of a table, or the array in one of its cells, as float64 with nulls as NaN."""
    whole = decoded(column.name)
    values = whole.ravel() if row is None else np.atleast_1d(whole[row])
    return values.astype(np.float64)


def _target(source: Source, table: Hdu) -> str:
    assert source.fits is not None
    headers = (source.fits.primary, table.header)
    told = (known_text(header.text(key)) for header in headers for key in ("OBJECT", "TARGETID", "TARGNAME"))
    return next((name for name in told if name is not None), "")


FORMAT = Format(
    name="fits-table",
    recognised_by="a binary table with columns of wavelength and flux, and no other format knows it",
    reads="columns by name as in text tables, with TUNIT; a pixel a row (each table one spectrum) or arrays in rows (each row "
    "one); air or vacuum from column names, AIRORVAC, VACUUM, TUCD, COMMENT and HISTORY",
    leaves_out="other columns; columns of variable length",
    recognises=recognises,
    read=read,
    medium="stated",
    general=True,
    range_AA=None,
)
