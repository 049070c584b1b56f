"""Which spectra are of one object: the same Gaia id, else positions within 3″."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from specvi_benchmark.spectrum import FloatArray
from specvi_benchmark.splits.split import ObjectIdSource

RADIUS_ARCSEC = 3.0
"""Within which two positions are one object: about the width of a LAMOST fibre (3.3″)."""

RADIUS_CHORD = 2 * math.sin(math.radians(RADIUS_ARCSEC / 3600) / 2)
"""The same between two `directions`."""


def directions(ra_deg: FloatArray, dec_deg: FloatArray) -> FloatArray:
    """Return ``(n, 3)`` unit vectors of ``(n,)`` places on the sky."""
    ra, dec = np.radians(ra_deg), np.radians(dec_deg)
    return np.column_stack([np.cos(dec) * np.cos(ra), np.cos(dec) * np.sin(ra), np.sin(dec)])


@dataclass(frozen=True, slots=True)
class ObjectIds:
    """``(n,)`` object of each spectrum, and what that rests on."""

    ids: Sequence[str]
    sources: Sequence[ObjectIdSource]


def group_objects(
    ids: Sequence[str], ra_deg: FloatArray, dec_deg: FloatArray, gaia_ids: Sequence[int | None]
) -> ObjectIds:
    """Return the object of every spectrum.

    Spectra with one Gaia id are of one object, with two they are not. The others belong together where they
    lie within `RADIUS_ARCSEC`, link by link: to the first Gaia id among them, else to the position of the first.
    A spectrum that has neither Gaia id nor position is an object of its own.

    Parameters
    ----------
    ids
        ``(n,)`` ids in the archive.
    ra_deg, dec_deg
        ``(n,)`` ICRS, NaN where unknown.
    gaia_ids
        ``(n,)``, None where unknown.
    """
    gaia = np.array([value or 0 for value in gaia_ids], dtype=np.int64)
    first, second = _links(ra_deg, dec_deg, gaia)
    number = len(ids)
    graph = coo_array((np.ones(len(first), dtype=np.int8), (first, second)), shape=(number, number))
    _, group = connected_components(graph, directed=False)
    first_of: dict[int, int] = {}
    gaia_of: dict[int, int] = {}
    for row, place in enumerate(group.tolist()):
        first_of.setdefault(place, row)
        if gaia[row]:
            gaia_of.setdefault(place, row)
    names = []
    for row, place in enumerate(group.tolist()):
        named_by = row if gaia[row] else gaia_of.get(place, first_of[place])
        names.append(_name(named_by, ids, ra_deg, dec_deg, gaia))
    return ObjectIds([name for name, _ in names], [source for _, source in names])


def _links(
    ra_deg: FloatArray, dec_deg: FloatArray, gaia: NDArray[np.int64]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    rows = np.flatnonzero(np.isfinite(ra_deg) & np.isfinite(dec_deg))
    near = np.empty((0, 2), dtype=np.intp)
    if rows.size:
        points = directions(ra_deg[rows], dec_deg[rows])
        near = rows[cKDTree(points).query_pairs(RADIUS_CHORD, output_type="ndarray")]
    one, other = gaia[near[:, 0]], gaia[near[:, 1]]
    near = near[(one == 0) | (other == 0) | (one == other)]
    with_gaia = np.flatnonzero(gaia)
    ordered = with_gaia[np.argsort(gaia[with_gaia], kind="stable")]
    same = gaia[ordered[1:]] == gaia[ordered[:-1]]
    return (
        np.concatenate([near[:, 0], ordered[:-1][same]]),
        np.concatenate([near[:, 1], ordered[1:][same]]),
    )


def _name(
    row: int, ids: Sequence[str], ra_deg: FloatArray, dec_deg: FloatArray, gaia: NDArray[np.int64]
) -> tuple[str, ObjectIdSource]:
    if gaia[row]:
        return f"gaia-{gaia[row]}", "gaia"
    if np.isfinite(ra_deg[row]) and np.isfinite(dec_deg[row]):
        return f"position-{ra_deg[row]:.5f}{dec_deg[row]:+.5f}", "position"
    return ids[row], "file-name"
