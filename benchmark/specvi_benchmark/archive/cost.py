"""What ingesting and screening cost: processor time and memory, each measured in a process of its own."""

import gzip
import resource
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from specvi_benchmark.archive.ingest.listing import Found
from specvi_benchmark.archive.ingest.simulated import ingest_simulated
from specvi_benchmark.archive.ingest.step import FileStep
from specvi_benchmark.archive.screen import engine, screen_archive
from specvi_benchmark.archive.source import StoredArchive
from specvi_benchmark.errors import UserError
from specvi_benchmark.splits.recipe import Recipe, load_recipe, open_archive
from specvi_benchmark.splits.simulated import SimulatedArchive
from specvi_benchmark.splits.workers import workers
from specvi_benchmark.surveys.reading import read_spectra
from specvi_benchmark.surveys.sample_files import lamost_array, lamost_coadd

SURVEY = 11_000_000
"""Spectra of a LAMOST release, to which the figures are carried over."""

MADE_UP = 100
KEYWORDS = (
    *("OBSID", "DATA_V", "RA", "DEC", "LMJD", "PLANID", "SPID", "FIBERID", "FIBERTYP", "CLASS", "SUBCLASS"),
    *("Z", "COEFF0", "COEFF1", *(f"SNR{band}" for band in "UGRIZ")),
)
LAMOST_ARRAYS: dict[str, list[tuple[int, str | None]]] = {"lamost-coadd": [(1, name) for name in ("FLUX", "IVAR", "WAVELENGTH", "ANDMASK")],
                 "lamost-array": [(0, None)]}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ScreenCost:
    """Screening so many spectra from parquet, on one core.

    Attributes
    ----------
    spectra
        Screened.
    features_s, scores_s
        Processor seconds of the features; of training, scoring and writing.
    per_second
        Spectra a processor second, all of it.
    peak_mb
        Most memory that the process held.
    """

    spectra: int
    features_s: float
    scores_s: float
    per_second: float
    peak_mb: float


@dataclass(frozen=True, slots=True)
class SimulatedCost:
    """Making the archive: spectra, wall seconds, bytes on disk."""

    spectra: int
    seconds: float
    bytes: int


@dataclass(frozen=True, slots=True)
class IngestCost:
    """Ingesting gzipped LAMOST files of one layout: processor milliseconds a file, and astropy's in the same turns.

    ``ratio``: astropy's over ours, on one core.
    """

    format: str
    files: int
    ours_ms: float
    astropy_ms: float
    ratio: float


def bench_recipe(spectra: int) -> Recipe:
    """Return SpecVI-Mini's recipe over so many spectra of one survey, with what SDSS and DESI see left out."""
    mini = load_recipe("mini")
    source = mini.source.model_copy(update={"size": spectra, "overlap": 0.0})
    sets = tuple(item for item in mini.sets if not item.surveys)
    return mini.model_copy(update={"source": source, "sets": sets})


def make_archive(folder: Path, spectra: int, processes: int) -> SimulatedCost:
    """Ingest a simulated archive."""
    sky = open_archive(bench_recipe(spectra))
    assert isinstance(sky, SimulatedArchive)
    start = time.perf_counter()
    done = ingest_simulated(sky, folder, processes=processes)
    seconds = time.perf_counter() - start
    size = sum(path.stat().st_size for path in (folder / "shards").iterdir())
    return SimulatedCost(done.in_archive, seconds, size)


def measure_screening(folder: Path, sizes: Sequence[int]) -> list[ScreenCost]:
    """Screen the first so many spectra of an archive, each number in a new process.

    Raises
    ------
    UserError
        The archive holds fewer.
    """
    whole = StoredArchive.open(folder, labels="simulated")
    found = []
    for size in sizes:
        blocks = whole.blocks_with(size)
        if blocks is None:
            raise UserError("the archive is smaller", where=folder, expected=f"{size} spectra")
        with workers(2) as pool:  # two: with one, the call would stay in this process
            found += list(pool.map(_screen, [(folder, blocks, size)]))
    return found


def _screen(work: tuple[Path, int, int]) -> ScreenCost:
    folder, blocks, size = work
    archive = StoredArchive(folder.resolve(), "lamost", "simulated", blocks)
    recipe = bench_recipe(size)
    warm = next(archive.read_shard(0))
    assert warm.spectrum.has_errors
    with tempfile.TemporaryDirectory() as scratch, engine("local") as pool:
        from specvi_benchmark.features import selection_features  # noqa: PLC0415 -- compiles, which is not timed

        selection_features([warm.spectrum])
        start = time.process_time()
        marks: list[float] = []

        def report(step: str, done: int, whole: int) -> None:
            if step == "Screening the archive" and done == whole:
                marks.append(time.process_time())

        done = screen_archive(archive, recipe, Path(scratch) / "out", pool, report, Path(scratch) / "work")
        end = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return ScreenCost(done.spectra, marks[-1] - start, end - marks[-1], done.spectra / (end - start), peak)


def measure_ingest(paths: Sequence[Path] | None, rounds: int) -> list[IngestCost]:
    """Read files, pack and write them as a step of ingesting does, and as a plain astropy loop, in turns, on one core.

    The loop opens each file, copies the arrays as float64, and looks up the header's values that a spectrum has.

    Parameters
    ----------
    paths
        Files of LAMOST; None: `MADE_UP` of each layout, made up and gzipped.

    Raises
    ------
    UserError
        A file is none of LAMOST.
    """
    with tempfile.TemporaryDirectory() as scratch:
        sets = _by_layout(paths) if paths else _made_up(Path(scratch))
        found = []
        for name, files in sets.items():
            pairs = [_pair(files, name, Path(scratch) / f"{name}-{turn}") for turn in range(rounds + 1)]
            ours, bare = (median(pair[side] for pair in pairs[1:]) / len(files) * 1e3 for side in (0, 1))
            ratio = median(bare / ours for ours, bare in pairs[1:])
            found.append(IngestCost(name, len(files), ours, bare, ratio))
    return found


def _by_layout(paths: Sequence[Path]) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for path in paths:
        name = read_spectra(path).format
        if name not in LAMOST_ARRAYS:
            raise UserError("not a LAMOST file", where=path, expected=" or ".join(LAMOST_ARRAYS), got=name)
        found.setdefault(name, []).append(path)
    return found


def _made_up(folder: Path) -> dict[str, list[Path]]:
    found = {}
    for name, write in (("lamost-array", lamost_array), ("lamost-coadd", lamost_coadd)):
        found[name] = [folder / f"{name}-{number:05d}.fits.gz" for number in range(MADE_UP)]
        plain = folder / "plain.fits"
        for number, path in enumerate(found[name]):
            write(plain, number)
            path.write_bytes(gzip.compress(plain.read_bytes(), 6))
            plain.unlink()
    return found


def _pair(files: Sequence[Path], name: str, archive: Path) -> tuple[float, float]:
    listed = tuple(Found(str(path), path.stat().st_size, 0) for path in files)
    start = time.process_time()
    FileStep(archive, 0, listed, None)()
    middle = time.process_time()
    for path in files:
        plain_loop(path, LAMOST_ARRAYS[name])
    return middle - start, time.process_time() - middle


def plain_loop(path: Path, arrays: Sequence[tuple[int, str | None]]) -> tuple[list[Any], list[Any]]:
    """Return a file's arrays as float64 and its header's values, as one would read them with astropy."""
    from astropy.io import fits  # noqa: PLC0415  # slow to import

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with fits.open(path) as hdus:
            header = hdus[0].header
            values = [header.get(keyword) for keyword in KEYWORDS]
            stored = [hdus[number].data if column is None else hdus[number].data[column]
                      for number, column in arrays]  # fmt: skip
            return [np.array(array, dtype=np.float64) for array in stored], values
