"""A conversation as what a model is trained on: the evaluator's own token ids, and which of them it must learn.

The ids are those that the vetter ``transformers:`` feeds the same model, since both come from one `Chat`. Loss falls on
what the assistant wrote, its end-of-turn token included; on nothing of what it was told or shown.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from specvi_agents.models.local.chat import Chat, Spoken
from specvi_agents.parsing import find_answer
from specvi_benchmark.errors import UserError

IGNORED = -100
"""Label of a token without loss, as in `torch.nn.functional.cross_entropy`."""


class Shown(Protocol):
    """A conversation with its pictures."""

    @property
    def id(self) -> str:
        """Return what names it in messages."""
        ...

    @property
    def messages(self) -> Sequence[Spoken]:
        """Return the messages in their order."""
        ...

    @property
    def pngs(self) -> Sequence[bytes]:
        """Return the PNG bytes of every picture, in the order they are shown."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """One row.

    Attributes
    ----------
    inputs
        What the processor gave: ``input_ids`` and the like of shape (1, tokens), and tensors of the pictures.
    labels
        (tokens,): the id where the assistant wrote it, else `IGNORED`.
    decides
        (tokens,) bool: where the YES or NO of the answer stands.
    """

    inputs: Mapping[str, torch.Tensor]
    labels: torch.Tensor
    decides: torch.Tensor

    @property
    def length(self) -> int:
        """Return the number of tokens, those of pictures included."""
        return len(self.labels)


def encode(chat: Chat, shown: Shown, *, tools: bool, max_tokens: int | None = None) -> Encoded:
    """Return a conversation as ids and labels.

    Parameters
    ----------
    tools
        Whether the template tells of the tool; not where the system turn does.
    max_tokens
        A longer one is refused: a picture cut in two, or an answer cut off, would teach nonsense.

    Raises
    ------
    UserError
        It is too long, or the template writes earlier turns anew.
    """
    text = chat.text(shown.messages, tools=tools, is_next=False)
    inputs = chat.tensors(text, shown.pngs)
    ids = inputs["input_ids"][0]
    if max_tokens is not None and len(ids) > max_tokens:
        raise UserError(
            "a conversation is longer than a row may be",
            where=f"trajectory {shown.id}",
            expected=f"at most {max_tokens} tokens (max_tokens)",
            got=len(ids),
            fix="raise max_tokens, or leave it out of the training data",
        )
    spans = tuple(_written(chat, shown, text, tools=tools))
    labels, decides = _labels(chat, text, ids, spans)
    return Encoded(inputs, labels, decides)


def _written(chat: Chat, shown: Shown, text: str, *, tools: bool) -> Iterator[tuple[int, int]]:
    """Yield where in the text each assistant's turn begins and ends, its end-of-turn token included.

    A turn begins where the prompt ends with which the evaluator asks for it: that this prompt is a beginning of
    the text is checked, not assumed.
    """
    for number, message in enumerate(shown.messages):
        if message.role != "assistant":
            continue
        prompt = chat.text(shown.messages[:number], tools=tools)
        after = chat.text(shown.messages[: number + 1], tools=tools, is_next=False)
        if not (text.startswith(after.rstrip()) and after.startswith(prompt)):
            raise UserError(
                "the chat template writes earlier turns anew, so that no row holds what the model is asked with",
                where=f"trajectory {shown.id}, turn {number + 1}",
                fix="train a model with another template; the suite's own for Qwen models keeps every turn",
            )
        yield len(prompt), len(after.rstrip())


def _labels(
    chat: Chat, text: str, ids: torch.Tensor, spans: Sequence[tuple[int, int]]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Give every token that lies in a span its label, and mark those of the answer's word.

    A picture's one placeholder stands for all its tokens.
    """
    word = _answer(text, spans)
    read = chat.tokenizer(text, return_offsets_mapping=True)
    picture = chat.processor.image_token_id
    labels = torch.full_like(ids, IGNORED)
    decides = torch.zeros_like(ids, dtype=torch.bool)
    place = 0
    for token, (begin, end) in zip(read["input_ids"], read["offset_mapping"], strict=True):
        first = place
        place += 1
        if token == picture:
            while place < len(ids) and ids[place] == picture:
                place += 1
            continue
        if ids[first] != token:
            raise RuntimeError("the processor's ids are not those of its tokenizer")
        if any(start <= begin and end <= stop for start, stop in spans):
            labels[first] = token
            decides[first] = begin < word[1] and word[0] < end
    if place != len(ids):
        raise RuntimeError("the processor's ids go on where the text ends")
    return labels, decides


def _answer(text: str, spans: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return where in the text the word stands that the evaluator reads of the last turn. (0, 0): nowhere."""
    if not spans:
        return 0, 0
    start, stop = spans[-1]
    found = find_answer(text[start:stop])
    return (start + found[0], start + found[1]) if found else (0, 0)


def collate(rows: Sequence[Encoded], pad: int) -> dict[str, Any]:
    """Return a batch: token-wise tensors padded on the right, those of pictures one after the other."""
    longest = max(row.length for row in rows)
    joined: dict[str, list[torch.Tensor]] = {"labels": [], "decides": []}
    for row in rows:
        short = longest - row.length
        joined["labels"].append(_padded(row.labels[None], short, IGNORED))
        joined["decides"].append(_padded(row.decides[None], short, False))
        for name, tensor in row.inputs.items():
            if tensor.shape[:2] == (1, row.length):
                tensor = _padded(tensor, short, pad if name == "input_ids" else 0)  # noqa: PLW2901
            joined.setdefault(name, []).append(tensor)
    return {name: torch.cat(tensors) for name, tensors in joined.items()}


def _padded(row: torch.Tensor, short: int, fill: int) -> torch.Tensor:
    return torch.nn.functional.pad(row, (0, short), value=fill)
