"""What ingesting and screening cost: processor time and memory, each measured in a process of its own."""

import gzip
import resource
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
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
from specvi_benchmark.splits.workers import Pool, workers
from specvi_benchmark.surveys.reading import read_spectra
from specvi_benchmark.surveys.sample_files import lamost_array, lamost_coadd, sdss_spec, sdss_spspec

SURVEY = 11_000_000
"""Spectra of a LAMOST release, to which the figures are carried over."""

PROCESSES = 2

_LAMOST = (
    *("OBSID", "DATA_V", "RA", "DEC", "LMJD", "PLANID", "SPID", "FIBERID", "FIBERTYP", "CLASS", "SUBCLASS"),
    *("Z", "COEFF0", "COEFF1", *(f"SNR{band}" for band in "UGRIZ")),
)
_SPECTRO1D = (
    *("PLATEID", "MJD", "FIBERID", "RAOBJ", "DECOBJ", "VERS2D", "SPEC_CLN", "Z", "Z_WARNIN"),
    *("COEFF0", "COEFF1", "SN_G", "SN_R", "SN_I"),
)
_CATALOGUE = ("PLATE", "MJD", "FIBERID", "RUN2D", "PLUG_RA", "PLUG_DEC", "CLASS", "SUBCLASS", "Z", "ZWARNING")


@dataclass(frozen=True, slots=True)
class Layout:
    """What a plain loop reads of a file: arrays as (HDU, column or None), header's values, cells of HDU 2."""

    write: Callable[[Path, int], None]
    arrays: tuple[tuple[int, str | None], ...]
    keywords: tuple[str, ...]
    cells: tuple[str, ...] = ()
    packed: bool = True  # as the survey publishes it
    made_up: int = 200


LAYOUTS = {
    "lamost-coadd": Layout(
        lamost_coadd, tuple((1, name) for name in ("FLUX", "IVAR", "WAVELENGTH", "ANDMASK")), _LAMOST
    ),
    "lamost-array": Layout(lamost_array, ((0, None),), _LAMOST),
    "sdss-spec": Layout(
        sdss_spec,
        tuple((1, name) for name in ("flux", "ivar", "loglam", "and_mask")),
        ("PLATEID", "MJD", "FIBERID"),
        _CATALOGUE,
        packed=False,
        made_up=50,
    ),
    "sdss-spspec": Layout(sdss_spspec, ((0, None),), _SPECTRO1D, packed=False, made_up=50),
}


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
    """Ingesting files of one layout, and reading the same in a plain astropy loop, in turns.

    Attributes
    ----------
    format, files
        Layout, and files a turn.
    ours_ms, astropy_ms
        Processor milliseconds a file, one process.
    ratio
        astropy's over ours: one process against one.
    ours_two_ms, astropy_two_ms
        Milliseconds a file by the clock, two processes.
    against_one, against_two
        By the clock: how many times as fast two processes of ours are as one of the loop's, and as two.
    """

    format: str
    files: int
    ours_ms: float
    astropy_ms: float
    ratio: float
    ours_two_ms: float
    astropy_two_ms: float
    against_one: float
    against_two: float


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
    """Read files, pack and write them as a step of ingesting does, and as a plain astropy loop, in turns.

    The loop opens each file, copies the arrays as float64, and looks up the values that a spectrum has. Both run
    in one process and in two, all of them worker processes as `ingest` has them.

    Parameters
    ----------
    paths
        Files of these layouts; None: some of each, made up, and gzipped where the survey does so.

    Raises
    ------
    UserError
        A file is of another layout.
    """
    with tempfile.TemporaryDirectory() as scratch, workers(PROCESSES) as pool:
        sets = _by_layout(paths) if paths else _made_up(Path(scratch))
        return [
            _cost(name, files, [_turn(pool, files, name, Path(scratch)) for _ in range(rounds + 1)][1:])
            for name, files in sets.items()
        ]


def _by_layout(paths: Sequence[Path]) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for path in paths:
        name = read_spectra(path).format
        if name not in LAYOUTS:
            raise UserError("not a common layout", where=path, expected=" or ".join(LAYOUTS), got=name)
        found.setdefault(name, []).append(path)
    return found


def _made_up(folder: Path) -> dict[str, list[Path]]:
    found = {}
    for name, layout in LAYOUTS.items():
        ending = ".fits.gz" if layout.packed else ".fits"
        found[name] = [folder / f"{name}-{number:05d}{ending}" for number in range(layout.made_up)]
        plain = folder / "plain.fits"
        for number, path in enumerate(found[name]):
            layout.write(plain, number)
            path.write_bytes(gzip.compress(plain.read_bytes(), 6) if layout.packed else plain.read_bytes())
            plain.unlink()
    return found


Job = tuple[str, tuple[str, ...], Path]
"""Layout, files, and where shards are written."""


@dataclass(frozen=True, slots=True)
class _Turn:
    """Seconds of one turn: processor of one process, clock of one and of two; ours, and the loop's."""

    ours_s: float
    loop_s: float
    loop_clock_s: float
    ours_two_s: float
    loop_two_s: float


def _turn(pool: Pool, files: Sequence[Path], name: str, scratch: Path) -> _Turn:
    def timed(function: Callable[[Job], float], processes: int) -> tuple[float, float]:
        shares = [tuple(map(str, files[first::processes])) for first in range(processes)]
        jobs = [(name, share, scratch / f"{name}-{place}") for place, share in enumerate(shares) if share]
        start = time.perf_counter()
        processor_s = sum(pool.map(function, jobs))
        return processor_s, time.perf_counter() - start

    ours, loop = timed(_ours, 1), timed(_loop, 1)
    return _Turn(ours[0], loop[0], loop[1], timed(_ours, PROCESSES)[1], timed(_loop, PROCESSES)[1])


def _cost(name: str, files: Sequence[Path], turns: Sequence[_Turn]) -> IngestCost:
    def middle(value: Callable[[_Turn], float]) -> float:
        return median(map(value, turns))

    return IngestCost(
        name,
        len(files),
        ours_ms=middle(lambda turn: turn.ours_s) / len(files) * 1e3,
        astropy_ms=middle(lambda turn: turn.loop_s) / len(files) * 1e3,
        ratio=middle(lambda turn: turn.loop_s / turn.ours_s),
        ours_two_ms=middle(lambda turn: turn.ours_two_s) / len(files) * 1e3,
        astropy_two_ms=middle(lambda turn: turn.loop_two_s) / len(files) * 1e3,
        against_one=middle(lambda turn: turn.loop_clock_s / turn.ours_two_s),
        against_two=middle(lambda turn: turn.loop_two_s / turn.ours_two_s),
    )


def _ours(job: Job) -> float:
    _, files, archive = job
    listed = tuple(Found(file, Path(file).stat().st_size, 0) for file in files)
    start = time.process_time()
    FileStep(archive, 0, listed, None)()
    return time.process_time() - start


def _loop(job: Job) -> float:
    name, files, _ = job
    start = time.process_time()
    for file in files:
        plain_loop(Path(file), LAYOUTS[name])
    return time.process_time() - start


def plain_loop(path: Path, layout: Layout) -> tuple[list[Any], list[Any]]:
    """Return a file's arrays as float64 and the values that a spectrum has, as one would read them with astropy."""
    from astropy.io import fits  # noqa: PLC0415  # slow to import

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with fits.open(path) as hdus:
            header = hdus[0].header
            values = [header.get(keyword) for keyword in layout.keywords]
            values += [hdus[2].data[name][0] for name in layout.cells]
            stored = [hdus[number].data if column is None else hdus[number].data[column]
                      for number, column in layout.arrays]  # fmt: skip
            return [np.array(array, dtype=np.float64) for array in stored], values
