"""Rows of one catalogue found in another: by spectrum, then Gaia id, then position."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from specvi_benchmark.archive.catalogue.catalogue import Catalogue

By = Literal["spectrum", "gaia", "position"]
RADIUS_ARCSEC = 3.0
"""Of a match by position: about the width of a LAMOST fibre (3.3″)."""

SAME_PLACE_ARCSEC = 1.0
"""Within which two spectra without Gaia ids pass as visits of one object: surveys point by one input catalogue."""

_Pairs = tuple[np.ndarray, np.ndarray]  # (n,) rows and (n,) partners


@dataclass(frozen=True, slots=True)
class Unmatched:
    """A row without a partner, and why."""

    row: int
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """Which rows belong together. A row may have several partners: an object has been observed more than once.

    Attributes
    ----------
    rows, partners
        ``(n,)`` row numbers of the two catalogues, by row, then nearest first.
    by
        ``(n,)`` text: what they were matched by, ``spectrum``, ``gaia`` or ``position``.
    separation_arcsec
        ``(n,)`` distance of their positions, NaN where one has none.
    unmatched
        Rows without partner.
    ambiguous
        Rows matched by position to more than one object, told apart by Gaia id: the nearest object's were kept.
    spread
        Rows matched by position to spectra more than `SAME_PLACE_ARCSEC` apart that no Gaia id tells to be of one
        object or of two: all were kept.
    radius_arcsec
        The radius that was used.
    """

    rows: np.ndarray
    partners: np.ndarray
    by: np.ndarray
    separation_arcsec: np.ndarray
    unmatched: tuple[Unmatched, ...]
    ambiguous: tuple[int, ...]
    spread: tuple[int, ...]
    radius_arcsec: float

    def contradictions(self) -> np.ndarray:
        """Return which pairs share an id but lie farther apart than the radius, ``(n,)`` bool.

        The id may be mistyped, of another Gaia release, or the star may move: look at them.
        """
        apart: np.ndarray = (self.by != "position") & (self.separation_arcsec > self.radius_arcsec)
        return apart


def match(wanted: Catalogue, known: Catalogue, radius_arcsec: float = RADIUS_ARCSEC) -> Matches:
    """Find the rows of one catalogue in another.

    Each row is matched by the first of these that finds it: the spectrum (obsid; else the file's name, or the plate, MJD
    and fibre), the Gaia source id, the position within the radius (astropy). Gaia ids change between releases (DR2 and
    DR3 ids of a source mostly differ): give both tables in one, or let the position decide. Positions are compared as
    they stand, without proper motion.

    Parameters
    ----------
    wanted
        For instance a paper's table of carbon stars.
    known
        For instance a survey's general catalogue; it may have millions of rows.
    radius_arcsec
        Of a match by position.
    """
    where, place = wanted.positions(), known.positions()
    found: list[tuple[By, _Pairs]] = []
    open_rows = np.ones(len(wanted), np.bool_)
    ambiguous: list[int] = []
    steps: tuple[tuple[By, Callable[[np.ndarray], _Pairs]], ...] = (
        ("spectrum", lambda rows: _by_spectrum(wanted, known, rows)),
        ("gaia", lambda rows: _by_gaia(wanted, known, rows)),
        ("position", lambda rows: _by_position(where, place, known, rows, radius_arcsec, ambiguous)),
    )
    for by, step in steps:
        pairs = step(np.flatnonzero(open_rows))
        open_rows[pairs[0]] = False
        found.append((by, pairs))
    rows = np.concatenate([pairs[0] for _, pairs in found]).astype(np.int64)
    partners = np.concatenate([pairs[1] for _, pairs in found]).astype(np.int64)
    kinds = np.concatenate([np.full(pairs[0].size, by, "U8") for by, pairs in found])
    apart = _separations_arcsec(where, place, rows, partners)
    order = np.lexsort((partners, np.nan_to_num(apart, nan=np.inf), rows))
    return Matches(
        rows[order],
        partners[order],
        kinds[order],
        apart[order],
        tuple(Unmatched(row, _reason(wanted, where, row)) for row in np.flatnonzero(open_rows).tolist()),
        tuple(ambiguous),
        _spread(place, known, rows[order], partners[order], kinds[order] == "position"),
        radius_arcsec,
    )


def _by_spectrum(wanted: Catalogue, known: Catalogue, rows: np.ndarray) -> _Pairs:
    first = _empty()
    if wanted.has("obsid") and known.has("obsid"):
        first = _join(wanted.ids("obsid")[rows], known.ids("obsid"), rows)
        rows = np.setdiff1d(rows, first[0])
    names = wanted.spectrum_names()
    named = np.array([row for row in rows if names[row] is not None], np.int64)
    if not named.size:
        return first
    # The names of millions of rows are compared as they are made, by their place in the short list.
    short = pa.array(list(dict.fromkeys(names[row] for row in named)))
    numbers = dict(zip(short.to_pylist(), range(1, len(short) + 1), strict=True))
    codes = pc.fill_null(pc.index_in(pa.array(known.spectrum_names(), pa.string()), short), -1)
    wanted_codes = np.array([numbers[names[row]] for row in named], np.int64)
    second = _join(wanted_codes, np.asarray(codes).astype(np.int64) + 1, named)
    return np.concatenate([first[0], second[0]]), np.concatenate([first[1], second[1]])


def _by_gaia(wanted: Catalogue, known: Catalogue, rows: np.ndarray) -> _Pairs:
    if not (wanted.has("gaia") and known.has("gaia")):
        return _empty()
    return _join(wanted.ids("gaia")[rows], known.ids("gaia"), rows)


def _by_position(
    where: _Pairs,
    place: _Pairs,
    known: Catalogue,
    rows: np.ndarray,
    radius_arcsec: float,
    ambiguous: list[int],
) -> _Pairs:
    """Match by position; of several objects within the radius keep the nearest one's rows."""
    here = rows[np.isfinite(where[0][rows]) & np.isfinite(where[1][rows])]
    there = np.flatnonzero(np.isfinite(place[0]) & np.isfinite(place[1]))
    if not here.size or not there.size:
        return _empty()
    import astropy.units as u  # noqa: PLC0415  # slow to import
    from astropy.coordinates import SkyCoord, search_around_sky  # noqa: PLC0415

    wanted_sky = SkyCoord(where[0][here] * u.deg, where[1][here] * u.deg)
    known_sky = SkyCoord(place[0][there] * u.deg, place[1][there] * u.deg)
    left, right, distance, _ = search_around_sky(wanted_sky, known_sky, radius_arcsec * u.arcsec)
    found, partners = here[left], there[right]
    if not known.has("gaia") or not found.size:
        return found, partners
    gaia = known.ids("gaia")[partners]
    order = np.lexsort((distance.to_value(u.arcsec), found))
    found, partners, gaia = found[order], partners[order], gaia[order]
    kept = np.ones(found.size, np.bool_)
    starts = np.flatnonzero(np.r_[True, found[1:] != found[:-1]])
    for start, end in zip(starts, [*starts[1:], found.size], strict=True):
        group = gaia[start:end]
        # A row without Gaia id at the same place is a further visit of the nearest object, as far as one can tell.
        nearest = next((one for one in group if one), 0)
        other = (group != nearest) & (group != 0)
        if other.any():
            ambiguous.append(int(found[start]))
            kept[start:end] = ~other
    return found[kept], partners[kept]


def _spread(
    place: _Pairs, known: Catalogue, rows: np.ndarray, partners: np.ndarray, by_position: np.ndarray
) -> tuple[int, ...]:
    """Return the rows of which a partner lies away from the nearest one, and no Gaia id says that both are one."""
    rows, partners = rows[by_position], partners[by_position]
    _, first, group = np.unique(rows, return_index=True, return_inverse=True)
    nearest = partners[first][group]
    apart = _separations_arcsec(place, place, nearest, partners) > SAME_PLACE_ARCSEC
    if known.has("gaia"):
        gaia = known.ids("gaia")
        apart &= (gaia[nearest] != gaia[partners]) | (gaia[partners] == 0)
    found: list[int] = np.unique(rows[apart]).tolist()
    return tuple(found)


def _join(wanted: np.ndarray, known: np.ndarray, rows: np.ndarray) -> _Pairs:
    """Return all pairs of equal ids; 0 is none. ``rows`` are the row numbers of ``wanted``."""
    order = np.argsort(known, kind="stable")
    known_sorted = known[order]
    first = np.searchsorted(known_sorted, wanted, "left")
    number = np.where(wanted > 0, np.searchsorted(known_sorted, wanted, "right") - first, 0)
    steps = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
    return np.repeat(rows, number), order[np.repeat(first, number) + steps]


def _separations_arcsec(where: _Pairs, place: _Pairs, rows: np.ndarray, partners: np.ndarray) -> np.ndarray:
    """Return the distance of each pair by the haversine formula, NaN where one has no position."""
    ra1, dec1, ra2, dec2 = (
        np.radians(values)
        for values in (where[0][rows], where[1][rows], place[0][partners], place[1][partners])
    )
    half = np.sin((dec2 - dec1) / 2) ** 2 + np.cos(dec1) * np.cos(dec2) * np.sin((ra2 - ra1) / 2) ** 2
    apart: np.ndarray = np.degrees(2 * np.arcsin(np.sqrt(np.minimum(half, 1.0)))) * 3600
    return apart


def _reason(wanted: Catalogue, where: _Pairs, row: int) -> str:
    """Say what was tried for a row that has no partner."""
    tried: list[str] = []
    if wanted.has("obsid") and wanted.ids("obsid")[row]:
        tried.append(f"obsid {wanted.ids('obsid')[row]}")
    if wanted.has("gaia") and wanted.ids("gaia")[row]:
        tried.append(f"Gaia {wanted.ids('gaia')[row]}")
    if np.isfinite(where[0][row]) and np.isfinite(where[1][row]):
        tried.append(f"position {where[0][row]:.5f} {where[1][row]:+.5f}")
    return f"not found by {', '.join(tried)}" if tried else "no obsid, no Gaia id, no position"


def _empty() -> _Pairs:
    return np.empty(0, np.int64), np.empty(0, np.int64)
