"""How a local model picks tokens: settings, and draws that do not depend on which requests share a batch."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from transformers import LogitsProcessor, StoppingCriteria


@dataclass(frozen=True, slots=True)
class Decoding:
    """Settings of every reply of a model.

    Attributes
    ----------
    max_tokens
        Most tokens of one reply.
    temperature, top_p
        Temperature 0 is greedy: the likeliest token, always.
    stop
        Strings that end a reply.
    p_yes
        Whether the probability of the answer is worked out, at the cost of reading each answer twice more.
    """

    max_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0
    stop: tuple[str, ...] = ()
    p_yes: bool = False


class SeededSampling(LogitsProcessor):  # type: ignore[misc]  # a foreign class
    """Draws each row's next token with that row's own random numbers.

    Adds Gumbel noise to log-probabilities, so that the arg-max, which greedy generation takes, is a draw from
    the softmax (the Gumbel-max trick: Maddison, Tarlow & Minka 2014, arXiv 1411.0030, section 2).

    Parameters
    ----------
    seeds
        One for each row of the batch.
    temperature, top_p
        As usual: logits are divided by the temperature; then only the likeliest tokens that together have
        probability ``top_p`` stay.
    """

    def __init__(self, seeds: Sequence[int], temperature: float, top_p: float, device: torch.device) -> None:
        self._generators = [torch.Generator(device).manual_seed(seed) for seed in seeds]
        self._temperature = temperature
        self._top_p = top_p

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:  # noqa: ARG002  # called so
        """Return scores of shape (rows, vocabulary) whose arg-max is the drawn token."""
        logits = scores.float() / self._temperature
        if self._top_p < 1:
            logits = _nucleus(logits, self._top_p)
        noise = torch.empty_like(logits)
        for row, generator in zip(noise, self._generators, strict=True):
            row.exponential_(generator=generator)
        return logits - noise.clamp_min_(torch.finfo(noise.dtype).tiny).log_()


def _nucleus(logits: torch.Tensor, top_p: float) -> torch.Tensor:
    """Keep the smallest set of likeliest tokens whose probabilities sum to at least ``top_p``."""
    ordered, order = logits.sort(dim=-1, descending=True)
    chance = ordered.softmax(dim=-1)
    dropped = chance.cumsum(dim=-1) - chance >= top_p  # the likelier tokens alone are enough
    return logits.masked_fill(dropped.scatter(-1, order, dropped), float("-inf"))


class RowLimits(StoppingCriteria):  # type: ignore[misc]  # a foreign class
    """Ends each row after its own number of new tokens."""

    def __init__(self, prompt_length: int, limits: Sequence[int], device: torch.device) -> None:
        self._prompt_length = prompt_length
        self._limits = torch.tensor(limits, device=device)

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor, **_: object) -> torch.Tensor:  # noqa: ARG002  # called so
        """Return which rows have ended."""
        return input_ids.shape[1] - self._prompt_length >= self._limits
