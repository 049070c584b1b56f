"""What the networks cost: spectra a second and memory, asked and trained, each measured in a process of its own."""

import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

from specvi_baselines.networks.build import build
from specvi_baselines.networks.inference import BATCH, probabilities
from specvi_baselines.networks.settings import Grid, load_settings
from specvi_baselines.networks.tensors import stack
from specvi_benchmark.spectrum import Spectrum, clean_spectrum
from specvi_benchmark.splits.workers import workers

TASKS = 5
AIM = {"carbonnet-style": 500}
"""Spectra a second on two cores that are the aim, everything included."""


@dataclass(frozen=True, slots=True)
class NetworkCost:
    """One network in one setting.

    Attributes
    ----------
    parameters
        How many numbers are learnt.
    spectra
        Asked about in one turn.
    per_second, per_core_second
        Spectra a second by the clock, and by processor time of all threads: from spectrum to probabilities,
        the median over the rounds.
    trained_per_core_second
        Spectra of a training step a second of processor time, from tensors on.
    peak_mb
        Most memory of the process, and ``started_mb`` what it held before the network was made.
    """

    name: str
    setting: str
    parameters: int
    threads: int
    spectra: int
    per_second: float
    per_core_second: float
    trained_per_core_second: float
    started_mb: float
    peak_mb: float


def measure(names: Sequence[str], setting: str, rounds: int, spectra: int, threads: int) -> list[NetworkCost]:
    """Measure each network in a new process."""
    found: list[NetworkCost] = []
    for name in names:
        with workers(2) as pool:  # two: with one, the call would stay in this process
            found += pool.map(_measure, [(name, setting, rounds, spectra, threads)])
    return found


def _measure(asked: tuple[str, str, int, int, int]) -> NetworkCost:
    return measure_here(*asked)


def measure_here(name: str, setting: str, rounds: int, spectra: int, threads: int) -> NetworkCost:
    """Measure one network in this process."""
    torch.set_num_threads(threads)
    settings = load_settings(name, setting)
    asked = [_spectrum(number) for number in range(spectra)]
    started = _peak_mb()
    network = build(name, settings, TASKS).eval()
    probabilities(network, asked[: min(BATCH, spectra)], settings.grid)  # what is done once
    clock, processor = [], []
    for _ in range(rounds):
        began, used = time.perf_counter(), time.process_time()
        probabilities(network, asked, settings.grid)
        clock.append(time.perf_counter() - began)
        processor.append(time.process_time() - used)
    batch = min(settings.training.batch, spectra)
    return NetworkCost(
        name=name,
        setting=setting,
        parameters=sum(parameter.numel() for parameter in network.parameters()),
        threads=threads,
        spectra=spectra,
        per_second=spectra / float(np.median(clock)),
        per_core_second=spectra / float(np.median(processor)),
        trained_per_core_second=batch / _step_s(network, asked[:batch], settings.grid, rounds),
        started_mb=started,
        peak_mb=_peak_mb(),
    )


def _step_s(network: torch.nn.Module, spectra: Sequence[Spectrum], grid: Grid, rounds: int) -> float:
    made = stack(spectra, grid)
    target = (torch.arange(len(made)) % 2).float()[:, None].expand(-1, TASKS)
    optimiser = torch.optim.AdamW(network.parameters())
    network.train()
    seconds = []
    for _ in range(rounds + 1):
        used = time.process_time()
        loss = functional.binary_cross_entropy_with_logits(network(made.flux, made.ivar), target)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        seconds.append(time.process_time() - used)
    return float(np.median(seconds[1:]))


def _spectrum(number: int) -> Spectrum:
    """Return noise on LAMOST's pixels: what a network costs does not depend on what it sees."""
    rng = np.random.default_rng(number)
    wavelength = 3700 * 10 ** (1e-4 * np.arange(3909))
    return clean_spectrum(wavelength, rng.normal(10, 1, wavelength.size), np.ones(wavelength.size))


def _peak_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20) if sys.platform == "darwin" else peak / 1024
