"""An ingested archive as the split builder asks for it: the spectra of one survey, with a set of labels."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from specvi_benchmark.archive.earlier import COLUMNS, shown_by
from specvi_benchmark.archive.labels import (
    Label,
    labels_path,
    read_label_columns,
    read_labels,
    read_set,
    set_path,
)
from specvi_benchmark.archive.store import Shard, Store, key_of, spectrum_key
from specvi_benchmark.archive.store.index import find, hash_of, write_index
from specvi_benchmark.archive.store.shard import read_columns
from specvi_benchmark.archive.store.store import INFO
from specvi_benchmark.errors import UserError
from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.splits.archive import Key, Record, Shown
from specvi_benchmark.splits.split import Candidate


@dataclass(frozen=True)
class StoredArchive:
    """Spectra of one survey in an archive's folder, as they stood when it was opened.

    Attributes
    ----------
    folder
        The archive.
    survey
        The survey that is screened; spectra of the same objects by others are counterparts. Its simulated
        likeness goes by the same name.
    labels
        Name of the set of labels; None: every spectrum is of an object that nobody has classified.
    blocks
        How many blocks there were: what is ingested later does not count.
    """

    folder: Path
    survey: str
    labels: str | None
    blocks: int

    @classmethod
    def open(cls, folder: Path, survey: str = "lamost", labels: str | None = None) -> "StoredArchive":
        """Open an archive.

        Raises
        ------
        UserError
            It is none, holds no spectra of the survey, or has no such set of labels.
        """
        store = Store.open(folder)
        opened = cls(folder.resolve(), survey, labels, len(store.blocks))
        if not opened.shards:
            held = sorted({shard.survey or "files of no survey" for shard in store.shards})
            raise UserError(
                "the archive holds no spectra of that survey",
                where=folder,
                expected=f"one of {', '.join(held)}" if held else "an archive with spectra",
                got=survey,
            )
        if labels is not None:
            read_set(folder, labels)
            lacking = [s.file for s in store.shards if not labels_path(folder, labels, s.file).exists()]
            if lacking:
                raise UserError(
                    "spectra came that have no labels yet",
                    where=f"{folder}, labels {labels}",
                    expected=f"{len(store.shards)} files",
                    got=f"{len(lacking)} lack",
                    fix="label the archive again",
                )
        return opened

    def blocks_with(self, spectra: int) -> int | None:
        """Return how many blocks hold so many spectra of the survey, None where all of them hold fewer."""
        held = 0
        for number, block in enumerate(self._store.blocks, start=1):
            held += sum(shard.rows for shard in block.shards if _is_of(shard.survey, self.survey))
            if held >= spectra:
                return number
        return None

    @property
    def identity(self) -> Mapping[str, Any]:
        """Return survey, number of spectra and a digest over all spectra and labels."""
        digest = hashlib.sha256()
        for shard in self._store.shards:
            digest.update(f"{shard.digest} {self._labels_digest(shard)}\n".encode())
        return {
            "archive": "stored",
            "survey": self.survey,
            "labels": self.labels,
            "spectra": sum(self._store.shards[number].rows for number in self._own),
            "sha256": digest.hexdigest(),
        }

    def shard_identity(self, shard: int) -> Mapping[str, Any]:
        """Return what names the light of one shard, wherever it stands and however it is labelled."""
        return {"archive": "stored", "shard": self._store.shards[self._own[shard]].digest}

    def shard_labels(self, shard: int) -> pa.Table:
        """Return what is known of a shard's spectra; see `specvi_benchmark.splits.archive.Archive`."""
        own = self._store.shards[self._own[shard]]
        if self.labels is not None:
            columns = ["object_id", "known_as", "decidable", "random"]
            return read_label_columns(self._labels_path(own), columns)
        about = read_columns(self._store.path(own), ["survey", "release", "survey_id", "name"])
        names = [key_of(**row) for row in about.to_pylist()]
        return pa.table(
            {
                "object_id": names,
                "known_as": pa.array([[]] * len(names), pa.list_(pa.string())),
                "decidable": [True] * len(names),
                "random": [True] * len(names),
            }
        )

    def shard_ids(self, shard: int) -> list[str]:
        """Return the ids of a shard's spectra."""
        own = self._store.shards[self._own[shard]]
        ids: list[str] = read_columns(self._store.path(own), ["id"]).column("id").to_pylist()
        return ids

    @property
    def label_source(self) -> str:
        """Return where its labels come from."""
        return "none" if self.labels is None else read_set(self.folder, self.labels).label_source

    @property
    def classes(self) -> frozenset[str]:
        """Return every class that a label names."""
        return frozenset() if self.labels is None else frozenset(read_set(self.folder, self.labels).classes)

    @property
    def shards(self) -> int:
        """Return how many shards of the survey there are."""
        return len(self._own)

    def ids(self) -> pa.ChunkedArray:
        """Return the id of every spectrum of the survey, in order, as Arrow keeps text: some 25 bytes each."""
        store = self._store
        paths = (store.path(store.shards[number]) for number in self._own)
        chunks = [chunk for path in paths for chunk in read_columns(path, ["id"]).column("id").chunks]
        return pa.chunked_array(chunks, pa.string())

    def read_shard(self, shard: int) -> Iterator[Record]:
        """Yield the spectra of one shard with their labels."""
        number = self._own[shard]
        labels = self._labels_of(number)
        for row, spectrum in enumerate(self._store.read_shard(number)):
            yield _record(spectrum, labels[row] if labels else None)

    def read_light(self, shard: int) -> Iterator[Spectrum]:
        """Yield the spectra of one shard, without their labels."""
        yield from self._store.read_shard(self._own[shard])

    def read(self, keys: Sequence[Key]) -> Iterator[Record]:
        """Yield the spectra at these places."""
        yield from self._read([(self._own[key.shard], key.row) for key in keys])

    def counterpart(self, key: Key, survey: str) -> Record | None:
        """Return a spectrum of the same object by another survey; without labels there is none.

        The first visit is paired with the other survey's first, the second with its second: no spectrum
        is the counterpart of two.
        """
        if self.labels is None:
            return None
        if _is_of(self.survey, survey):
            return next(self.read([key]))
        place = (self._own[key.shard], key.row)
        object_id = self._object_ids(place[0])[place[1]]
        others = self._visits(survey, object_id)
        visit = self._visits(self.survey, object_id).index(place)
        return next(self._read([others[visit]])) if visit < len(others) else None

    def shown_by(self, candidates: Sequence[Candidate]) -> Sequence[Shown]:
        """Return for each candidate of an earlier split the objects of this archive that it shows."""
        return shown_by(candidates, self._identities())

    def _identities(self) -> Iterator[tuple[pa.Table, list[str]]]:
        """Yield what tells spectra of all surveys from each other, and their objects, shard by shard."""
        store = self._store
        for number, shard in enumerate(store.shards):
            rows = read_columns(store.path(shard), ["id", *COLUMNS])
            labelled = self.labels is not None
            yield rows, self._object_ids(number) if labelled else rows.column("id").to_pylist()

    def _read(self, places: Sequence[tuple[int, int]]) -> Iterator[Record]:
        for (number, row), spectrum in zip(places, self._store.read(places), strict=True):
            labels = self._labels_of(number)
            yield _record(spectrum, labels[row] if labels else None)

    def _labels_of(self, number: int) -> list[Label] | None:
        if self.labels is None:
            return None
        path = self._labels_path(self._store.shards[number])
        return _cached_labels(path, _stamp(path))

    def _labels_path(self, shard: Shard) -> Path:
        assert self.labels is not None
        return labels_path(self.folder, self.labels, shard.file)

    def _labels_digest(self, shard: Shard) -> str | None:
        if self.labels is None:
            return None
        return hashlib.sha256(self._labels_path(shard).read_bytes()).hexdigest()

    def _object_ids(self, number: int) -> list[str]:
        path = self._labels_path(self._store.shards[number])
        return _cached_object_ids(path, _stamp(path))

    @property
    def _store(self) -> Store:
        return _store(self.folder, self.blocks, _stamp(self.folder / INFO))

    @property
    def _own(self) -> tuple[int, ...]:
        return _numbers(self.folder, self.blocks, self.survey, _stamp(self.folder / INFO))

    def _visits(self, survey: str, object_id: str) -> list[tuple[int, int]]:
        """Return where the spectra of an object stand that a survey has seen, in the order of the archive."""
        numbers = _numbers(self.folder, self.blocks, survey, _stamp(self.folder / INFO))
        places = [
            (numbers[shard], row) for shard, row in find(self._object_index(survey, numbers), object_id)
        ]
        return [(number, row) for number, row in places if self._object_ids(number)[row] == object_id]

    def _object_index(self, survey: str, numbers: Sequence[int]) -> Path:
        """Return the file that says where each object's spectra stand: 16 bytes a spectrum, mapped when asked."""
        assert self.labels is not None
        labelled = set_path(self.folder, self.labels)
        made = "-".join(f"{part:x}" for part in (self.blocks, *_stamp(labelled)))
        name = f"objects-{hash_of(survey):016x}"
        path = labelled.parent / f"{name}-{made}.npy"
        if not path.exists():
            write_index(path, (self._read_object_ids(number) for number in numbers))
            for older in labelled.parent.glob(f"{name}-*.npy"):
                if older != path:
                    older.unlink(missing_ok=True)
        return path

    def _read_object_ids(self, number: int) -> list[str]:
        path = self._labels_path(self._store.shards[number])
        names: list[str] = read_label_columns(path, ["object_id"]).column(0).to_pylist()
        return names


def _record(spectrum: Spectrum, label: Label | None) -> Record:
    if label is None:
        return Record(spectrum, spectrum_key(spectrum, 0), "file-name")
    return Record(
        spectrum,
        label.object_id,
        label.object_id_source,
        known_as=label.known_as,
        evidence=label.evidence,
        decidable=label.decidable,
        random=label.random,
    )


def _is_of(found: str, wanted: str) -> bool:
    """Tell whether a survey's spectra go by this name: the survey itself, or its simulated likeness."""
    return found.removeprefix("simulated-") == wanted.removeprefix("simulated-")


# An archive is pickled with every piece of work, and its listing is long: each process reads that once, and again
# where the file has been replaced since (an archive made anew in the folder, new labels of the same name).

Stamp = tuple[int, int]


def _stamp(path: Path) -> Stamp:
    """Return what tells a file from the one that replaced it."""
    status = path.stat()
    return status.st_ino, status.st_mtime_ns


@lru_cache(maxsize=8)
def _store(folder: Path, blocks: int, made: Stamp) -> Store:
    assert made
    return Store(folder, blocks)


@lru_cache(maxsize=8)
def _numbers(folder: Path, blocks: int, survey: str, made: Stamp) -> tuple[int, ...]:
    shards = _store(folder, blocks, made).shards
    return tuple(number for number, shard in enumerate(shards) if _is_of(shard.survey, survey))


@lru_cache(maxsize=64)
def _cached_labels(path: Path, stamp: Stamp) -> list[Label]:
    assert stamp
    return read_labels(path)


@lru_cache(maxsize=256)
def _cached_object_ids(path: Path, stamp: Stamp) -> list[str]:
    assert stamp
    names: list[str] = read_label_columns(path, ["object_id"]).column(0).to_pylist()
    return names
