"""How calls are written: by an API in fields of their own, or in the text, as Hermes-style ``<tool_call>`` tags.

Either is understood in a reply, whichever was asked for: servers without a tool parser hand the text through.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from specvi_agents.messages import Message, ToolCall
from specvi_agents.thinking import split_thinking
from specvi_benchmark.views.tool import TOOL_NAME, TOOL_SCHEMA

Dialect = Literal["api", "hermes"]
"""``api``: the server, or a chat template, tells the model of the tool. ``hermes``: the system turn does."""

_CALL = re.compile(r"<tool_call>(.*?)(?:</tool_call>|(?=<tool_call>)|\Z)", re.DOTALL)


def tools_block() -> str:
    """Return what the system turn says of the tool in Hermes style, letter for letter as Qwen's templates do."""
    return (
        "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
        "You are provided with function signatures within <tools></tools> XML tags:\n"
        f"<tools>\n{json.dumps(TOOL_SCHEMA, ensure_ascii=False)}\n</tools>\n\n"
        "For each function call, return a json object with function name and arguments "
        "within <tool_call></tool_call> XML tags:\n"
        '<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'
    )


def calls_in_text(text: str) -> tuple[ToolCall, ...]:
    """Return the calls that stand in a text, outside of balanced thoughts, in order.

    A call that is cut off, or is no JSON, is still a call: its arguments are what was written, and the tool
    will say what is wrong with them. The ids are ``text-1``, ``text-2`` and so on.
    """
    written = _CALL.findall(split_thinking(text).outside)
    return tuple(_call(body.strip(), f"text-{number}") for number, body in enumerate(written, start=1))


def _call(body: str, call_id: str) -> ToolCall:
    try:
        value: Any = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or not isinstance(value.get("name"), str) or "arguments" not in value:
        return ToolCall(id=call_id, name=TOOL_NAME, arguments=body)  # there is one tool: let it answer
    arguments = value["arguments"]
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(id=call_id, name=value["name"], arguments=raw)


def call_text(call: ToolCall) -> str:
    """Return a call as it is written in a text."""
    name = json.dumps(call.name, ensure_ascii=False)
    return f'<tool_call>\n{{"name": {name}, "arguments": {call.arguments}}}\n</tool_call>'


def as_sent(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages as they go to a model.

    What the tool answers to calls in the text goes into one user turn, each answer in ``<tool_response>``
    tags with its picture before its words. Everything else stays as it is.
    """
    sent: list[Message] = []
    waiting: list[Message] = []  # answers to calls in the text, which share a turn
    for message in messages:
        if message.role == "tool" and message.call_id is None:
            waiting.append(message)
            continue
        if waiting:
            sent.append(_responses(waiting))
            waiting = []
        sent.append(message)
    return (*sent, _responses(waiting)) if waiting else tuple(sent)


def _responses(answers: Sequence[Message]) -> Message:
    texts = (
        f"<tool_response>\n{'<image>' * len(answer.pictures)}{answer.text}\n</tool_response>"
        for answer in answers
    )
    pictures = tuple(picture for answer in answers for picture in answer.pictures)
    return Message("user", "\n".join(texts), pictures)


def in_text(message: Message) -> Message:
    """Return an assistant's message with its API calls written into the text, as a template would."""
    texts = [message.text] if message.text else []
    return replace(message, text="\n".join([*texts, *map(call_text, message.calls)]), calls=())
