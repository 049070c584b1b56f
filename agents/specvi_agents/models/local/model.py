"""A checkpoint loaded into this process: conversations become tensors, batches become replies."""

import hashlib
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from transformers import GenerationConfig, StoppingCriteria

from specvi_agents.messages import Message, Reply
from specvi_agents.models.checkpoint import Checkpoint
from specvi_agents.models.local.chat import Chat
from specvi_agents.models.local.decoding import Decoding, RowLimits, SeededSampling
from specvi_agents.models.local.loading import load_chat, load_weights
from specvi_agents.models.probability import ANSWER_BOX
from specvi_benchmark.errors import UserError

_WORDLESS = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
"""A model never writes these with a meaning; suppressed, so that what it wrote reads back as the same tokens."""


@dataclass(frozen=True, slots=True, eq=False)
class Prompt:
    """A conversation as tensors of one row, before padding; ``seed`` is of its own draws."""

    inputs: Mapping[str, torch.Tensor]
    seed: int

    @property
    def length(self) -> int:
        """Return the number of tokens, pictures included."""
        return int(self.inputs["input_ids"].shape[1])


class LocalModel:
    """Model, processor and chat template of one checkpoint, on one device."""

    def __init__(self, model: Any, chat: Chat) -> None:
        self._model = model
        self.chat = chat
        self._tokenizer = chat.tokenizer
        self._ends = _end_tokens(model, self._tokenizer)
        self._pad = (
            self._tokenizer.pad_token_id if self._tokenizer.pad_token_id is not None else min(self._ends)
        )
        self._context = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        self.stopping = threading.Event()
        # Settings of a checkpoint's own generation_config.json (Qwen2.5-VL: repetition penalty 1.05) would
        # be filled in wherever ours say nothing.
        model.generation_config = GenerationConfig(eos_token_id=sorted(self._ends), pad_token_id=self._pad)

    @classmethod
    def load(cls, checkpoint: Checkpoint, *, device: str | None, dtype: str) -> Self:
        """Load a checkpoint; ``device`` None takes a GPU if there is one.

        Raises
        ------
        UserError
            Files are missing or broken, or the model can't be shown pictures from a tool.
        """
        chat = load_chat(checkpoint)
        model = load_weights(checkpoint, dtype=dtype)
        chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
        try:
            model = model.to(chosen).eval()
        except (RuntimeError, AssertionError) as error:
            raise UserError(
                "the model can't be put on the device", where=f"device={chosen}", got=error
            ) from error
        return cls(model, chat)

    @property
    def dtype(self) -> str:
        """Return the number format of the weights, as in ``bfloat16``."""
        return str(self._model.dtype).removeprefix("torch.")

    def prompt(self, messages: Sequence[Message], *, tools: bool, seed: int) -> Prompt:
        """Return the conversation as tensors.

        The row's own seed comes from ``seed`` and everything the model sees, so that a draw does not depend
        on order or batch.
        """
        text = self.chat.text(messages, tools=tools)
        shown = [picture for message in messages for picture in message.pictures]
        inputs = self.chat.tensors(text, [picture.png for picture in shown])
        hashes = [picture.record.png_sha256 for picture in shown]
        seen = hashlib.sha256(f"{seed}\0{text}\0{hashes}".encode())
        return Prompt(inputs, int.from_bytes(seen.digest()[:6]))

    def replies(self, prompts: Sequence[Prompt], decoding: Decoding) -> list[Reply]:
        """Return one reply a prompt. Batches that do not fit into memory are halved until they do."""
        try:
            return self._with_p_yes(prompts, self._replies(prompts, decoding), decoding)
        except torch.OutOfMemoryError:
            if len(prompts) == 1:
                raise
        torch.cuda.empty_cache()
        half = len(prompts) // 2
        return self.replies(prompts[:half], decoding) + self.replies(prompts[half:], decoding)

    def _with_p_yes(self, prompts: Sequence[Prompt], replies: list[Reply], decoding: Decoding) -> list[Reply]:
        if not decoding.p_yes:
            return replies
        pairs = zip(prompts, replies, strict=True)
        return [replace(reply, p_yes=self.p_yes(prompt, reply.text)) for prompt, reply in pairs]

    @torch.inference_mode()
    def p_yes(self, prompt: Prompt, text: str) -> float | None:
        r"""Return P(YES) / (P(YES) + P(NO)) of the last ``\boxed{YES|NO}`` in a reply; None without one.

        The reply is read twice, with either word in the box, up to the token that closes it; compared are the
        probabilities (at temperature 1) of all tokens from the first in which the two differ.
        """
        found = list(ANSWER_BOX.finditer(text))
        if not found:
            return None
        yes, no = (self._until_closed(text, found[-1], word) for word in ("YES", "NO"))
        same = next(at for at, (one, other) in enumerate(zip(yes, no, strict=False)) if one != other)
        chances = [self._log_probability(prompt, tokens, len(tokens) - same) for tokens in (yes, no)]
        return float(torch.tensor(chances).softmax(0)[0])

    def _until_closed(self, text: str, box: re.Match[str], word: str) -> list[int]:
        written = text[: box.start(1)] + word + text[box.end(1) :]
        closed = box.end() + len(word) - len(box[1])
        read = self._tokenizer(written, return_offsets_mapping=True)
        last = next(at for at, (_, end) in enumerate(read["offset_mapping"]) if end >= closed)
        return list(read["input_ids"][: last + 1])

    def _log_probability(self, prompt: Prompt, tokens: list[int], count: int) -> float:
        """Return the log-probability of the last ``count`` of the tokens that follow the prompt."""
        added = torch.tensor([tokens])
        inputs = dict(prompt.inputs)
        for name, tensor in prompt.inputs.items():
            if tensor.shape[:2] == (1, prompt.length):
                fill = {"input_ids": added, "attention_mask": torch.ones_like(added)}
                inputs[name] = torch.cat([tensor, fill.get(name, torch.zeros_like(added)).to(tensor)], 1)
        device = self._model.device
        output = self._model(**{k: v.to(device) for k, v in inputs.items()}, logits_to_keep=count + 1)
        scores = output.logits[0, :-1].float().log_softmax(-1)
        return float(scores.gather(1, added[:, -count:].T.to(device)).sum())

    @torch.inference_mode()
    def _replies(self, prompts: Sequence[Prompt], decoding: Decoding) -> list[Reply]:
        room = [self._room(prompt, decoding.max_tokens) for prompt in prompts]
        if not all(room):  # no room for a single token: the reply is cut off before it begins
            rest = [prompt for prompt, tokens in zip(prompts, room, strict=True) if tokens]
            made = iter(self._replies(rest, decoding) if rest else [])
            return [
                next(made) if tokens else Reply("", stop="length", tokens_in=prompt.length, cost_usd=0.0)
                for prompt, tokens in zip(prompts, room, strict=True)
            ]
        device = self._model.device
        inputs = {name: tensor.to(device) for name, tensor in self._padded(prompts).items()}
        length = inputs["input_ids"].shape[1]
        drawn = (
            [SeededSampling([p.seed for p in prompts], decoding.temperature, decoding.top_p, device)]
            if decoding.temperature
            else []
        )
        output = self._model.generate(
            **inputs,
            generation_config=GenerationConfig(
                do_sample=False,
                max_new_tokens=max(room),
                suppress_tokens=self._wordless() or None,
                stop_strings=list(decoding.stop) or None,
            ),
            tokenizer=self._tokenizer,
            logits_processor=drawn,
            stopping_criteria=[RowLimits(length, room, device), _Stopped(self.stopping)],
        )
        if self.stopping.is_set():
            raise RuntimeError("the run was stopped")
        rows = output[:, length:].tolist()
        return [
            self._reply(row[:limit], prompt, decoding)
            for row, limit, prompt in zip(rows, room, prompts, strict=True)
        ]

    def _room(self, prompt: Prompt, max_tokens: int) -> int:
        return max_tokens if self._context is None else max(0, min(max_tokens, self._context - prompt.length))

    def _wordless(self) -> list[int]:
        return [
            self._tokenizer.convert_tokens_to_ids(t) for t in _WORDLESS if t in self._tokenizer.get_vocab()
        ]

    def _padded(self, prompts: Sequence[Prompt]) -> dict[str, torch.Tensor]:
        """Join rows: token-wise tensors padded on the left, tensors of pictures one after the other."""
        longest = max(prompt.length for prompt in prompts)
        joined: dict[str, list[torch.Tensor]] = {}
        for prompt in prompts:
            for name, tensor in prompt.inputs.items():
                if tensor.shape[:2] == (1, prompt.length):
                    fill = self._pad if name == "input_ids" else 0
                    tensor = torch.nn.functional.pad(tensor, (longest - prompt.length, 0), value=fill)  # noqa: PLW2901
                joined.setdefault(name, []).append(tensor)
        return {name: torch.cat(tensors) for name, tensors in joined.items()}

    def _reply(self, row: list[int], prompt: Prompt, decoding: Decoding) -> Reply:
        end = next((at for at, token in enumerate(row) if token in self._ends or token == self._pad), None)
        text = self._tokenizer.decode(row[:end], skip_special_tokens=True, clean_up_tokenization_spaces=False)
        finished = end is not None or any(string in text for string in decoding.stop)
        return Reply(
            text,
            stop="stop" if finished else "length",
            tokens_in=prompt.length,
            tokens_out=len(row) if end is None else end + 1,
            cost_usd=0.0,
        )


class _Stopped(StoppingCriteria):  # type: ignore[misc]  # a foreign class
    """Ends a batch at the next token once the run is stopped."""

    def __init__(self, stopping: threading.Event) -> None:
        self._stopping = stopping

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor, **_: object) -> torch.Tensor:  # noqa: ARG002  # called so
        return torch.full((input_ids.shape[0],), self._stopping.is_set(), device=input_ids.device)


def _end_tokens(model: Any, tokenizer: Any) -> frozenset[int]:
    """Return every token that ends a turn, by the checkpoint's generation settings and its tokenizer."""
    declared = model.generation_config.eos_token_id
    many = declared if isinstance(declared, list) else [declared]
    turn_end = tokenizer.get_vocab().get("<|im_end|>")
    return frozenset(token for token in (*many, tokenizer.eos_token_id, turn_end) if token is not None)
