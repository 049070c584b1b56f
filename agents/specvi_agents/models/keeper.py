"""Runs one server as a child and ends it, with all it started, when told to or when the parent is gone.

``python -m specvi_agents.models.keeper PARENT_PID COMMAND…``. A run that is killed outright can't end its servers;
without a keeper they would hold the GPU's memory when the run is started again.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

GRACE_S = 20
"""A server gets this long to end by itself."""

_LOOK_S = 0.5


def main(parent: int, command: list[str]) -> int:
    """Return the server's exit status."""
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)  # noqa: S603  # the suite's own command
    told = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: told.set())
    while server.poll() is None and not told.is_set() and os.getppid() == parent:
        time.sleep(_LOOK_S)  # a signal cuts it short
    _end(server)
    return server.wait()


def _end(server: subprocess.Popen[bytes]) -> None:
    _signal(server, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        server.wait(GRACE_S)
    _signal(server, signal.SIGKILL)  # what is left of its group


def _signal(server: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(server.pid, number)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
