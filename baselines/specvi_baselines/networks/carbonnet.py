"""The network of `carbonnet-style`: a one-dimensional CNN of six blocks.

Known: CarbonNet (He et al. 2024, ApJS 274, 6; VizieR J/ApJS/274/6) is a one-dimensional CNN of five classes that
found carbon stars in LAMOST DR9 low-resolution spectra. Its layer table is not public.

Inferred: the nearest public network of the same group, for hot subdwarfs (Tan et al. 2022, ApJS 259, 5), has six
blocks of convolution, batch normalisation, ReLU and max-pooling, kernels 2, 3, 4, 5, 7, 9, channels 10 to 60, pools
of 2 with strides 1, 2, 1, 2, 2, 2, then a layer of 1024; its input is the first 3700 pixels, min–max scaled for each
spectrum. We take these, because authors tend to build on their last network.

Ours: one output a task instead of five classes (a softmax over classes would need labels that the benchmark's
negatives don't have); dropout before the last layer; AdamW and early stopping instead of 2500 epochs of SGD at a
rate of 1e-4; and lines over bad pixels, since min–max scaling and convolution know no mask. Pooling stands before
ReLU, which gives the same numbers for less work.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from specvi_baselines.networks.tensors import filled

_RANGE = 1e-3  # of the scaled flux: a constant spectrum becomes zeros, not a division by zero


class CarbonNetStyle(nn.Module):
    """``forward(flux, ivar)``, ``(n, pixels)`` each → ``(n, tasks)`` logits. ``ivar`` says where flux is known."""

    def __init__(
        self,
        pixels: int,
        tasks: int,
        channels: Sequence[int],
        kernels: Sequence[int],
        strides: Sequence[int],
        hidden: int,
        dropout: float,
    ) -> None:
        super().__init__()
        blocks: list[nn.Module] = []
        length, before = pixels, 1
        for width, kernel, stride in zip(channels, kernels, strides, strict=True):
            blocks += [
                nn.Conv2d(before, width, (1, kernel)),
                nn.BatchNorm2d(width),
                nn.MaxPool2d((1, 2), (1, stride)),
                nn.ReLU(),
            ]
            length, before = (length - kernel + 1 - 2) // stride + 1, width
        # As images one pixel high, channels last: convolutions of few channels run at twice the speed on processors.
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Sequential(
            nn.Flatten(),
            nn.Linear(before * length, hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, tasks),
        )

    def forward(self, flux: Tensor, ivar: Tensor) -> Tensor:
        """Scale each spectrum to 0…1, and classify it."""
        known = filled(flux, ivar > 0)
        low, high = known.amin(dim=1, keepdim=True), known.amax(dim=1, keepdim=True)
        scaled = (known - low) / (high - low).clamp(min=_RANGE)
        image = scaled[:, None, None, :].contiguous(memory_format=torch.channels_last)
        logits: Tensor = self.head(self.blocks(image))
        return logits
