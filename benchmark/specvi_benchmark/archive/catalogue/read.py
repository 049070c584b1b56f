"""`read_catalogue`: a table in any of the forms that surveys, VizieR and papers publish, told by content."""

import gzip
import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from specvi_benchmark.archive.catalogue.catalogue import Catalogue
from specvi_benchmark.archive.catalogue.fits import read_columns
from specvi_benchmark.archive.catalogue.roles import POSITIONAL, of_old_equinox, roles_of
from specvi_benchmark.archive.catalogue.text import read_text_table
from specvi_benchmark.archive.catalogue.values import ABOUT, described, in_degrees, without_sentinels
from specvi_benchmark.errors import UserError, examples

_HEAD = 2**16  # bytes; enough for the longest header line (a LAMOST one has 1 kB)
_GZIP = b"\x1f\x8b"


def read_catalogue(path: Path, roles: Collection[str] | None = None) -> Catalogue:
    """Read a catalogue.

    Forms: FITS tables, VOTable, ECSV, machine-readable tables of the AAS and CDS, parquet, VizieR's tab-separated
    form, and text separated by commas, pipes, tabs or semicolons; each also gzipped. A text table without a line of
    names gets ``column1`` … ``columnN`` (one column of file names: ``filename``).

    Parameters
    ----------
    path
        The file.
    roles
        Read only the columns that play one of these roles: of a table of 11 million rows, a tenth of the memory.

    Raises
    ------
    UserError
        The file can't be read, is damaged, holds no table, or no rows.
    """
    head, packed = _head(path)
    form = _form(head)
    notes: tuple[str, ...] = ()
    if form == "text":
        form, table, notes = read_text_table(path, head, packed=packed, roles=roles)
    elif form == "parquet":
        table = _read_parquet(path, roles)
    elif form == "fits" and not packed and roles is not None:
        few = read_columns(path, lambda names: _wanted(names, roles))
        table, notes = (few, ()) if few is not None else _read_with_astropy(path, form, roles)
    else:
        table, notes = _read_with_astropy(path, form, roles)
    if not table.column_names:
        raise UserError(
            "no column tells of spectra, objects or positions",
            where=path,
            expected="columns such as obsid, gaia_source_id, ra and dec, plate, mjd and fiberid, or file names",
            fix="rename the columns that hold them",
        )
    if table.num_rows == 0:
        raise UserError("the table has no rows", where=path, got=examples(table.column_names, limit=12))
    old = _of_old_equinox(table)
    if old:
        notes += (f"positions of an equinox before 2000 are not used: {examples(old)}",)
    roles_here = roles_of([name for name in table.column_names if name not in old])
    table = in_degrees(table, [roles_here[role] for role in ("ra", "dec") if role in roles_here])
    return Catalogue(str(path), form, table, roles_here, notes)


def _of_old_equinox(table: pa.Table) -> list[str]:
    """Return the columns of positions whose name or description says an equinox before 2000."""
    placed = [name for role, name in roles_of(table.column_names).items() if role in POSITIONAL]
    about = {name: (table.schema.field(name).metadata or {}).get(ABOUT, b"").decode() for name in placed}
    return [name for name in placed if of_old_equinox(about[name])]


def _head(path: Path) -> tuple[bytes, bool]:
    """Return the first bytes of the content, and whether it is packed."""
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD)
        packed = head.startswith(_GZIP)
        if packed:
            with gzip.open(path) as unpacked:
                head = unpacked.read(_HEAD)
    except FileNotFoundError:
        raise UserError("no such file", where=path, fix="check the path") from None
    except EOFError:
        raise UserError("the gzip stream is cut", where=path, fix="fetch it again") from None
    except OSError as error:
        raise UserError("the file can't be read", where=path, got=error.strerror or error) from None
    if not head.strip():
        raise UserError("the file is empty", where=path, expected="a table")
    return head, packed


def _form(head: bytes) -> str:
    start = head.lstrip()
    if start.startswith(b"SIMPLE"):
        return "fits"
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith(b"# %ECSV"):
        return "ecsv"
    if start.startswith(b"<") and b"<VOTABLE" in head:
        return "votable"
    if b"Byte-by-byte Description of file" in head:
        return "mrt"
    return "text"


def _read_parquet(path: Path, roles: Collection[str] | None) -> pa.Table:
    try:
        file = pq.ParquetFile(path)
        names = _wanted([field.name for field in file.schema_arrow], roles)
        table = file.read(columns=names)
    except (pa.ArrowInvalid, OSError) as error:
        raise UserError("the file is damaged", where=path, got=str(error)[:200]) from None
    cleaned = [without_sentinels(table.column(name).combine_chunks()) for name in names]
    return pa.table(dict(zip(names, cleaned, strict=True)))


def _wanted(names: list[str], roles: Collection[str] | None) -> list[str]:
    """Return the columns to read: all, or those that play one of the roles."""
    if roles is None:
        return names
    playing = {name for role, name in roles_of(names).items() if role in roles}
    return [name for name in names if name in playing]


def _read_with_astropy(
    path: Path, form: str, roles: Collection[str] | None
) -> tuple[pa.Table, tuple[str, ...]]:
    from astropy.table import Table  # noqa: PLC0415  # slow, and not every table needs it

    formats = {"fits": "fits", "votable": "votable", "ecsv": "ascii.ecsv", "mrt": "ascii.mrt"}
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # units and words that the standards do not know; the numbers are read all the same
        try:
            table = Table.read(path, format=formats[form])
        except Exception as error:  # noqa: BLE001  # astropy raises many kinds on damaged files
            told = " ".join(str(error).split())[:200]
            raise UserError(f"the {form} table can't be read", where=path, got=told) from None
    names = _wanted(list(table.colnames), roles)
    columns, left_out = {}, []
    for name in names:
        column = _arrow(table[name])
        if column is None:
            left_out.append(name)
        else:
            columns[name] = without_sentinels(column)
    notes = (f"columns without single values left out: {examples(left_out)}",) if left_out else ()
    units = {name: str(table[name].unit or "") for name in columns}
    about = {name: str(table[name].description or "") for name in columns}
    return described(pa.table(columns), units, about), notes


def _arrow(column: Any) -> pa.Array | None:
    """Return an astropy column as an Arrow array, None where its cells are no single values."""
    values = np.ma.asarray(getattr(column, "value", column))
    if values.ndim != 1:
        return None
    missing = np.ma.getmaskarray(values)
    data = np.ma.getdata(values)
    if data.dtype.kind in "SUO":
        texts = [
            cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)
            for cell in data.tolist()
        ]
        return pa.array(texts, pa.string(), mask=missing)
    if data.dtype.kind not in "biuf":
        return None
    return pa.array(data.astype(data.dtype.newbyteorder("=")), mask=missing)
