"""The own side of the comparison, as a process of its own: questions in, traces, pictures and predictions on disk."""

import json
import os
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from specvi_agents.models.openai import create
from specvi_benchmark.runs.ask import ask
from specvi_benchmark.runs.log import Entry, Log
from specvi_benchmark.tasks import get_task
from specvi_benchmark.vetting import Outcome, Question
from specvi_benchmark.views.cost import resident_MB, simulated_spectra

WARM_UP = 8


@dataclass(frozen=True, slots=True)
class OwnRun:
    """What one process measured.

    Attributes
    ----------
    conversations, seconds, cpu_seconds
        From the first question to the last byte written.
    resident_MB
        Memory at each tenth of the conversations.
    peak_MB
        Most memory of the process.
    bytes_written
        Under the run folder.
    """

    conversations: int
    seconds: float
    cpu_seconds: float
    resident_MB: tuple[float, ...]
    peak_MB: float
    bytes_written: int


class Questions(Sequence[Question]):
    """As many questions as wanted, each about a spectrum of its own, made when it is asked for."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._spectra = simulated_spectra()
        self._task = get_task("cv")

    def __len__(self) -> int:
        """Return how many there are."""
        return self._count

    def __getitem__(self, index: int) -> Question:  # type: ignore[override]  # never sliced
        """Return one of them."""
        spectrum = self._spectra[index % len(self._spectra)]
        flux = spectrum.flux * (1 + 1e-3 * np.sin(np.arange(spectrum.flux.size) * (index + 1)))
        return Question(f"q-{index}", self._task, replace(spectrum, flux=flux))

    def __iter__(self) -> Iterator[Question]:
        """Yield them, one in memory at a time."""
        return (self[index] for index in range(self._count))


def own_run(url: str, conversations: int, in_flight: int, folder: Path) -> OwnRun:
    """Hold conversations with the echo server and log them as a run does.

    Raises
    ------
    AssertionError
        A conversation did not end in an answer after two looks.
    """
    vetter = create("echo", {"base_url": url, "in_flight": str(in_flight), "cache": "off"})
    resident: list[float] = []
    every = max(1, conversations // 10)
    done = 0

    def take(entry: Entry) -> None:
        nonlocal done
        assert entry.verdict.outcome is Outcome.ANSWERED
        assert entry.verdict.tool_calls == 2
        log.write(entry)
        done += 1
        if done % every == 0:
            resident.append(resident_MB())

    questions = Questions(conversations)
    ask(vetter, Questions(WARM_UP), lambda _: None)  # compiled code and templates are loaded with the first
    clock, cpu = time.perf_counter(), time.process_time()
    with Log(folder) as log:
        ask(vetter, questions, take)
    seconds, cpu_seconds = time.perf_counter() - clock, time.process_time() - cpu
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return OwnRun(conversations, seconds, cpu_seconds, tuple(resident), peak, size)


if __name__ == "__main__":
    from dataclasses import asdict

    os.environ.pop("OPENAI_API_KEY", None)
    print(json.dumps(asdict(own_run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])))))  # noqa: T201
