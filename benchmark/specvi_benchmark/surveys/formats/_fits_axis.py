"""What FITS headers say of a wavelength axis: linear and logarithmic grids, unit, air or vacuum."""

import re

import numpy as np

from specvi_benchmark.spectrum import FloatArray
from specvi_benchmark.surveys.fits import FitsFile
from specvi_benchmark.surveys.fits_header import BLOCK, CARD, Header
from specvi_benchmark.surveys.formats._medium import medium_word
from specvi_benchmark.surveys.source import Medium, Source

_LOG_AXES = ("WAVE-LOG", "AWAV-LOG")
_WAT_UNITS = re.compile(r"\bunits=([^\s\"']+)")
_NONLINEAR = re.compile(r"MULTISPE|^(?:WAVE|AWAV)-(?!LOG)")
_NO_WAVELENGTH = re.compile(
    r"^(?:FREQ|ENER|WAVN|VRAD|VOPT|VELO|FELO|ZOPT|BETA|PIXEL|CHANNEL|TIME|STOKES|RA-|DEC-|[GE]L(?:ON|AT)-)"
)  # FITS standard 4.0, tables 22 and 25
_SAME_STEP = 1e-5  # CD1_1 and CDELT1 say the same twice; relative


def image_grid(source: Source, header: Header, size: int) -> FloatArray:
    """Return the wavelengths of a 1-D image in the header's unit, ``(size,)``.

    Linear: CRVAL1 + CDELT1·(pixel − CRPIX1), pixels counted from 1, CDELT1 also written CD1_1. IRAF's
    DC-FLAG = 1 makes these logarithms (base 10); WAVE-LOG is CRVAL1·exp(CDELT1·(pixel − CRPIX1)/CRVAL1)
    (FITS standard 4.0, table 25 and section 8.4; IRAF onedspec.package). Without CRPIX1, CRVAL1 is taken
    as that of the first pixel, as everybody means it; the standard's default would be one pixel before.

    Raises
    ------
    UserError
        The grid is missing, contradicts itself, or is of a kind that is not read.
    """
    kind = (header.text("CTYPE1") or "").upper()
    if _NONLINEAR.search(kind):
        raise source.fault(
            f"a wavelength axis of the kind {kind}",
            expected="a linear or logarithmic grid (CRVAL1, CDELT1)",
            fix="resample it (IRAF: dispcor), or save wavelength and flux as a table",
        )
    if _NO_WAVELENGTH.search(kind):
        raise source.fault(
            f"the axis is {kind}, not wavelength",
            expected="CTYPE1 that stands for wavelength (WAVE, AWAV, LINEAR, LAMBDA)",
            fix="convert it to wavelengths, or correct CTYPE1",
        )
    start, step = header.number("CRVAL1"), header.number("CDELT1")
    again = header.number("CD1_1")
    pixel = header.number("CRPIX1")
    step = again if step is None else step
    if start is None or not step:
        raise source.fault(
            "no wavelength grid", expected="CRVAL1 and CDELT1 (or CD1_1)", got=f"{start}, {step}"
        )
    if again and abs(again - step) > _SAME_STEP * abs(step) and header.number("CDELT1") != 1:
        raise source.fault(
            "two steps in one header", expected="CDELT1 equal to CD1_1", got=f"{step}, {again}"
        )
    step = again or step
    offset = step * (np.arange(1.0, size + 1) - (1.0 if pixel is None else pixel))
    with np.errstate(all="ignore"):
        if kind in _LOG_AXES:
            grid: FloatArray = start * np.exp(offset / start)
        elif header.integer("DC-FLAG") == 1:
            grid = 10.0 ** (start + offset)
        else:
            grid = start + offset
    return grid


def image_unit(header: Header) -> str:
    """Return the unit of the axis: CUNIT1, or what IRAF writes into WAT1_001; empty if neither is there."""
    unit = header.text("CUNIT1")
    told = _WAT_UNITS.search(header.text("WAT1_001") or "")
    return unit or (told[1] if told else "")


def header_medium(header: Header) -> Medium | None:
    """Return air or vacuum from keywords: CTYPE1 (AWAV is air, WAVE vacuum), AIRORVAC, WAVETYPE, VACUUM."""
    kind = (header.text("CTYPE1") or "").upper()
    by_axis: Medium | None = (
        "air" if kind.startswith("AWAV") else "vacuum" if kind.startswith("WAVE") else None
    )
    told = (medium_word(header.text(keyword) or "") for keyword in ("AIRORVAC", "WAVETYPE"))
    vacuum = header.get("VACUUM")
    by_flag: Medium | None = None if not isinstance(vacuum, bool) else "vacuum" if vacuum else "air"
    return next((medium for medium in (*told, by_flag, by_axis) if medium is not None), None)


def commentary(fits: FitsFile) -> str:
    """Return COMMENT and HISTORY of the first two headers, a line a card."""
    lines: list[str] = []
    start = 0
    for hdu in fits.hdus[:2]:
        cards = bytes(fits.part(start, hdu.start))
        lines += [
            cards[position + 8 : position + CARD].decode("ascii", "replace").strip(" =/'")
            for position in range(0, len(cards), CARD)
            if cards.startswith((b"COMMENT ", b"HISTORY "), position)
        ]
        start = hdu.start + hdu.size + (-hdu.size % BLOCK)
    return "\n".join(lines)
