"""The single checks of the screening. Each returns what is wrong, in words, or None; none looks at what another does."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from specvi_agents.dialects import calls_in_text
from specvi_agents.messages import IMAGE_MARK
from specvi_agents.parsing import read
from specvi_agents.rereading import reread
from specvi_agents.thinking import split_thinking
from specvi_agents.trajectories.leaks import find_leak
from specvi_benchmark.evidence import extract_claims
from specvi_benchmark.evidence.inspected import hold_against
from specvi_benchmark.evidence.looked import SAME, overlap
from specvi_benchmark.evidence.score import claim_words, flux_words, standing
from specvi_benchmark.traces import ToolCall, TraceRecord, Turn
from specvi_benchmark.vetting import Answer, Question
from specvi_benchmark.views.arguments import read_arguments
from specvi_benchmark.views.tool import TOOL_NAME

Window = tuple[float, float]

OUTSIDE = 0.1
"""A window may lie beyond the ends of the data with so much of its width: the view is cut there, and says so."""

SAID_OFTEN = 3
"""A sentence that is said so many times is a repetition,"""

SENTENCE_WORDS = 5
"""if it has at least so many words."""

_STRANGE = re.compile(
    rf"{re.escape(IMAGE_MARK)}|</?tool_response>|</?tools>|<\|\w+\|>|\ufffd|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)
"""What no inspector writes: marks of pictures and of other speakers, tokens of a template, broken characters."""

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+|</?\w+>")


class NotChecked(Exception):  # noqa: N818  # a state of a check
    """A check can't be made with what is known; the message says why."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is screened.

    Attributes
    ----------
    trace, truth
        The inspection as it stands, without what a server gave as reasoning apart from the text, since that is no
        part of the conversation; and what is true of the candidate.
    names
        What the candidate's file and object are called.
    question
        With the spectrum; None where it was found in no split.
    """

    trace: TraceRecord
    truth: Answer
    names: tuple[str, ...]
    question: Question | None

    @property
    def spoken(self) -> list[Turn]:
        """Return the assistant's turns."""
        return [turn for turn in self.trace.turns if turn.role == "assistant"]

    @property
    def calls(self) -> list[ToolCall]:
        """Return every call, in order."""
        return [call for turn in self.spoken for call in turn.tool_calls]


def answer(subject: Subject) -> str | None:
    """Check that the answer is right. Read leniently where the form is broken, which is the matter of `form`."""
    verdict = reread([subject.trace])
    said = verdict.answer or verdict.answer_lenient
    if said is None:
        return f"no answer: {verdict.outcome.value}"
    return None if said == subject.truth else f"says {said}, true is {subject.truth}"


def form(subject: Subject) -> str | None:
    """Check every turn: a thought first, then well-formed calls, or in the last turn the one answer block."""
    spoken = subject.spoken
    if not spoken or subject.trace.turns[-1].role != "assistant":
        return "it broke off before an answer"
    last = spoken[-1]
    for number, turn in enumerate(spoken, start=1):
        if fault := next(_turn_faults(turn, is_last=turn is last), None):
            return f"turn {number} of the inspector: {fault}"
    return None if read(last.text, "stop").is_sound else "the end has no answer block with one box"


def _turn_faults(turn: Turn, *, is_last: bool) -> Iterator[str]:
    """Yield what is wrong with a turn, what matters most first."""
    if turn.refusal:
        yield "a refusal"
    if turn.stop not in {None, "stop", "tool_calls"}:
        yield f"ended by {turn.stop}"
    if strange := _STRANGE.search(turn.text):
        yield f"holds {strange[0]!r}, which no inspector writes"
    thinking = split_thinking(turn.text)
    if not thinking.is_balanced or thinking.pairs != 1:
        yield "not exactly one thought"
    thought, _, _ = turn.text.partition("</think>")
    if not thought.lstrip().startswith("<think>") or thought.strip() == "<think>":
        yield "does not begin with a thought"
    if is_last and turn.tool_calls:
        yield "a call in the last turn"
    if not is_last:
        yield from _looking_faults(turn)


def _looking_faults(turn: Turn) -> Iterator[str]:
    """Yield what is wrong with a turn after which the inspection goes on."""
    if not turn.tool_calls:
        yield "neither a call nor the end"
    if "<answer>" in split_thinking(turn.text).outside:
        yield "a call and an answer"
    if "<tool_call>" in turn.text and calls_in_text(turn.text) != turn.tool_calls:
        yield "a call in a thought, or twice"
    yield from filter(None, map(_call_fault, turn.tool_calls))


def _call_fault(call: ToolCall) -> str | None:
    if call.name != TOOL_NAME:
        return f"calls a tool that is not there, {call.name}"
    asked = read_arguments(call.arguments)
    if asked.problem:
        return f"a call that can't be read: {asked.problem}"
    return f"a call that had to be mended: {'; '.join(asked.mended)}" if asked.mended else None


def windows(subject: Subject) -> str | None:
    """Check that every window asked for lies in the data, and was shown."""
    data = _data_AA(subject)
    for window in _windows(subject):
        beyond = max(0.0, data[0] - window[0]) + max(0.0, window[1] - data[1])
        if beyond > OUTSIDE * (window[1] - window[0]):
            return f"[{window[0]:g}, {window[1]:g}] Å lies outside the data, {data[0]:.0f} to {data[1]:.0f} Å"
    answers = [turn for turn in subject.trace.turns if turn.role == "tool"]
    blind = sum(not turn.views and IMAGE_MARK not in turn.text for turn in answers)
    return f"{blind} calls without a picture" if blind else None


def repetition(subject: Subject) -> str | None:
    """Check that no window is asked for again, and no sentence said over and over."""
    seen: list[Window] = []
    for window in _windows(subject):
        if any(overlap(window, earlier) >= SAME for earlier in seen):
            return f"the window [{window[0]:g}, {window[1]:g}] Å again"
        seen.append(window)
    for sentence, times in Counter(_sentences(subject)).most_common(1):
        if times >= SAID_OFTEN:
            return f"says {times} times “{sentence}”"
    return None


def leak(subject: Subject) -> str | None:
    """Check that nothing said speaks of a known answer, or of a file."""
    texts = [turn.text for turn in subject.spoken]
    found = find_leak([*texts, *(call.arguments for call in subject.calls)], subject.names)
    return found and f"speaks of {found}"


def evidence(subject: Subject) -> str | None:
    """Check what is said against the flux: a YES rests on a decisive feature that is there, and nothing is contradicted.

    Of several statements on one feature the last counts, as in the evidence score; a wrong wavelength counts anywhere.
    A presence that is merely not found, beside one that decides, is left: a weak line is not found either.
    """
    if subject.question is None:
        raise NotChecked("no spectrum")
    for turn in subject.spoken:
        for claim in extract_claims(turn.text, quasar=subject.trace.task == "qso"):
            if claim.is_misplaced:
                return f"wrong wavelength: {claim_words(claim)}"
    inspected = hold_against(subject.question, subject.trace)
    for item in inspected.held:
        if item.verdict == "contradicted":
            return f"contradicted: {claim_words(item.claim)}; {flux_words(item)}"
    if subject.truth == "YES" and (found := standing(inspected.held)) != "found":
        words = {"none": "no decisive feature is claimed", "not_shown": "no decisive feature was looked at"}
        return words.get(found, f"no decisive feature is {found.removeprefix('not_')}")
    return None


CHECKS: Mapping[str, Callable[[Subject], str | None]] = {
    "answer": answer,
    "format": form,
    "windows": windows,
    "repetition": repetition,
    "leak": leak,
    "evidence": evidence,
}
"""Every check, in the order of the funnel."""


def _windows(subject: Subject) -> Iterator[Window]:
    for call in subject.calls:
        if (window := read_arguments(call.arguments).window_AA) is not None:
            yield window


def _data_AA(subject: Subject) -> Window:
    """Return the ends of the data in the frame of the views."""
    opening = [view for turn in subject.trace.turns if turn.role == "user" for view in turn.views]
    if opening:
        return opening[0].window_AA
    if subject.question is None:
        raise NotChecked("no spectrum")
    # Without views it was imported: the released tool divides out whatever redshift is given.
    question = subject.question
    redshift = question.redshift or 0.0
    low, high = question.spectrum.range_AA
    return low / (1 + redshift), high / (1 + redshift)


def _sentences(subject: Subject) -> Iterator[str]:
    for turn in subject.spoken:
        for sentence in _SENTENCE.split(turn.text):
            if len(sentence.split()) >= SENTENCE_WORDS:
                yield " ".join(sentence.split())
