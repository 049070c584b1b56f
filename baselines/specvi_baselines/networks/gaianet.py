"""The network of `gaianet-style`: parallel branches of growing kernels on continuum-divided flux.

Known: GaiaNet (Ye et al. 2025, A&A 697, A107) is a one-dimensional CNN for Gaia XP spectra of 343 samples, min–max
scaled, that found carbon stars; what decided lay near 7733 and 8950 Å (CN). Its layer table and code are not public.

Inferred: a public network of one of its authors for LAMOST spectra carries remains of a 343-sample input, and is
taken for its relative: 3000 samples from 3900 to 9000 Å, divided by the continuum, less 1, clipped to ±1; eight
branches whose first kernels grow from 5 to 97, each convolution 1→32, pool 2, kernel 49 32→64, pool 4, kernel 3
stride 2, kernel 1 64→32, with batch normalisation and ReLU, then the maximum over wavelength and the mean over
channels: one number a branch; dropout 0.25 and a linear layer; SGD at 0.05 with momentum 0.9, 6 epochs. That the
network applied to LAMOST in the published comparison looked so is a guess.

Ours: how its continuum was found is not known; a running median over 42,000 km/s stands in, four times the
broadest line. One output a task, as for `carbonnet-style`. The small setting keeps the channels apart (``mean_channels: false``):
otherwise five tasks would have to share four numbers.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from specvi_baselines.networks.tensors import continuum, filled

CONTINUUM_KMS = 42_000.0
BINS = 61
"""Bins of a running median."""


class GaiaNetStyle(nn.Module):
    """``forward(flux, ivar)``, ``(n, pixels)`` each → ``(n, tasks)`` logits. ``ivar`` says where flux is known."""

    def __init__(
        self,
        tasks: int,
        kernels: Sequence[int],
        channels: Sequence[int],
        inner_kernel: int,
        bin_pixels: int,
        mean_channels: bool,
        dropout: float,
    ) -> None:
        super().__init__()
        self.bin_pixels, self.mean_channels = bin_pixels, mean_channels
        self.branches = nn.ModuleList(_branch(kernel, channels, inner_kernel) for kernel in kernels)
        size = len(kernels) * (1 if mean_channels else channels[-1])
        self.head = nn.Sequential(nn.Dropout(dropout), nn.Linear(size, tasks))

    def forward(self, flux: Tensor, ivar: Tensor) -> Tensor:
        """Divide by the continuum, and classify."""
        good = ivar > 0
        level = continuum(flux, good, self.bin_pixels, BINS)
        lines = ((filled(flux, good) / level) - 1).clamp(-1, 1)[:, None, None, :]
        lines = lines.contiguous(memory_format=torch.channels_last)
        seen = [branch(lines).amax(dim=(2, 3)) for branch in self.branches]
        if self.mean_channels:
            seen = [found.mean(dim=1, keepdim=True) for found in seen]
        logits: Tensor = self.head(torch.cat(seen, dim=1))
        return logits


def _branch(kernel: int, channels: Sequence[int], inner_kernel: int) -> nn.Sequential:
    first, second, last = channels

    def block(before: int, after: int, size: int, *, stride: int = 1, pool: int = 1) -> list[nn.Module]:
        made = [
            nn.Conv2d(before, after, (1, size), stride=(1, stride), padding=(0, size // 2)),
            nn.BatchNorm2d(after),
        ]
        return [*made, nn.MaxPool2d((1, pool)), nn.ReLU()] if pool > 1 else [*made, nn.ReLU()]

    return nn.Sequential(
        *block(1, first, kernel, pool=2),
        *block(first, second, inner_kernel, pool=4),
        *block(second, second, 3, stride=2),
        *block(second, last, 1),
    )
