"""The chat-completions format: messages → request bytes, and a server's answer → `Reply`. No network."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from specvi_agents.messages import Message, Picture, Reply, StopReason, ToolCall
from specvi_agents.models.prices import Usage, read_usage
from specvi_agents.models.probability import p_yes_of
from specvi_benchmark.views.tool import TOOL_SCHEMA

ReasoningField = Literal["reasoning_content", "reasoning"]
REASONING_FIELDS: tuple[ReasoningField, ...] = ("reasoning_content", "reasoning")

_STOPS: Mapping[str, StopReason] = {
    "stop": "stop",
    "eos": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
}
_PICTURE = re.compile(rb'"url":"picture:([0-9a-f]{64})"')


class Malformed(Exception):  # noqa: N818  # a state of an answer, which another try may mend
    """A server's answer is no chat completion."""


@dataclass(frozen=True, slots=True)
class Form:
    """How a server wants a conversation written, which its answers to the first requests show.

    Attributes
    ----------
    tool_pictures
        Pictures may stand in a tool's message; else they follow in a user turn.
    reasoning_field
        Field in which the model's thoughts are handed back; None leaves them out.
    """

    tool_pictures: bool = True
    reasoning_field: ReasoningField | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """A request's body with each picture named by its hash, and the pictures.

    ``outline`` is the same for the same request, so it is what a cache may be keyed on.
    """

    outline: bytes
    pictures: Mapping[str, Picture]

    def encoded(self) -> bytes:
        """Return the bytes to send: the outline with every picture put in as a data URI."""
        parts = _PICTURE.split(self.outline)  # text, hash, text, hash, …, text
        for place in range(1, len(parts), 2):
            picture = self.pictures[parts[place].decode()]
            parts[place] = b'"url":"data:image/png;base64,%b"' % picture.base64
        return b"".join(parts)


def request_body(messages: Sequence[Message], fields: Mapping[str, Any], form: Form, *, tools: bool) -> Body:
    """Return the body of one request; ``fields`` are model, sampling and whatever else stands beside."""
    value = {**fields, "messages": _written(messages, form)}
    if tools:
        value["tools"] = [TOOL_SCHEMA]
    pictures = {picture.record.png_sha256: picture for message in messages for picture in message.pictures}
    # In the order given: a chat template prints the tool's schema as it comes, and sorted keys would show the
    # model another prompt than the one it was trained on.
    return Body(json.dumps(value, separators=(",", ":"), allow_nan=False).encode(), pictures)


def _written(messages: Sequence[Message], form: Form) -> list[dict[str, Any]]:
    """Write the messages. Where tools can't show pictures, those of a run of answers follow in a user turn."""
    written: list[dict[str, Any]] = []
    held_back: list[Picture] = []
    for message in messages:
        if message.role == "tool" and not form.tool_pictures:
            held_back += message.pictures
            written.append({"role": "tool", "tool_call_id": message.call_id or "", "content": message.text})
            continue
        if held_back:
            written.append({"role": "user", "content": [_part(picture) for picture in held_back]})
            held_back = []
        written.append(_message(message, form))
    if held_back:
        written.append({"role": "user", "content": [_part(picture) for picture in held_back]})
    return written


def _message(message: Message, form: Form) -> dict[str, Any]:
    content: Any = message.text
    if message.pictures:
        content = [_part(part) for part in message.parts]
    value: dict[str, Any] = {"role": message.role, "content": content}
    if message.role == "tool":
        value["tool_call_id"] = message.call_id or ""
    if message.calls:
        value["content"] = message.text or None
        value["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": _sendable(call.arguments)},
            }
            for call in message.calls
        ]
    if message.reasoning and form.reasoning_field:
        value[form.reasoning_field] = message.reasoning
    return value


def _part(part: str | Picture) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": "image_url", "image_url": {"url": f"picture:{part.record.png_sha256}"}}


def _sendable(arguments: str) -> str:
    """Return arguments that a server's chat template can read; what is no JSON object is wrapped in one.

    Servers parse the history's arguments and fail on the whole request. The trace keeps the raw text.
    """
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        value = None
    return arguments if isinstance(value, dict) else json.dumps({"not_json": arguments})


def read_reply(answer: Any, cost_of: Callable[[Usage | None], float | None] = lambda _: None) -> Reply:
    """Read a chat completion.

    Parameters
    ----------
    answer
        The parsed body of the answer.
    cost_of
        Tokens as counted (None: they were not) → dollars, or None.

    Raises
    ------
    Malformed
        It has no message, or one of another shape.
    """
    try:
        choice = answer["choices"][0]
        message = choice["message"]
        calls = _calls(message.get("tool_calls") or ())
        text = _text(message.get("content"))
        finish = choice.get("finish_reason")
        usage = read_usage(answer.get("usage"))
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise Malformed(f"no chat completion ({type(error).__name__}: {error})") from None
    if finish == "error":
        raise Malformed("the server broke off the reply (finish_reason error)")
    return Reply(
        text=text,
        calls=calls,
        stop=_STOPS.get(finish, "stop") if isinstance(finish, str) else "stop",
        reasoning=next((found for name in REASONING_FIELDS if (found := _said(message, name))), None),
        refusal=_said(message, "refusal"),
        tokens_in=usage.tokens_in if usage else 0,
        tokens_out=usage.tokens_out if usage else 0,
        cost_usd=cost_of(usage),
        p_yes=p_yes_of(choice.get("logprobs")),
    )


def reasoning_field_of(answer: Any) -> ReasoningField | None:
    """Return the field in which a well-formed answer carries the model's thoughts, if it does."""
    message = answer["choices"][0]["message"]
    return next((name for name in REASONING_FIELDS if _said(message, name)), None)


def _said(message: Mapping[str, Any], name: str) -> str | None:
    value = message.get(name)
    return value if isinstance(value, str) and value else None


def _text(content: Any) -> str:
    """Return the text of a message: a string, nothing, or a list of parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if part.get("type") in (None, "text", "output_text"))


def _calls(values: Sequence[Any]) -> tuple[ToolCall, ...]:
    """Read tool calls. A missing id is the empty string: the environment names calls apart."""
    calls = []
    for value in values:
        function, given = value["function"], value.get("id")
        arguments = function.get("arguments")
        calls.append(
            ToolCall(
                id=given if isinstance(given, str) else "",
                name=str(function.get("name") or ""),
                arguments=arguments if isinstance(arguments, str) else json.dumps(arguments or {}),
            )
        )
    return tuple(calls)
