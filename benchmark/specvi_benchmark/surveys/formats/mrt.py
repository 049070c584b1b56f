"""Machine-readable tables of the AAS journals and CDS: fixed columns under a byte-by-byte description."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from specvi_benchmark.spectrum import FloatArray, Spectrum
from specvi_benchmark.surveys.formats._columns import Column, find_roles, no_roles, read_columns
from specvi_benchmark.surveys.formats._fixed_width import fixed_column
from specvi_benchmark.surveys.registry import Format, Note
from specvi_benchmark.surveys.source import Source

_BEGINS = re.compile(r"^\s*Byte-by-byte Description of file", re.MULTILINE | re.IGNORECASE)
_LINE = re.compile(r"^\s*(?:(\d{1,6})\s*-)?\s*(\d{1,6})\s+([AIFE]\d+(?:\.\d+)?)\s+(\S+)\s+(\S+)\s*(.*)$")
_RULE = re.compile(r"^[-=]{20,}\s*$")


@dataclass(frozen=True, slots=True)
class _Field:
    first: int
    last: int
    column: Column


def recognises(source: Source) -> bool:
    """Return whether this is text with a byte-by-byte description."""
    return source.text is not None and _BEGINS.search(source.text[:100_000]) is not None


def read(source: Source) -> Iterator[Spectrum | Note]:
    """Yield the spectrum of the table, columns as described: labels, units, explanations."""
    assert source.text is not None
    lines = source.text.splitlines()
    start = next(number for number, line in enumerate(lines) if _BEGINS.match(line))
    rules = [number for number, line in enumerate(lines) if number > start and _RULE.match(line)]
    described = [
        match for line in lines[start : rules[-1] if rules else start] if (match := _LINE.match(line))
    ]
    fields = [
        _Field(
            int(match[1] or match[2]) - 1,
            int(match[2]),
            Column(match[5], "" if set(match[4]) <= {"-"} else match[4], match[6], index=index),
        )
        for index, match in enumerate(described)
    ]
    rows = [
        (number + 1, line)
        for number, line in enumerate(lines)
        if rules and number > rules[-1] and line.strip()
    ]
    if not fields or not rows:
        raise source.fault(
            "the table has no described columns or no rows",
            expected="Bytes, Format, Units, Label, Explanations between rules, then the rows",
            got=f"{len(fields)} columns, {len(rows)} rows",
        )
    roles = find_roles([field.column for field in fields])
    if roles is None:
        raise no_roles(source, [field.column for field in fields])

    def values(column: Column) -> FloatArray:
        field = fields[column.index]
        return fixed_column(source, rows, field.first, field.last)

    remarks = "\n".join(lines[: rules[-1]])
    yield from read_columns(source, roles, values, remarks=remarks, format=FORMAT.name)


FORMAT = Format(
    name="mrt",
    recognised_by="text with the line `Byte-by-byte Description of file`",
    reads="columns by label, as in text tables (Wave, FluxD, e_FluxD), with the described units",
    leaves_out="other columns; notes below the description",
    recognises=recognises,
    read=read,
    medium="stated",
    range_AA=None,
)
