"""The one loop that inspects with any model: ask, carry out the calls, ask again, until the inspection ends."""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from specvi_agents.dialects import as_sent
from specvi_agents.environment import InspectionEnvironment
from specvi_agents.messages import Message, Model, ModelError, Reply, picture_of
from specvi_agents.options import AgentOptions
from specvi_agents.parsing import PARSER_VERSION
from specvi_agents.prompts import PROMPT_VERSION
from specvi_agents.recording import Recording, total_cost
from specvi_benchmark.traces import Trace
from specvi_benchmark.vetting import ANSWERS, Answer, Outcome, Question, Verdict, Vote


@dataclass(frozen=True, slots=True)
class Sample:
    """One inspection of a question: its verdict, and the probability its final turn came with."""

    verdict: Verdict
    p_yes: float | None
    trace: Trace


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
        if hasattr(model, "in_flight"):
            self.in_flight: int = model.in_flight
        if hasattr(model, "expected_usd"):
            self.expected_usd: float | None = model.expected_usd

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
        samples = [task.result() for task in tasks]
        verdict = verdict_of(samples, must_agree=self._options.abstain_on_split)
        return replace(verdict, seconds=time.perf_counter() - clock)

    async def close(self) -> None:
        """Let go of the model's connections."""
        await self._model.close()

    async def _inspect(self, question: Question, sample: int) -> Sample:
        """Run one inspection. A model that gives no reply ends it as `error`, the reason in the trace."""
        environment = InspectionEnvironment(self._options.environment)
        messages = list(await asyncio.to_thread(environment.reset, question))
        record = Recording(messages)
        try:
            while True:
                clock = time.perf_counter()
                reply = printable(await self._reply(messages, sample))
                step = environment.hear(reply)
                record.add_reply(reply, step, time.perf_counter() - clock)
                if step.ended is not None:
                    break
                calls = () if step.is_in_text else step.calls
                messages.append(Message("assistant", reply.text, calls=calls, reasoning=reply.reasoning))
                for call in step.calls:
                    clock = time.perf_counter()
                    answer = await asyncio.to_thread(_carry_out, environment, call.name, call.arguments)
                    answer = replace(answer, call_id=None if step.is_in_text else call.id)
                    messages.append(answer)
                    record.add_answer(answer, call.id, time.perf_counter() - clock)
        except ModelError as error:
            record.add_error(str(error) or type(error).__name__)
            verdict = Verdict(
                question.id, question.task.key, Outcome.ERROR, tool_calls=environment.calls_used
            )
            return Sample(record.priced(verdict), None, record.trace(environment.settings, sample))
        verdict = environment.finish(reply.text, step.ended, refusal=reply.refusal)
        p_yes = reply.p_yes if verdict.answer is not None else None
        return Sample(record.priced(verdict), p_yes, record.trace(environment.settings, sample))

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


def verdict_of(samples: Sequence[Sample], *, must_agree: bool = False) -> Verdict:
    """Return the verdict of one sample, or of the votes of several.

    The answer is the strict majority of all samples, or with ``must_agree`` what all of them say; otherwise
    the outcome is `abstained`. If a sample failed and could still turn that, the outcome is `error`, so that
    the question is asked again. P(YES) is the share of YES among the samples that answered; of a single
    sample, what the model's log-probabilities say.
    """
    verdicts = [sample.verdict for sample in samples]
    first = verdicts[0]
    traces = tuple(sample.trace for sample in samples)
    if len(samples) == 1:
        return replace(first, p_yes=samples[0].p_yes, traces=traces)
    votes: tuple[Vote, ...] = tuple(verdict.answer or "none" for verdict in verdicts)
    needed = len(votes) if must_agree else len(votes) // 2 + 1
    answer = _elected(votes, needed)
    failed = sum(verdict.outcome is Outcome.ERROR for verdict in verdicts)
    is_open = failed > 0 and any(votes.count(choice) + failed >= needed for choice in ANSWERS)
    outcome = Outcome.ANSWERED if answer else Outcome.ERROR if is_open else Outcome.ABSTAINED
    counted = Counter(votes)
    answered = counted["YES"] + counted["NO"]
    return Verdict(
        first.id,
        first.task,
        outcome,
        answer,
        _elected([verdict.answer_lenient or "none" for verdict in verdicts], needed),
        p_yes=counted["YES"] / answered if answered else None,
        votes=votes,
        tool_calls=sum(verdict.tool_calls for verdict in verdicts),
        tokens_in=sum(verdict.tokens_in for verdict in verdicts),
        tokens_out=sum(verdict.tokens_out for verdict in verdicts),
        cost_usd=total_cost([verdict.cost_usd for verdict in verdicts]),
        traces=traces,
    )


def _elected(votes: Sequence[Vote], needed: int) -> Answer | None:
    return next((choice for choice in ANSWERS if votes.count(choice) >= needed), None)
