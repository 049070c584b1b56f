"""Ingesting, seen from the caller: hands out steps, refuses what is there already, commits step by step."""

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from specvi_benchmark.archive.ingest.listing import Found, list_files, steps
from specvi_benchmark.archive.ingest.seen import Seen
from specvi_benchmark.archive.ingest.step import Draft, FileStep, Step, StepResult, run_step
from specvi_benchmark.archive.store import Store, only_writer, write_shard
from specvi_benchmark.archive.store.blocks import FileEntry, read_entries, write_block
from specvi_benchmark.archive.store.index import hash_of
from specvi_benchmark.archive.store.shard import digest_of, open_shard, read_columns
from specvi_benchmark.files import atomic_path
from specvi_benchmark.splits.workers import workers
from specvi_benchmark.surveys.source import Medium

REFUSED = "refused.csv"

Progress = Callable[[int, int], None]
"""Hears how many files were looked at in this run, and how many spectra entered the archive."""


@dataclass(slots=True)
class IngestReport:
    """What a run of ingesting did.

    Attributes
    ----------
    files, known
        Files that were looked at, and files that an earlier run had done.
    spectra, in_archive
        Spectra that entered, and all there are.
    refused
        Files that hold no spectrum one can use, by what is wrong with them.
    left_out
        Rows of good files that hold none.
    repeated
        Spectra that were there already, pixel for pixel.
    renamed
        Other spectra of an id that was taken: kept, with a checksum behind the id.
    rounded
        Spectra whose source gives more digits than float32 has.
    """

    files: int = 0
    known: int = 0
    spectra: int = 0
    in_archive: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    left_out: int = 0
    repeated: int = 0
    renamed: int = 0
    rounded: int = 0


def ingest(
    sources: Iterable[Path],
    archive: Path,
    *,
    processes: int = 1,
    medium: Medium | None = None,
    retry: bool = False,
    progress: Progress = lambda *_: None,
) -> IngestReport:
    """Bring the spectra of files into an archive, which is made where it is not there.

    A file counts as known by its path, size and time, and is not opened again. The result depends on the
    files and on what the archive held, not on processes or kills: steps are committed in order, each whole.

    Parameters
    ----------
    sources
        Folders, lists of files, files; see `list_files`.
    medium
        As in `read_spectra`, for files that don't say it.
    retry
        Open files again that were refused.

    Raises
    ------
    UserError
        A source is not there, another process is ingesting, or the archive is damaged.
    """
    store = Store.create(archive)
    with only_writer(archive):
        known = _known_files(archive, again=retry)
        report = IngestReport()
        waiting = _unknown((file for source in sources for file in list_files(source)), known, report)

        def plan(first: int) -> Iterator[Step]:
            for number, files in enumerate(steps(waiting), start=first):
                yield FileStep(archive, number, tuple(files), medium)

        _run(store, plan, report, processes, progress)
    return report


def run_steps(
    archive: Path,
    plan: Callable[[int], Iterator[Step]],
    done: Callable[[set[str]], object],
    processes: int,
    progress: Progress,
) -> IngestReport:
    """Ingest what does not come from files: ``plan(first number)`` yields steps.

    ``done`` hears first which sources the archive lists already.
    """
    store = Store.create(archive)
    report = IngestReport()
    with only_writer(archive):
        tables = read_entries(archive, ["file"])
        done({name for table in tables for name in table.column("file").to_pylist()})
        _run(store, plan, report, processes, progress)
    return report


def _run(
    store: Store,
    plan: Callable[[int], Iterator[Step]],
    report: IngestReport,
    processes: int,
    progress: Progress,
) -> None:
    _sweep(store)
    clerk = _Clerk(store.folder, report)
    clerk.learn(store)
    first = store.blocks[-1].number + 1 if store.blocks else 0
    with workers(processes) as pool:
        for result in pool.map(run_step, plan(first)):
            clerk.commit(result)
            progress(report.files, report.spectra)
    report.in_archive = Store.open(store.folder).spectra
    _write_refused(store.folder)


@dataclass(slots=True)
class _Clerk:
    """Commits steps in order, and knows every id."""

    archive: Path
    report: IngestReport
    seen: Seen = field(default_factory=Seen)

    def learn(self, store: Store) -> None:
        """Read the ids that the archive holds."""
        for shard in store.shards:
            table = read_columns(store.path(shard), ["id", "checksum"])
            pairs = zip(table.column("id").to_pylist(), table.column("checksum").to_pylist(), strict=True)
            for id_, checksum in pairs:
                self._book(id_.removesuffix(f"~{checksum}"), checksum)

    def commit(self, result: StepResult) -> None:
        """Make a step part of the archive."""
        told: dict[str, list[str]] = {}
        notes: dict[str, list[str]] = {}
        gone: Counter[str] = Counter()
        shards = []
        for draft in result.drafts:
            ids, keep = [], []
            for row, (id_, checksum, file) in enumerate(
                zip(draft.ids, draft.checksums, draft.files, strict=True)
            ):
                final = self._admit(id_, checksum)
                if final is None:
                    told.setdefault(file, []).append(f"{id_}: the same spectrum is there already")
                    gone[file] += 1
                    continue
                if final != id_:
                    notes.setdefault(file, []).append(f"another spectrum is called {id_}: kept as {final}")
                ids.append(final)
                keep.append(row)
            if tuple(ids) != draft.ids:
                _rewrite(self.archive, draft, keep, ids)
            if ids:
                kept = [draft.checksums[row] for row in keep]
                shards.append(replace(draft.shard, rows=len(ids), digest=digest_of(ids, kept)))
        entries = [
            replace(
                entry,
                spectra=entry.spectra - gone[entry.file],
                left_out=(*entry.left_out, *told.get(entry.file, ())),
                notes=(*entry.notes, *notes.get(entry.file, ())),
            )
            for entry in result.entries
        ]
        write_block(self.archive, result.number, entries, shards)
        self._count(result, entries, sum(map(len, notes.values())), sum(gone.values()))

    def _admit(self, id_: str, checksum: str) -> str | None:
        """Return the id under which a spectrum enters, None where it is there already."""
        if hash_of(f"{id_}~{checksum}") in self.seen:
            return None
        taken = hash_of(id_) in self.seen
        self._book(id_, checksum)
        return f"{id_}~{checksum}" if taken else id_

    def _book(self, id_: str, checksum: str) -> None:
        self.seen.add(hash_of(id_))
        self.seen.add(hash_of(f"{id_}~{checksum}"))

    def _count(self, result: StepResult, entries: list[FileEntry], renamed: int, repeated: int) -> None:
        report = self.report
        report.files += len(entries)
        report.spectra += sum(entry.spectra for entry in entries)
        report.refused.update(_kind(entry.reason) for entry in entries if entry.reason is not None)
        report.left_out += sum(len(entry.left_out) for entry in result.entries)
        report.repeated += repeated
        report.renamed += renamed
        report.rounded += sum(draft.rounded for draft in result.drafts)


def _rewrite(archive: Path, draft: Draft, keep: list[int], ids: list[str]) -> None:
    """Write a shard and its labels again, without the rows that are there already."""
    path = archive / "shards" / draft.shard.file
    labels = list((archive / "labels").glob(f"*/{draft.shard.file}"))
    if not keep:
        for file in (path, *labels):
            file.unlink()
        return
    with open_shard(path) as file:
        table = file.read(use_threads=False).take(keep)
    write_shard(path, table.set_column(table.column_names.index("id"), "id", pa.array(ids, pa.string())))
    for label in labels:
        rows = pq.read_table(label).take(keep)
        with atomic_path(label) as temporary:
            pq.write_table(rows, temporary, compression="zstd")


def _sweep(store: Store) -> None:
    """Remove what a killed run left behind: unfinished files, and shards of steps that were not committed.

    A screening that runs at the same time keeps its own unfinished files.
    """
    committed = {shard.file for shard in store.shards}
    for folder in (store.folder / "shards", *(store.folder / "labels").glob("*")):
        for path in folder.glob("*.parquet"):
            if path.name not in committed:
                path.unlink()
    for pattern in (".*.tmp", "shards/.*.tmp", "blocks/.*.tmp", "labels/*/.*.tmp"):
        for path in store.folder.glob(pattern):
            path.unlink()


def _known_files(archive: Path, *, again: bool) -> Seen:
    known = Seen()
    for table in read_entries(archive, ["file", "bytes", "mtime_ns", "reason"]):
        columns = (table.column(name).to_pylist() for name in table.column_names)
        for file, size, mtime_ns, reason in zip(*columns, strict=True):
            if reason is None or not again:
                known.add(_mark(Found(file, size, mtime_ns)))
    return known


def _unknown(files: Iterable[Found], known: Seen, report: IngestReport) -> Iterator[Found]:
    """Yield the files that no earlier step and nothing before in this run has looked at."""
    for file in files:
        mark = _mark(file.named)
        if mark in known:
            report.known += 1
        else:
            known.add(mark)
            yield file


def _mark(file: Found) -> int:
    return hash_of(f"{file.file}\0{file.bytes}\0{file.mtime_ns}")


def _kind(reason: str) -> str:
    """Return what is wrong in general, without the particulars in brackets."""
    return reason.split(" (", 1)[0]


def refusals(archive: Path) -> Mapping[str, list[str]]:
    """Return every file that was refused, or of which a row was left out, with the reasons; the newest look counts."""
    found: dict[str, list[str]] = {}
    for table in read_entries(archive, ["file", "reason", "left_out"]):
        for row in table.to_pylist():
            reasons = [*([] if row["reason"] is None else [row["reason"]]), *row["left_out"]]
            if reasons:
                found[row["file"]] = reasons
            else:
                found.pop(row["file"], None)
    return found


def _write_refused(archive: Path) -> None:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["file", "reason"])
    for file, reasons in refusals(archive).items():
        rows.writerows((file, reason) for reason in reasons)
    with atomic_path(archive / REFUSED) as temporary:
        temporary.write_text(text.getvalue(), encoding="utf-8")
