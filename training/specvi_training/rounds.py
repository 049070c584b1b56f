"""Inspects many candidates at once with a model in this process, in lockstep: every round, one turn of each.

The vetter ``transformers:`` lets batches form as conversations come in, which no two runs do alike. Where several
processes share one model, as under ZeRO-3, each must ask for the same passes in the same order. Same environment,
same ids, same greedy words; a test compares the two.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from specvi_agents.dialects import as_sent
from specvi_agents.environment import EnvironmentOptions, InspectionEnvironment
from specvi_agents.messages import Message, Reply, picture_of
from specvi_agents.models.local.decoding import Decoding
from specvi_agents.models.local.model import LocalModel
from specvi_agents.recording import Recording
from specvi_benchmark.vetting import Question, Verdict


@dataclass(slots=True)
class _Inspection:
    environment: InspectionEnvironment
    messages: list[Message]
    record: Recording
    verdict: Verdict | None = field(default=None)

    @property
    def has_tools(self) -> bool:
        options = self.environment.options
        return options.has_tool and options.dialect == "api"

    def hear(self, reply: Reply) -> None:
        """Take in the model's turn: carry out its calls, or end."""
        step = self.environment.hear(reply)
        self.record.add_reply(reply, step, 0.0)
        if step.ended is not None:
            verdict = self.record.priced(self.environment.finish(reply.text, step.ended))
            self.verdict = replace(verdict, traces=(self.record.trace(self.environment.settings, 0),))
            return
        self.messages.append(Message("assistant", reply.text))
        for call in step.calls:
            answer = self.environment.call(call.name, call.arguments)
            pictures = () if answer.view is None else (picture_of(answer.view),)
            self.messages.append(Message("tool", answer.text, pictures))
            self.record.add_answer(self.messages[-1], call.id, 0.0)


def inspect_in_rounds(
    local: LocalModel,
    questions: Sequence[Question],
    options: EnvironmentOptions,
    decoding: Decoding,
    *,
    batch_size: int,
    seed: int = 0,
) -> list[Verdict]:
    """Return one verdict a question, in order, each with its trace.

    Parameters
    ----------
    batch_size
        Conversations that are answered together; those of a round are taken in the order of their questions.
    seed
        Of draws, where the temperature is above 0.
    """
    inspections = [_begun(question, options) for question in questions]
    while waiting := [one for one in inspections if one.verdict is None]:
        for start in range(0, len(waiting), batch_size):
            batch = waiting[start : start + batch_size]
            prompts = [local.prompt(as_sent(one.messages), tools=one.has_tools, seed=seed) for one in batch]
            for one, reply in zip(batch, local.replies(prompts, decoding), strict=True):
                one.hear(reply)
    return [one.verdict for one in inspections if one.verdict is not None]


def _begun(question: Question, options: EnvironmentOptions) -> _Inspection:
    environment = InspectionEnvironment(options)
    messages = list(environment.reset(question))
    return _Inspection(environment, messages, Recording(messages))
