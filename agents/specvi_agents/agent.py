"""The one loop that inspects with any model: ask, carry out the calls, ask again, until the inspection ends."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from specvi_agents.dialects import as_sent
from specvi_agents.environment import InspectionEnvironment
from specvi_agents.messages import Message, Model, ModelError, Reply, picture_of
from specvi_agents.options import AgentOptions
from specvi_agents.parsing import PARSER_VERSION, Ended
from specvi_agents.prompts import PROMPT_VERSION
from specvi_agents.recording import Recording
from specvi_agents.voting import elect
from specvi_benchmark.vetting import Outcome, Question, Verdict

T = TypeVar("T")

DRAWERS = 2
"""Threads that draw. They hold the interpreter's lock most of the time: with more of them the event loop waits longer
for its turn (with asyncio's own choice, 4 more than cores, several times as long), and nothing is drawn faster."""


class AgentVetter:
    """A model, inspecting through the environment: the vetter behind every backend.

    Parameters
    ----------
    model
        Gives the replies.
    options
        Pictures, prompt, budget, votes.
    """

    versions: Mapping[str, int] = {"prompt_version": PROMPT_VERSION, "parser_version": PARSER_VERSION}

    def __init__(self, model: Model, options: AgentOptions | None = None) -> None:
        self._model = model
        self._options = options or AgentOptions()
        self._drawers = ThreadPoolExecutor(
            DRAWERS, thread_name_prefix="draw"
        )  # threads begin with the first work
        if hasattr(model, "in_flight"):
            self.in_flight: int = model.in_flight
        if hasattr(model, "expected_usd"):
            each: float | None = model.expected_usd
            self.expected_usd = None if each is None else each * self._options.votes

    @property
    def model(self) -> Model:
        """Return the model, for other uses than inspection, such as judging."""
        return self._model

    @property
    def options(self) -> AgentOptions:
        """Return pictures, prompt, budget and votes."""
        return self._options

    @property
    def config(self) -> Mapping[str, Any]:
        """Return everything that changes a verdict: of the model and of the inspection."""
        return {"model": dict(self._model.config), **self._options.config}

    async def vet_one(self, question: Question) -> Verdict:
        """Inspect a question as often as there are votes, at the same time, and count them."""
        clock = time.perf_counter()
        try:
            async with asyncio.TaskGroup() as group:
                votes = range(self._options.votes)
                tasks = [group.create_task(self._inspect(question, sample)) for sample in votes]
        except BaseExceptionGroup as faults:
            raise faults.exceptions[0] from None
        verdict = elect([task.result() for task in tasks], must_agree=self._options.abstain_on_split)
        return replace(verdict, seconds=time.perf_counter() - clock)

    async def close(self) -> None:
        """Let go of the model's connections."""
        await self._model.close()

    async def _inspect(self, question: Question, sample: int) -> Verdict:
        """Run one inspection. A model that gives no reply ends it as `error`, the reason in the trace."""
        environment = InspectionEnvironment(self._options.environment)
        messages = list(await self._drawn(lambda: environment.reset(question)))
        record = Recording(messages)
        try:
            reply, ended = await self._converse(environment, messages, record, sample)
        except ModelError as error:
            record.add_error(str(error) or type(error).__name__)
            used = environment.calls_used
            verdict = Verdict(question.id, question.task.key, Outcome.ERROR, tool_calls=used)
        else:
            verdict = environment.finish(reply.text, ended, refusal=reply.refusal)
            verdict = replace(verdict, p_yes=None if verdict.answer is None else reply.p_yes)
        found = {"sent_as": dict(sent_as)} if (sent_as := getattr(self._model, "sent_as", None)) else {}
        trace = record.trace({**environment.settings, **found}, sample)
        return replace(record.priced(verdict), traces=(trace,))

    async def _converse(
        self, environment: InspectionEnvironment, messages: list[Message], record: Recording, sample: int
    ) -> tuple[Reply, Ended]:
        """Ask and carry out calls until a turn is the last; return that turn, and why it was."""
        while True:
            clock = time.perf_counter()
            reply = printable(await self._reply(messages, sample))
            step = environment.hear(reply)
            record.add_reply(reply, step, time.perf_counter() - clock)
            if step.ended is not None:
                return reply, step.ended
            calls = () if step.is_in_text else step.calls
            messages.append(Message("assistant", reply.text, calls=calls, reasoning=reply.reasoning))
            for call in step.calls:
                clock = time.perf_counter()
                answer = await self._drawn(partial(_carry_out, environment, call.name, call.arguments))
                messages.append(replace(answer, call_id=None if step.is_in_text else call.id))
                record.add_answer(messages[-1], call.id, time.perf_counter() - clock)

    async def _drawn(self, draw: Callable[[], T]) -> T:
        """Return what ``draw`` returns, worked out off the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._drawers, draw)

    async def _reply(self, messages: Sequence[Message], sample: int) -> Reply:
        settings = self._options.environment
        is_offered = settings.has_tool and settings.dialect == "api"
        return await self._model.reply(as_sent(messages), tools=is_offered, sample=sample)


def _carry_out(environment: InspectionEnvironment, name: str, raw_arguments: str) -> Message:
    """Carry out a call; the picture is encoded here too, off the event loop."""
    answer = environment.call(name, raw_arguments)
    pictures = () if answer.view is None else (picture_of(answer.view),)
    return Message("tool", answer.text, pictures)


def printable(reply: Reply) -> Reply:
    """Return the reply with lone surrogates replaced: they can stand in JSON, but in no UTF-8 file."""
    calls = tuple(
        call.model_copy(update={name: _utf8(getattr(call, name)) for name in ("id", "name", "arguments")})
        for call in reply.calls
    )
    return replace(
        reply,
        text=_utf8(reply.text),
        calls=calls,
        reasoning=None if reply.reasoning is None else _utf8(reply.reasoning),
        refusal=None if reply.refusal is None else _utf8(reply.refusal),
    )


def _utf8(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
