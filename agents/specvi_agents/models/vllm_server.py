"""vLLM servers of one checkpoint: their command lines, their start, their health, their end."""

import asyncio
import http.client
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from http import HTTPStatus
from importlib.resources import files
from pathlib import Path
from typing import Self

from pydantic import Field, field_validator

from specvi_agents.models.checkpoint import Checkpoint
from specvi_agents.models.keeper import GRACE_S
from specvi_benchmark.errors import UserError
from specvi_benchmark.files import StrictModel
from specvi_benchmark.vetting import VetterUnusable

HOST = "127.0.0.1"
_LOOK_S = 1.0
_TAIL_LINES = 5


class LaunchOptions(StrictModel):
    """How vLLM servers are started.

    Attributes
    ----------
    replicas
        Servers, each with a copy of the model on GPUs of its own.
    tensor_parallel
        GPUs that share one copy.
    pictures
        Most pictures in one conversation: the full view and one for each call.
    max_model_len
        Tokens of the longest conversation; None: the model's own limit.
    gpu_memory
        Share of a GPU's memory that a server takes.
    port
        Of the first server, the next ones counting up; None: any free ones.
    arguments
        Further arguments of ``vllm serve``, last, so that they win.
    startup_s
        How long loading may take.
    logs
        Folder of the servers' output, one file each.
    """

    replicas: int = Field(default=1, ge=1, le=1024)
    tensor_parallel: int = Field(default=1, ge=1, le=1024)
    pictures: int = Field(default=9, ge=1)
    max_model_len: int | None = Field(default=None, ge=1)
    gpu_memory: float = Field(default=0.9, gt=0, le=1)
    port: int | None = Field(default=None, ge=1, le=65535)
    arguments: tuple[str, ...] = ()
    startup_s: float = Field(default=1800, gt=0)
    logs: Path = Path("vllm-logs")

    @field_validator("arguments", mode="before")
    @classmethod
    def _as_a_shell_would(cls, value: object) -> object:
        return tuple(shlex.split(value)) if isinstance(value, str) else value


def find_executable() -> str:
    """Return the ``vllm`` program, beside this Python or on the path.

    Raises
    ------
    UserError
        There is none.
    """
    beside = str(Path(sys.executable).parent)
    found = shutil.which("vllm", path=os.pathsep.join([beside, os.environ.get("PATH", os.defpath)]))
    if found is None:
        raise UserError(
            "no vLLM to start a server with",
            expected="the program vllm beside Python or on the PATH",
            fix="pip install 'specvi-bench[vllm]', or join a running server: --option base_url=http://HOST:8000/v1",
        )
    return found


def command_line(checkpoint: Checkpoint, options: LaunchOptions, port: int, executable: str) -> list[str]:
    """Return the command that serves a checkpoint with what an inspection needs.

    Tool calls in Hermes style, as Qwen's templates ask for them; as many pictures a conversation as the budget
    allows; prefix caching, because each turn repeats the conversation so far; sampling as asked, not as the
    checkpoint's ``generation_config.json`` has it (Qwen2.5-VL: repetition penalty 1.05).
    """
    command = [
        *(executable, "serve", str(checkpoint.folder)),
        *("--host", HOST, "--port", str(port)),
        *("--served-model-name", checkpoint.name),
        *("--tensor-parallel-size", str(options.tensor_parallel)),
        *("--gpu-memory-utilization", f"{options.gpu_memory:g}"),
        *("--limit-mm-per-prompt", json.dumps({"image": options.pictures, "video": 0})),
        *("--enable-auto-tool-choice", "--tool-call-parser", "hermes"),
        "--enable-prefix-caching",
        *("--generation-config", "vllm"),
    ]
    if options.max_model_len is not None:
        command += ["--max-model-len", str(options.max_model_len)]
    if not _knows_tools(checkpoint.folder) and str(checkpoint.config.get("model_type", "")).startswith(
        "qwen"
    ):
        ours = str(files("specvi_agents.models") / "hermes.jinja")
        command += ["--chat-template", ours, "--chat-template-content-format", "openai"]
    return [*command, *options.arguments]


def _knows_tools(folder: Path) -> bool:
    """Return whether the checkpoint's chat template speaks of tools: Qwen2.5-VL's, as released, does not."""
    template = folder / "chat_template.jinja"
    if template.exists():
        return "tools" in template.read_text(encoding="utf-8")
    for name in ("chat_template.json", "tokenizer_config.json"):
        if (folder / name).exists():
            held = json.loads((folder / name).read_text(encoding="utf-8")).get("chat_template")
            if held is not None:
                return "tools" in str(held)
    return False


def gpu_groups(options: LaunchOptions) -> list[str | None]:
    """Return the ``CUDA_VISIBLE_DEVICES`` of each server; one server alone takes what is visible.

    Raises
    ------
    UserError
        Fewer GPUs are visible than the servers need.
    """
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if options.replicas == 1:
        return [visible]
    needed = options.replicas * options.tensor_parallel
    gpus = visible.split(",") if visible else [str(number) for number in range(needed)]
    if len(gpus) < needed:
        raise UserError(
            "too few GPUs for so many servers",
            where="options replicas, tensor_parallel",
            expected=f"{needed} GPUs",
            got=f"CUDA_VISIBLE_DEVICES={visible}",
        )
    size = options.tensor_parallel
    return [",".join(gpus[start : start + size]) for start in range(0, needed, size)]


@dataclass(slots=True)
class Server:
    """One running server; ``log`` holds its output."""

    port: int
    process: subprocess.Popen[bytes]
    log: Path

    @classmethod
    def start(cls, command: Sequence[str], port: int, gpus: str | None, log: Path) -> Self:
        """Start it, without waiting until it answers."""
        log.parent.mkdir(parents=True, exist_ok=True)
        environment = {name: value for name, value in os.environ.items() if name != "VLLM_API_KEY"}
        if gpus is not None:
            environment["CUDA_VISIBLE_DEVICES"] = gpus
        with log.open("wb") as output:
            output.write(f"{shlex.join(command)}\n".encode())
            output.flush()
            process = subprocess.Popen(  # noqa: S603  # the command is the suite's own
                [sys.executable, "-m", "specvi_agents.models.keeper", str(os.getpid()), *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # an interrupt at the keyboard is for the run, which then ends its servers
                env=environment,
            )
        return cls(port, process, log)

    @property
    def base_url(self) -> str:
        """Return the address that an OpenAI client takes."""
        return f"http://{HOST}:{self.port}/v1"

    @property
    def is_running(self) -> bool:
        """Return whether the process lives."""
        return self.process.poll() is None

    async def wait_until_ready(self, model: str, startup_s: float) -> None:
        """Wait until it offers the model under this name.

        Raises
        ------
        VetterUnusable
            It ended, or took too long.
        """
        end = time.monotonic() + startup_s
        while time.monotonic() < end:
            if not self.is_running:
                raise self._failure(f"it ended with status {self.process.returncode}")
            if await asyncio.to_thread(_offers, self.port, model):
                return
            await asyncio.sleep(_LOOK_S)
        raise self._failure(f"no answer within {startup_s:g} s")

    def stop(self) -> None:
        """End it and all it started."""
        self.process.terminate()
        try:
            self.process.wait(2 * GRACE_S)
        except subprocess.TimeoutExpired:  # the driver holds it; the keeper is all that can be ended
            self.process.kill()
            self.process.wait()

    def last_words(self) -> str:
        """Return the last lines of its output."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[
            1:
        ]  # the first is the command
        return " | ".join([line.strip() for line in lines if line.strip()][-_TAIL_LINES:])

    def _failure(self, what: str) -> VetterUnusable:
        return VetterUnusable(
            "a vLLM server did not start",
            where=self.log,
            got=f"{what}; its last lines: {self.last_words()}",
            fix="the log has the whole output, its first line the command",
        )


async def start_servers(checkpoint: Checkpoint, options: LaunchOptions, executable: str) -> list[Server]:
    """Start all servers side by side and wait until each answers; if one does not, none is left running."""
    groups = gpu_groups(options)
    first = options.port
    ports = _free_ports(len(groups)) if first is None else list(range(first, first + len(groups)))
    servers: list[Server] = []
    try:
        for number, (gpus, port) in enumerate(zip(groups, ports, strict=True)):
            command = command_line(checkpoint, options, port, executable)
            servers.append(Server.start(command, port, gpus, options.logs / f"server-{number}-{port}.log"))
        await asyncio.gather(
            *(server.wait_until_ready(checkpoint.name, options.startup_s) for server in servers)
        )
    except BaseException:
        await stop_servers(servers)
        raise
    return servers


async def stop_servers(servers: Sequence[Server]) -> None:
    """End all servers side by side."""
    await asyncio.gather(*(asyncio.to_thread(server.stop) for server in servers))


def _free_ports(number: int) -> list[int]:
    """Return different ports: all are held until the last one is found."""
    with ExitStack() as held:
        probes = [held.enter_context(socket.socket()) for _ in range(number)]
        for probe in probes:
            probe.bind((HOST, 0))
        return [int(probe.getsockname()[1]) for probe in probes]


def _offers(port: int, model: str) -> bool:
    """Ask without a proxy: the server is on this machine."""
    connection = http.client.HTTPConnection(HOST, port, timeout=5)
    try:
        connection.request("GET", "/v1/models")
        response = connection.getresponse()
        offered = json.loads(response.read())["data"]
        return response.status == HTTPStatus.OK and any(entry["id"] == model for entry in offered)
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        return False
    finally:
        connection.close()
