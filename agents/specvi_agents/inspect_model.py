"""A model of inspect_ai as the suite's own `Model`: the same loop and environment drive both."""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    Content,
    ContentImage,
    ContentReasoning,
    ContentText,
    ModelOutput,
)
from inspect_ai.model import Model as InspectModel
from inspect_ai.tool import ToolCall as InspectCall
from inspect_ai.tool import ToolInfo

from specvi_agents.messages import Message, Picture, Reply, StopReason, ToolCall
from specvi_benchmark.views.tool import TOOL_SCHEMA

VIEWS_KEY = "specvi_views"
"""Key of a message's metadata under which the records of its pictures stand, in their order."""

_STOPS: Mapping[str, StopReason] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "unknown": "stop",
}


class ModelOfInspect:
    """Hands conversations to a model of inspect_ai, one inspection to an object.

    Temperature, seed and length are inspect_ai's, from its own options. What the model wrote goes back to it as
    inspect_ai gave it, signed thoughts included.
    """

    def __init__(self, model: InspectModel) -> None:
        self._model = model
        self._said: list[ChatMessageAssistant] = []
        self.last: ModelOutput | None = None
        self.messages: list[ChatMessage] = []

    @property
    def config(self) -> Mapping[str, Any]:
        """Return the model's name; inspect_ai's log holds the rest."""
        return {"inspect_model": str(self._model)}

    async def reply(self, messages: Sequence[Message], *, tools: bool, sample: int) -> Reply:  # noqa: ARG002  # epochs are inspect_ai's samples
        """Return the next turn; see `specvi_agents.messages.Model`. Faults are inspect_ai's to handle."""
        sent = self._written(messages)
        output = await self._model.generate(sent, tools=[zoom_tool()] if tools else [])
        self._said.append(output.message)
        self.messages = [*sent, output.message]
        self.last = output
        return reply_of(output)

    async def close(self) -> None:
        """Do nothing: connections are inspect_ai's."""

    def _written(self, messages: Sequence[Message]) -> list[ChatMessage]:
        said = iter(self._said)
        return [next(said) if message.role == "assistant" else written(message) for message in messages]


def zoom_tool() -> ToolInfo:
    """Return the zoom tool as inspect_ai describes tools to a model; the calls are carried out here."""
    return ToolInfo.model_validate(TOOL_SCHEMA["function"])


def reply_of(output: ModelOutput) -> Reply:
    """Return what a model of inspect_ai gave back for one turn."""
    message, usage = output.message, output.usage
    tokens_in = 0
    if usage is not None:
        cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
        tokens_in = usage.input_tokens + cached
    text, reasoning, refusal = words_of(message)
    return Reply(
        text,
        tuple(map(call_of, message.tool_calls or ())),
        _STOPS[output.stop_reason],
        reasoning=reasoning,
        refusal=refusal,
        tokens_in=tokens_in,
        tokens_out=usage.output_tokens if usage else 0,
    )


def words_of(message: ChatMessage) -> tuple[str, str | None, str | None]:
    """Return a message's text, its separate reasoning, and a refusal, as far as it has them."""
    if isinstance(message.content, str):
        return message.content, None, None
    texts = [part for part in message.content if isinstance(part, ContentText)]
    thoughts = [part.reasoning for part in message.content if isinstance(part, ContentReasoning)]
    refused = [part.text for part in texts if getattr(part, "refusal", None)]
    text = "".join(part.text for part in texts if not getattr(part, "refusal", None))
    return text, "\n".join(thoughts) or None, "\n".join(refused) or None


def call_of(call: InspectCall) -> ToolCall:
    """Return a call; inspect_ai has parsed its arguments already."""
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    return ToolCall(id=call.id, name=call.function, arguments=arguments)


def written(message: Message) -> ChatMessage:
    """Return a message that no model wrote, in inspect_ai's form; the records of its pictures go with it."""
    content = [_content(part) for part in message.parts]
    views = [picture.record.model_dump(mode="json") for picture in message.pictures]
    metadata = {VIEWS_KEY: views} if views else None
    if message.role == "system":
        return ChatMessageSystem(content=message.text)
    if message.role == "tool":
        return ChatMessageTool(content=content, tool_call_id=message.call_id, metadata=metadata)
    return ChatMessageUser(content=content, metadata=metadata)


def _content(part: str | Picture) -> Content:
    if isinstance(part, str):
        return ContentText(text=part)
    return ContentImage(image=f"data:image/png;base64,{base64.b64encode(part.png).decode()}")
