"""What the DESI layouts share: labels from the redshift table beside a file, and the joined grid."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from specvi_benchmark.spectrum import Claims, FloatArray
from specvi_benchmark.surveys.fits import FitsFile, Hdu
from specvi_benchmark.surveys.formats._values import known_integer, known_number, known_text
from specvi_benchmark.surveys.source import Source, open_source

SAME_PIXEL_AA = 0.01  # arms share one 0.8 Å grid; rounding moves its pixels by 1e-9 Å

_NAME = re.compile(r"^(coadd|spectra)-(?P<rest>.+?)(\.fits|\.gz|\.fz)*$")
_LABELS = ("targetid", "z", "zwarn", "spectype", "subtype")
_NO_LABEL: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Labels:
    """Redrock's answer for each TARGETID: the row of the redshift table."""

    rows: Mapping[int, Mapping[str, Any]]

    def claims(self, target: int) -> Claims:
        """Return class (GALAXY, QSO, STAR), subclass, redshift and warning bits; unknown without a row."""
        row = self.rows.get(target)
        if row is None:
            return Claims()
        return Claims(
            object_class=known_text(row.get("spectype")),
            subclass=known_text(row.get("subtype")),
            redshift=known_number(row.get("z")),
            redshift_warning=known_integer(row.get("zwarn")),
        )

    def position(self, target: int) -> dict[str, float | None]:
        """Return right ascension and declination, for tables that carry them."""
        row = self.rows.get(target, _NO_LABEL)
        return {
            "ra_deg": known_number(row.get("target_ra")),
            "dec_deg": known_number(row.get("target_dec")),
        }


def redshift_table(fits: FitsFile) -> Hdu | None:
    """Return the table of redrock's answers, called REDSHIFTS or, until 2021, ZBEST; None without one."""
    return next(
        (hdu for hdu in fits.hdus if {"targetid", "z", "zwarn", "spectype"} <= set(hdu.columns)), None
    )


def labels_beside(source: Source) -> Labels:
    """Read redrock-X.fits or zbest-X.fits (or .fits.gz) beside coadd-X.fits or spectra-X.fits.

    Raises
    ------
    UserError
        There is such a file, and it can't be read or is no redshift table.
    """
    path = next(filter(Path.is_file, _siblings(source.path)), None)
    if path is None:
        return Labels({})
    beside = open_source(path)
    table = None if beside.fits is None else redshift_table(beside.fits)
    if table is None or not are_ids(table.column("targetid")):
        raise beside.fault(
            "not a redshift table, although its name says so",
            expected=f"TARGETID, Z, ZWARN and SPECTYPE for {source.name}",
            fix="fetch it again, or move it away to read the spectra without labels",
        )
    names = [name for name in (*_LABELS, "target_ra", "target_dec") if name in table.columns]
    columns = [table.column(name) for name in names]
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    return Labels({int(row["targetid"]): row for row in reversed(rows)})  # the first of doubled ones counts


def joined_grid(source: Source, arms: Iterable[FloatArray]) -> tuple[FloatArray, list[slice]]:
    """Return the common wavelengths of arms that share a grid, and where each arm lies on it.

    Raises
    ------
    UserError
        An arm's wavelengths do not increase, or its pixels fall between those of the arm before.
    """
    grid: FloatArray = np.zeros(0)
    places = []
    for arm in arms:
        if arm.size < 2 or not (np.diff(arm) > SAME_PIXEL_AA).all():
            raise source.fault("an arm's wavelengths do not increase", got=f"{arm.size} pixels")
        first = int(np.searchsorted(grid, arm[0] - SAME_PIXEL_AA))
        shared = grid[first : first + arm.size]
        if not (np.abs(shared - arm[: shared.size]) < SAME_PIXEL_AA).all():
            raise source.fault(
                "the arms do not lie on one grid",
                expected="arms in order, the same pixels where they overlap (0.8 Å steps)",
                got=f"an arm from {arm[0]:.2f} Å that falls between pixels",
                fix="resample the arms first, or coadd them with desispec.coaddition.coadd_cameras",
            )
        grid = np.concatenate([grid, arm[shared.size :]])
        places.append(slice(first, first + arm.size))
    grid.setflags(write=False)  # shared by all spectra of the file
    return grid, places


def are_ids(values: np.ndarray | None) -> bool:
    """Return whether a column holds one integer a row, as TARGETID does."""
    return values is not None and values.ndim == 1 and values.dtype.kind == "i"


def _siblings(path: Path) -> Iterable[Path]:
    match = _NAME.match(path.name)
    if match is None:
        return []
    return [
        path.with_name(f"{kind}-{match['rest']}{ending}")
        for kind in ("redrock", "zbest")
        for ending in (".fits", ".fits.gz")
    ]
