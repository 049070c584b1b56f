"""Thoughts in a text: what stands between ``<think>`` and ``</think>`` is no answer and no call."""

import re
from dataclasses import dataclass

_TAG = re.compile("<think>|</think>")


@dataclass(frozen=True, slots=True)
class Thinking:
    """A text with its thoughts taken out.

    Attributes
    ----------
    outside
        The text without its balanced thoughts. An unclosed thought is kept whole, from its opening tag to
        the end; so is a closing tag without an opening one.
    pairs
        Balanced pairs of tags, nested ones included.
    is_closed
        No thought is left open.
    is_balanced
        Every tag has its partner.
    """

    outside: str
    pairs: int
    is_closed: bool
    is_balanced: bool


def split_thinking(text: str) -> Thinking:
    """Take the balanced thoughts out of a text. Nested ones belong to the outermost."""
    kept: list[str] = []
    kept_to = 0  # what lies before is in `kept` or was taken out
    opened: list[int] = []
    pairs = strays = 0
    for tag in _TAG.finditer(text):
        if tag[0] == "<think>":
            opened.append(tag.start())
        elif not opened:
            strays += 1
        else:
            start = opened.pop()
            pairs += 1
            if not opened:
                kept.append(text[kept_to:start])
                kept_to = tag.end()
    kept.append(text[kept_to:])
    return Thinking("".join(kept), pairs, is_closed=not opened, is_balanced=not opened and not strays)
