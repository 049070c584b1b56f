"""Worker processes that share out a list of calls; results come back in order, whatever finishes first.

Unlike those of `multiprocessing` they never import the caller's main module, so a script, a notebook or an
installed program can start them without a guard. They end when their caller does, however it ends.
"""

import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import Any, BinaryIO, Protocol, TypeVar

from specvi_benchmark.errors import UserError

Item = TypeVar("Item")
Result = TypeVar("Result")

AHEAD = 4  # items a process that are handed out before the first of them is done

_SERVE = "from specvi_benchmark.splits.workers import serve; serve()"


class Pool(Protocol):
    """Something that shares out calls: processes of this machine, or an engine on a cluster."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``function(item)`` for every item, in order."""
        ...


class Workers:
    """Runs functions of installed modules in other processes; with one process, in this one."""

    def __init__(self, processes: int) -> None:
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        self._all: list[subprocess.Popen[bytes]] = []
        self._threads = ThreadPoolExecutor(processes) if processes > 1 else None
        for _ in range(processes if processes > 1 else 0):
            worker = subprocess.Popen(  # noqa: S603 -- this interpreter, our own code
                [sys.executable, "-c", _SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            self._all.append(worker)
            self._idle.put(worker)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``function(item)`` for every item, in order; an exception there is raised here.

        Items are taken as the work goes on, a few ahead, so that memory does not grow with their number.
        """
        if self._threads is None:
            yield from map(function, items)
            return
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(self._threads.submit(self._call, function, item))
                if len(waiting) > AHEAD * len(self._all):
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()

    def close(self) -> None:
        """End every process; one at work is stopped."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._all:
            worker.kill()
            worker.wait()
        if self._threads is not None:
            self._threads.shutdown(wait=True)  # their pipes have ended, and so do they
        for worker in self._all:
            for pipe in (worker.stdin, worker.stdout):
                if pipe is not None:
                    with suppress(BrokenPipeError):  # half a call may still be waiting to be sent
                        pipe.close()

    def _call(self, function: Callable[[Item], Result], item: Item) -> Result:
        worker = self._idle.get()
        try:
            assert worker.stdin is not None
            assert worker.stdout is not None
            pickle.dump((function, item), worker.stdin)
            worker.stdin.flush()
            done, value = pickle.load(worker.stdout)  # noqa: S301 -- our own process wrote it
        except (EOFError, BrokenPipeError):
            raise UserError(
                "a worker process ended early",
                got=f"exit code {worker.wait()}"
                + (", perhaps for want of memory" if worker.poll() == -9 else ""),
                fix="the same command goes on from here; --processes 1 needs least memory",
            ) from None
        finally:
            self._idle.put(worker)
        if not done:
            raise value
        result: Result = value
        return result


@contextmanager
def workers(processes: int) -> Iterator[Workers]:
    """Give workers that end with the block."""
    pool = Workers(processes)
    try:
        yield pool
    finally:
        pool.close()


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def serve() -> None:
    """Answer calls from standard input until it ends. What a function prints goes to standard error."""
    replies: BinaryIO = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    while True:
        try:
            function, item = pickle.load(sys.stdin.buffer)  # noqa: S301 -- our own caller wrote it
        except EOFError:
            return
        reply: tuple[bool, Any]
        try:
            reply = True, function(item)
        except Exception as error:  # noqa: BLE001  # it is raised again by the caller
            reply = False, error
        pickle.dump(reply, replies)
        replies.flush()
