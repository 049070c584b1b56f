"""What a teacher is told beyond the question: the answer, the guideline, experts' examples. It is never recorded.

Only what is sent to the teacher's model has these words. The inspection that is recorded, and so every conversation
that is exported, has the system turn that the environment makes for anyone.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from specvi_agents.agent import AgentVetter
from specvi_agents.messages import IMAGE_MARK, Message, Model, Reply
from specvi_agents.prompts import guideline
from specvi_agents.trajectories.conversation import conversation
from specvi_agents.trajectories.records import Trajectory
from specvi_benchmark.errors import UserError
from specvi_benchmark.vetting import Answer, AnyVetter, Question, Verdict

GUIDANCE_VERSION = 1
"""Raised whenever a byte of the guidance can change."""

SEEDS = 3
"""So many examples of a task are shown."""

_told: ContextVar[str] = ContextVar("what the teacher of the present question is told")


@dataclass(frozen=True, slots=True)
class Guidance:
    """What a teacher is told.

    Attributes
    ----------
    tells_answer
        The truth of the candidate.
    tells_guideline
        The task's whole guideline, where the prompt of the inspection is the short published one.
    seeds
        Experts' inspections, of which those of the question's task are shown, at most three.
    """

    tells_answer: bool = False
    tells_guideline: bool = False
    seeds: tuple[Trajectory, ...] = ()

    @property
    def config(self) -> Mapping[str, Any]:
        """Return every choice, for run.json; a seed is known by its id and its words."""
        return {
            "guidance_version": GUIDANCE_VERSION,
            "answer": self.tells_answer,
            "guideline": self.tells_guideline,
            "seeds": {seed.id: _sha256(transcript(seed)) for seed in self.seeds},
        }

    def __bool__(self) -> bool:
        """Tell whether anything is told."""
        return self.tells_answer or self.tells_guideline or bool(self.seeds)

    def words(self, question: Question, truth: Answer, settings: Mapping[str, Any]) -> str:
        """Return what is told with a question; ``settings`` are those of the task's guideline."""
        seeds = [transcript(seed) for seed in self.seeds if seed.record.task == question.task.key]
        if self.seeds and not seeds:
            raise UserError(
                "there is no seed example of this task",
                where="--seeds",
                expected=f"one of {question.task.key}",
                got=", ".join(sorted({seed.record.task for seed in self.seeds})),
                fix="name the tasks of the seeds with --task",
            )
        words: str = _template().render(
            truth=truth if self.tells_answer else None,
            guideline=guideline(question.task, settings) if self.tells_guideline else None,
            seeds=seeds[:SEEDS],
        )
        return words.strip()


class GuidedTeacher:
    """A model that inspects as any agent does, and is told more than it is shown.

    Parameters
    ----------
    agent
        The agent without guidance.
    truths
        Question id → truth.
    """

    def __init__(self, agent: AgentVetter, guidance: Guidance, truths: Mapping[str, Answer]) -> None:
        self._agent = AgentVetter(_Told(agent.model), agent.options)
        self._guidance, self._truths = guidance, truths
        self._settings = {
            "has_tool": agent.options.environment.has_tool,
            "budget": agent.options.environment.budget,
        }
        for name in ("in_flight", "expected_usd"):
            if hasattr(agent, name):
                setattr(self, name, getattr(agent, name))

    versions = AgentVetter.versions

    @property
    def config(self) -> Mapping[str, Any]:
        """Return everything that changes an inspection, what is told included."""
        return {**self._agent.config, "guidance": self._guidance.config}

    async def vet_one(self, question: Question) -> Verdict:
        """Inspect a question with what is told of it. The samples of it run in contexts of their own."""
        words = self._guidance.words(question, self._truths[question.id], self._settings)
        before = _told.set(words)
        try:
            return await self._agent.vet_one(question)
        finally:
            _told.reset(before)

    async def close(self) -> None:
        """Let go of the model's connections."""
        await self._agent.close()


class _Told:
    """A model behind which what is told is added to the system turn, and to nothing that is kept."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def config(self) -> Mapping[str, Any]:
        return self._model.config

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def reply(self, messages: Sequence[Message], *, tools: bool, sample: int) -> Reply:
        return await self._model.reply(_with_words(messages, _told.get()), tools=tools, sample=sample)

    async def close(self) -> None:
        await self._model.close()


def guided(
    teacher: AnyVetter, spec: str, guidance: Guidance, truths: Mapping[str, Answer]
) -> AnyVetter | GuidedTeacher:
    """Return the teacher as it inspects with this guidance; itself where nothing is told.

    Raises
    ------
    UserError
        It has no model that could be told anything.
    """
    if not guidance:
        return teacher
    if not isinstance(teacher, AgentVetter):
        raise UserError(
            "this teacher can't be told anything: it has no model that reads",
            where=f"--teacher {spec}",
            expected="a model, such as openai:NAME",
            fix="leave the guidance out",
        )
    return GuidedTeacher(teacher, guidance, truths)


def transcript(seed: Trajectory) -> str:
    """Return an inspection as text, without the system turn and the pictures."""
    return "\n\n".join(_spoken(seed))


def _spoken(seed: Trajectory) -> Iterator[str]:
    names = {"user": "shown", "assistant": "inspector", "tool": "tool"}
    for said in conversation(seed.record, seed.trace):
        if said.role != "system":
            yield f"[{names[said.role]}] {said.text.replace(IMAGE_MARK, '(picture) ')}"


def _with_words(messages: Sequence[Message], words: str) -> tuple[Message, ...]:
    first, *others = messages
    if first.role != "system":
        return Message("system", words), first, *others
    return replace(first, text=f"{first.text}\n\n{words}"), *others


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def _template() -> Any:
    environment = Environment(  # noqa: S701  # plain text for a model: nothing to escape
        loader=PackageLoader("specvi_agents", "trajectories"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("guidance.jinja")
