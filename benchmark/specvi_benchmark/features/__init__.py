"""Measurements on one spectrum: lines, band heads, indices, continuum. Masked pixels never count."""

from specvi_benchmark.features.continuum import Binned, bin_spectrum, continuum_slope
from specvi_benchmark.features.edge import EdgeMeasurement, measure_edge
from specvi_benchmark.features.frame import MAX_STELLAR_REDSHIFT, Shift, choose_shift
from specvi_benchmark.features.line import LineMeasurement, measure_line
from specvi_benchmark.features.line_scan import LineScan, RedshiftFit, scan_lines
from specvi_benchmark.features.prepared import Prepared, Window, prepare
from specvi_benchmark.features.ratio import Measurement, flux_ratio, measure_index, window_mean
from specvi_benchmark.features.selection import SELECTION_VERSION, selection_columns, selection_features

__all__ = [
    "MAX_STELLAR_REDSHIFT",
    "SELECTION_VERSION",
    "Binned",
    "EdgeMeasurement",
    "LineMeasurement",
    "LineScan",
    "Measurement",
    "Prepared",
    "RedshiftFit",
    "Shift",
    "Window",
    "bin_spectrum",
    "choose_shift",
    "continuum_slope",
    "flux_ratio",
    "measure_edge",
    "measure_index",
    "measure_line",
    "prepare",
    "scan_lines",
    "selection_columns",
    "selection_features",
    "window_mean",
]
