"""What reading costs, against opening the same file with astropy and copying the same arrays to float64."""

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from specvi_benchmark.errors import UserError
from specvi_benchmark.surveys.reading import read_spectra
from specvi_benchmark.surveys.registry import recognise
from specvi_benchmark.surveys.source import open_source

FEWEST_VALUES = 100  # smaller arrays are catalogue cells, which the bare reading is spared
MOST_RATIO = 1.5  # that reading may cost of the bare way, in any format

Array = tuple[int, str | None]


@dataclass(frozen=True, slots=True)
class Cost:
    """Reading files of one format: medians over files and rounds.

    Attributes
    ----------
    format, files, spectra
        What was read.
    ours_ms, bare_ms
        Milliseconds a file: path to checked spectra; astropy's open and a float64 copy of the same arrays.
        ``bare_ms`` is None for formats that are not FITS.
    ratio
        Median of the ratio of the two within a round.
    """

    format: str
    files: int
    spectra: int
    ours_ms: float
    bare_ms: float | None
    ratio: float | None


def measure(paths: Sequence[Path], rounds: int) -> tuple[list[Cost], list[Path]]:
    """Time both ways of reading, in turns, ``rounds`` times a file after one untimed turn.

    Returns
    -------
    costs
        One for each format, by name.
    refused
        Files that are no spectra, or of a format that is refused.
    """
    arrays: dict[Path, tuple[str, list[Array]]] = {}
    refused = []
    for path in paths:
        try:
            arrays[path] = _decoded(path)
        except UserError:
            refused.append(path)
    times: dict[str, dict[Path, list[tuple[float, float | None]]]] = {}
    for turn in range(rounds + 1):
        for path, (name, decoded) in arrays.items():
            pair = _pair(path, decoded, ours_first=turn % 2 == 0)
            if turn:  # the first turn fills caches and imports
                times.setdefault(name, {}).setdefault(path, []).append(pair)
    return [_cost(name, times[name]) for name in sorted(times)], refused


def _decoded(path: Path) -> tuple[str, list[Array]]:
    """Return the format of a file, and the arrays that reading it decodes; none where it is not FITS."""
    source = open_source(path)
    known = recognise(source)
    for _ in known.read(source):
        pass
    touched = dict.fromkeys(source.fits.touched) if source.fits is not None else {}
    sizes = {array: _size(path, array) for array in touched}
    return known.name, [array for array, size in sizes.items() if size >= FEWEST_VALUES]


def _size(path: Path, array: Array) -> int:
    return sum(values.size for values in bare_copy(path, [array]))


def bare_copy(path: Path, arrays: Iterable[Array]) -> list[np.ndarray]:
    """Open a file with astropy and copy arrays as numbers one can calculate with (float64, native order).

    Each array is named by HDU number and column (None: the image). Text is copied as it is.
    """
    from astropy.io import fits  # noqa: PLC0415  # slow to import

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with fits.open(path) as hdus:
            stored = [
                hdus[number].data if column is None else hdus[number].data[column]
                for number, column in arrays
            ]
            return [np.array(a, dtype=np.float64 if a.dtype.kind in "fiu" else a.dtype) for a in stored]


def _pair(path: Path, decoded: list[Array], *, ours_first: bool) -> tuple[float, float | None]:
    """Return milliseconds of both ways, in an order that changes from turn to turn."""
    if not decoded:
        return _milliseconds(lambda: read_spectra(path)), None
    if ours_first:
        ours = _milliseconds(lambda: read_spectra(path))
        return ours, _milliseconds(lambda: bare_copy(path, decoded))
    bare = _milliseconds(lambda: bare_copy(path, decoded))
    return _milliseconds(lambda: read_spectra(path)), bare


def _milliseconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1e3


def _cost(name: str, times: dict[Path, list[tuple[float, float | None]]]) -> Cost:
    pairs = [pair for rounds in times.values() for pair in rounds]
    both = [(ours, bare) for ours, bare in pairs if bare is not None]
    return Cost(
        format=name,
        files=len(times),
        spectra=sum(len(read_spectra(path).spectra) for path in times),
        ours_ms=median(ours for ours, _ in pairs),
        bare_ms=median(bare for _, bare in both) if both else None,
        ratio=median(ours / bare for ours, bare in both) if both else None,
    )
