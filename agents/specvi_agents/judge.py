"""A model as a judge of inspections: what it is shown, how its reply is read, and that it does not rate its own family.

The judge sees the task, the inspection with its pictures, and the rubric. It is not told the truth, nor whose inspection
it is. A reply that can't be read gives no rating, and says so; no number is made up.
"""

import asyncio
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

from jinja2 import Environment, PackageLoader, StrictUndefined

from specvi_agents.messages import IMAGE_MARK, Message, Model, ModelError, Picture
from specvi_agents.thinking import split_thinking
from specvi_benchmark.rubric import Preference, Rated, Rater, Rating, same_family, the_rubric
from specvi_benchmark.rubric.ratings import Choice
from specvi_benchmark.rubric.rubric import LEVELS
from specvi_benchmark.tasks import Task
from specvi_benchmark.trace_page import Shown
from specvi_benchmark.traces import TraceRecord

JUDGE_PROMPT_VERSION = 1
"""Raised whenever a byte of what a judge is shown can change, or a reply can be read differently."""

_Place = Literal["1", "2", "tie"]
_SWAPPED: dict[_Place, _Place] = {"1": "2", "2": "1", "tie": "tie"}


class Unreadable(ValueError):  # noqa: N818  # a state of a reply
    """A judge's reply holds no rating, or two."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """One inspection to be judged: what it is called, its words, and its pictures by ``png_sha256``."""

    rated: Rated
    trace: TraceRecord
    pictures: dict[str, Shown]


@dataclass(frozen=True, slots=True)
class Judge:
    """A model that rates. ``rater`` is how its ratings are signed."""

    model: Model
    rater: Rater

    async def rate(self, task: Task, inspection: Inspection) -> Rating:
        """Rate one inspection on every criterion."""
        about: dict[str, Any] = {
            "rubric_version": the_rubric().version,
            "rater": self.rater,
            "of": inspection.rated,
            "own_family": same_family(self.rater, inspection.rated),
        }
        try:
            found = read_rating(await self._ask(task, [inspection]))
        except (ModelError, Unreadable) as error:
            return Rating(**about, fault=str(error) or type(error).__name__)
        return Rating(**about, **found)

    async def prefer(self, task: Task, first: Inspection, second: Inspection) -> Preference:
        """Choose between two inspections, asked in both orders; a choice that depends on the order is a tie."""
        about: dict[str, Any] = {
            "rubric_version": the_rubric().version,
            "rater": self.rater,
            "first": first.rated,
            "second": second.rated,
            "own_family": same_family(self.rater, first.rated, second.rated),
        }
        try:
            one, reason = read_preference(await self._ask(task, [first, second]))
            other, _ = read_preference(await self._ask(task, [second, first]))
        except (ModelError, Unreadable) as error:
            return Preference(**about, fault=str(error) or type(error).__name__)
        agreed = one == _SWAPPED[other]
        names: dict[_Place, Choice] = {"1": "first", "2": "second", "tie": "tie"}
        return Preference(
            **about,
            prefers=names[one] if agreed else "tie",
            reason=reason if agreed else "the choice changed with the order",
        )

    async def _ask(self, task: Task, inspections: Sequence[Inspection]) -> str:
        reply = await self.model.reply(judge_messages(task, inspections), tools=False, sample=0)
        if reply.refusal:
            raise Unreadable(f"refused: {reply.refusal}")
        return reply.text


def judge_messages(task: Task, inspections: Sequence[Inspection]) -> tuple[Message, ...]:
    """Return system and user turn, with every picture where it was seen."""
    fence = _fence(inspections)
    system = _templates().get_template("judge.jinja")
    user = _templates().get_template("judged.jinja")
    texts, pictures = [], []
    for inspection in inspections:
        text, shown = _told(inspection)
        texts.append(text)
        pictures += shown
    return (
        Message("system", system.render(rubric=the_rubric(), pair=len(inspections) > 1, fence=fence).strip()),
        Message("user", user.render(task=task, inspections=texts, fence=fence).strip(), tuple(pictures)),
    )


def read_rating(text: str) -> dict[str, Any]:
    """Read a reply: exactly one JSON object with every criterion as a whole number from 0 to 5.

    Raises
    ------
    Unreadable
        There is none, or several that differ, or a level is no such number.
    """
    keys = [criterion.key for criterion in the_rubric().criteria]
    found = _one_object(text, set(keys))
    for key in keys:
        level = found[key]
        if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level < LEVELS:
            raise Unreadable(f"{key} is no level from 0 to 5: {level!r}")
    return {**{key: found[key] for key in keys}, "reason": str(found.get("reason", ""))}


def read_preference(text: str) -> tuple[_Place, str]:
    """Read a reply: exactly one JSON object with ``prefers`` 1, 2 or tie. Raises as `read_rating`."""
    found = _one_object(text, {"prefers"})
    place = str(found["prefers"]).strip().lower()
    for known in get_args(_Place):
        if place == known:
            return known, str(found.get("reason", ""))
    raise Unreadable(f"prefers is none of 1, 2, tie: {found['prefers']!r}")


def _one_object(text: str, keys: set[str]) -> dict[str, Any]:
    """Return the one JSON object outside of thoughts that has all these keys."""
    thinking = split_thinking(text)
    if not thinking.is_closed:
        raise Unreadable("a thought is never closed")
    found = [value for value in _objects(thinking.outside) if keys <= value.keys()]
    if not found:
        raise Unreadable(f"no JSON object with {', '.join(sorted(keys))}")
    if any(value != found[0] for value in found):
        raise Unreadable("several JSON objects that differ")
    return found[0]


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in a text, from left to right, none inside another."""
    decoder = json.JSONDecoder()
    place = text.find("{")
    while place >= 0:
        try:
            value, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            end = place + 1
        else:
            if isinstance(value, dict):
                yield value
        place = text.find("{", end)


def _told(inspection: Inspection) -> tuple[str, list[Picture]]:
    """Return the words of an inspection turn by turn, and its pictures in order; what it began with is left out."""
    lines: list[str] = []
    pictures: list[Picture] = []
    for turn in inspection.trace.turns:
        if turn.role == "system":
            continue
        marks = ""
        for view in turn.views:
            shown = inspection.pictures.get(view.png_sha256)
            if shown is not None and not shown.fault:
                pictures.append(Picture(shown.png, view))
                marks += IMAGE_MARK
        who = {"user": "shown", "assistant": "inspector", "tool": "tool", "error": "broke off"}[turn.role]
        calls = "".join(f"\n[calls {call.name} {call.arguments}]" for call in turn.tool_calls)
        reasoning = f"[thinks] {turn.reasoning}\n" if turn.reasoning else ""
        words = f"{reasoning}{turn.text}{calls}".replace(IMAGE_MARK, "(picture)")
        lines.append(f"[{who}] {marks}{words}")
    return "\n\n".join(lines), pictures


def _fence(inspections: Sequence[Inspection]) -> str:
    """Return a mark that the inspections can't contain, since it is made of what they are."""
    names = " ".join(inspection.rated.trace_sha256 for inspection in inspections)
    return f"=== {hashlib.sha256(names.encode()).hexdigest()[:12]} ==="


@cache
def _templates() -> Environment:
    return Environment(  # noqa: S701  # plain text for a model: nothing to escape
        loader=PackageLoader("specvi_agents", "prompts"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


async def judge_all(
    judge: Judge, jobs: Sequence[tuple[Task, Sequence[Inspection]]], take: Any, in_flight: int
) -> None:
    """Rate single inspections and prefer between pairs, several at a time; ``take`` gets each result as it comes."""
    waiting = iter(jobs)

    async def work() -> None:
        for task, inspections in waiting:
            if len(inspections) == 1:
                take(await judge.rate(task, inspections[0]))
            else:
                take(await judge.prefer(task, inspections[0], inspections[1]))

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(max(1, min(in_flight, len(jobs)))):
                group.create_task(work())
    except BaseExceptionGroup as faults:
        raise faults.exceptions[0] from None
    finally:
        await judge.model.close()
