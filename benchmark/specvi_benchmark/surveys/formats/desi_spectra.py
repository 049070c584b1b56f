"""DESI coadds and spectra: three arms a target, joined on one grid."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.spectrum import BoolArray, FloatArray, Spectrum, clean_arrays
from specvi_benchmark.surveys.fits import FitsFile
from specvi_benchmark.surveys.fits_header import Header
from specvi_benchmark.surveys.formats import _desi
from specvi_benchmark.surveys.formats._values import known_integer, known_number, known_text, real_numbers
from specvi_benchmark.surveys.registry import Format, Skipped
from specvi_benchmark.surveys.source import Source

ARMS = ("B", "R", "Z")
PARTS = ("WAVELENGTH", "FLUX", "IVAR", "MASK")  # MASK may be missing, RESOLUTION is not used
FIBERMAP = (
    *("targetid", "objtype", "target_ra", "target_dec", "ref_cat", "ref_id"),
    *("mean_mjd", "mjd"),
)
ROWS_A_BLOCK, ROWS_AT_ONCE = 512, 4  # 32 MB of flux, and 250 KB


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm of every target: ``(n,)`` wavelengths, ``(targets, n)`` flux, ivar and mask."""

    wavelength_AA: FloatArray
    flux: np.ndarray
    ivar: np.ndarray
    bad: BoolArray | None


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of the joined grid: its place there, and ``(targets, n)`` flux and ivar."""

    place: slice
    flux: np.ndarray
    ivar: np.ndarray

    def part(self, place: slice) -> "Segment":
        """Return the part at ``place``, which is counted on the joined grid."""
        inside = slice(place.start - self.place.start, place.stop - self.place.start)
        return Segment(place, self.flux[:, inside], self.ivar[:, inside])


def recognises(source: Source) -> bool:
    """Return whether the file has a FIBERMAP and a part of at least one arm."""
    fits = source.fits
    return fits is not None and fits.get("FIBERMAP") is not None and bool(_arm_names(fits))


def read(source: Source) -> Iterator[Spectrum | Skipped]:
    """Yield one spectrum a target; sky fibres, stuck fibres and rows without light are skipped and named."""
    assert source.fits is not None
    arms = [_arm(source.fits, name) for name in _arm_names(source.fits)]
    grid, places = _desi.joined_grid(source, [arm.wavelength_AA for arm in arms])
    fibermap = source.fits["FIBERMAP"]
    columns = {name: fibermap.column(name) for name in FIBERMAP if name in fibermap.columns}
    n_rows = {arm.flux.shape[0] for arm in arms}
    if n_rows != {fibermap.n_rows} or not _desi.are_ids(columns.get("targetid")):
        raise fibermap.fault(
            "the fibre map does not fit the spectra",
            expected=f"TARGETID for {' and '.join(map(str, sorted(n_rows)))} rows",
            got=f"{fibermap.n_rows} rows, columns {', '.join(columns)}",
        )
    labels = _desi.labels_beside(source)
    release = _release(source.fits.primary, fibermap.header)
    segments = _segments(arms, places)
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    for row, (values, arrays) in enumerate(zip(rows, _joined(segments, grid.size), strict=True)):
        cells = dict(zip(columns, values, strict=True))
        target = int(cells["targetid"])
        reason = _no_object(cells) or ("no pixel with information" if arrays[2].all() else None)
        if reason is not None:
            yield Skipped(row, str(target), reason)
            continue
        yield Spectrum(
            grid,
            *arrays,
            format=FORMAT.name,
            survey="desi",
            release=release,
            name=f"{source.name}[{row}]",
            claims=labels.claims(target),
            **_about(cells),
        )


def _arm_names(fits: FitsFile) -> list[str]:
    """Return the arms of which any part is there, so that a lost part is noticed."""
    return [arm for arm in ARMS if any(fits.get(f"{arm}_{part}") is not None for part in PARTS)]


def _arm(fits: FitsFile, name: str) -> Arm:
    parts = {part: fits.get(f"{name}_{part}") for part in PARTS}
    lost = [f"{name}_{part}" for part, hdu in parts.items() if hdu is None and part != "MASK"]
    if lost:
        raise UserError(
            "an HDU is missing", where=fits.name, expected=examples(lost), fix="fetch the file again"
        )
    arrays = {
        part: hdu.image() if part == "MASK" else real_numbers(hdu.image(), hdu, f"{name}_{part}")
        for part, hdu in parts.items()
        if hdu is not None
    }
    flux = arrays["FLUX"]
    expected = (flux.shape[0], arrays["WAVELENGTH"].size) if flux.ndim == 2 else None
    if any(array.shape != expected for part, array in arrays.items() if part != "WAVELENGTH"):
        raise UserError(
            f"the arrays of arm {name} do not fit",
            where=fits.name,
            expected="(targets, pixels) of one size",
            got=", ".join(f"{part} {array.shape}" for part, array in arrays.items()),
        )
    mask = arrays.get("MASK")
    bad = None if mask is None else mask.view(mask.dtype.newbyteorder("=")) != 0  # 0 reads so in any order
    wavelength = arrays["WAVELENGTH"].astype(np.float64).ravel()
    return Arm(wavelength, flux, arrays["IVAR"], bad if bad is not None and bad.any() else None)


def _segments(arms: list[Arm], places: list[slice]) -> list[Segment]:
    """Return the joined grid in pieces, each of one arm or of the overlap of two.

    Where arms overlap: flux is the mean weighted by inverse variance, inverse variances add up, and
    masked pixels have weight 0 (as in desispec.coaddition.coadd_cameras). Elsewhere values are as stored.
    """
    whole = [
        Segment(place, arm.flux, arm.ivar if arm.bad is None else np.where(arm.bad, np.float32(0), arm.ivar))
        for arm, place in zip(arms, places, strict=True)
    ]
    edges = sorted({edge for place in places for edge in (place.start, place.stop)})
    segments = []
    for start, stop in pairwise(edges):
        place = slice(start, stop)
        parts = [arm.part(place) for arm in whole if arm.place.start <= start and stop <= arm.place.stop]
        segments.append(parts[0] if len(parts) == 1 else _weighted_mean(place, *parts))
    return segments


def _weighted_mean(place: slice, *segments: Segment) -> Segment:
    """Return mean flux and summed ivar of all targets; 0 and 0 where nothing is known."""
    weighted = np.zeros(segments[0].flux.shape)
    weight = np.zeros_like(weighted)
    for segment in segments:
        flux, ivar = segment.flux.astype(np.float64), segment.ivar.astype(np.float64)
        known = (ivar > 0) & np.isfinite(ivar) & np.isfinite(flux)
        weight += np.where(known, ivar, 0.0)
        weighted += np.where(known, flux, 0.0) * np.where(known, ivar, 0.0)
    return Segment(place, np.divide(weighted, weight, out=weighted, where=weight > 0), weight)


def _joined(segments: list[Segment], size: int) -> Iterator[tuple[FloatArray, FloatArray, BoolArray]]:
    """Yield flux, ivar and mask of each target on the joined grid, as rows of read-only blocks.

    A block is large enough to come as huge pages from the system, which takes half the time of many small
    arrays, and is filled a few rows at a time, while they lie in the processor's cache.
    """
    n_rows = len(segments[0].flux)
    for first in range(0, n_rows, ROWS_A_BLOCK):
        shape = (min(ROWS_A_BLOCK, n_rows - first), size)
        flux, ivar, bad = np.empty(shape), np.empty(shape), np.empty(shape, np.bool_)
        for start in range(0, shape[0], ROWS_AT_ONCE):
            here = slice(start, min(start + ROWS_AT_ONCE, shape[0]))
            there = slice(first + here.start, first + here.stop)
            for segment in segments:
                flux[here, segment.place] = segment.flux[there]
                ivar[here, segment.place] = segment.ivar[there]
            cleaned = clean_arrays(flux[here], ivar[here])
            for block, values in zip((flux, ivar, bad), cleaned, strict=True):
                if values.base is not block:
                    block[here] = values
        for block in (flux, ivar, bad):
            block.setflags(write=False)  # handed over: the spectra need not copy their rows
        yield from zip(flux, ivar, bad, strict=True)


def _no_object(cells: Mapping[str, Any]) -> str | None:
    if int(cells["targetid"]) < 0:
        return "no target on this fibre (TARGETID below 0: stuck or sky)"
    objtype = str(cells.get("objtype", "TGT"))
    return None if objtype == "TGT" else f"not a target fibre (OBJTYPE {objtype or 'empty'})"


def _about(cells: Mapping[str, Any]) -> dict[str, Any]:
    reference, gaia_id = str(cells.get("ref_cat", "")), known_integer(cells.get("ref_id")) or 0
    mjd = known_number(cells.get("mean_mjd")) or known_number(cells.get("mjd"))
    return {
        "survey_id": str(cells["targetid"]),
        "ra_deg": known_number(cells.get("target_ra")),
        "dec_deg": known_number(cells.get("target_dec")),
        "gaia_id": gaia_id if reference.startswith("G") and gaia_id > 0 else None,
        "mjd": None if mjd is None else int(mjd),
    }


def _release(primary: Header, fibermap: Header) -> str | None:
    """Return production, survey and programme, as iron-main-dark; iron is DR1, fuji the early release."""
    production = next(
        (
            header.text(key.replace("DEPNAM", "DEPVER"))
            for header in (primary, fibermap)
            for key in header
            if key.startswith("DEPNAM") and header.text(key) == "SPECPROD"
        ),
        None,
    )
    parts = (production, *(primary.text(key) or fibermap.text(key) for key in ("SURVEY", "PROGRAM")))
    return "-".join(word for word in map(known_text, parts) if word) or None


FORMAT = Format(
    name="desi-spectra",
    recognised_by="HDUs FIBERMAP and {B,R,Z}_WAVELENGTH, {B,R,Z}_FLUX, {B,R,Z}_IVAR of one to three arms",
    reads="coadd and spectra files: the arms joined on one 0.8 Å grid, overlaps weighted by ivar, masked pixels left out; "
    "TARGETID, production-survey-programme, position, Gaia id, MJD; SPECTYPE, SUBTYPE, Z, ZWARN from redrock-* or zbest-* "
    "beside the file under the same name",
    leaves_out="resolution matrices, scores, single exposures of a coadd; sky and stuck fibres and rows without light are "
    "skipped, each with its reason",
    recognises=recognises,
    read=read,
)
