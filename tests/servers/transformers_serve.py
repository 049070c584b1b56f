"""`transformers serve` as a context: a real OpenAI-compatible server with real quirks.

A model is a local folder, named in the request and loaded with the first one.
"""

import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

STARTUP_S = 180

SERVE = "import typer; from transformers.cli.serve import Serve; typer.run(Serve)"
"""The command itself without the others beside it, one of which imports a package that is not declared."""


@contextmanager
def serving(log: Path) -> Iterator[str]:
    """Serve on a free port; yield the base URL."""
    pytest.importorskip(
        "fastapi", reason="transformers serve needs fastapi (pip install 'transformers[serving]')"
    )
    pytest.importorskip("uvicorn", reason="transformers serve needs uvicorn")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-c", SERVE]
    command += ["--device", "cpu", "--host", "127.0.0.1", "--port", str(port)]
    quiet = os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with log.open("wb") as output:
        server = subprocess.Popen(
            [*command, "--trust-remote-code"], stdout=output, stderr=subprocess.STDOUT, env=quiet
        )
    try:
        _wait(server, port, log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _wait(server: subprocess.Popen, port: int, log: Path) -> None:
    end = time.monotonic() + STARTUP_S
    while time.monotonic() < end and server.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.3)
        finally:
            connection.close()
    pytest.fail(f"transformers serve did not start:\n{log.read_text()[-2000:]}")
