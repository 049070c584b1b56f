"""One step of ingesting, in a worker process: reads a few hundred files, writes their shards, tells the rest.

The shards belong to the archive only once the caller has committed the step's block.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from specvi_benchmark.archive.ingest.listing import Found
from specvi_benchmark.archive.labels import Label, write_labels
from specvi_benchmark.archive.store import ROWS, Shard, pack, spectrum_key, write_shard
from specvi_benchmark.archive.store.blocks import FileEntry
from specvi_benchmark.archive.store.packing import Ingested
from specvi_benchmark.archive.store.shard import digest_of
from specvi_benchmark.errors import UserError
from specvi_benchmark.files import path_text
from specvi_benchmark.surveys.reading import read_spectra
from specvi_benchmark.surveys.source import Medium


@dataclass(frozen=True, slots=True)
class Draft:
    """A shard that was written but not committed: id, checksum of the pixels, and file of each row."""

    shard: Shard
    ids: tuple[str, ...]
    checksums: tuple[str, ...]
    files: tuple[str, ...]
    rounded: int


@dataclass(frozen=True, slots=True)
class StepResult:
    """What a step found: every file with what came of it, and the shards."""

    number: int
    entries: tuple[FileEntry, ...]
    drafts: tuple[Draft, ...]


class Step(Protocol):
    """A piece of work that goes to a worker process as a whole."""

    @property
    def number(self) -> int:
        """Return the number of the block that it will be."""
        ...

    def __call__(self) -> StepResult:
        """Do the work."""
        ...


@dataclass(frozen=True, slots=True)
class FileStep:
    """Files to read."""

    archive: Path
    number: int
    files: tuple[Found, ...]
    medium: Medium | None

    def __call__(self) -> StepResult:
        """Read them. A file that can't be read is told, whatever the reason, and stops nothing."""
        writer = ShardWriter(self.archive, self.number)
        entries = tuple(self._read(file, writer) for file in self.files)
        return StepResult(self.number, entries, writer.finish())

    def _read(self, found: Found, writer: "ShardWriter") -> FileEntry:
        named = found.named
        try:
            reading = read_spectra(found.file, medium=self.medium)
        except UserError as error:
            return FileEntry(*named, reason=_in_short(error))
        except Exception as error:  # noqa: BLE001 -- one odd file in eleven million must not end the night's work
            told = path_text(f"a fault of the reader: {type(error).__name__}: {error}")
            return FileEntry(*named, reason=told)
        for row, spectrum in zip(reading.rows, reading.spectra, strict=True):
            writer.add(Ingested(spectrum_key(spectrum, row), named.file, row, spectrum))
        left_out = tuple(f"row {row.row}: {row.reason}" for row in reading.skipped)
        return FileEntry(*named, spectra=len(reading.spectra), left_out=left_out, notes=reading.notes)


@dataclass
class ShardWriter:
    """Gathers spectra by survey and writes a shard whenever one is full."""

    archive: Path
    number: int
    labels: str | None = None
    _waiting: dict[str, list[tuple[Ingested, Label | None]]] = field(default_factory=dict)
    _parts: Counter[str] = field(default_factory=Counter)
    _drafts: list[Draft] = field(default_factory=list)

    def add(self, item: Ingested, label: Label | None = None) -> None:
        """Take one spectrum, with its label where the source knows one."""
        waiting = self._waiting.setdefault(item.spectrum.survey, [])
        waiting.append((item, label))
        if len(waiting) == ROWS:
            self._write(item.spectrum.survey)

    def finish(self) -> tuple[Draft, ...]:
        """Write what is waiting; return every shard, by survey in order of appearance."""
        for survey in list(self._waiting):
            self._write(survey)
        return tuple(self._drafts)

    def _write(self, survey: str) -> None:
        pairs = self._waiting.pop(survey)
        items = [item for item, _ in pairs]
        slug = re.sub(r"[^a-z0-9]+", "-", survey.lower()).strip("-") or "other"
        name = f"{self.number:06d}-{slug}-{self._parts[slug]}.parquet"
        self._parts[slug] += 1
        table = pack(items)
        if self.labels is not None:
            known = [label for _, label in pairs if label is not None]
            write_labels(self.archive, self.labels, name, known)
        write_shard(self.archive / "shards" / name, table)
        ids, checksums = (tuple(table.column(column).to_pylist()) for column in ("id", "checksum"))
        self._drafts.append(
            Draft(
                Shard(name, survey, len(items), digest_of(ids, checksums)),
                ids=ids,
                checksums=checksums,
                files=tuple(item.file for item in items),
                rounded=sum(table.column("rounded").to_pylist()),
            )
        )


def run_step(step: Step) -> StepResult:
    """Do a step: the function that worker processes call."""
    return step()


def _in_short(error: UserError) -> str:
    """Return a refusal on one line, without the file's name, which stands beside it."""
    parts: Iterable[tuple[str, str | None]] = (("expected", error.expected), ("got", error.got))
    told = "; ".join(f"{name} {text}" for name, text in parts if text is not None)
    return path_text(" ".join(f"{error.what}{f' ({told})' if told else ''}".split()))
