"""Rows of SpecVI-Bench: the official parquet files, and those of the suite's own splits."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.surveys.records import ArrowRecords
from specvi_benchmark.surveys.registry import Format, Skipped
from specvi_benchmark.surveys.source import Source

if TYPE_CHECKING:
    import pyarrow as pa

_TOOL = "extra_info.tools_kwargs.spectral_visualization_tool.create_kwargs"
_NOT_NEEDED = ("images", "prompt")  # a spectrum is read without them: pictures are most of the file


def recognises(source: Source) -> bool:
    """Return whether the file's records have flux and wavelength where SpecVI-Bench keeps them."""
    return (
        isinstance(source.records, ArrowRecords)
        and {f"{_TOOL}.flux", f"{_TOOL}.wavelength"} <= source.records.paths
    )


def read(source: Source) -> Iterator[Spectrum | Skipped]:
    """Yield the spectrum of each row, as the split reader reads it (`specvi_benchmark.splits.rows`)."""
    import pyarrow as pa  # noqa: PLC0415  # slow to import, and only these files need it

    from specvi_benchmark.splits.schema import OFFICIAL, missing_paths  # noqa: PLC0415

    assert isinstance(source.records, ArrowRecords)
    wanted = pa.schema([field for field in OFFICIAL if field.name not in _NOT_NEEDED])
    missing = missing_paths(source.records.schema, wanted)
    if missing:
        raise source.fault(
            "official columns are missing",
            expected=examples(missing, limit=5),
            got=source.records.schema.names,
        )
    number = 0
    for batch in source.records.batches([*wanted.names, "specvi"]):
        table = pa.Table.from_batches([batch])
        for name in _NOT_NEEDED:
            table = table.append_column(name, pa.nulls(len(table), OFFICIAL.field(name).type))
        for row in range(len(table)):
            yield _spectrum(source, table.slice(row, 1), number)
            number += 1


def _spectrum(source: Source, row: "pa.Table", number: int) -> Spectrum | Skipped:
    from specvi_benchmark.splits.rows import to_candidates  # noqa: PLC0415

    try:
        # The part (train or test) plays no role in a spectrum; a single file need not tell it.
        return to_candidates(row, source.name, "test", number)[0].spectrum
    except UserError as error:
        return Skipped(number, f"row {number}", error.what)


FORMAT = Format(
    name="official",
    recognised_by="parquet or Arrow with extra_info.tools_kwargs.spectral_visualization_tool.create_kwargs.flux and .wavelength",
    reads="a spectrum a row: wavelength and flux (vacuum, no errors) of official rows; all fields of rows that the suite wrote",
    leaves_out="pictures, prompts and answers: `specvi split import` reads those",
    recognises=recognises,
    read=read,
)
