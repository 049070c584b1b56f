"""Holds the same conversations with the own client and with inspect_ai, in turns, and takes the own side apart."""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from specvi_agents.bench.echo import CALLS, echo
from specvi_agents.bench.questions import DRAWINGS, Drawing, Questions
from specvi_agents.messages import Message, Reply
from specvi_agents.models.connection import Connection
from specvi_agents.models.wire import Body, Form, read_reply, request_body
from specvi_benchmark.errors import UserError
from specvi_benchmark.runs.log import Log, entry_of
from specvi_benchmark.vetting import Verdict
from specvi_benchmark.views import render

INSPECT_SIDE = Path(__file__).with_name("inspect_side.py")
_SCRIPT_S = 1800


@dataclass(frozen=True, slots=True)
class Round:
    """One turn of both: what each process measured of itself (see `own.OwnRun`); None without inspect_ai."""

    drawing: Drawing
    own: dict[str, Any]
    inspect: dict[str, Any] | None

    @property
    def ratio(self) -> float | None:
        """Return own conversations a second for one of inspect_ai."""
        return None if self.inspect is None else _rate(self.own) / _rate(self.inspect)

    @property
    def cpu_ratio(self) -> float | None:
        """Return CPU seconds of inspect_ai a conversation for one of ours: what other programs disturb least."""
        return None if self.inspect is None else _cpu_ms(self.inspect) / _cpu_ms(self.own)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Rounds, and CPU milliseconds a conversation of each stage of the own side, measured alone."""

    rounds: tuple[Round, ...]
    stages_ms: dict[str, float]

    def median(self, of: Callable[[Round], float | None], drawing: Drawing = "both") -> float | None:
        """Return the median over the rounds of one way of drawing."""
        rounds = (one for one in self.rounds if one.drawing == drawing)
        values = [value for one in rounds if (value := of(one)) is not None]
        return median(values) if values else None


def compare(inspect_python: Path | None, conversations: int, in_flight: int, rounds: int) -> Comparison:
    """Measure.

    Parameters
    ----------
    inspect_python
        The Python of an environment that has inspect_ai and the suite; None leaves that side out.
    conversations
        Of the own side a round; the other side holds a quarter of them.
    in_flight
        Conversations, and connections, at a time, on both sides.

    Raises
    ------
    UserError
        That Python lacks one of them.
    """
    if inspect_python is not None:
        check = subprocess.run(  # noqa: S603
            [str(inspect_python), "-c", "import inspect_ai, specvi_agents"], capture_output=True, check=False
        )
        if check.returncode:
            raise UserError(
                "this Python has no inspect_ai, or not the suite beside it",
                where=inspect_python,
                fix="python -m venv ENV && ENV/bin/pip install inspect-ai specvi-bench, then --inspect-python ENV/bin/python",
            )
    found = []
    for drawing in DRAWINGS * rounds:
        with tempfile.TemporaryDirectory() as name, _server() as url:
            found.append(_round(Path(name), url, inspect_python, conversations, in_flight, drawing))
    return Comparison(tuple(found), stages())


def stages(conversations: int = 100) -> dict[str, float]:
    """Return CPU milliseconds a conversation of drawing, encoding, client and storage, each alone."""
    questions = [Questions(conversations)[number] for number in range(conversations)]
    windows = ((4000.0, 4300.0), (4100.0, 4400.0))

    def draw() -> None:
        for question in questions:
            for window in (None, *windows):
                _ = render(question.spectrum, window).record

    talks = asyncio.run(_talks(questions))
    bodies = [body for _, bodies in talks for body in bodies]
    with tempfile.TemporaryDirectory() as name, Log(Path(name)) as log, _server() as url:

        def store() -> None:
            for verdict, _ in talks:
                log.write(entry_of(verdict))

        drawing = _cpu(draw)
        encoding = _cpu(lambda: [body.encoded() for body in bodies])
        client = _cpu(lambda: asyncio.run(_post(url, [body.encoded() for body in bodies]))) - encoding
        storage = _cpu(store)
    timed = {"drawing": drawing, "encoding": encoding, "client": client, "storage": storage}
    return {name: 1e3 * seconds / conversations for name, seconds in timed.items()}


class _Heard:
    """A model that answers as the echo server does, without a network, and keeps what would have been sent."""

    config: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self) -> None:
        self.bodies: list[Body] = []
        self._echo = echo()

    async def reply(self, messages: Sequence[Message], *, tools: bool, sample: int) -> Reply:  # noqa: ARG002
        from specvi_agents.local_server import Request  # noqa: PLC0415

        body = request_body(messages, {"model": "echo"}, Form(), tools=tools)
        self.bodies.append(body)
        return read_reply(json.loads(self._echo(Request("", {}, body.outline)).body))

    async def close(self) -> None:
        pass


async def _talks(questions: Sequence[Any]) -> list[tuple[Verdict, list[Body]]]:
    from specvi_agents.agent import AgentVetter  # noqa: PLC0415

    talks = []
    for question in questions:
        model = _Heard()
        talks.append((await AgentVetter(model).vet_one(question), model.bodies))
        assert len(model.bodies) == CALLS
    return talks


async def _post(url: str, bodies: Sequence[bytes]) -> None:
    connection = Connection(url, "none", connections=64, timeout_s=60)
    waiting = iter(bodies)

    async def work() -> None:
        for body in waiting:
            await connection.post(body)

    await asyncio.gather(*(work() for _ in range(64)))
    await connection.close()


def _cpu(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def _round(
    folder: Path, url: str, inspect_python: Path | None, conversations: int, in_flight: int, drawing: Drawing
) -> Round:
    run, logs = folder / "run", folder / "logs"
    run.mkdir()
    module = [sys.executable, "-m", "specvi_agents.bench.own"]
    own = _measured([*module, url, str(conversations), str(in_flight), str(run), drawing])
    if inspect_python is None:
        return Round(drawing, own, None)
    script, few = [str(inspect_python), str(INSPECT_SIDE)], max(1, conversations // 4)
    return Round(drawing, own, _measured([*script, url, str(few), str(in_flight), drawing, str(logs)]))


def _measured(command: list[str]) -> dict[str, Any]:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SCRIPT_S)  # noqa: S603
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


@contextmanager
def _server() -> Iterator[str]:
    command = [sys.executable, "-m", "specvi_agents.bench.echo"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def _rate(side: dict[str, Any]) -> float:
    return float(side["conversations"]) / float(side["seconds"])


def _cpu_ms(side: dict[str, Any]) -> float:
    return 1e3 * float(side["cpu_seconds"]) / float(side["conversations"])
