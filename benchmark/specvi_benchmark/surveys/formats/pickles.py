"""The stellar flux library of Pickles (1998, PASP 110, 863): text files ``o5v.dat``, ``m10iii.dat``."""

import re
from collections.abc import Iterator

import numpy as np

from specvi_benchmark.lines.wavelengths import air_to_vacuum
from specvi_benchmark.spectrum import Spectrum, clean_spectrum
from specvi_benchmark.surveys.formats._fixed_width import fixed_column
from specvi_benchmark.surveys.formats._padding import filled
from specvi_benchmark.surveys.registry import Format
from specvi_benchmark.surveys.source import Source

GRID_AA = np.arange(1150.0, 10620.1, 5.0)
_FIRST_LINE = re.compile(r" ?1150\.0 {0,3}-?\d+\.\d{6}( {0,3}-?\d+\.\d{6}){0,12}\s*")
_FLUX = (7, 17)  # F7.1, then F10.6 for each spectrum that went into the mean


def recognises(source: Source) -> bool:
    """Return whether this is text of 1895 lines that begin with 1150.0 to 10620.0 Å in steps of 5."""
    if source.text is None or not _FIRST_LINE.fullmatch(source.text.split("\n", 1)[0]):
        return False
    lines = source.text.splitlines()
    return len(lines) == GRID_AA.size and lines[-1][:7] == "10620.0"


def read(source: Source) -> Iterator[Spectrum]:
    """Yield the spectrum: flux relative to that at 5556 Å, zero where the library has no data.

    Wavelengths are air: in a0v.dat Hα, Hβ and Hγ are centred on 6562, 4861 and 4340 Å. Columns
    touch where the flux is 100 or more, so they are cut by place.
    """
    assert source.text is not None
    lines = list(enumerate(source.text.splitlines(), start=1))
    wavelength = fixed_column(source, lines, 0, _FLUX[0])
    if not np.array_equal(wavelength, GRID_AA):
        wrong = int(np.flatnonzero(wavelength != GRID_AA)[0])
        raise source.fault(
            "the wavelengths are not those of the Pickles library",
            expected=f"{GRID_AA[wrong]:.1f} in line {wrong + 1}",
            got=lines[wrong][1][:7],
            fix="fetch the file again; to read a table of your own, give it a header line",
        )
    flux = fixed_column(source, lines, *_FLUX)
    yield clean_spectrum(
        air_to_vacuum(wavelength),
        flux,
        mask=filled(flux),
        survey="pickles",
        name=source.name,
        format=FORMAT.name,
    )


FORMAT = Format(
    name="pickles",
    recognised_by="text of 1895 lines in F7.1, F10.6 …, from 1150.0 to 10620.0 Å in steps of 5",
    reads="the first flux column; air wavelengths, converted; runs of 5 zeros or more are masked",
    leaves_out="the spectra that went into the mean (columns 3 and up)",
    recognises=recognises,
    read=read,
    medium="air",
)
