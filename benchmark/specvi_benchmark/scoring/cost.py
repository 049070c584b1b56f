"""What comparing many systems costs: time and the most memory held, measured in a process of its own."""

import multiprocessing
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from specvi_benchmark.scoring.compare import compare
from specvi_benchmark.scoring.compared_metric import DEFAULT, parse_metric
from specvi_benchmark.scoring.paired import paired_draws
from specvi_benchmark.scoring.panel import panel
from specvi_benchmark.scoring.rank_sets import adjusted_p
from specvi_benchmark.scoring.simulation import many_systems


@dataclass(frozen=True, slots=True)
class Cost:
    """One comparison of made-up systems.

    ``bootstrap_s``: joint resamples, adjusted p and intervals of every pair; ``bootstrap_cpu_s``: the processor
    time of that, over all threads. ``everything_s``: `compare` from start to end, with each system's own interval
    and McNemar's test. ``memory_MB``: the process as a whole.
    """

    systems: int
    candidates: int
    resamples: int
    bootstrap_s: float
    bootstrap_cpu_s: float
    everything_s: float
    memory_MB: float


def measure_cost(systems: int, candidates: int, resamples: int) -> Cost:
    """Compare made-up systems in a fresh process."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_measure, systems, candidates, resamples).result()


def _measure(systems: int, candidates: int, resamples: int) -> Cost:
    made = many_systems(systems, candidates)
    start, start_cpu = time.perf_counter(), time.process_time()
    together = panel(made)
    draws = paired_draws(together, parse_metric(DEFAULT, together.groups), resamples=resamples)
    adjusted_p(draws)
    draws.half_width()
    draws.joint_half_width()
    bootstrap_s, bootstrap_cpu_s = time.perf_counter() - start, time.process_time() - start_cpu
    del draws
    start = time.perf_counter()
    compare(made, resamples=resamples)
    everything_s = time.perf_counter() - start
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, kilobytes elsewhere
    memory_MB = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
    return Cost(systems, candidates, resamples, bootstrap_s, bootstrap_cpu_s, everything_s, memory_MB)
