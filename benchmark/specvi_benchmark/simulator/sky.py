"""The night sky's emission lines: airglow, OH, street lamps."""

from functools import cache
from importlib.resources import files

import numpy as np

from specvi_benchmark.files import StrictModel, parse_yaml, validate
from specvi_benchmark.lines import air_to_vacuum, get_line
from specvi_benchmark.spectrum import FloatArray

_LISTED_AT = 1800.0  # resolving power at which sky.yaml states heights


class _SkyLines(StrictModel):
    named: dict[str, float]
    oh_air_AA: tuple[tuple[float, float], ...]


@cache
def sky_lines() -> tuple[tuple[float, float], ...]:
    """Return (vacuum Å, height at R = 1800 in units of the sky's continuum at 5500 Å) of every line."""
    source = files("specvi_benchmark.simulator") / "sky.yaml"
    listed = validate(_SkyLines, parse_yaml(source.read_text(encoding="utf-8"), source), source)
    lines = [(get_line(name).vacuum_AA, height) for name, height in listed.named.items()]
    return (*lines, *((air_to_vacuum(air), height) for air, height in listed.oh_air_AA))


def sky_lines_on(wavelength_AA: FloatArray, sigma: FloatArray) -> FloatArray:
    """Return the lines on an instrument's pixels, each a Gaussian of the line spread ``sigma`` (in ln λ)."""
    total = np.zeros_like(wavelength_AA)
    for centre, height in sky_lines():
        here = float(np.interp(centre, wavelength_AA, sigma))
        listed = 1 / (_LISTED_AT * 2 * np.sqrt(2 * np.log(2)))
        total += height * listed / here * np.exp(-0.5 * (np.log(wavelength_AA / centre) / here) ** 2)
    return total
