"""VOTable, the XML tables of the Virtual Observatory (https://www.ivoa.net/documents/VOTable/)."""

import re
import warnings
from collections.abc import Iterator
from functools import partial
from io import BytesIO
from typing import Any

import numpy as np

from specvi_benchmark.spectrum import FloatArray, Spectrum
from specvi_benchmark.surveys.formats._columns import Column, find_roles, no_roles, read_columns
from specvi_benchmark.surveys.formats._medium import medium_word
from specvi_benchmark.surveys.registry import Format, Note
from specvi_benchmark.surveys.source import Medium, Source

_LOOKED_AT = 4096
_ELSEWHERE = re.compile(r"<(?:\w+:)?STREAM[^>]*\bhref", re.IGNORECASE)
_AIR = "em.wl;obs.atmos"


def recognises(source: Source) -> bool:
    """Return whether this is XML with the element VOTABLE near the beginning."""
    return source.text is not None and re.search(r"<(?:\w+:)?VOTABLE\b", source.text[:_LOOKED_AT]) is not None


def read(source: Source) -> Iterator[Spectrum | Note]:
    """Yield the spectrum of the first table that has wavelength and flux."""
    parsed = _parse(source)
    tables = list(parsed.iter_tables())
    seen: list[Column] = []
    for table in tables:
        columns = [_column(field, index) for index, field in enumerate(table.fields)]
        roles = find_roles(columns)
        seen = seen or columns
        if roles is None:
            continue
        remarks = "\n".join(str(one.description or "") for one in (parsed, *parsed.resources, table))
        yield from read_columns(
            source,
            roles,
            partial(_values, source, table.array),
            remarks=remarks,
            media=(_param_medium(table.params),),
            format=FORMAT.name,
        )
        return
    raise no_roles(source, seen)


def _parse(source: Source) -> Any:
    from astropy.io.votable import parse  # noqa: PLC0415  # slow to import, and few files need it

    assert source.text is not None
    if _ELSEWHERE.search(source.text):
        raise source.fault(
            "the table's data lie elsewhere",
            expected="rows inside the file",
            got="STREAM with href",
            fix="save the table with its data inside (TOPCAT: VOTable TABLEDATA)",
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return parse(BytesIO(source.content), verify="ignore", datatype_mapping={})
    except Exception as error:  # noqa: BLE001  # astropy raises many kinds on damaged files
        raise source.fault(
            "the VOTable can't be read", got=" ".join(str(error).split())[:200], fix="fetch the file again"
        ) from None


def _column(field: Any, index: int) -> Column:
    ucd = str(field.ucd or "").replace(" ", "").casefold()
    return Column(
        str(field.name or field.ID or ""),
        str(field.unit or ""),
        str(field.description or ""),
        "air" if ucd.startswith(_AIR) else None,
        index,
    )


def _values(source: Source, rows: Any, column: Column) -> FloatArray:
    name = rows.dtype.names[column.index]
    try:
        values = np.ma.asarray(rows[name])
        numbers = np.asarray(values.filled(0), dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise source.fault(
            f"column {column.name} does not hold numbers", expected="one number a row"
        ) from None
    missing = np.ma.getmaskarray(values)
    if numbers.ndim != 1:
        if numbers.ndim != 2 or numbers.shape[0] != 1:
            raise source.fault(
                f"column {column.name} holds arrays", expected="one number a row", got=f"{numbers.shape}"
            )
        numbers, missing = numbers[0], missing[0]  # a single row of arrays
    return np.where(missing, np.nan, numbers)


def _param_medium(params: Any) -> Medium | None:
    keys = {"medium", "airorvac", "air_or_vacuum", "wavelength_medium"}
    told = (medium_word(str(param.value)) for param in params if str(param.name).casefold() in keys)
    return next((medium for medium in told if medium is not None), None)


FORMAT = Format(
    name="votable",
    recognised_by="XML with the element VOTABLE",
    reads="the first table with wavelength and flux: columns by name as in text tables, with their units; air or vacuum from "
    "names, descriptions, the UCD em.wl;obs.atmos, the PARAM medium",
    leaves_out="other columns and tables; tables whose data lie in another file",
    recognises=recognises,
    read=read,
    medium="stated",
    range_AA=None,
)
