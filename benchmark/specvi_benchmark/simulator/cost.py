"""What simulating costs: processor time for each kind of object, spectra a second and core, memory."""

import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from specvi_benchmark.simulator.kinds import KINDS
from specvi_benchmark.simulator.simulate import make_source, observe

LEAST_RATE = 1000
"""LAMOST spectra a second and core that are the aim."""

_SNR_RANGE = (3.0, 60.0)


@dataclass(frozen=True, slots=True)
class KindCost:
    """Processor time of one kind, the median over the rounds.

    Attributes
    ----------
    kind
        Its name.
    source_ms, observe_ms
        To draw an object; to observe it.
    per_second
        Spectra a second and core, both together.
    """

    kind: str
    source_ms: float
    observe_ms: float
    per_second: float


@dataclass(frozen=True, slots=True)
class SimulatorCost:
    """What a whole run cost.

    Attributes
    ----------
    instrument, spectra
        Who looked; how many spectra were timed.
    kinds
        One entry a kind, slowest first.
    per_second
        Spectra a second and core over an equal share of every kind.
    first_s
        Seconds until the first spectrum of each kind: caches filled, code compiled or loaded. Not part
        of the rates.
    resident_mb, growth_mb
        Most memory of the process; by how much that grew while spectra were timed.
    """

    instrument: str
    spectra: int
    kinds: tuple[KindCost, ...]
    per_second: float
    first_s: float
    resident_mb: float
    growth_mb: float


def measure(kinds: Sequence[str], rounds: int, per_round: int, instrument: str) -> SimulatorCost:
    """Time every kind in turns, ``per_round`` objects each, ``rounds`` times.

    Only this process's time on the processor counts, so that a busy machine disturbs little.
    """
    began = time.perf_counter()
    for kind in kinds:
        _turn(kind, 0, 1, instrument)
    first_s = time.perf_counter() - began
    before = _resident_mb()
    turns = {kind: [_turn(kind, turn + 1, per_round, instrument) for turn in range(rounds)] for kind in kinds}
    costs = [_cost(kind, np.median(np.array(timed), axis=0) / per_round) for kind, timed in turns.items()]
    costs.sort(key=lambda cost: cost.per_second)
    return SimulatorCost(
        instrument,
        len(kinds) * rounds * per_round,
        tuple(costs),
        1e3 * len(costs) / sum(cost.source_ms + cost.observe_ms for cost in costs),
        first_s,
        _resident_mb(),
        _resident_mb() - before,
    )


def all_kinds() -> tuple[str, ...]:
    """Return the names of all kinds."""
    return tuple(KINDS)


def _turn(kind: str, turn: int, count: int, instrument: str) -> tuple[float, float]:
    """Return the seconds ``count`` objects took to draw, and to observe."""
    rngs = [np.random.default_rng([turn, number]) for number in range(count)]
    snrs = [float(np.exp(rng.uniform(*np.log(_SNR_RANGE)))) for rng in rngs]
    began = time.process_time()
    sources = [make_source(kind, rng) for rng in rngs]
    drawn = time.process_time()
    for source, snr, rng in zip(sources, snrs, rngs, strict=True):
        observe(source, snr, rng, instrument=instrument)
    return drawn - began, time.process_time() - drawn


def _cost(kind: str, seconds: np.ndarray) -> KindCost:
    source, observed = (1e3 * float(value) for value in seconds)
    return KindCost(kind, source, observed, 1e3 / (source + observed))


def _resident_mb() -> float:
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1e6 if sys.platform == "darwin" else 1e3)  # bytes there, kilobytes elsewhere
