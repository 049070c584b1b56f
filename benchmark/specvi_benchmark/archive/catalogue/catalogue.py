"""A catalogue in memory: its columns as they came, and what they say of spectra, objects and positions."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from specvi_benchmark.archive.catalogue import values
from specvi_benchmark.archive.catalogue.roles import POSITIONAL
from specvi_benchmark.errors import UserError, examples

_LAMOST_FILE = re.compile(r"spec-(\d{5})-(\S+?)_sp(\d{1,2})-(\d{1,3})(?:\.|$)")
_SDSS_FILE = re.compile(r"spec-(\d{1,5})-(\d{5})-(\d{1,4})(?:\.|$)")
_SDSSV_FILE = re.compile(r"spec-(\d{5,6})-(\d{5})-(\d{5,20})(?:\.|$)")  # field, night, catalogid
_SPSPEC_FILE = re.compile(r"spSpec-(\d{5})-(\d{1,5})-(\d{1,4})(?:\.|$)")
_PARTS = (
    ("lmjd", "planid", "spid", "fiberid"),
    ("plate", "mjd", "fiberid"),
    ("field", "mjd", "catalogid"),
)
"""Columns that name a spectrum together: of LAMOST, SDSS, SDSS-V."""


@dataclass(frozen=True, slots=True, eq=False)
class Catalogue:
    """One table.

    Attributes
    ----------
    where
        The file.
    form
        How it was written: ``fits``, ``votable``, ``ecsv``, ``mrt``, ``parquet``, ``vizier``, or text by its separator.
    table
        The columns that were read, with their own names; null where a survey writes a sentinel.
    roles
        Which column plays which role (see `roles.ROLES`), by the names of the whole table.
    notes
        What the reader should know of the reading: lines left out, columns that hold no single values.
    """

    where: str
    form: str
    table: pa.Table
    roles: Mapping[str, str]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.table.num_rows)

    def has(self, role: str) -> bool:
        """Return whether a column plays this role and was read."""
        return role in self.roles and self.roles[role] in self.table.column_names

    def column(self, role: str) -> pa.Array:
        """Return the column of a role.

        Raises
        ------
        UserError
            The table has none.
        """
        if not self.has(role):
            raise self.lacks(role)
        found = self.table.column(self.roles[role]).combine_chunks()
        return found.chunk(0) if isinstance(found, pa.ChunkedArray) else found

    def take(self, rows: np.ndarray) -> "Catalogue":
        """Return the same catalogue of some rows only."""
        return replace(self, table=self.table.take(pa.array(rows)))

    def by_position(self) -> "Catalogue":
        """Return the same rows without what they name: only their positions are left to match them by."""
        return replace(self, roles={role: name for role, name in self.roles.items() if role in POSITIONAL})

    def lacks(self, what: str, fix: str = "rename the column that holds it") -> UserError:
        """Return the error for a column that the table does not have."""
        return UserError(
            "a column is missing",
            where=self.where,
            expected=what,
            got=examples(self.table.column_names, limit=12),
            fix=fix,
        )

    def ids(self, role: str) -> np.ndarray:
        """Return a column of ids as ``(n,)`` int64, 0 where a row has none.

        Raises
        ------
        UserError
            There is no such column.
        """
        return values.whole_numbers(self.column(role))[0]

    def unusable_ids(self, role: str) -> int:
        """Return how many cells of an id column hold something that is no id: text, or a number that lost digits."""
        return values.whole_numbers(self.column(role))[1]

    def texts(self, role: str) -> list[str | None]:
        """Return a column as text, None where a row has none.

        Raises
        ------
        UserError
            There is no such column.
        """
        cells = values.without_sentinels(self.column(role)).to_pylist()
        return [None if cell is None else str(cell) for cell in cells]

    def id_texts(self, role: str) -> list[str | None]:
        """Return a column of ids of any form as text; a whole number that stands as a float is one without decimals.

        One too large for a float keeps the float's form, which is no id to any survey: its last digits are lost.

        Raises
        ------
        UserError
            There is no such column.
        """
        cells = values.without_sentinels(self.column(role)).to_pylist()
        return [
            None
            if cell is None
            else str(int(cell))
            if isinstance(cell, float) and cell.is_integer() and abs(cell) < values.SAFE_INTEGER
            else repr(cell)
            if isinstance(cell, float)
            else str(cell)
            for cell in cells
        ]

    def positions(self) -> tuple[np.ndarray, np.ndarray]:
        """Return right ascension and declination, each ``(n,)`` float64 in degrees, NaN where a row has none.

        From degrees, sexagesimal text (hours for right ascension), columns of hours, minutes and seconds, or the
        position that a designation states. What lies outside the sky is none.
        """
        ra, dec = self._stated_positions()
        with np.errstate(invalid="ignore"):
            good = (ra >= 0) & (ra <= 360) & (np.abs(dec) <= 90)  # degrees
        return np.where(good, ra, np.nan), np.where(good, dec, np.nan)

    def spectrum_names(self) -> list[str | None]:
        """Return the spectrum that each row names by its file, None where it names none.

        ``lmjd-planid-spid-fiberid`` for LAMOST, ``plate-mjd-fiberid`` for SDSS, ``field-mjd-catalogid`` for SDSS-V,
        numbers without leading zeros. From a column of file names, else from the columns of those parts.
        """
        if self.has("file"):
            named = [spectrum_name(text) for text in self.texts("file")]
            if any(named):
                return named
        for parts in _PARTS:
            if all(self.has(part) for part in parts):
                rows = zip(*(self._parts(part) for part in parts), strict=True)
                return ["-".join(map(str, row)) if all(row) else None for row in rows]
        return [None] * len(self)

    def _parts(self, role: str) -> list[Any]:
        return self.texts(role) if role == "planid" else self.ids(role).tolist()

    def _stated_positions(self) -> tuple[np.ndarray, np.ndarray]:
        if self.has("ra") and self.has("dec"):
            return self._angles("ra", hours=True), self._angles("dec", hours=False)
        if all(self.has(part) for part in ("rah", "ram", "ras", "ded", "dem")):
            return self._of_parts()
        if self.has("designation"):
            return values.of_designations(self.texts("designation"))
        return np.full(len(self), np.nan), np.full(len(self), np.nan)

    def _angles(self, role: str, *, hours: bool) -> np.ndarray:
        """Return a column of degrees, or of sexagesimal text where it holds no number."""
        angles = values.degrees(self.column(role))
        return values.sexagesimal(self.texts(role), hours=hours) if np.isnan(angles).all() else angles

    def _of_parts(self) -> tuple[np.ndarray, np.ndarray]:
        """Put together the columns RAh, RAm, RAs, DE-, DEd, DEm, DEs of VizieR and the AAS journals."""
        h, m, s, d, dm = (values.degrees(self.column(part)) for part in ("rah", "ram", "ras", "ded", "dem"))
        ds = np.nan_to_num(values.degrees(self.column("des"))) if self.has("des") else 0.0
        south = np.array([text == "-" for text in self.texts("de-")]) if self.has("de-") else np.signbit(d)
        size = np.abs(d) + dm / 60 + ds / 3600
        return 15 * (h + m / 60 + s / 3600), np.where(south, -size, size)


def spectrum_name(text: str | None) -> str | None:
    """Return the spectrum that a file name names, as `Catalogue.spectrum_names` gives it; None where it names none."""
    if text is None:
        return None
    if found := _LAMOST_FILE.search(text):
        return f"{int(found[1])}-{found[2]}-{int(found[3])}-{int(found[4])}"
    if found := _SDSS_FILE.search(text) or _SDSSV_FILE.search(text):
        return f"{int(found[1])}-{int(found[2])}-{int(found[3])}"
    if found := _SPSPEC_FILE.search(text):  # the first releases wrote the night before the plate
        return f"{int(found[2])}-{int(found[1])}-{int(found[3])}"
    return None
