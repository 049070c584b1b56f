"""The vetter ``brief``: the scripted inspector, cut down to what a tiny model can learn to say.

One zoom in place of eight, and of each zoom the first finding, without figures: a model of half a million weights
sees a line, but reads no equivalent width off a picture, and each word more that varies from spectrum to spectrum is
noise about the one that counts. The answer stays that of the whole inspection, with the tool, even where the pupil is
shown none (``tool=off``): so both are taught the same answers. A teacher for the miniature only.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from specvi_agents.environment import EnvironmentOptions, InspectionEnvironment
from specvi_agents.scripted import create as create_scripted
from specvi_agents.scripted.inspection import Conclusion
from specvi_agents.scripted.vetter import SCRIPTED_VERSION, Talk, inspect
from specvi_benchmark.errors import UserError
from specvi_benchmark.features import Window
from specvi_benchmark.vetting import Question, Verdict
from specvi_benchmark.views.arguments import LABEL_KEY, RANGE_KEY

BRIEF_VERSION = 3
"""Raised whenever a verdict or a word can change."""

ZOOMS = 1

_REASONS = {
    (True, "YES"): "The windows show it",
    (True, "NO"): "The windows do not show it",
    (False, "YES"): "The spectrum shows it",
    (False, "NO"): "The spectrum does not show it",
}
"""By whether there were windows, and the answer."""

_SENTENCE = re.compile(r"(?<=\.)\s+(?=[A-Z\[])")
_THOUGHT = re.compile(r"<think>(.*?)</think>", re.DOTALL)
_LEFT_OUT = (
    "The full view",
    "Next I zoom",
    "That is enough",
    "The window of",
    "At so low",
    "No zoom is left",
)
_FIGURES = re.compile(r"index|peaks|profile|recover|counts as|instrument")


@dataclass(frozen=True, slots=True)
class Brief:
    """Inspects as the scripted inspector does, and tells of its first zooms only, in few words."""

    environment: EnvironmentOptions = field(default_factory=EnvironmentOptions)
    zooms: int = ZOOMS

    @property
    def config(self) -> Mapping[str, Any]:
        """Return what changes a verdict or a word."""
        return {
            "brief_version": BRIEF_VERSION,
            "scripted_version": SCRIPTED_VERSION,
            "zooms": self.zooms,
            "environment": dict(self.environment.config),
        }

    def vet(self, questions: Sequence[Question]) -> Iterator[Verdict]:
        """Yield one verdict for each question, in order, each with its trace."""
        for question in questions:
            yield self._one(question)

    def _one(self, question: Question) -> Verdict:
        whole = inspect(question, replace(self.environment, has_tool=True))
        zooms = self.zooms if self.environment.has_tool else 0
        said = [turn for turn in whole.traces[0].turns if turn.role == "assistant"]
        seen = [_brief(found[1]) if (found := _THOUGHT.search(turn.text)) else "" for turn in said[1:]]
        thoughts = ["", *seen]  # nothing of the full view
        talk = Talk(question, InspectionEnvironment(self.environment))
        shown = 0
        for turn, thought in zip(said[:zooms], thoughts, strict=False):
            for window, label in map(_asked, turn.tool_calls):
                talk.zoom(f"{thought} Next {label}.".strip(), window, label)
                shown += 1
        assert whole.answer is not None  # the script always answers
        last = thoughts[min(shown or 1, len(thoughts) - 1)]  # without windows: what the first one showed
        return talk.finish(last, Conclusion(whole.answer, _REASONS[zooms > 0, whole.answer]))


def _asked(call: Any) -> tuple[Window, str]:
    arguments = json.loads(call.arguments)
    first, last = arguments[RANGE_KEY]
    return (first, last), arguments[LABEL_KEY]


def _brief(thought: str) -> str:
    """Return the first of what a thought says is seen, without a figure: ``Hα is in emission.``"""
    return next((_plain(sentence) for sentence in _SENTENCE.split(thought.strip()) if _is_kept(sentence)), "")


def _is_kept(sentence: str) -> bool:
    return not (sentence.startswith(_LEFT_OUT) or _FIGURES.search(sentence))


def _plain(sentence: str) -> str:
    subject, colon, _ = sentence.partition(":")
    if colon and " hint " in sentence:
        return f"{subject} is not clear."
    subject = subject.removeprefix("In the full view the ")
    bare = re.split(r"[(,±]", subject, maxsplit=1)[0].strip().rstrip(".")
    return f"{bare[:1].upper()}{bare[1:]}." if bare.startswith("continuum") else f"{bare}."


def create(argument: str | None, options: Mapping[str, str]) -> Brief:
    """Make the vetter ``brief``; it takes the options of ``scripted`` and ``zooms``."""
    rest = dict(options)
    text = rest.pop("zooms", str(ZOOMS))
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 8):
        raise UserError("zooms is a whole number", where="option zooms", expected="from 1 to 8", got=text)
    return Brief(create_scripted(argument, rest).environment, int(text))
