"""A few columns of a FITS table of any size: a survey's table of all spectra has tens of gigabytes, and five columns count."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from specvi_benchmark.archive.catalogue.values import described, without_sentinels
from specvi_benchmark.surveys.fits import Hdu
from specvi_benchmark.surveys.source import open_source


def read_columns(path: Path, choose: Callable[[list[str]], list[str]]) -> pa.Table | None:
    """Read some columns of the first table of a FITS file, which is mapped where it is large.

    Parameters
    ----------
    path
        The file.
    choose
        Which of the columns to read, given all their names.

    Returns
    -------
    The columns, or None where they need more than this reader does: no table, cells that are no single values, whole
    numbers that are scaled.

    Raises
    ------
    UserError
        The file is damaged.
    """
    fits = open_source(path).fits
    hdu = next((one for one in fits.hdus if one.columns), None) if fits is not None else None
    if hdu is None:
        return None
    names = [hdu.header.text(f"TTYPE{column.number}") or "" for column in hdu.columns.values()]
    wanted = choose(names)
    if not all(_is_plain(hdu, name) for name in wanted):
        return None
    units, about = (
        {name: hdu.header.text(f"{key}{hdu.columns[name.lower()].number}") or "" for name in wanted}
        for key in ("TUNIT", "TCOMM")
    )
    return described(pa.table({name: without_sentinels(_arrow(hdu, name)) for name in wanted}), units, about)


def _is_plain(hdu: Hdu, name: str) -> bool:
    column = hdu.columns[name.lower()]
    scaled = any(f"{key}{column.number}" in hdu.header for key in ("TSCAL", "TZERO"))
    return column.code in "ALBIJKED" and (column.code == "A" or column.count == 1) and not scaled


def _arrow(hdu: Hdu, name: str) -> pa.Array:
    values = hdu.column(name)
    if values.dtype.kind in "USO":
        return pa.array(values.tolist(), pa.string())
    null = hdu.header.integer(f"TNULL{hdu.columns[name.lower()].number}")
    missing = values == null if null is not None and values.dtype.kind in "iu" else None
    return pa.array(values.astype(values.dtype.newbyteorder("=")), mask=missing)
