"""The own side of the comparison, as a process of its own: questions in, traces, pictures and predictions on disk."""

import json
import os
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from specvi_agents import environment
from specvi_agents.bench.questions import LOOKS, WARM_UP, Drawing, Questions, renderer
from specvi_agents.models.openai import create
from specvi_benchmark.runs.ask import ask
from specvi_benchmark.runs.log import Entry, Log
from specvi_benchmark.vetting import Outcome
from specvi_benchmark.views import tool
from specvi_benchmark.views.cost import resident_MB


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


def own_run(url: str, conversations: int, in_flight: int, folder: Path, drawing: Drawing = "both") -> OwnRun:
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
        assert entry.verdict.tool_calls == LOOKS
        log.write(entry)
        done += 1
        if done % every == 0:
            resident.append(resident_MB())

    questions = Questions(conversations)
    ask(vetter, Questions(WARM_UP), lambda _: None)  # compiled code and templates are loaded with the first
    render = renderer(drawing, questions)
    with patch.object(environment, "render", render), patch.object(tool, "render", render):
        clock, cpu = time.perf_counter(), time.process_time()
        with Log(folder) as log:
            ask(vetter, questions, take)
        seconds, cpu_seconds = time.perf_counter() - clock, time.process_time() - cpu
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return OwnRun(conversations, seconds, cpu_seconds, tuple(resident), peak, size)


if __name__ == "__main__":
    from dataclasses import asdict
    from typing import cast

    os.environ.pop("OPENAI_API_KEY", None)
    url, conversations, in_flight, folder, drawing = sys.argv[1:]
    found = own_run(url, int(conversations), int(in_flight), Path(folder), cast("Drawing", drawing))
    print(json.dumps(asdict(found)))  # noqa: T201
