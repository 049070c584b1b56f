"""A spectrum as the SDSS web pages save it: CSV of wavelength, flux, fit and sky."""

from collections.abc import Iterator

from specvi_benchmark.spectrum import Spectrum, clean_spectrum
from specvi_benchmark.surveys.formats._padding import filled
from specvi_benchmark.surveys.formats._text import text_table
from specvi_benchmark.surveys.registry import Format
from specvi_benchmark.surveys.source import Source

HEADER = "wavelength,flux,bestfit,skyflux"


def recognises(source: Source) -> bool:
    """Return whether the first line is ``Wavelength,Flux,BestFit,SkyFlux``."""
    return source.text is not None and _first_line(source.text) == HEADER


def read(source: Source) -> Iterator[Spectrum]:
    """Yield the spectrum: vacuum Å and 1e-17 erg/s/cm²/Å, as everywhere in SDSS."""
    table = text_table(source)
    if table is None:
        raise source.fault("no rows of numbers below the header", expected="four numbers a line")
    flux = table.column(1)
    yield clean_spectrum(
        table.column(0), flux, mask=filled(flux), survey="sdss", name=source.name, format=FORMAT.name
    )


def _first_line(text: str) -> str:
    return text[:200].lstrip("\ufeff").split("\n", 1)[0].replace(" ", "").replace('"', "").strip().casefold()


FORMAT = Format(
    name="sdss-csv",
    recognised_by="text with the first line `Wavelength,Flux,BestFit,SkyFlux`",
    reads="wavelength (vacuum) and flux; runs of zeros are masked",
    leaves_out="the fit and the sky; errors, identity and class, which the file does not have",
    recognises=recognises,
    read=read,
)
