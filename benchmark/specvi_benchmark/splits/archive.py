"""What a split builder asks of an archive of spectra; a survey's archive and the simulated one offer it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.splits.split import Candidate, ObjectIdSource


class Key(NamedTuple):
    """Where a spectrum lies in its archive."""

    shard: int
    row: int


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """A spectrum of an archive, and what is known of its object.

    Attributes
    ----------
    spectrum
        With its ids, position, date and the pipeline's claims.
    object_id, object_id_source
        Which object it is of, and what that rests on. Spectra of one object share it.
    known_as
        Every class under which the object is catalogued; empty for one that nobody has classified.
    evidence
        Where the label comes from; JSON values. ``kind`` names the subtype.
    decidable
        Whether an astronomer could tell from this spectrum what it is.
    random
        Whether it is there by the survey's own odds, not because its class was sought out. The weak
        classifier learns what is ordinary from such spectra alone.
    """

    spectrum: Spectrum
    object_id: str
    object_id_source: ObjectIdSource
    known_as: frozenset[str] = frozenset()
    evidence: Mapping[str, Any] = field(default_factory=dict)
    decidable: bool = True
    random: bool = True


class Shown(NamedTuple):
    """Which objects of an archive a candidate of an earlier split shows.

    ``object_id``: the one that it surely shows, None where the archive holds none. ``near``: that one and all that it
    may show.
    """

    object_id: str | None
    near: frozenset[str]


class Archive(Protocol):
    """Spectra of one survey in numbered shards. It is pickled to worker processes, so it holds no spectra.

    The same shard gives the same records in the same order, in every process and always.
    """

    @property
    def identity(self) -> Mapping[str, Any]:
        """Return JSON values that name the archive's content: equal identities, equal spectra."""
        ...

    def shard_identity(self, shard: int) -> Mapping[str, Any]:
        """Return JSON values that name the light of one shard, and its labels where `shard_labels` gives none.

        They may outlive the archive's own identity.
        """
        ...

    def shard_labels(self, shard: int) -> pa.Table | None:
        """Return ``object_id``, ``known_as``, ``decidable`` and ``random`` of a shard's spectra, as in `Record`.

        None where only the spectra themselves tell: such labels never change.
        """
        ...

    @property
    def label_source(self) -> str:
        """Return where its labels come from, as candidates state it."""
        ...

    @property
    def classes(self) -> frozenset[str]:
        """Return every class under which an object may be known."""
        ...

    @property
    def shards(self) -> int:
        """Return how many shards there are."""
        ...

    def read_shard(self, shard: int) -> Iterator[Record]:
        """Yield the records of one shard, one after the other."""
        ...

    def read_light(self, shard: int) -> Iterator[Spectrum]:
        """Yield the spectra of one shard, without what is known of them."""
        ...

    def read(self, keys: Sequence[Key]) -> Iterator[Record]:
        """Yield the records at these places, in the order of ``keys``."""
        ...

    def counterpart(self, key: Key, survey: str) -> Record | None:
        """Return a spectrum of the same object by another survey, None where there is none."""
        ...

    def shown_by(self, candidates: Sequence[Candidate]) -> Sequence[Shown]:
        """Return for each candidate of an earlier split the objects of this archive that it shows, under any id.

        An object's id may change: a visit with a Gaia id comes, or a catalogue with ids of another release.
        """
        ...
