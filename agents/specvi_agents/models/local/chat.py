"""How a conversation becomes what a checkpoint reads: text by its template, then tensors. Evaluation and training share it."""

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch
from PIL import Image

from specvi_agents.dialects import in_text
from specvi_agents.messages import Message
from specvi_benchmark.views.tool import TOOL_SCHEMA


class Spoken(Protocol):
    """A message: a `Message`, or what a kept trajectory gives."""

    @property
    def role(self) -> str:
        """Return who speaks."""
        ...

    @property
    def parts(self) -> Sequence[object]:
        """Return texts and, where anything else stands, pictures, in their order."""
        ...


class Chat:
    """A checkpoint's processor and the chat template it is spoken to with."""

    def __init__(self, processor: Any, template: str) -> None:
        self.processor = processor
        self.tokenizer = processor.tokenizer
        self.template = template
        self._marks = _marks(self.tokenizer)

    def text(self, messages: Sequence[Spoken], *, tools: bool, is_next: bool = True) -> str:
        """Return the conversation as the text that is tokenised, one placeholder for each picture.

        Parameters
        ----------
        messages
            Calls that stand in fields of a `Message` are written into its text.
        tools
            Whether the template tells of the tool.
        is_next
            Whether the text ends where the assistant is to write.
        """
        conversation = [{"role": message.role, "content": self._content(message)} for message in messages]
        return str(
            self.processor.apply_chat_template(
                conversation,
                chat_template=self.template,
                tools=[TOOL_SCHEMA] if tools else None,
                add_generation_prompt=is_next,
            )
        )

    def tensors(self, text: str, pngs: Sequence[bytes]) -> Mapping[str, torch.Tensor]:
        """Return the tensors of one row: the text's tokens, and its pictures in their order."""
        if (found := text.count(self.processor.image_token)) != len(pngs):
            raise RuntimeError(f"{len(pngs)} pictures were to be shown and the prompt has {found}")
        images = [Image.open(io.BytesIO(png)).convert("RGB") for png in pngs]
        return dict(self.processor(text=[text], images=images or None, return_tensors="pt"))

    def _content(self, message: Spoken) -> list[dict[str, Any]]:
        """Return the parts in their order; a special token's name in a text is spelt apart, lest it act as one."""
        spoken = in_text(message) if isinstance(message, Message) else message
        return [
            {"type": "text", "text": self._marks.sub(r"<| \1 |>", part)}
            if isinstance(part, str)
            else {"type": "image"}
            for part in spoken.parts
        ]


def _marks(tokenizer: Any) -> re.Pattern[str]:
    """Return a pattern of the special tokens as they could stand in text, where they must not act as such."""
    names = [
        str(token)
        for token in tokenizer.added_tokens_decoder.values()
        if token.special and str(token).startswith("<|") and str(token).endswith("|>")
    ]
    return re.compile("<\\|(" + "|".join(re.escape(name[2:-2]) for name in names) + ")\\|>")
