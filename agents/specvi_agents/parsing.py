"""What the text of a final turn says, strictly: the reading that is ranked. And the reward made of it.

Everything here is total: any text has exactly one reading, and nothing raises.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from specvi_agents.lenient import read_leniently
from specvi_agents.messages import StopReason
from specvi_agents.thinking import split_thinking
from specvi_benchmark.vetting import Answer, Outcome

PARSER_VERSION = 1
"""Raised whenever any text could be read differently. Stands in the config of every agent."""

Ended = StopReason | Literal["budget"]
"""Why the last turn was the last. ``budget``: the model wanted to go on and was not allowed to."""

Said = Literal["YES", "NO", "UNCERTAIN"]

FORMAT_WEIGHT = 0.2
"""α of the reward: what a wrong format costs (domain reference 1.6: the released training has the same)."""

_OPEN, _CLOSE = "<answer>", "</answer>"
_BOX = "\\boxed{"
_WORDS: dict[str, Said] = {"yes": "YES", "no": "NO", "uncertain": "UNCERTAIN"}
_ASCII_SPACE = " \t\n\r\f\v"
_BOXED_WORD = re.compile(rf"\\boxed{{[{_ASCII_SPACE}]*((?i:yes|no))[{_ASCII_SPACE}]*}}")

_REFUSAL = re.compile(
    r"\b(?:can(?:['’]t|not| not)|could(?:n['’]t| not)|won['’]t|will not|unable to|not able to|not allowed to)"
    r"\s+(?:\w+\s+){0,2}?(?:assist|help(?! but\b)|comply|fulfil|fulfill|engage)\b"
    r"|\b(?:must|have to|need to)\s+(?:respectfully\s+)?(?:decline|refuse)\b"
    r"|\bI\s+(?:respectfully\s+)?(?:decline|refuse)\s+to\b",
    re.IGNORECASE,
)
REFUSAL_REACH = 300
"""A refusal is looked for in so many characters from the beginning."""


@dataclass(frozen=True, slots=True)
class Strict:
    """The strict reading of one text: what its one box says, and whether a whole answer block is there."""

    said: Said | None
    has_block: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """What a final turn comes to. ``is_sound``: the strict parse succeeds."""

    outcome: Outcome
    answer: Answer | None
    answer_lenient: Answer | None
    is_sound: bool


@dataclass(frozen=True, slots=True)
class AssistantTurn:
    """What counts of an assistant's turn for the format: its raw text, and a reasoning field beside it."""

    text: str
    reasoning: str | None = None


def read_strictly(text: str) -> Strict:
    r"""Read exactly one ``<answer>`` block with exactly one ``\boxed{…}`` outside of thoughts.

    An unclosed thought hides everything.
    """
    thinking = split_thinking(text)
    if not thinking.is_closed:
        return Strict(None, has_block=False)
    outside = thinking.outside
    first = outside.find(_OPEN)
    last = outside.find(_CLOSE, first) if first >= 0 else -1
    if last < 0:
        return Strict(None, has_block=False)
    alone = outside.count(_OPEN) == outside.count(_CLOSE) == 1
    said = _boxed(outside[first + len(_OPEN) : last]) if alone else None
    return Strict(said, has_block=True)


def find_answer(text: str) -> tuple[int, int] | None:
    """Return where the YES or NO stands that `read_strictly` reads, as begin and end; None where it reads neither.

    It is the word on which the reading hangs: with another one in its place the text says something else. So a box in
    a thought, or after the block, is not taken for it.
    """
    said = read_strictly(text).said
    if said not in {"YES", "NO"}:
        return None
    for box in reversed(list(_BOXED_WORD.finditer(text))):
        begin, end = box.span(1)
        if read_strictly(f"{text[:begin]}uncertain{text[end:]}").said != said:
            return begin, end
    return None


def _boxed(block: str) -> Said | None:
    """Return what the one box of a block says."""
    if block.count(_BOX) != 1:
        return None
    content, closed, _ = block[block.find(_BOX) + len(_BOX) :].partition("}")
    word = content.strip(_ASCII_SPACE)
    if (
        not closed or not word.isascii()
    ):  # some letters of other scripts have Y, E, S, N or O as their capital
        return None
    return _WORDS.get(word.lower())


def read(text: str, ended: Ended, refusal: str | None = None) -> Reading:
    """Read the final turn of an inspection.

    Parameters
    ----------
    text
        Raw text of the turn. A separate reasoning field is no part of it.
    ended
        Why it was the last.
    refusal
        A server's refusal field, if there was one.
    """
    if ended == "content_filter" or refusal:
        return Reading(Outcome.REFUSED, None, None, is_sound=False)
    strict = read_strictly(text)
    lenient = read_leniently(text)
    if strict.said is not None:
        answer: Answer | None = None if strict.said == "UNCERTAIN" else strict.said
        outcome = Outcome.ABSTAINED if answer is None else Outcome.ANSWERED
        return Reading(outcome, answer, lenient, is_sound=True)
    return Reading(_failure(text, ended, strict, lenient), None, lenient, is_sound=False)


def _failure(text: str, ended: Ended, strict: Strict, lenient: Answer | None) -> Outcome:
    """Return the outcome of a turn that has no strict reading."""
    if strict.has_block:
        return Outcome.UNPARSED
    if ended in {"length", "budget"}:
        return Outcome.TRUNCATED
    if lenient is None and is_refusal(text):
        return Outcome.REFUSED
    return Outcome.UNPARSED


def is_refusal(text: str) -> bool:
    """Return whether a text begins by refusing to help. "I cannot tell" is no refusal."""
    return _REFUSAL.search(split_thinking(text).outside.strip()[:REFUSAL_REACH]) is not None


def is_well_formed(turns: Sequence[AssistantTurn], reading: Reading) -> bool:
    """Return whether an inspection keeps the format.

    Thoughts balance in every turn, there is at least one, and the end has a strict reading. A reasoning field
    apart from the text counts as a thought.
    """
    pairs = 0
    for turn in turns:
        thinking = split_thinking(turn.text)
        if not thinking.is_balanced:
            return False
        pairs += thinking.pairs + bool(turn.reasoning)
    return pairs > 0 and reading.is_sound


def reward(truth: Answer, turns: Sequence[AssistantTurn], reading: Reading) -> float:
    """Return 1, 0.8, 0 or −0.2: lenient correctness, less 0.2 where the format is broken."""
    correct = reading.answer_lenient == truth
    if is_well_formed(turns, reading):
        return 1.0 if correct else 0.0
    return 1.0 - FORMAT_WEIGHT if correct else -FORMAT_WEIGHT
