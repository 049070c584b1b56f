"""Asks a trained network about spectra, a batch at a time."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from specvi_baselines.networks.settings import Grid
from specvi_baselines.networks.tensors import LEAST_SEEN, stack
from specvi_benchmark.spectrum import FloatArray, Spectrum

BATCH = 64


@torch.inference_mode()
def probabilities(network: nn.Module, spectra: Sequence[Spectrum], grid: Grid) -> FloatArray:
    """Return ``(n, tasks)`` P(YES) at equal shares; NaN for a spectrum of which the grid sees next to nothing."""
    found = []
    for first in range(0, len(spectra), BATCH):
        batch = stack(spectra[first : first + BATCH], grid)
        p = network(batch.flux, batch.ivar).double().sigmoid()
        found.append(torch.where((batch.seen() >= LEAST_SEEN)[:, None], p, torch.nan).numpy())
    return np.concatenate(found) if found else np.empty((0, 1))
