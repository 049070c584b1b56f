"""The vetter `scripted`: an inspector without a model, which looks, measures what it sees, and says what decided."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from specvi_agents.dialects import call_text
from specvi_agents.environment import EnvironmentOptions, InspectionEnvironment, Step
from specvi_agents.messages import Message, Reply, ToolCall, picture_of
from specvi_agents.options import AgentOptions
from specvi_agents.recording import Recording
from specvi_agents.scripted import cataclysmic, cool_star, hot_star, quasar, white_dwarf
from specvi_agents.scripted.inspection import Conclusion, Inspection
from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.features import Window, choose_shift
from specvi_benchmark.vetting import Question, Verdict
from specvi_benchmark.views.arguments import LABEL_KEY, RANGE_KEY
from specvi_benchmark.views.tool import TOOL_NAME

SCRIPTED_VERSION = 1
"""Raised whenever a verdict or a word of an inspection can change."""

BLIND_SNR = 2.0
"""S/N a pixel below which a NO may only mean that nothing could be seen."""

OPTIONS = ("style", "title", "prompt", "tool", "dialect", "profile")
"""What of an agent's options is left where there is no model."""

SCRIPTS: Mapping[str, Callable[[Inspection], Conclusion]] = {
    "cv": cataclysmic.inspect,
    "cs": cool_star.inspect_carbon,
    "ss": cool_star.inspect_s_star,
    "mg": cool_star.inspect_m_giant,
    "wd": white_dwarf.inspect,
    "o": hot_star.inspect_o,
    "b": hot_star.inspect_b,
    "a": hot_star.inspect_a,
    "qso": quasar.inspect,
}
"""What is looked at for each task, and in which order."""


@dataclass(frozen=True, slots=True)
class Scripted:
    """Inspects through the environment as a model does. Same question, same words, same verdict; no P(YES)."""

    environment: EnvironmentOptions = field(default_factory=EnvironmentOptions)

    @property
    def config(self) -> Mapping[str, Any]:
        """Return what changes a verdict or a word: the script, and the environment."""
        return {"scripted_version": SCRIPTED_VERSION, "environment": dict(self.environment.config)}

    def vet(self, questions: Sequence[Question]) -> Iterator[Verdict]:
        """Yield one verdict for each question, in order, each with its trace."""
        for question in questions:
            yield inspect(question, self.environment)


def inspect(question: Question, options: EnvironmentOptions | None = None) -> Verdict:
    """Inspect one candidate and return the verdict with its trace.

    Raises
    ------
    UserError
        There is no script for the task.
    """
    script = SCRIPTS.get(question.task.key)
    if script is None:
        raise UserError(
            "the vetter scripted has no script for this task",
            where=f"task {question.task.key}",
            expected=f"one of {', '.join(SCRIPTS)}",
        )
    talk = Talk(question, InspectionEnvironment(options))
    look = Inspection(question, talk)
    look.begin()
    conclusion = script(look)
    look.note("That is enough to decide.")
    snr = look.snr
    if conclusion.answer == "NO" and (snr is None or snr < BLIND_SNR):
        look.note("At so low a S/N this NO may only mean that nothing could be seen.")
    return talk.finish(look.take_notes(), conclusion)


class Talk:
    """Writes the turns of an inspection into an environment, and records them.

    The inspection works at rest as far as a star's redshift tells; where the environment shows another frame,
    as the released style may, its windows are translated.
    """

    def __init__(self, question: Question, environment: InspectionEnvironment) -> None:
        opening = environment.reset(question)
        self._environment = environment
        self._record = Recording(opening)
        self._turns = 0
        self._clock = time.perf_counter()
        self.redshift = choose_shift(question.redshift, question.task.frame).redshift
        shown = float(environment.settings["redshift"])
        self._factor = (1 + self.redshift) / (1 + shown)  # from the inspection's wavelengths to the views'
        picture = next(picture for message in opening for picture in message.pictures)
        self.full_AA = self._own(picture.record.window_AA)

    @property
    def calls_left(self) -> int:
        """Return how many zooms are left, keeping a turn for the answer."""
        options = self._environment.options
        if not options.has_tool:
            return 0
        used = self._environment.calls_used
        return min(options.budget.max_calls - used, options.budget.max_turns - 1 - self._turns)

    def zoom(self, thought: str, window_AA: Window, label: str) -> Window | None:
        """Write a thought and a call; return the window shown, None where there is no picture."""
        ends = [round(edge * self._factor, 1) for edge in window_AA]
        arguments = json.dumps({RANGE_KEY: ends, LABEL_KEY: label}, ensure_ascii=False)
        written = ToolCall(id=f"call-{self._turns + 1}", name=TOOL_NAME, arguments=arguments)
        text = f"<think>{thought}</think>"
        if self._environment.options.dialect == "hermes":
            step = self._say(f"{text}\n{call_text(written)}")
        else:
            step = self._say(text, written)
        (call,) = step.calls
        reply = self._environment.call(call.name, call.arguments)
        pictures = () if reply.view is None else (picture_of(reply.view),)
        call_id = None if step.is_in_text else call.id
        self._record.add_answer(
            Message("tool", reply.text, pictures, call_id=call_id), call.id, self._seconds()
        )
        return None if reply.view is None else self._own(reply.view.window_AA)

    def finish(self, thought: str, conclusion: Conclusion) -> Verdict:
        """Write the final turn; return the verdict with the trace."""
        answer = f"<answer>\n\\boxed{{{conclusion.answer}}}\n{conclusion.reason}.\n</answer>"
        text = f"<think>{thought}</think>\n{answer}"
        self._say(text)
        verdict = self._record.priced(self._environment.finish(text))
        return replace(verdict, traces=(self._record.trace(self._environment.settings, 0),))

    def _say(self, text: str, *calls: ToolCall) -> Step:
        self._turns += 1
        reply = Reply(text, calls, "tool_calls" if calls else "stop", cost_usd=0.0)
        step = self._environment.hear(reply)
        self._record.add_reply(reply, step, self._seconds())
        return step

    def _seconds(self) -> float:
        """Return the time since this was last asked."""
        before, self._clock = self._clock, time.perf_counter()
        return self._clock - before

    def _own(self, window_AA: Window) -> Window:
        return window_AA[0] / self._factor, window_AA[1] / self._factor


def create(argument: str | None, options: Mapping[str, str]) -> Scripted:
    """Make the vetter ``scripted``; it takes the options of the inspection (style, prompt, profile), no argument."""
    if argument is not None:
        raise UserError(
            "the vetter scripted takes no argument",
            where=f"vetter scripted:{argument}",
            expected="scripted",
            fix="leave the argument out",
        )
    strange = sorted(set(options) - set(OPTIONS))
    if strange:
        raise UserError(
            "the vetter scripted has no such option",
            where="--option",
            expected=f"one of {', '.join(OPTIONS)}",
            got=examples(strange),
        )
    return Scripted(AgentOptions.read(options)[0].environment)
