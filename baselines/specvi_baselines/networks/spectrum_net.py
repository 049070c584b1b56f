"""The network of `spectrum-net`: what a spectroscopist would build today for single-object vetting.

It reads what an observer reads: the shape of the spectrum, the lines over the local continuum, and how well each
pixel is known; bad pixels are told as such. A convolutional stem turns stretches of some 2000 km/s into tokens,
each knows its wavelength, a transformer lets lines of one series find each other, and one query a task gathers the
evidence. Stretches without data are not attended to, so a survey with another range is a shorter sentence, not
a broken one. Any survey's grid is first brought to the network's, errors with it (`networks.tensors`).
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from specvi_baselines.networks.attention import Block, TaskPooling
from specvi_baselines.networks.tensors import continuum, in_groups

CHANNELS = 4
BINS = 61
LEAST_SEEN = 0.1
"""Share of good pixels below which a token is not attended to."""

_LARGEST_SNR = 1000.0


class SpectrumNet(nn.Module):
    """``forward(flux, ivar)``, ``(n, pixels)`` each → ``(n, tasks)`` logits."""

    wavelength_code: Tensor

    def __init__(
        self,
        pixels: int,
        tasks: int,
        kernels: Sequence[int],
        width: int,
        depth: int,
        heads: int,
        bin_pixels: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.bin_pixels, self.patch = bin_pixels, 2 ** len(kernels)
        layers: list[nn.Module] = []
        before = CHANNELS
        for place, kernel in enumerate(kernels):
            after = max(16, width >> (len(kernels) - 1 - place))
            layers += [
                nn.Conv2d(before, after, (1, kernel), stride=(1, 2), padding=(0, kernel // 2)),
                nn.BatchNorm2d(after),
                nn.GELU(),
            ]
            before = after
        self.stem = nn.Sequential(*layers)
        tokens = math.ceil(pixels / self.patch)
        self.register_buffer("wavelength_code", _code(tokens, width), persistent=False)
        self.place = nn.Linear(width, width)
        self.blocks = nn.ModuleList(Block(width, heads, dropout, expansion=2) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.pooling = TaskPooling(width, tasks, dropout)

    def forward(self, flux: Tensor, ivar: Tensor) -> Tensor:
        """Classify."""
        tokens, seen = self.tokens(flux, ivar)
        logits: Tensor = self.pooling(tokens, seen)
        return logits

    def attention(self, flux: Tensor, ivar: Tensor) -> Tensor:
        """Return ``(n, tasks, tokens)`` what each task looks at."""
        tokens, seen = self.tokens(flux, ivar)
        return self.pooling.attention(tokens, seen)

    def tokens(self, flux: Tensor, ivar: Tensor) -> tuple[Tensor, Tensor]:
        """Return the tokens behind the last block, ``(n, tokens, width)``, and which of them were seen."""
        good = ivar > 0
        missing = -flux.shape[1] % self.patch
        shares = in_groups(good.float(), self.patch).mean(dim=2)
        seen = shares >= torch.clamp(shares.amax(dim=1, keepdim=True), max=LEAST_SEEN)  # always one
        channels = nn.functional.pad(self.channels(flux, ivar), (0, missing))[:, :, None, :]
        stem = self.stem(channels.contiguous(memory_format=torch.channels_last))
        tokens = stem[:, :, 0, :].transpose(1, 2) + self.place(self.wavelength_code)
        for block in self.blocks:
            tokens = block(tokens, seen)
        return self.norm(tokens), seen

    def channels(self, flux: Tensor, ivar: Tensor) -> Tensor:
        """Return ``(n, 4, pixels)``: shape, lines over the continuum, S/N of the continuum, and what is known."""
        good = ivar > 0
        level = continuum(flux, good, self.bin_pixels, BINS)
        lines = flux / level - 1
        snr = (level * ivar.sqrt()).clamp(max=_LARGEST_SNR)
        found = torch.stack([torch.asinh(2 * level) - 1, torch.asinh(2 * lines), torch.log1p(snr) / 3], dim=1)
        return torch.cat([found * good[:, None], good[:, None].to(flux.dtype)], dim=1)


def _code(tokens: int, width: int) -> Tensor:
    """Return ``(tokens, width)`` sines and cosines of the place in ln λ, from the whole range to two tokens."""
    place = (torch.arange(tokens) + 0.5) / tokens
    waves = torch.logspace(0, math.log10(max(tokens / 2, 1.1)), width // 2)
    angle = math.pi * place[:, None] * waves
    return torch.cat([angle.sin(), angle.cos()], dim=1)
