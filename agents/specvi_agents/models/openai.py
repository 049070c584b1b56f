"""`openai:<model>`: any model behind a server that speaks the chat-completions protocol."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from specvi_agents.agent import AgentVetter
from specvi_agents.messages import Message, ModelError, Reply
from specvi_agents.models.cache import ReplyCache
from specvi_agents.models.connection import Connection
from specvi_agents.models.faults import Declined, Passing, fault_of, unusable
from specvi_agents.models.limiter import Limiter
from specvi_agents.models.openai_options import ServerOptions
from specvi_agents.models.prices import Usage
from specvi_agents.models.server_check import find_form
from specvi_agents.models.wire import Body, Form, Malformed, read_reply, reasoning_field_of, request_body
from specvi_agents.options import AgentOptions, Sampling
from specvi_benchmark.errors import UserError

CHECK_TOKENS = 16  # of an answer in the check; the least that some servers accept


class OpenAIModel:
    """A `Model` behind one server.

    Connections are opened with the first reply, in the event loop that asks for it, and belong to that loop.

    Parameters
    ----------
    name
        The model's name, as the server knows it.
    options, sampling
        Of the server and of the requests.
    tools
        Whether inspections offer the tool through the API: then the check tries that too.
    """

    def __init__(self, name: str, options: ServerOptions, sampling: Sampling, *, tools: bool = True) -> None:
        self._options, self._tools = options, tools
        self._key = options.key()
        self._fields = options.fields(name, sampling)
        self._seeded = "seed" in self._fields and "seed" not in options.extra
        self._config = {"backend": "openai", **options.config, "request": dict(self._fields)}
        self._url = f"{options.base_url}/chat/completions"
        self._cache = ReplyCache() if options.use_cache else None
        self._form = Form(tool_pictures=options.tool_pictures != "user")
        self._limiter = Limiter(
            options.in_flight,
            tries=options.tries,
            patience_s=options.patience_s,
            backoff_s=options.backoff_s,
        )
        self._connection: Connection | None = None
        self._ready: asyncio.Task[None] | None = None
        self.in_flight = options.in_flight
        self.expected_usd = None if options.price is None else options.price.expected_usd

    @property
    def config(self) -> Mapping[str, Any]:
        """Return what changes a reply."""
        return self._config

    @property
    def sent_as(self) -> Mapping[str, Any]:
        """Return how conversations are written for this server, as far as it is known by now."""
        return asdict(self._form)

    async def reply(self, messages: Sequence[Message], *, tools: bool, sample: int) -> Reply:
        """Return the next turn; see `Model`. The first call looks at the server before it asks.

        Raises
        ------
        ModelError
            This request gets no answer.
        VetterUnusable
            None will.
        """
        await self._looked_at()
        fields = {**self._fields, "seed": self._fields["seed"] + sample} if self._seeded else self._fields
        body = request_body(messages, fields, self._form, tools=tools)
        try:
            answer = await self._answer(body, sample)
        except Declined as fault:
            if fault.stop is not None:
                return Reply("", stop=fault.stop, cost_usd=None if self._options.price is None else 0.0)
            if not self._limiter.ever_glad:
                raise unusable("the model's server refuses the first question", str(fault)) from None
            raise ModelError(str(fault)) from None
        if self._form.reasoning_field is None and self._options.hand_back_reasoning:
            self._form = replace(self._form, reasoning_field=reasoning_field_of(answer))
        return read_reply(answer, self._cost)

    async def close(self) -> None:
        """Close the connections; a later reply opens new ones."""
        ready, self._ready = self._ready, None
        if ready is not None:
            ready.cancel()
            await asyncio.gather(ready, return_exceptions=True)
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    def _cost(self, usage: Usage | None) -> float | None:
        return None if self._options.price is None else self._options.price.of(usage)

    async def _looked_at(self) -> None:
        """Look at the server once; all first questions wait for it, and share what it finds."""
        if self._ready is None:
            self._ready = asyncio.get_running_loop().create_task(self._look())
        if not self._ready.done() or self._ready.exception() is not None:
            await asyncio.shield(self._ready)

    async def _look(self) -> None:
        self._connection = Connection(
            self._options.base_url,
            self._key,
            connections=self._options.in_flight,
            timeout_s=self._options.timeout_s,
        )
        if self._options.check:
            form = await find_form(
                self._ask_small, tools=self._tools, tool_pictures=self._options.tool_pictures
            )
            self._form = replace(self._form, tool_pictures=form.tool_pictures)

    async def _ask_small(self, messages: Sequence[Message], form: Form, tools: bool) -> Any:
        """Send a request of the check. Learns the name of the token limit from a server's refusal."""
        for wrong, right in (("max_tokens", "max_completion_tokens"), ("", "")):
            few = {
                name: CHECK_TOKENS for name in self._fields if name in {"max_tokens", "max_completion_tokens"}
            }
            body = request_body(messages, {**self._fields, **few}, form, tools=tools)
            try:
                answer, _ = await self._limiter.run(lambda body=body: self._post(body))  # type: ignore[misc]
            except Declined as fault:
                if wrong not in self._fields or right not in str(fault):
                    raise
                self._fields[right] = self._fields.pop(wrong)
            else:
                return answer
        raise AssertionError("the second try returns or raises")

    async def _answer(self, body: Body, sample: int) -> Any:
        """Return a well-formed answer, from the cache or from the server."""
        key = ""
        if self._cache is not None:
            key = self._cache.key(self._url, body.outline, sample)
            if (known := self._cache.get(key)) is not None and _is_whole(known):
                return known
        answer, raw = await self._limiter.run(lambda: self._post(body))
        if self._cache is not None:
            self._cache.put(key, raw)
        return answer

    async def _post(self, body: Body) -> tuple[Any, bytes]:
        """Send a request once; return the answer, parsed and known to be whole, and its bytes."""
        assert self._connection is not None
        raw = await self._connection.post(body.encoded())
        try:
            answer = json.loads(raw)
        except (ValueError, RecursionError):
            raise Passing("the server's answer is no JSON") from None
        if isinstance(answer, dict) and isinstance(error := answer.get("error"), dict):
            code = error.get("code")  # some gateways answer 200 and tell of the fault inside
            raise fault_of(code if isinstance(code, int) and code >= 400 else 500, {}, raw)
        try:
            read_reply(answer)
        except Malformed as fault:
            raise Passing(str(fault)) from None
        return answer, raw


def _is_whole(answer: Any) -> bool:
    try:
        read_reply(answer)
    except Malformed:
        return False
    return True


def create(argument: str | None, options: Mapping[str, str]) -> AgentVetter:
    """Make the vetter ``openai:<model>``.

    Raises
    ------
    UserError
        No model is named, an option can't be used, or there is no key.
    """
    if not argument:
        raise UserError("no model is named", where="vetter openai", expected="openai:MODEL", got="openai")
    agent, rest = AgentOptions.read(options)
    server = ServerOptions.read(rest, argument)
    tools = agent.environment.has_tool and agent.environment.dialect == "api"
    return AgentVetter(OpenAIModel(argument, server, agent.sampling, tools=tools), agent)
