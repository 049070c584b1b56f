"""A trajectory as the conversation that a model holds: the text of the evaluator, word for word, and the pictures.

The system turn tells of the tool, as a chat template does when it is handed ``tools=``: hand it none. Calls stand in
the assistant's text as ``<tool_call>``, whichever way the teacher's server gave them. What the teacher was told beyond
the question (docs/trajectories.md, "Guidance") is no part of a trace, and so can't be here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from specvi_agents.dialects import calls_in_text, in_text, tools_block
from specvi_agents.messages import IMAGE_MARK, Message
from specvi_agents.trajectories.records import Record, Trajectory
from specvi_benchmark.errors import UserError
from specvi_benchmark.traces import TraceRecord, Turn

SpokenRole = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Shown:
    """A picture in a conversation, by the SHA-256 of its PNG."""

    sha256: str


@dataclass(frozen=True, slots=True)
class Said:
    """One message: who speaks, and text and pictures in their order."""

    role: SpokenRole
    parts: tuple[str | Shown, ...]

    @property
    def text(self) -> str:
        """Return the text, with ``<image>`` for each picture."""
        return "".join(IMAGE_MARK if isinstance(part, Shown) else part for part in self.parts)

    @property
    def pictures(self) -> tuple[Shown, ...]:
        """Return the pictures in their order."""
        return tuple(part for part in self.parts if isinstance(part, Shown))


class Image(TypedDict):
    """A picture as the ``Image`` feature of `datasets` takes it."""

    bytes: bytes
    path: str


class Messages(TypedDict):
    """A row for TRL: a part ``{"type": "image"}`` stands for the next of the images."""

    messages: list[dict[str, Any]]
    images: list[Image]


def conversation(record: Record, trace: TraceRecord) -> tuple[Said, ...]:
    """Return the messages of an inspection, a tool's answers as turns of their own.

    Raises
    ------
    UserError
        The inspection broke off, or has another number of pictures than marks (imported ones).
    """
    waiting = iter(record.imported.png_sha256) if record.imported else None
    said = tuple(_said(turn, waiting, trace.id) for turn in trace.turns)
    if waiting is not None and next(waiting, None) is not None:
        raise UserError("more pictures than places for them", where=f"trajectory {record.id}")
    if not _is_told_by_template(trace):
        return said
    if said and said[0].role == "system":
        return Said("system", (f"{said[0].text}\n\n{tools_block()}",)), *said[1:]
    return Said("system", (tools_block(),)), *said


def to_messages(trajectory: Trajectory) -> Messages:
    """Return a trajectory as TRL takes it: ``{"messages": [...], "images": [...]}``.

    Every content is a list of parts, in the order in which they are seen, tool turns too; ``images`` are PNG bytes.
    """
    said = conversation(trajectory.record, trajectory.trace)
    return {
        "messages": [
            {"role": message.role, "content": [_part(part) for part in message.parts]} for message in said
        ],
        "images": [
            {"bytes": trajectory.png(shown.sha256), "path": f"{shown.sha256}.png"}
            for message in said
            for shown in message.pictures
        ],
    }


def _is_told_by_template(trace: TraceRecord) -> bool:
    """Tell whether the model learnt of the tool beside the conversation, from its server or template."""
    settings = trace.environment
    return settings.get("dialect") == "api" and bool(settings.get("tool"))


def _said(turn: Turn, waiting: Iterator[str] | None, where: str) -> Said:
    if turn.role == "error":
        raise UserError(
            "the inspection broke off: it is no conversation", where=f"trajectory {where}", got=turn.text
        )
    own = () if calls_in_text(turn.text) == turn.tool_calls else turn.tool_calls
    text = in_text(Message(turn.role, turn.text, calls=own)).text
    if waiting is None:
        shown = tuple(Shown(view.png_sha256) for view in turn.views)
    else:
        shown = _next(text, waiting, where)
    return Said(turn.role, _placed(text, shown))


def _next(text: str, waiting: Iterator[str], where: str) -> tuple[Shown, ...]:
    found = tuple(Shown(sha) for _, sha in zip(range(text.count(IMAGE_MARK)), waiting, strict=False))
    if len(found) < text.count(IMAGE_MARK):
        raise UserError("fewer pictures than places for them", where=f"trajectory {where}")
    return found


def _placed(text: str, pictures: tuple[Shown, ...]) -> tuple[str | Shown, ...]:
    """Return text and pictures in the order of `Message.parts`: at the marks, else the pictures first."""
    texts = text.split(IMAGE_MARK)
    if not pictures or len(texts) != len(pictures) + 1:
        return (*pictures, text) if text else pictures
    parts: list[str | Shown] = [texts[0]]
    for picture, after in zip(pictures, texts[1:], strict=True):
        parts += [picture, after]
    return tuple(part for part in parts if part)


def _part(part: str | Shown) -> dict[str, str]:
    return {"type": "image"} if isinstance(part, Shown) else {"type": "text", "text": part}
