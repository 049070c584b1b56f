"""Candidates of an earlier split found again in an archive, whatever their objects are called there."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple, cast

import numpy as np
import pyarrow as pa
from scipy.spatial import cKDTree

from specvi_benchmark.archive.catalogue.catalogue import spectrum_name
from specvi_benchmark.archive.objects import RADIUS_CHORD, directions
from specvi_benchmark.splits.archive import Shown
from specvi_benchmark.splits.duplicates import fibre_of
from specvi_benchmark.splits.split import Candidate

COLUMNS = ("survey", "survey_id", "name", "gaia_id", "ra_deg", "dec_deg")


class _By(IntEnum):
    """What a candidate and a row of the archive share, the surest first."""

    SPECTRUM = 0
    NAME = 1
    OBJECT = 2
    GAIA = 3
    POSITION = 4
    POSITION_BUT_NOT_GAIA = 5


_Key = tuple[_By, object]


class _Place(NamedTuple):
    """An object that a candidate shows, and why; the smallest counts. ``apart``: the chord between their places."""

    by: _By
    apart: float
    object_id: str


class _Earlier:
    """Looks candidates up among rows of an archive; see `shown_by`."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._candidates = candidates
        self._of: dict[_Key, list[int]] = defaultdict(list)
        for number, candidate in enumerate(candidates):
            spectrum = candidate.spectrum
            keys = _keys(spectrum.survey, spectrum.survey_id, spectrum.name, spectrum.gaia_id)
            for key in (*keys, (_By.OBJECT, candidate.object_id)):
                self._of[key].append(number)
        self._placed = [
            number
            for number, candidate in enumerate(candidates)
            if candidate.spectrum.ra_deg is not None and candidate.spectrum.dec_deg is not None
        ]
        spectra = [candidates[number].spectrum for number in self._placed]
        ra, dec = (
            np.array([getattr(one, name) for one in spectra], np.float64) for name in ("ra_deg", "dec_deg")
        )
        self._tree = cKDTree(directions(ra, dec)) if self._placed else None
        self._found: dict[int, set[_Place]] = defaultdict(set)

    def look_at(self, rows: pa.Table, object_ids: Sequence[str]) -> None:
        """Compare with rows of an archive: `COLUMNS`, and the object of each."""
        columns = (rows.column(name).to_pylist() for name in ("survey", "survey_id", "name", "gaia_id"))
        for about, object_id in zip(zip(*columns, strict=True), object_ids, strict=True):
            for key in (*_keys(*about), (_By.OBJECT, object_id)):
                for number in self._of.get(key, ()):
                    self._found[number].add(_Place(key[0], 0.0, object_id))
        self._near(rows, object_ids)

    def shown(self) -> list[Shown]:
        """Return what every candidate shows."""
        return [self._shown(self._found.get(number, ())) for number in range(len(self._candidates))]

    def _shown(self, found: Iterable[_Place]) -> Shown:
        sure = [place for place in found if place.by < _By.POSITION_BUT_NOT_GAIA]
        return Shown(min(sure).object_id if sure else None, frozenset(place.object_id for place in found))

    def _near(self, rows: pa.Table, object_ids: Sequence[str]) -> None:
        if self._tree is None:
            return
        ra, dec = (
            rows.column(name).to_numpy(zero_copy_only=False).astype(np.float64)
            for name in ("ra_deg", "dec_deg")
        )
        there = np.flatnonzero(np.isfinite(ra) & np.isfinite(dec))
        points = directions(ra[there], dec[there])
        gaia = rows.column("gaia_id").to_pylist()
        near = cast("list[list[int]]", self._tree.query_ball_point(points, RADIUS_CHORD))
        for row, point, hits in zip(there.tolist(), points, near, strict=True):
            for hit in hits:
                number = self._placed[hit]
                own = self._candidates[number].spectrum.gaia_id
                apart = float(np.linalg.norm(self._tree.data[hit] - point))
                by = _By.POSITION_BUT_NOT_GAIA if own and gaia[row] and own != gaia[row] else _By.POSITION
                self._found[number].add(_Place(by, apart, object_ids[row]))


def _keys(survey: str, survey_id: str, name: str, gaia_id: int | None) -> list[_Key]:
    """Return what two spectra of one object may share."""
    spectrum = (survey.removeprefix("simulated-"), survey_id) if survey and survey_id else None
    keys = ((_By.SPECTRUM, spectrum), (_By.NAME, fibre_of(name) or spectrum_name(name)), (_By.GAIA, gaia_id))
    return [(by, what) for by, what in keys if what]


def shown_by(
    candidates: Sequence[Candidate], shards: Iterable[tuple[pa.Table, Sequence[str]]]
) -> list[Shown]:
    """Return for each candidate which objects of an archive it shows.

    In the order of trust: the same spectrum (survey and id, whatever the release), the same spectrum or fibre of a plan
    by the file's name, the object's id, the Gaia id, the position within 3″. Two Gaia ids that differ may be of two
    releases: what lies at the place then may be the candidate's object, and may not.

    Parameters
    ----------
    shards
        `COLUMNS` of every shard, and the object of every row.
    """
    earlier = _Earlier(candidates)
    for rows, object_ids in shards:
        earlier.look_at(rows, object_ids)
    return earlier.shown()
