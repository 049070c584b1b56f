"""Between TRL's token ids and the suite's conversations: a turn read from its ids, and what follows it made into ids."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from specvi_agents.dialects import as_sent, calls_in_text
from specvi_agents.messages import Message
from specvi_agents.models.local.chat import Chat
from specvi_benchmark.views.tool import TOOL_NAME
from specvi_training.grpo.rollout import Inspection, image_of

_FIRST = "…"


@dataclass(frozen=True, slots=True)
class Shown:
    """A message of texts and, where anything else stands, pictures."""

    role: str
    parts: Sequence[object]


class Turns:
    """Reads and writes turns as the evaluator does, for one checkpoint.

    Parameters
    ----------
    chat
        Its processor and template.
    tools
        Whether the template tells of the tool.
    ends
        Ids of the tokens that end a turn.
    """

    def __init__(self, chat: Chat, *, tools: bool, ends: Sequence[int]) -> None:
        self.chat = chat
        self._tools = tools
        self._ends = frozenset(ends)
        asked = [Shown("user", (_FIRST,)), Shown("assistant", (_FIRST,))]
        self._before = chat.text(asked, tools=False, is_next=False).rstrip()
        self._asked = asked

    def read(self, ids: Sequence[int], **_: object) -> dict[str, Any]:
        """Return a turn as TRL keeps messages; where calls stand in it, one call that hands over all of it."""
        has_end = bool(ids) and ids[-1] in self._ends
        text = self.chat.tokenizer.decode(
            ids[:-1] if has_end else ids, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        turn: dict[str, Any] = {
            "role": "assistant",
            "content": text,
            "stop": "stop" if has_end else "length",
            "tokens": len(ids),
        }
        if has_end and calls_in_text(text):
            arguments = {"turn": text, "tokens": len(ids)}
            turn["tool_calls"] = [
                {"type": "function", "function": {"name": TOOL_NAME, "arguments": arguments}}
            ]
        return turn

    def opening(self, inspection: Inspection) -> Mapping[str, torch.Tensor]:
        """Return the tensors of the opening, of one row."""
        text = self.chat.text(as_sent(inspection.opening), tools=self._tools)
        pictures = [picture.png for message in inspection.opening for picture in message.pictures]
        return self.chat.tensors(text, pictures)

    def answer(self, blocks: Sequence[Mapping[str, Any]]) -> list[int]:
        """Return the ids between the end of a turn and the next one: what the tool gave back to it."""
        parts = [block["text"] if block["type"] == "text" else block["image"] for block in blocks]
        whole = self.chat.text([*self._asked, Shown("user", parts)], tools=False)
        if not whole.startswith(self._before):
            raise RuntimeError("the chat template writes an earlier turn anew")
        images = [block["image"] for block in blocks if block["type"] == "image"]
        read = self.chat.processor(text=[whole.removeprefix(self._before)], images=images or None)
        return list(read["input_ids"][0])

    def processor(self) -> Any:
        """Return the processor that TRL is given: turns are read by `read`, and the template is the evaluator's."""
        mine = copy.copy(self.chat.processor)
        mine.tokenizer = copy.copy(self.chat.tokenizer)
        mine.chat_template = self.chat.template
        mine.tokenizer.response_template = "read by the suite"  # else TRL looks for one of its own
        mine.tokenizer.parse_response = self.read
        return mine

    def unwritten(self) -> list[int]:
        """Return the ids of tokens that a rollout never draws: special ones that end no turn.

        As text they are dropped or spelt apart, so that an evaluation would read another conversation.
        """
        special = {
            number for number, token in self.chat.tokenizer.added_tokens_decoder.items() if token.special
        }
        end = self.chat.tokenizer.convert_tokens_to_ids("<|im_end|>")
        written = {end} if end in self._ends else set(self._ends)
        return sorted(special - written)


def images_of(message: Message) -> list[Any]:
    """Return the pictures of a message."""
    return [image_of(picture) for picture in message.pictures]
