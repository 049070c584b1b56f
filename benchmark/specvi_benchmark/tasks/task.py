"""What a task is: the question, what decides it, what confuses it, and how border cases are labelled."""

import re
from typing import Literal

from pydantic import field_validator

from specvi_benchmark.files import StrictModel

Track = Literal["main", "cross-survey", "cross-task", "extreme"]
AskedTrack = Literal["main", "cross-survey", "cross-task", "extreme", "all"]
"""What a command may ask for: one track, or all of them."""
Frame = Literal["rest", "observed"]
Rank = Literal["primary", "secondary", "supporting"]


class Indicator(StrictModel):
    """A visual feature that speaks for the class. ``state``: the state or subtype it holds for, None for all."""

    rank: Rank
    text: str
    state: str | None = None


class Confuser(StrictModel):
    """Another kind of object that looks alike, and how to tell it apart."""

    name: str
    tell: str


class Window(StrictModel):
    """A stretch of spectrum worth a zoom. Vacuum ångström, in the task's frame.

    In a rest-frame task ``label`` is a list of lines and bands by their names in `specvi_benchmark.lines`,
    separated by commas, each of them inside the window.
    """

    label: str
    range_AA: tuple[float, float]
    look_for: str


class BorderCase(StrictModel):
    """How candidates on the border are labelled. ``undecidable`` ones are left out of a split."""

    case: str
    label: Literal["YES", "NO", "undecidable"]
    reason: str


class Task(StrictModel):
    """One YES/NO question about one class.

    ``class_name`` is the name used in prompts; ``aliases`` are the official spellings accepted on
    input; ``data_source`` is the official spelling on output; ``frame`` is the frame in which windows
    are given and views are drawn. ``guideline`` is a working procedure in paragraphs, separated by blank
    lines. Lines are named by their vacuum wavelength, molecular bands by their traditional (air) one.
    """

    key: str
    class_name: str
    track: Track
    data_source: str
    aliases: tuple[str, ...]
    frame: Frame
    question: str
    summary: str
    indicators: tuple[Indicator, ...]
    confusers: tuple[Confuser, ...]
    windows: tuple[Window, ...]
    guideline: str
    border_cases: tuple[BorderCase, ...]
    sources: tuple[str, ...]

    @field_validator("guideline")
    @classmethod
    def _unwrap(cls, text: str) -> str:
        """Make each paragraph one line: the file breaks lines for its reader, a prompt or a page must not."""
        return "\n\n".join(" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text.strip()))
