"""One inspection, without a model: what it shows, what a call gives back, when it ends, what it comes to.

Evaluation, drafting and training all drive this environment, each with a loop of its own; so the same words of
a model lead to the same pictures, texts and verdict everywhere. Synchronous, one question at a time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from specvi_agents.dialects import Dialect, calls_in_text, tools_block
from specvi_agents.messages import Message, Reply, ToolCall, picture_of
from specvi_agents.parsing import PARSER_VERSION, AssistantTurn, Ended, Reading, read, reward
from specvi_agents.prompts import PROMPT_VERSION, PromptName, opening
from specvi_benchmark.features import Shift, choose_shift
from specvi_benchmark.vetting import Answer, Question, Verdict
from specvi_benchmark.views import RENDERER_VERSION, ViewOptions, render
from specvi_benchmark.views.tool import TOOL_NAME, ToolReply, call_tool

Profile = Literal["default", "released-code"]


@dataclass(frozen=True, slots=True)
class Budget:
    """How much an inspection may use.

    Attributes
    ----------
    max_calls
        Calls of the tool, mistaken ones included. More are answered by a text, without a picture.
    max_turns
        Turns of the model, the final one included.
    max_tokens_out
        Tokens of all its turns together; None for no limit. It ends an inspection between turns.
    is_told
        Whether the tool says so when the last call is used.
    """

    max_calls: int = 8
    max_turns: int = 9
    max_tokens_out: int | None = None
    is_told: bool = True


PROFILES: Mapping[Profile, Budget] = {
    "default": Budget(),
    # The released training: 8 assistant turns and 32,768 tokens of response (domain reference 1.6). There the
    # tokens of tool answers count too.
    "released-code": Budget(max_turns=8, max_tokens_out=32_768, is_told=False),
}


@dataclass(frozen=True, slots=True)
class EnvironmentOptions:
    """Everything that changes what an inspection shows and says."""

    view: ViewOptions = field(default_factory=ViewOptions)
    prompt: PromptName = "guideline"
    has_tool: bool = True
    dialect: Dialect = "api"
    profile: Profile = "default"

    @property
    def budget(self) -> Budget:
        """Return the budget of the profile."""
        return PROFILES[self.profile]

    @property
    def config(self) -> Mapping[str, Any]:
        """Return every choice and version, for run.json and traces."""
        return {
            "profile": self.profile,
            "max_calls": self.budget.max_calls,
            "max_turns": self.budget.max_turns,
            "max_tokens_out": self.budget.max_tokens_out,
            "prompt": self.prompt,
            "tool": self.has_tool,
            "dialect": self.dialect,
            "view": dict(self.view.config),
            "prompt_version": PROMPT_VERSION,
            "parser_version": PARSER_VERSION,
            "renderer_version": RENDERER_VERSION,
        }


@dataclass(frozen=True, slots=True)
class Step:
    """What follows an assistant's turn.

    Attributes
    ----------
    calls
        What the turn calls; to be carried out, in order, unless the inspection has ended.
    is_in_text
        The calls stand in the text, so their answers go into a user turn.
    ended
        Why this turn was the last; None where the inspection goes on.
    """

    calls: tuple[ToolCall, ...]
    is_in_text: bool
    ended: Ended | None


class InspectionEnvironment:
    """The state of one inspection. `reset` begins it; then for each turn `hear`, and `call` for each call; `finish`.

    A loop that decides itself what follows a turn, as a trainer's does, may leave out `hear`; the budget of
    calls holds all the same.
    """

    def __init__(self, options: EnvironmentOptions | None = None) -> None:
        self.options = options or EnvironmentOptions()
        self.calls_used = 0
        self._question: Question | None = None
        self._shift = Shift(0.0, "")
        self._turns: list[AssistantTurn] = []
        self._tokens_out = 0
        self._reading: Reading | None = None

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return what a trace records of this inspection."""
        return {**self.options.config, "redshift": self._shift.redshift, "frame": self._shift.words}

    def reset(self, question: Question) -> tuple[Message, ...]:
        """Begin the inspection of a question; return the opening messages, with the full view."""
        self.calls_used = self._tokens_out = 0
        self._turns.clear()
        self._reading = None
        self._question = question
        self._shift = _shift(question, self.options.view)
        view = render(question.spectrum, None, self.options.view, redshift=self._shift.redshift)
        messages = opening(
            question,
            view,
            picture_of(view),
            self._shift.words,
            name=self.options.prompt,
            has_tool=self.options.has_tool,
            budget=self.options.budget,
        )
        return (
            _with_tools(messages) if self.options.has_tool and self.options.dialect == "hermes" else messages
        )

    def hear(self, reply: Reply) -> Step:
        """Take note of an assistant's turn, and say what follows it."""
        self._turns.append(AssistantTurn(reply.text, reply.reasoning))
        self._tokens_out += reply.tokens_out
        is_in_text = not reply.calls
        calls = calls_in_text(reply.text) if is_in_text else _named_apart(reply.calls, len(self._turns))
        ended: Ended | None = None
        if not calls or reply.stop in {"length", "content_filter"} or reply.refusal:
            ended = reply.stop
        elif self._is_used_up():
            ended = "budget"
        return Step(calls, is_in_text, ended)

    def _is_used_up(self) -> bool:
        budget = self.options.budget
        spent = budget.max_tokens_out is not None and self._tokens_out >= budget.max_tokens_out
        return spent or len(self._turns) >= budget.max_turns

    def call(self, name: str, raw_arguments: object) -> ToolReply:
        """Carry out a call, or say why not. Every call counts; whatever a model asks for, nothing raises."""
        question = self._asked()
        budget = self.options.budget
        self.calls_used += 1
        if not self.options.has_tool:
            return ToolReply("No picture: this inspection has no tool. Decide from the picture you have.")
        if self.calls_used > budget.max_calls:
            return ToolReply(
                f"No picture: all {budget.max_calls} calls are used. Give your final answer now."
            )
        if name != TOOL_NAME:
            reply = ToolReply(f"No picture: there is no tool of that name. The one tool is {TOOL_NAME}.")
        else:
            redshift = self._shift.redshift
            reply = call_tool(question.spectrum, raw_arguments, self.options.view, redshift=redshift)
        if budget.is_told and self.calls_used == budget.max_calls:
            reply = replace(reply, text=f"{reply.text} That was the last call: give your final answer now.")
        return reply

    def finish(self, text: str, stop_reason: Ended = "stop", *, refusal: str | None = None) -> Verdict:
        """Return the verdict of an inspection that ended with this turn.

        Parameters
        ----------
        text
            Raw text of the final turn; a separate reasoning field is not searched for an answer.
        stop_reason
            Why it was the last.
        refusal
            A server's refusal field.

        Returns
        -------
        With answer, outcome, lenient answer and number of calls. Tokens, cost and time are the loop's.
        """
        question = self._asked()
        self._reading = read(text, stop_reason, refusal)
        if not self._turns:
            self._turns.append(AssistantTurn(text))
        return Verdict(
            question.id,
            question.task.key,
            self._reading.outcome,
            self._reading.answer,
            self._reading.answer_lenient,
            tool_calls=self.calls_used,
        )

    def reward(self, truth: Answer) -> float:
        """Return the reward of the finished inspection: 1, 0.8, 0 or −0.2. The format is that of the turns heard."""
        if self._reading is None:
            raise RuntimeError("an inspection has a reward once it is finished")
        return reward(truth, self._turns, self._reading)

    def _asked(self) -> Question:
        if self._question is None:
            raise RuntimeError("an inspection begins with reset")
        return self._question


def _shift(question: Question, view: ViewOptions) -> Shift:
    """Choose the redshift that is divided out; in the released style the one given, whatever it is."""
    if view.style != "spec-o3":
        return choose_shift(question.redshift, question.task.frame)
    if question.redshift is None:
        return Shift(0.0, "no redshift given, observed frame")
    return Shift(question.redshift, f"shifted to rest by the pipeline's z = {question.redshift:.5f}")


def _with_tools(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Tell of the tool in the system turn, as Qwen's templates do."""
    first, *others = messages
    if first.role == "system":
        return replace(first, text=f"{first.text}\n\n{tools_block()}"), *others
    return Message("system", tools_block()), *messages


def _named_apart(calls: tuple[ToolCall, ...], turn: int) -> tuple[ToolCall, ...]:
    """Give the calls of a turn ids that differ, where a server's do not."""
    ids = {call.id for call in calls}
    if "" not in ids and len(ids) == len(calls):
        return calls
    return tuple(call.model_copy(update={"id": f"call-{turn}-{n}"}) for n, call in enumerate(calls, start=1))
