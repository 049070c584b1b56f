"""DESI's teaching tables ("DESI High"): one column of wavelength, and one of flux for each target."""

import re
from collections.abc import Iterator

import numpy as np

from specvi_benchmark.spectrum import FloatArray, Spectrum, clean_spectrum
from specvi_benchmark.surveys.fits import Hdu
from specvi_benchmark.surveys.formats import _desi
from specvi_benchmark.surveys.formats._values import real_numbers
from specvi_benchmark.surveys.registry import Format, Skipped
from specvi_benchmark.surveys.source import Source

WAVELENGTHS = ("wavelength", "wave")

_TARGET = re.compile(r"^target(\d+)$")


def recognises(source: Source) -> bool:
    """Return whether a table has wavelengths and at least one column TARGETnnn."""
    return _table(source) is not None


def read(source: Source) -> Iterator[Spectrum | Skipped]:
    """Yield one spectrum a column, without errors; the arms' overlaps, given twice, are averaged."""
    table = _table(source)
    assert table is not None
    name = next(name for name in WAVELENGTHS if name in table.columns)
    wavelength = real_numbers(table.column(name), table, name).astype(np.float64)
    if wavelength.ndim != 1 or not np.isfinite(wavelength).all():
        raise table.fault("no wavelength grid", expected="one finite wavelength a row", got=wavelength.shape)
    order, firsts = _pixels(wavelength)
    labels = _desi.labels_beside(source)
    for row, column in enumerate(column for column in table.columns if _TARGET.match(column)):
        target = column.removeprefix("target")
        flux = real_numbers(table.column(column), table, column).astype(np.float64)
        if flux.shape != wavelength.shape:
            raise table.fault(f"column {column} is no spectrum", expected="one flux a row", got=flux.shape)
        if not np.nan_to_num(flux).any():
            yield Skipped(row, target, "no light: every flux is 0")
            continue
        yield clean_spectrum(
            _means(wavelength[order], firsts),
            _means(flux[order], firsts),
            format=FORMAT.name,
            survey="desi",
            survey_id=target,
            name=f"{source.name}[{row}]",
            claims=labels.claims(int(target)),
            **labels.position(int(target)),
        )


def _table(source: Source) -> Hdu | None:
    if source.fits is None:
        return None
    return next(
        (
            hdu
            for hdu in source.fits.hdus
            if any(name in hdu.columns for name in WAVELENGTHS) and any(map(_TARGET.match, hdu.columns))
        ),
        None,
    )


def _pixels(wavelength_AA: FloatArray) -> tuple[np.ndarray, np.ndarray]:
    """Return the order of increasing wavelength, and where a new pixel starts in it."""
    order = np.argsort(wavelength_AA, kind="stable")
    new = np.diff(wavelength_AA[order], prepend=-np.inf) > _desi.SAME_PIXEL_AA
    return order, np.flatnonzero(new)


def _means(values: FloatArray, firsts: np.ndarray) -> FloatArray:
    sums: FloatArray = np.add.reduceat(values, firsts)
    return sums / np.diff(firsts, append=values.size)


FORMAT = Format(
    name="desi-table",
    recognised_by="a table with WAVELENGTH or WAVE and columns TARGET and a number",
    reads="the teaching tables of DESI High: one spectrum a column; overlaps of the arms, given twice, averaged; TARGETID; "
    "SPECTYPE, SUBTYPE, Z, ZWARN and position from zbest-* or redrock-* beside the file",
    leaves_out="errors, which the tables do not have; columns without light are skipped",
    recognises=recognises,
    read=read,
)
