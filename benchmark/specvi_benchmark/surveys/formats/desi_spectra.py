"""DESI coadds and spectra: three arms a target, joined on one grid."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from specvi_benchmark.errors import UserError
from specvi_benchmark.spectrum import BoolArray, FloatArray, Spectrum, clean_spectrum
from specvi_benchmark.surveys.fits import FitsFile
from specvi_benchmark.surveys.formats._values import known_number
from specvi_benchmark.surveys.registry import Format, Skipped
from specvi_benchmark.surveys.source import Source

ARMS = ("B", "R", "Z")
GRID_TOLERANCE_AA = 0.01  # arms lie on one 0.8 Å grid; what is further apart is another grid


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm of every target: ``(n,)`` wavelengths, ``(targets, n)`` flux, ivar and mask."""

    wavelength_AA: FloatArray
    flux: np.ndarray
    ivar: np.ndarray
    bad: BoolArray


def recognises(source: Source) -> bool:
    """Return whether the file has a FIBERMAP and wavelength and flux of at least one arm."""
    return (
        source.fits is not None and source.fits.get("FIBERMAP") is not None and bool(_arm_names(source.fits))
    )


def read(source: Source) -> Iterator[Spectrum | Skipped]:
    """Yield one spectrum a target; sky fibres, stuck fibres and rows without light are skipped and named."""
    assert source.fits is not None
    arms = [_arm(source.fits, name) for name in _arm_names(source.fits)]
    grid, places = _common_grid(source, arms)
    fibermap = source.fits["FIBERMAP"]
    wanted = ("targetid", "objtype", "target_ra", "target_dec", "ref_cat", "ref_id")
    columns = {name: fibermap.column(name) for name in wanted if name in fibermap.columns}
    if fibermap.n_rows != arms[0].flux.shape[0] or "targetid" not in columns:
        raise fibermap.fault(
            "the fibre map does not fit the spectra",
            expected=f"TARGETID for {arms[0].flux.shape[0]} rows",
            got=f"{fibermap.n_rows} rows, columns {', '.join(columns)}",
        )
    for row in range(fibermap.n_rows):
        cells = {name: values[row] for name, values in columns.items()}
        target = str(cells["targetid"])
        reason = _no_object(cells)
        if reason is None and not any((arm.ivar[row][~arm.bad[row]] > 0).any() for arm in arms):
            reason = "no pixel with information"
        if reason is not None:
            yield Skipped(row, target, reason)
            continue
        flux, ivar = _join(arms, places, grid.size, row)
        yield clean_spectrum(grid, flux, ivar, format=FORMAT.name, **_about(source, cells))


def _arm_names(fits: FitsFile) -> list[str]:
    return [
        arm
        for arm in ARMS
        if fits.get(f"{arm}_WAVELENGTH") is not None and fits.get(f"{arm}_FLUX") is not None
    ]


def _arm(fits: FitsFile, name: str) -> Arm:
    parts = {part: fits.get(f"{name}_{part}") for part in ("WAVELENGTH", "FLUX", "IVAR", "MASK")}
    for part in ("WAVELENGTH", "FLUX", "IVAR"):
        if parts[part] is None:
            raise UserError(
                "an HDU is missing", where=fits.name, expected=f"{name}_{part}", fix="fetch the file again"
            )
    arrays = {part: hdu.image() for part, hdu in parts.items() if hdu is not None}
    flux = arrays["FLUX"]
    expected = (flux.shape[0], arrays["WAVELENGTH"].size) if flux.ndim == 2 else None
    if any(array.shape != expected for part, array in arrays.items() if part != "WAVELENGTH"):
        raise UserError(
            f"the arrays of arm {name} do not fit",
            where=fits.name,
            expected="(targets, pixels) of one size",
            got=", ".join(f"{part} {array.shape}" for part, array in arrays.items()),
        )
    bad = arrays["MASK"] != 0 if "MASK" in arrays else np.zeros(flux.shape, dtype=np.bool_)
    return Arm(arrays["WAVELENGTH"].astype(np.float64), flux, arrays["IVAR"], bad)


def _common_grid(source: Source, arms: list[Arm]) -> tuple[FloatArray, list[slice]]:
    """Return the joined grid, and where each arm lies on it."""
    joined = np.unique(np.round(np.concatenate([arm.wavelength_AA for arm in arms]) / GRID_TOLERANCE_AA))
    grid = joined * GRID_TOLERANCE_AA
    places = []
    for arm in arms:
        first = int(np.argmin(np.abs(grid - arm.wavelength_AA[0])))
        place = slice(first, first + arm.wavelength_AA.size)
        fits_grid = grid[place].size == arm.wavelength_AA.size
        if not fits_grid or not np.allclose(grid[place], arm.wavelength_AA, rtol=0, atol=GRID_TOLERANCE_AA):
            raise source.fault(
                "the arms do not lie on one grid",
                expected="overlapping arms with the same pixels (0.8 Å steps)",
                got=f"an arm from {arm.wavelength_AA[0]:.2f} Å that falls between pixels",
                fix="resample the arms first",
            )
        places.append(place)
    return grid, places


def _join(arms: list[Arm], places: list[slice], size: int, row: int) -> tuple[FloatArray, FloatArray]:
    """Return flux and ivar of one target; where arms overlap, the inverse-variance weighted mean."""
    weighted, weight = np.zeros(size), np.zeros(size)
    for arm, place in zip(arms, places, strict=True):
        ivar = np.where(arm.bad[row] | ~(arm.ivar[row] > 0) | ~np.isfinite(arm.flux[row]), 0.0, arm.ivar[row])
        weighted[place] += np.where(ivar > 0, ivar * arm.flux[row], 0.0)
        weight[place] += ivar
    flux = np.divide(weighted, weight, out=np.zeros(size), where=weight > 0)
    return flux, weight


def _no_object(cells: Mapping[str, Any]) -> str | None:
    if int(cells["targetid"]) < 0:
        return "no target on this fibre (TARGETID below 0: stuck or sky)"
    objtype = str(cells.get("objtype", "TGT"))
    return None if objtype == "TGT" else f"not a target fibre (OBJTYPE {objtype or 'empty'})"


def _about(source: Source, cells: Mapping[str, Any]) -> dict[str, Any]:
    assert source.fits is not None
    header = source.fits["FIBERMAP"].header
    programme = [header.text(key) or source.fits.primary.text(key) for key in ("SURVEY", "PROGRAM")]
    reference = str(cells.get("ref_cat", ""))
    return {
        "survey": "desi",
        "release": "-".join(word for word in programme if word) or None,
        "survey_id": str(cells["targetid"]),
        "name": f"{source.name}[{cells['targetid']}]",
        "ra_deg": _number(cells.get("target_ra")),
        "dec_deg": _number(cells.get("target_dec")),
        "gaia_id": int(cells["ref_id"])
        if reference.startswith("G") and int(cells.get("ref_id", 0)) > 0
        else None,
    }


def _number(value: Any) -> float | None:
    return None if value is None or not np.isfinite(value) else known_number(float(value))


FORMAT = Format(
    name="desi-spectra",
    recognised_by="HDUs FIBERMAP and {B,R,Z}_WAVELENGTH, {B,R,Z}_FLUX",
    reads="the three arms joined on one 0.8 Å grid, overlaps weighted by ivar, masked pixels left out; TARGETID, position, Gaia id",
    leaves_out="resolution matrices, scores, exposures; sky and stuck fibres and rows without light (reported)",
    recognises=recognises,
    read=read,
)
