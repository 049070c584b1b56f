"""`vllm:<folder or Hub id>`: an open model on vLLM servers that the run starts and ends, or joins."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from specvi_agents.agent import AgentVetter
from specvi_agents.messages import Message, Model, ModelError, Reply
from specvi_agents.models.checkpoint import find_checkpoint
from specvi_agents.models.openai import OpenAIModel
from specvi_agents.models.openai_options import KNOWN, ServerOptions
from specvi_agents.models.prices import Price
from specvi_agents.models.vllm_server import (
    LaunchOptions,
    Server,
    find_executable,
    gpu_groups,
    start_servers,
    stop_servers,
)
from specvi_agents.options import AgentOptions, refuse_rest
from specvi_benchmark.errors import UserError
from specvi_benchmark.files import validate
from specvi_benchmark.vetting import VetterUnusable

FREE = {"price_in": "0", "price_out": "0"}
"""Your own machine sends no bill; options name another price."""


@dataclass(frozen=True, slots=True, eq=False)
class Replica:
    """One server that can be asked; ``server`` is None where it was joined."""

    model: Model
    server: Server | None = None

    @property
    def is_gone(self) -> bool:
        """Return whether the process has ended. A joined server is taken to be there."""
        return self.server is not None and not self.server.is_running


class VllmModel:
    """A `Model` behind one or many equal servers.

    All turns of a conversation go to the same server, where its beginning is cached; which one follows from the
    conversation's opening, so the load is spread evenly. If a started server dies, its conversations go on with
    the next.

    Parameters
    ----------
    start
        Makes the replicas ready, at the first reply; they belong to the event loop of that reply.
    config
        What changes a reply, for run.json.
    in_flight
        Conversations at a time.
    expected_usd
        Of one inspection.
    """

    def __init__(
        self,
        start: Callable[[], Awaitable[Sequence[Replica]]],
        config: Mapping[str, Any],
        *,
        in_flight: int,
        expected_usd: float | None = 0.0,
    ) -> None:
        self._start = start
        self._config = config
        self.in_flight = in_flight
        self.expected_usd = expected_usd
        self.sent_as: Mapping[str, Any] = {}
        self._starting: asyncio.Task[Sequence[Replica]] | None = None

    @property
    def config(self) -> Mapping[str, Any]:
        """Return what changes a reply."""
        return self._config

    async def reply(self, messages: Sequence[Message], *, tools: bool, sample: int) -> Reply:
        """Return the next turn; see `Model`. The first call starts the servers.

        Raises
        ------
        ModelError
            This request gets no answer.
        VetterUnusable
            The servers do not start, or all have died.
        """
        replicas = await self._ready()
        first = place(messages, sample, len(replicas))
        for replica in (*replicas[first:], *replicas[:first]):
            if replica.is_gone:
                continue
            try:
                reply = await replica.model.reply(messages, tools=tools, sample=sample)
            except (ModelError, VetterUnusable):
                if not replica.is_gone:
                    raise
            else:
                self.sent_as = getattr(replica.model, "sent_as", {})
                return reply
        raise _all_gone(replicas)

    async def close(self) -> None:
        """Close the connections and end the servers that were started."""
        starting, self._starting = self._starting, None
        if starting is None:
            return
        starting.cancel()  # of no effect once they are ready
        await asyncio.gather(starting, return_exceptions=True)
        if starting.cancelled() or starting.exception() is not None:
            return
        replicas = starting.result()
        await asyncio.gather(*(replica.model.close() for replica in replicas), return_exceptions=True)
        await stop_servers([replica.server for replica in replicas if replica.server is not None])

    async def _ready(self) -> Sequence[Replica]:
        if self._starting is None:
            self._starting = asyncio.ensure_future(self._start())
        return await asyncio.shield(self._starting)


def place(messages: Sequence[Message], sample: int, servers: int) -> int:
    """Return which of the servers a conversation belongs to, by its opening messages and pictures."""
    opening = hashlib.sha256(str(sample).encode())
    for message in messages[:2]:
        opening.update(message.text.encode())
        for picture in message.pictures:
            opening.update(picture.record.png_sha256.encode())
    return int.from_bytes(opening.digest()[:8]) % servers


def create(argument: str | None, options: Mapping[str, str]) -> AgentVetter:
    """Make the vetter ``vllm:<folder or Hub id>``; with the option ``base_url`` running servers are joined.

    Raises
    ------
    UserError
        An option or the checkpoint can't be used, or there is no vLLM to start.
    """
    agent, rest = AgentOptions.read(options)
    urls = tuple(url.strip() for url in rest.pop("base_url", "").split(",") if url.strip())
    launching = tuple(LaunchOptions.model_fields)
    known = ("base_url", "revision", *launching, *(name for name in KNOWN if name != "base_url"))
    refuse_rest({key: rest[key] for key in rest if key not in known}, "vllm", known)
    revision = rest.pop("revision", None)
    launch = {key: rest.pop(key) for key in launching if key in rest}
    client = FREE | rest
    if not urls:
        return AgentVetter(launched(argument, agent, client, launch, revision), agent)
    if idle := sorted([*launch, *(["revision"] if revision else [])]):
        raise UserError(
            "a server that runs already can't be set up",
            where="option base_url",
            got=", ".join(idle),
            fix="leave these options out, or leave base_url out to start a server",
        )
    return AgentVetter(joined(argument, agent, client, urls), agent)


def joined(
    argument: str | None, agent: AgentOptions, client: Mapping[str, str], urls: Sequence[str]
) -> VllmModel:
    """Return a model behind servers that run already; its name is the one they serve it under."""
    if not argument:
        raise UserError("no model is named", where="vetter vllm", expected="vllm:NAME as it is served")
    servers = [ServerOptions.read({**client, "base_url": url}, argument) for url in urls]
    models = [_client(argument, server, agent) for server in servers]

    async def replicas() -> Sequence[Replica]:
        return [Replica(model) for model in models]

    first = models[0]
    config = {**first.config, "backend": "vllm", "base_url": [server.base_url for server in servers]}
    return VllmModel(
        replicas, config, in_flight=sum(server.in_flight for server in servers), expected_usd=_usd(servers[0])
    )


def launched(
    argument: str | None,
    agent: AgentOptions,
    client: Mapping[str, str],
    launch: Mapping[str, str],
    revision: str | None,
) -> VllmModel:
    """Return a model behind servers that start with the first reply and end with `close`."""
    pictures = 1 + agent.environment.budget.max_calls if agent.environment.has_tool else 1
    settings = validate(LaunchOptions, {"pictures": pictures, **launch}, "--option")
    executable = find_executable()
    checkpoint = find_checkpoint(argument, "vllm", revision=revision)
    gpu_groups(settings)  # too few GPUs: better said now than after the splits are read
    # The address is of this run only: a reply that was kept would not be found again.
    common = replace(
        ServerOptions.read({**client, "base_url": "http://127.0.0.1:1/v1"}, checkpoint.name), use_cache=False
    )

    async def replicas() -> Sequence[Replica]:
        servers = await start_servers(checkpoint, settings, executable)
        return [
            Replica(_client(checkpoint.name, replace(common, base_url=server.base_url), agent), server)
            for server in servers
        ]

    spoken = {key: value for key, value in common.config.items() if key != "base_url"}
    config = {
        "backend": "vllm",
        "checkpoint": dict(checkpoint.identity),
        **spoken,
        "max_model_len": settings.max_model_len,
        "arguments": list(settings.arguments),
    }
    return VllmModel(
        replicas, config, in_flight=common.in_flight * settings.replicas, expected_usd=_usd(common)
    )


def _client(name: str, server: ServerOptions, agent: AgentOptions) -> OpenAIModel:
    offered = agent.environment.has_tool and agent.environment.dialect == "api"
    return OpenAIModel(name, server, agent.sampling, tools=offered)


def _usd(server: ServerOptions) -> float | None:
    price: Price | None = server.price
    return None if price is None else price.expected_usd


def _all_gone(replicas: Sequence[Replica]) -> VetterUnusable:
    told = [
        f"{server.log}: {server.last_words()}"
        for replica in replicas
        if (server := replica.server) is not None
    ]
    return VetterUnusable(
        "every vLLM server has ended",
        got=told[0],
        fix="the same command starts them again and goes on; less gpu_memory or max_model_len may help",
    )
