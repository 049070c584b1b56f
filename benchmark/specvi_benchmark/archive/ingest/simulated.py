"""The simulated archive, ingested as a survey's would be: its truth stands beside it as labels."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from specvi_benchmark.archive.ingest.ingest import IngestReport, Progress, run_steps
from specvi_benchmark.archive.ingest.step import ShardWriter, Step, StepResult
from specvi_benchmark.archive.labels import Label, LabelSet, write_set
from specvi_benchmark.archive.store import spectrum_key
from specvi_benchmark.archive.store.blocks import FileEntry
from specvi_benchmark.archive.store.packing import Ingested
from specvi_benchmark.archive.store.store import Store
from specvi_benchmark.files import canonical_json
from specvi_benchmark.splits.archive import Key, Record
from specvi_benchmark.splits.simulated import SimulatedArchive

LABELS = "simulated"
COUNTERPARTS = ("sdss", "desi")


@dataclass(frozen=True, slots=True)
class SimulatedStep:
    """One shard of the simulated archive, with what SDSS and DESI have seen of its objects."""

    archive: Path
    number: int
    simulated: SimulatedArchive
    shard: int
    source: str

    def __call__(self) -> StepResult:
        """Simulate and write it."""
        writer = ShardWriter(self.archive, self.number, labels=LABELS)
        spectra = 0
        for record in self._records():
            label = Label(
                record.object_id,
                record.object_id_source,
                record.known_as,
                record.evidence,
                record.decidable,
                record.random,
            )
            key = spectrum_key(record.spectrum, 0)
            writer.add(Ingested(key, self.source, spectra, record.spectrum), label)
            spectra += 1
        entry = FileEntry(self.source, 0, 0, spectra=spectra)
        return StepResult(self.number, (entry,), writer.finish())

    def _records(self) -> Iterator[Record]:
        for row, record in enumerate(self.simulated.read_shard(self.shard)):
            yield record
            for survey in COUNTERPARTS:
                found = self.simulated.counterpart(Key(self.shard, row), survey)
                if found is not None:
                    yield found


def ingest_simulated(
    simulated: SimulatedArchive,
    archive: Path,
    *,
    processes: int = 1,
    progress: Progress = lambda *_: None,
) -> IngestReport:
    """Bring a simulated archive into a folder, with its truth as the set of labels ``simulated``.

    Flux is rounded to float32, as every survey's is. Goes on where a killed run ended.
    """
    Store.create(archive)
    write_set(archive, LABELS, LabelSet(label_source="simulated", classes=tuple(sorted(simulated.classes))))
    name = hashlib.sha256(canonical_json(dict(simulated.identity))).hexdigest()[:16]
    done: set[str] = set()

    def plan(first: int) -> Iterator[Step]:
        waiting = (
            (shard, source)
            for shard in range(simulated.shards)
            if (source := f"simulated:{name}/{shard}") not in done
        )
        for number, (shard, source) in enumerate(waiting, start=first):
            yield SimulatedStep(archive, number, simulated, shard, source)

    return run_steps(archive, plan, done.update, processes, progress)
