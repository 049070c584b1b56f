"""kill -9 at random moments of a run against a server that misbehaves, until it is done: nothing is lost."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from hashlib import sha256
from pathlib import Path

import pytest
from chat_server import BY_DIGIT

from specvi_benchmark.runs.predictions import read_run_predictions
from specvi_benchmark.runs.record import read_run_record
from specvi_benchmark.traces import read_traces

COUNT = 300
LEAST_KILLS = 4
RUN = Path(__file__).with_name("openai_run.py")
SERVER = Path(__file__).parents[1] / "servers" / "chat_server.py"


@pytest.mark.slow
def test_killed_at_random_moments_every_candidate_ends_once_with_the_right_outcome(tmp_path: Path) -> None:
    folder, rng = tmp_path / "run", random.Random(20)
    surroundings = {k: v for k, v in os.environ.items() if not k.startswith("OPENAI")}
    surroundings |= {"SPECVI_HOME": str(tmp_path / "home"), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, str(SERVER), "20"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        command = [sys.executable, str(RUN), str(folder), server.stdout.readline().strip(), str(COUNT)]
        kills, finished = 0, False
        while not finished:
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=surroundings) as process:
                assert process.stdout is not None
                process.stdout.readline()
                before = lines(folder)
                wait_for_more(folder, before + rng.randrange(0, 60), process)
                time.sleep(rng.uniform(0, 0.05))
                if kills < LEAST_KILLS:
                    os.kill(process.pid, signal.SIGKILL)
                finished = process.wait() == 0
            kills += process.returncode == -signal.SIGKILL
            assert process.returncode in (0, -signal.SIGKILL)
        server.kill()
    assert kills == LEAST_KILLS
    check(folder)


def lines(folder: Path) -> int:
    path = folder / "predictions.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def wait_for_more(folder: Path, number: int, process: subprocess.Popen) -> None:
    while lines(folder) < number and process.poll() is None:
        time.sleep(0.01)


def check(folder: Path) -> None:
    record = read_run_record(folder)
    assert record.ended is not None
    assert record.counts is not None
    assert sum(record.counts.values()) == COUNT
    assert record.counts["error"] == 0
    logged = [json.loads(line)["id"] for line in (folder / "predictions.jsonl").read_text().splitlines()]
    assert Counter(logged) == Counter(f"cv-{number:03d}" for number in range(COUNT))  # each exactly once
    traces = read_traces(folder / "traces.jsonl")
    for (task, row_id), row in read_run_predictions(folder / "predictions.jsonl").items():
        views = [view for turn in traces[task, row_id, 0].turns for view in turn.views]
        assert (row.outcome, row.answer) == BY_DIGIT[views[0].png_sha256[0]]
        assert len(views) == 3
        for view in views:
            png = (folder / "views" / f"{view.png_sha256}.png").read_bytes()
            assert sha256(png).hexdigest() == view.png_sha256
