"""Makes a network of its settings."""

import torch
from torch import nn

from specvi_baselines.networks.carbonnet import CarbonNetStyle
from specvi_baselines.networks.gaianet import GaiaNetStyle
from specvi_baselines.networks.settings import Settings
from specvi_baselines.networks.specformer import Vetting
from specvi_baselines.networks.spectrum_net import SpectrumNet


def build(name: str, settings: Settings, tasks: int, references: int = 0) -> nn.Module:
    """Return a network with fresh weights from torch's generator; ``references`` for the read-out ``knn``.

    It takes flux and inverse variance, ``(n, pixels)`` each, and gives ``(n, tasks)`` logits of P(YES) at equal
    shares. Weights lie channels last, which halves the time of the CNNs on a processor.
    """
    pixels, given = settings.grid.pixels, dict(settings.network)
    network: nn.Module
    match name:
        case "carbonnet-style":
            network = CarbonNetStyle(pixels, tasks, **given)
        case "gaianet-style":
            network = GaiaNetStyle(tasks, **given)
        case "specformer":
            network = Vetting(pixels, tasks, settings.readout or "finetuned", references=references, **given)
        case "spectrum-net":
            network = SpectrumNet(pixels, tasks, **given)
        case _:
            raise ValueError(name)
    laid: nn.Module = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # not in torch's stubs
    return laid
