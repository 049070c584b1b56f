"""Reading spectra: any survey file, recognised by its content, becomes a `Spectrum`."""

from specvi_benchmark.surveys.reading import Reading, read_spectra, read_spectrum
from specvi_benchmark.surveys.registry import Skipped

__all__ = ["Reading", "Skipped", "read_spectra", "read_spectrum"]
