"""Spectra and objects that stand in more than one place: across parts, tasks, and in training material."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

import numpy as np

from specvi_benchmark.files import StrictModel
from specvi_benchmark.splits.split import Candidate, Split

By = Literal["file", "fibre", "position", "pixels", "object"]
"""What two rows share. ``file``: the file's name. ``fibre``: plan, spectrograph and fibre of LAMOST, on any
night: one plan's fibre points at one target. ``position``: a position, written out in the file's name.
``pixels``: every wavelength and flux. ``object``: the object id, where it rests on more than the file."""

COLD_START = "cold-start"

_LAMOST = re.compile(r"spec-(?P<mjd>\d{5})-(?P<plan>.+)_sp(?P<spectrograph>\d{2})-(?P<fibre>\d{3})")
_DESIGNATION = re.compile(r"J(\d{6}(?:\.\d+)?[+-]\d{6}(?:\.\d+)?)")


class Shared(StrictModel):
    """One thing that stands in several places. ``places`` are ``part task truth``, or ``cold-start``."""

    by: By
    what: str
    places: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def parts(self) -> frozenset[str]:
        """Return the parts it is in."""
        return frozenset(place.split(" ", 1)[0] for place in self.places)


def plain_name(name: str) -> str:
    """Return a spectrum's file name without folders, ``.gz`` and ``.fits``, as names are compared."""
    return name.rsplit("/", 1)[-1].removesuffix(".gz").removesuffix(".fits").strip()


def fibre_of(name: str) -> str | None:
    """Return plan, spectrograph and fibre of a LAMOST file name, ``GAC061N46V2_sp09-012``; None for others.

    The same fibre of the same plan on another night is another visit of the same target.
    """
    found = _LAMOST.fullmatch(plain_name(name))
    return f"{found['plan']}_sp{found['spectrograph']}-{found['fibre']}" if found else None


def position_of(name: str) -> str | None:
    """Return the position that a name writes out, as ``J052020.14+254621.8``; None where it does not."""
    found = _DESIGNATION.search(name)
    return found[1] if found else None


def find_duplicates(split: Split) -> tuple[Shared, ...]:
    """Return what stands in two parts, or twice in one task; each pair of rows is told once, by its best reason.

    One spectrum may be asked about by several tasks in one part, and one object be shown by two surveys: these are no
    duplicates.
    """
    return tuple(_shared(split.candidates, _troubles))


def find_in_cold_start(split: Split, source_names: Iterable[str]) -> tuple[Shared, ...]:
    """Return the candidates whose file, fibre or position is among the sources of the released trajectories.

    Parameters
    ----------
    source_names
        The column ``source_name`` of the cold-start set: file names.
    """
    found = []
    keys: dict[tuple[By, str], list[str]] = defaultdict(list)
    for name in dict.fromkeys(source_names):
        for key in keys_of_name(name):
            keys[key].append(name)
    seen: dict[tuple[By, str], list[Candidate]] = defaultdict(list)
    for candidate in split.candidates:
        found_by = next((key for key in keys_of_name(candidate.spectrum.name) if key in keys), None)
        if found_by is not None:
            seen[found_by].append(candidate)
    for (by, what), rows in seen.items():
        names = dict.fromkeys([*keys[by, what], *(row.spectrum.name for row in rows)])
        places = (COLD_START, *sorted({_place(row) for row in rows}))
        found.append(Shared(by=by, what=what, places=places, names=tuple(names)))
    return tuple(found)


def keys_of_name(name: str) -> list[tuple[By, str]]:
    """Return what a file's name says of the spectrum it holds: file, target of a plan, position."""
    keys: list[tuple[By, str | None]] = [
        ("file", plain_name(name)),
        ("fibre", fibre_of(name)),
        ("position", position_of(name)),
    ]
    return [(by, what) for by, what in keys if what]


def _keys(candidate: Candidate) -> list[tuple[By, str]]:
    keys = keys_of_name(candidate.spectrum.name)
    if candidate.object_id_source != "file-name":
        keys.append(("object", candidate.object_id))
    digest = hashlib.sha256()
    for values in (candidate.spectrum.wavelength_AA, candidate.spectrum.flux):
        digest.update(np.ascontiguousarray(values, dtype="<f8").tobytes())
    return [*keys, ("pixels", digest.hexdigest()[:16])]


def _shared(candidates: Iterable[Candidate], troubles: Callable[[list[Candidate]], bool]) -> Iterable[Shared]:
    groups: dict[tuple[By, str], list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        for key in _keys(candidate):
            groups[key].append(candidate)
    order: Mapping[By, int] = {"file": 0, "pixels": 1, "fibre": 2, "position": 3, "object": 4}
    told: set[frozenset[str]] = set()
    for by, what in sorted(groups, key=lambda key: (order[key[0]], key[1])):
        rows = groups[by, what]
        ids = frozenset(row.id for row in rows)
        if troubles(rows) and ids not in told:
            told.add(ids)
            yield Shared(
                by=by,
                what=what,
                places=tuple(sorted(_place(row) for row in rows)),
                names=tuple(dict.fromkeys(row.spectrum.name for row in rows)),
            )


def _troubles(rows: list[Candidate]) -> bool:
    """Tell whether rows of one key are in two parts, or two of them ask one question of one survey's spectra."""
    asked = [(row.part, row.task.key, row.track, row.spectrum.survey) for row in rows]
    return len({row.part for row in rows}) > 1 or len(set(asked)) < len(asked)


def _place(candidate: Candidate) -> str:
    return f"{candidate.part} {candidate.group} {candidate.truth}"
