"""What passes between an inspection and a model: messages with pictures, and the reply. No backend's format."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from specvi_benchmark.kept import kept
from specvi_benchmark.traces import ToolCall, ViewRecord
from specvi_benchmark.views import View

__all__ = [
    "IMAGE_MARK",
    "Message",
    "Model",
    "ModelError",
    "Picture",
    "Reply",
    "Role",
    "StopReason",
    "ToolCall",
    "picture_of",
]

IMAGE_MARK = "<image>"

Role = Literal["system", "user", "assistant", "tool"]
StopReason = Literal["stop", "tool_calls", "length", "content_filter"]


@dataclass(frozen=True)
class Picture:
    """One picture: the PNG bytes that the model sees, and the entry that the trace keeps of them."""

    png: bytes
    record: ViewRecord

    @kept
    def base64(self) -> bytes:
        """Return the PNG in base64, as it goes out with every turn."""
        return b64encode(self.png)


def picture_of(view: View) -> Picture:
    """Return the picture of a view, its PNG encoded once."""
    return Picture(view.png, view.record)


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    Attributes
    ----------
    role
        Who speaks. A tool's answer has ``call_id``, the id of the call it answers.
    text
        Raw text; of an assistant, exactly as the model wrote it.
    pictures
        Shown with the message: where ``<image>`` stands in the text, as in the official data, or before it.
    calls
        The assistant's calls as an API gave them. Calls that stand in ``text`` are not repeated here.
    reasoning
        What a server gave in a field apart from the text. Never searched for an answer.
    """

    role: Role
    text: str = ""
    pictures: tuple[Picture, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None
    reasoning: str | None = None

    @property
    def parts(self) -> tuple[str | Picture, ...]:
        """Return text and pictures in the order they are sent; empty texts are left out."""
        if not self.pictures:
            return (self.text,) if self.text else ()
        texts = self.text.split(IMAGE_MARK)
        if len(texts) != len(self.pictures) + 1:  # no mark for each picture: they come first
            return (*self.pictures, self.text) if self.text else self.pictures
        parts: list[str | Picture] = [texts[0]]
        for picture, text in zip(self.pictures, texts[1:], strict=True):
            parts += [picture, text]
        return tuple(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model gave back for one turn, as its server said it.

    Attributes
    ----------
    text
        Raw text of the turn, tool calls in the text included where the model writes them there.
    calls
        Calls that the server has taken apart.
    stop
        Why the turn ended. ``tool_calls`` and ``stop`` are treated alike: what counts is what was written.
    reasoning
        A reasoning field apart from the text, if there is one.
    refusal
        A refusal field, if there is one.
    tokens_in, tokens_out
        As counted by the server.
    cost_usd
        Price of the turn; None where no price is known. A model that costs nothing says 0.
    p_yes
        Probability of YES that the model gives to its answer in this turn, None without log-probabilities.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    stop: StopReason = "stop"
    reasoning: str | None = None
    refusal: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float | None = None
    p_yes: float | None = None


class ModelError(Exception):
    """A model gave no reply, for a reason that is not its opinion: the server, the network, a limit.

    It becomes the outcome ``error``, with this message as the reason. Only after the backend's own tries.
    """


@runtime_checkable
class Model(Protocol):
    """A model behind any backend. ``config`` names everything that changes a reply, and no secret.

    It may have more: ``in_flight`` and ``expected_usd`` of one sample, as an `AsyncVetter`; and ``sent_as``, what
    it found out about how its server wants conversations written, which traces record.
    """

    @property
    def config(self) -> Mapping[str, Any]: ...

    async def reply(self, messages: Sequence[Message], *, tools: bool, sample: int) -> Reply:
        """Return the next assistant turn.

        Parameters
        ----------
        messages
            The whole conversation so far.
        tools
            Whether the zoom tool is offered in this turn.
        sample
            Which of the independent samples of this question it is, from 0. The same sample asked for
            twice may give the same reply (a cache); another one must be drawn anew.

        Raises
        ------
        ModelError
            No reply can be had.
        """
        ...

    async def close(self) -> None:
        """Let go of connections and servers."""
        ...
