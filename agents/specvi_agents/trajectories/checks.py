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
from specvi_benchmark.trace_page.text import visible
from specvi_benchmark.traces import ToolCall, TraceRecord, Turn, ViewRecord
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

NOTHING_SIGMA = 2.0
"""A presence claimed without a doubt where the flux gives less than this is no weak line: there is nothing."""

_STRANGE = re.compile(
    r"</?(?!(?:think|tool_call|answer)>)[a-z]\w*/?>|<\|[^<>|]*\|>|\[/?INST\]"
    r"|^[ \t]*(?:system|user|human|assistant)[ \t]*:|\ufffd"
    r"|[A-Za-z][\u0400-\u052f]|[\u0400-\u052f][A-Za-z]",
    re.IGNORECASE | re.MULTILINE,
)
"""What no inspector writes: marks of pictures and of markup, tokens of a template, other speakers, a broken character, a
word of Latin and Cyrillic letters; beside what can't be seen."""

_TAGS = re.compile("</?(?:think|tool_call|answer)>")
"""What an inspector writes, but not in a call."""

_ORDER = re.compile("s?ua(?:(?:t+|u)a)*")
"""Who speaks after whom, by first letters. Of imported ones a user's turn may hold what the tool answers."""

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
    turns = subject.trace.turns
    if not turns or turns[-1].role != "assistant":
        return "it broke off before an answer"
    if not _ORDER.fullmatch("".join(turn.role[0] for turn in turns)):
        return "somebody speaks out of turn"
    for number, turn in enumerate(turns, start=1):
        if turn.role == "assistant" and (fault := next(_turn_faults(turn, is_last=turn is turns[-1]), None)):
            return f"turn {number}: {fault}"
    return None if read(turns[-1].text, "stop").is_sound else "the end has no answer block with one box"


def _turn_faults(turn: Turn, *, is_last: bool) -> Iterator[str]:
    """Yield what is wrong with a turn, what matters most first."""
    if turn.refusal:
        yield "a refusal"
    if turn.stop not in {None, "stop", "tool_calls"}:
        yield f"ended by {turn.stop}"
    if strange := _strange(turn.text):
        yield f"holds {strange!r}, which no inspector writes"
    thinking = split_thinking(turn.text)
    if not thinking.is_balanced or thinking.pairs != 1:
        yield "not exactly one thought"
    thought, _, after = turn.text.partition("</think>")
    if not thought.lstrip().startswith("<think>") or thought.strip() == "<think>":
        yield "does not begin with a thought"
    if "tool_call>" in thought or "answer>" in thought:
        yield "a call or an answer in a thought"
    if not is_last:
        yield from _looking_faults(turn, after)
    elif turn.tool_calls or "tool_call>" in after:
        yield "a call in the last turn"
    elif "</answer>" in after and not after.rstrip().endswith("</answer>"):
        yield "words after the answer"


def _strange(text: str) -> str | None:
    """Return the first thing that no inspector writes."""
    if found := _STRANGE.search(text):
        return found[0].strip()
    return next((sign for sign in text if sign != "\r" and visible(sign) != sign), None)


def _looking_faults(turn: Turn, after: str) -> Iterator[str]:
    """Yield what is wrong with a turn after which the inspection goes on; ``after`` is what follows its thought."""
    if not turn.tool_calls:
        yield "neither a call nor the end"
    if "answer>" in after:
        yield "a call and an answer"
    if "tool_call>" in after:
        if calls_in_text(turn.text) != turn.tool_calls:
            yield "a call in the text and in a field"
        if after.count("<tool_call>") != after.count("</tool_call>"):
            yield "a call that is not closed"
        if not after.rstrip().endswith("</tool_call>"):
            yield "words after the call"
    yield from filter(None, map(_call_fault, turn.tool_calls))


def _call_fault(call: ToolCall) -> str | None:
    for text in _written(call):
        if strange := _strange(text) or next(iter(_TAGS.findall(text)), None):
            return f"a call holds {strange!r}, which no inspector writes"
    if call.name != TOOL_NAME:
        return f"calls a tool that is not there, {call.name}"
    asked = read_arguments(call.arguments)
    if asked.problem:
        return f"a call that can't be read: {asked.problem}"
    return f"a call that had to be mended: {'; '.join(asked.mended)}" if asked.mended else None


def windows(subject: Subject) -> str | None:
    """Check that the spectrum was shown, and every window asked for too, and that each lies in the data."""
    shown = list(_shown(subject))
    if shown[:1] == [(1, 0)]:
        return "no picture of the spectrum"
    for calls, pictures in shown[1:]:
        if calls != pictures:
            return f"{calls} calls, and {pictures} pictures after them"
    data = _data_AA(subject)
    for window in _windows(subject):
        beyond = max(0.0, data[0] - window[0]) + max(0.0, window[1] - data[1])
        if beyond > OUTSIDE * (window[1] - window[0]):
            return f"[{window[0]:g}, {window[1]:g}] Å lies outside the data, {data[0]:.0f} to {data[1]:.0f} Å"
    return None


def repetition(subject: Subject) -> str | None:
    """Check that no window is asked for again, the whole view included, and no sentence said over and over."""
    seen = [view.window_AA for view in _opening(subject)]
    for window in _windows(subject):
        if any(overlap(window, earlier) >= SAME for earlier in seen):
            return f"the window [{window[0]:g}, {window[1]:g}] Å again"
        seen.append(window)
    for sentence, times in Counter(_sentences(subject)).most_common(1):
        if times >= SAID_OFTEN:
            return f"says {times} times “{sentence}”"
    return None


def leak(subject: Subject) -> str | None:
    """Check that nothing speaks of a known answer, or of a file: no call either, nor what an imported one was asked."""
    texts = [turn.text for turn in subject.trace.turns if turn.role != "system"]
    texts += [text for call in subject.calls for text in _written(call)]
    found = find_leak(texts, subject.names)
    return found and f"speaks of {found}"


def evidence(subject: Subject) -> str | None:
    """Check what is said against the flux: a YES rests on a decisive feature that is there, and nothing is contradicted.

    Of several statements on one feature the last counts, as in the evidence score; a wrong wavelength counts anywhere.
    A presence that is merely not found, beside one that decides, is left, since a weak line is not found either;
    not where the flux has nothing at all.
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
        if item.verdict == "unsupported" and (item.tested.significance or 0.0) < NOTHING_SIGMA:
            return f"nothing there: {claim_words(item.claim)}; {flux_words(item)}"
        if item.width_agrees is False:
            return f"wrong width: {claim_words(item.claim)}; {item.tested.fwhm_kms:.0f} km/s in the flux"
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


def _written(call: ToolCall) -> tuple[str, str]:
    """Return the texts of a call: its arguments as they stand, and its label as it is read."""
    return call.arguments, read_arguments(call.arguments).label


def _shown(subject: Subject) -> Iterator[tuple[int, int]]:
    """Yield how many pictures were asked for before each answer, and how many came; first the whole spectrum."""
    asked, came = 1, 0
    for turn in subject.trace.turns:
        if turn.role == "assistant":
            yield asked, came
            asked, came = len(turn.tool_calls), 0
        else:
            came += len(turn.views) or turn.text.count(IMAGE_MARK)


def _opening(subject: Subject) -> list[ViewRecord]:
    return [view for turn in subject.trace.turns if turn.role == "user" for view in turn.views]


def _data_AA(subject: Subject) -> Window:
    """Return the ends of the data in the frame of the views."""
    if opening := _opening(subject):
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
                yield " ".join(sentence.casefold().split())
