"""The wavelength grid that LAMOST and SDSS write into headers."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from specvi_benchmark.spectrum import FloatArray
from specvi_benchmark.surveys.fits_header import Header
from specvi_benchmark.surveys.source import Source

PLAUSIBLE_AA = (1000.0, 30000.0)  # spectra of these surveys lie between 3500 and 10500 Å
LARGEST_SHIFT = 0.1  # pixels by which two statements of one grid may differ


def log_grid(source: Source, header: Header, size: int) -> NDArray[np.float64]:
    """Return log10 λ = COEFF0 + COEFF1·pixel, pixels counted from 0, as vacuum Å.

    The formula is the surveys' own: see https://www.sdss4.org/dr17/spectro/spectro_basics/ and the
    low-resolution data description of any LAMOST release. Where DC-FLAG is 1, CRVAL1 and CD1_1 say
    the same once more, and have to agree.

    Raises
    ------
    UserError
        A coefficient is missing, the two statements disagree, the grid is nowhere near visible light,
        or the header says that its wavelengths are in air.
    """
    start, step = header.number("COEFF0"), header.number("COEFF1")
    if start is None or step is None or size < 2:
        raise source.fault(
            "no wavelength grid",
            expected="COEFF0 and COEFF1 in the header, 2 pixels or more",
            got=f"COEFF0 {start}, COEFF1 {step}, {size} pixels",
        )
    again = header.number("CRVAL1"), header.number("CD1_1")
    if header.integer("DC-FLAG") == 1 and None not in again:
        same = abs(again[0] - start) < LARGEST_SHIFT * step  # type: ignore[operator]  # not None
        same &= abs(again[1] - step) * size < LARGEST_SHIFT * step  # type: ignore[operator]  # not None
        if not same:
            raise source.fault(
                "two wavelength grids in one header",
                expected="CRVAL1 and CD1_1 equal to COEFF0 and COEFF1",
                got=f"{again} and {(start, step)}",
                fix="the header was edited or damaged; fetch the file again",
            )
    ends = start, start + step * (size - 1)
    low, high = np.log10(PLAUSIBLE_AA)
    if not low < ends[0] < ends[1] < high:
        raise source.fault(
            "the wavelength grid can't be true",
            expected="increasing, between {:.0f} and {:.0f} Å".format(*PLAUSIBLE_AA),
            got=f"log10 λ from {ends[0]:g} to {ends[1]:g}",
        )
    refuse_air(source, header)
    return _powers(start, step, size)[0]


@lru_cache(maxsize=16)
def _powers(start: float, step: float, size: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return wavelengths and pixel widths (Å) of one grid, read-only: most files of a survey share it."""
    grid: NDArray[np.float64] = np.power(10.0, start + step * np.arange(size))
    width = grid * np.log(10.0) * step
    for array in (grid, width):
        array.setflags(write=False)
    return grid, width


def check_grid(source: Source, header: Header, wavelength_AA: np.ndarray) -> FloatArray:
    """Compare stored wavelengths with COEFF0 and COEFF1; return them as float64, shared by files of one grid.

    Raises
    ------
    UserError
        They differ by more than a tenth of a pixel (rounding explains 0.03): rows, lengths or
        coefficients were damaged, and flux would stand at a wrong wavelength.
    """
    log_grid(source, header, wavelength_AA.size)
    coefficients = header.number("COEFF0") or 0.0, header.number("COEFF1") or 0.0
    stored, shift = _compared(*coefficients, wavelength_AA.tobytes(), wavelength_AA.dtype.str)
    if not shift < LARGEST_SHIFT:
        raise source.fault(
            "the stored wavelengths contradict the header",
            expected="10^(COEFF0 + COEFF1·pixel)",
            got=f"a difference of {np.nanmax(_shifts(*coefficients, stored)):.3g} pixels",
            fix="the file was damaged or edited; fetch it again",
        )
    return stored


@lru_cache(maxsize=16)
def _compared(start: float, step: float, content: bytes, dtype: str) -> tuple[FloatArray, float]:
    """Return stored wavelengths as float64, read-only, and by how many pixels they differ at most (or NaN)."""
    stored = np.frombuffer(content, dtype).astype(np.float64)
    stored.setflags(write=False)
    return stored, float(_shifts(start, step, stored).max())


def _shifts(start: float, step: float, stored: FloatArray) -> FloatArray:
    grid, pixel_AA = _powers(start, step, stored.size)
    with np.errstate(invalid="ignore", over="ignore"):
        shift: FloatArray = np.abs(stored - grid) / pixel_AA
    return shift


def refuse_air(source: Source, header: Header) -> None:
    """Raise a UserError where the header says that wavelengths are not in vacuum."""
    if header.get("VACUUM") is False:
        raise source.fault(
            "wavelengths in air where this survey gives vacuum",
            expected="VACUUM = T",
            got="VACUUM = F",
            fix="fetch the survey's own file, or save wavelength and flux as a table that says `air`",
        )
