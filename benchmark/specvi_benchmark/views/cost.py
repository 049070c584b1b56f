"""What a view costs: against the way of the released tool, by stage, at first call, in processes, in memory."""

import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from specvi_benchmark.spectrum import Spectrum, clean_spectrum
from specvi_benchmark.views.drawing import prepare
from specvi_benchmark.views.png import encode
from specvi_benchmark.views.reference import released_png
from specvi_benchmark.views.style import STYLES, StyleName, ViewOptions
from specvi_benchmark.views.view import render

ZOOM_AA = 120.0
WINDOWS = ("full", "zoom")
OURS_A_TURN = 8
"""Pictures drawn in a row where the released way draws one: a mean of a few, as in a batch of calls."""


@dataclass(frozen=True, slots=True)
class ViewCost:
    """One style and window: medians over rounds.

    Attributes
    ----------
    style, window
        ``full``, or ``zoom``: 120 Å.
    ours_ms, pyplot_ms
        Milliseconds from spectrum to PNG bytes; ``pyplot_ms`` is the released tool's way.
    ratio
        Median of the ratio within a round.
    shares
        Share of ``ours_ms`` in deciding what stands where, painting, and PNG.
    record_ms
        What a trace adds: SHA-256 of pixels and of the PNG.
    kilobytes, most_kilobytes
        PNG bytes: median and largest.
    """

    style: StyleName
    window: str
    ours_ms: float
    pyplot_ms: float
    ratio: float
    shares: dict[str, float]
    record_ms: float
    kilobytes: float
    most_kilobytes: float


def simulated_spectra(count: int = 12, seed: int = 0) -> list[Spectrum]:
    """Return simulated LAMOST spectra of as many kinds in turn, for measuring without data."""
    from specvi_benchmark.simulator import KINDS, make_source, observe, wavelengths  # noqa: PLC0415

    spectra = []
    for number, kind in zip(range(count), list(KINDS) * count, strict=False):
        rng = np.random.default_rng([seed, number])
        seen = observe(make_source(kind, rng), 5.0 * 2 ** (number % 4), rng)
        spectra.append(
            clean_spectrum(wavelengths(), seen.flux, seen.ivar, seen.mask, name=f"{kind} {number}")
        )
    return spectra


def zoom_window(spectrum: Spectrum, turn: int) -> tuple[float, float]:
    """Return a window of 120 Å around a good pixel, another each turn."""
    good = spectrum.wavelength_AA[spectrum.good]
    centre = float(good[(turn * 997 + good.size // 3) % good.size])
    return centre - ZOOM_AA / 2, centre + ZOOM_AA / 2


def measure(spectra: Sequence[Spectrum], rounds: int) -> list[ViewCost]:
    """Time every style and window against the released way, in turns, another spectrum each round."""
    costs = []
    for style in STYLES:
        options = ViewOptions(style=style)
        for window in WINDOWS:
            turns = [_turn(spectra[turn % len(spectra)], window, turn, options) for turn in range(rounds + 1)]
            costs.append(_cost(style, window, turns[1:]))  # the first turn fills caches
    return costs


@dataclass(frozen=True, slots=True)
class _Turn:
    ours_ms: float
    pyplot_ms: float
    stages_ms: tuple[float, float, float]
    record_ms: float
    size: int


def _turn(spectrum: Spectrum, window: str, turn: int, options: ViewOptions) -> _Turn:
    """Time pictures of one spectrum both ways, in an order that changes, and then the stages of one."""
    windows = [None if window == "full" else zoom_window(spectrum, turn + i) for i in range(OURS_A_TURN)]
    shown = windows[0]
    pyplot_ms = _ms(lambda: released_png(spectrum, shown)) if turn % 2 else 0.0
    ours_ms = _ms(lambda: [render(spectrum, each, options).png for each in windows]) / OURS_A_TURN
    pyplot_ms = pyplot_ms or _ms(lambda: released_png(spectrum, shown))
    marks = [time.perf_counter()]
    drawing = prepare(spectrum, shown, options, None, None)
    marks.append(time.perf_counter())
    indices = drawing.painted()
    marks.append(time.perf_counter())
    view = render(spectrum, shown, options)
    start = time.perf_counter()
    encode(indices, view.palette)
    encoded = time.perf_counter() - start
    size = len(view.png)
    stages = (marks[1] - marks[0]) * 1e3, (marks[2] - marks[1]) * 1e3, encoded * 1e3
    return _Turn(ours_ms, pyplot_ms, stages, _ms(lambda: view.record), size)


def _ms(action: object) -> float:
    start = time.perf_counter()
    action()  # type: ignore[operator]  # a callable
    return (time.perf_counter() - start) * 1e3


def _cost(style: StyleName, window: str, turns: Sequence[_Turn]) -> ViewCost:
    stages = [median(turn.stages_ms[stage] for turn in turns) for stage in range(3)]
    names = ("decide", "paint", "png")
    return ViewCost(
        style=style,
        window=window,
        ours_ms=median(turn.ours_ms for turn in turns),
        pyplot_ms=median(turn.pyplot_ms for turn in turns),
        ratio=median(turn.pyplot_ms / turn.ours_ms for turn in turns),
        shares={name: ms / sum(stages) for name, ms in zip(names, stages, strict=True)},
        record_ms=median(turn.record_ms for turn in turns),
        kilobytes=median(turn.size for turn in turns) / 1e3,
        most_kilobytes=max(turn.size for turn in turns) / 1e3,
    )


_FIRST_CALL = """
import time
start = time.perf_counter()
import numpy as np
from specvi_benchmark.spectrum import clean_spectrum
from specvi_benchmark.views import render
wavelength = np.linspace(3700.0, 9100.0, 3909)
spectrum = clean_spectrum(wavelength, 2 + np.sin(wavelength / 30))
imported = time.perf_counter()
render(spectrum).png
print(imported - start, time.perf_counter() - imported)
"""


@dataclass(frozen=True, slots=True)
class FirstCall:
    """Seconds of a new process: importing, and the first picture (compiling, or loading compiled code)."""

    import_s: float
    picture_s: float


def first_calls() -> tuple[FirstCall, FirstCall]:
    """Return the first call of a process with an empty cache of compiled code, and with a filled one."""
    with tempfile.TemporaryDirectory() as cache:
        cold, warm = (_first_call(cache) for _ in range(2))
    return cold, warm


def _first_call(cache: str) -> FirstCall:
    settings = os.environ | {"NUMBA_CACHE_DIR": cache}
    done = subprocess.run(  # noqa: S603  # this Python, with the words above
        [sys.executable, "-c", _FIRST_CALL], capture_output=True, text=True, check=True, env=settings
    )
    imported, drawn = map(float, done.stdout.split())
    return FirstCall(imported, drawn)


def throughput(processes: int, seconds: float) -> float:
    """Return pictures a second (clean, PNG and pixel hash, full view and zoom in turns) of several processes."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        list(pool.map(_drawn_for, [1.0] * processes))  # started, imported, compiled
        counts = list(pool.map(_drawn_for, [seconds] * processes))
    return sum(counts) / seconds


def _drawn_for(seconds: float) -> int:
    """Draw for so long and return how many pictures were made."""
    spectra = simulated_spectra(4)
    end, count = time.perf_counter() + seconds, 0
    while time.perf_counter() < end:
        _draw_one(spectra, count)
        count += 1
    return count


def _draw_one(spectra: Sequence[Spectrum], number: int) -> None:
    spectrum = spectra[number % len(spectra)]
    view = render(spectrum, zoom_window(spectrum, number) if number % 2 else None)
    assert view.png
    assert view.pixel_sha256


@dataclass(frozen=True, slots=True)
class Growth:
    """Resident memory before and after many pictures, in megabytes; both after a thousand to settle."""

    renders: int
    before_MB: float
    after_MB: float


def growth(spectra: Sequence[Spectrum], renders: int) -> Growth:
    """Draw ``renders`` pictures and return how the process grew."""
    for number in range(min(1000, renders)):
        _draw_one(spectra, number)
    before = resident_MB()
    for number in range(renders):
        _draw_one(spectra, number)
    return Growth(renders, before, resident_MB())


def resident_MB() -> float:
    """Return the memory this process holds now; where the system does not tell, the most it ever held."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text(encoding="ascii").split()[1]) * resource.getpagesize() / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
