"""Spectral lines, molecular bands and index windows, in vacuum and in air."""

from specvi_benchmark.lines.bands import Band, Index, all_bands, all_indices, get_band, get_index
from specvi_benchmark.lines.lines import Line, all_lines, get_line, lines_between
from specvi_benchmark.lines.wavelengths import air_to_vacuum, vacuum_to_air

__all__ = [
    "Band",
    "Index",
    "Line",
    "air_to_vacuum",
    "all_bands",
    "all_indices",
    "all_lines",
    "get_band",
    "get_index",
    "get_line",
    "lines_between",
    "vacuum_to_air",
]
