"""The network of `specformer`: AstroCLIP's spectrum encoder, with read-outs for vetting.

Known (Parker et al. 2024, MNRAS 531, 4990, and the released code): a spectrum is z-scored, σ no smaller than 0.2, and
cut into slices of 20 pixels every 10; two constant zeros stand before each slice, and one more token first, which
holds (mean − 2) / 2 and (σ − 2) / 8. A linear layer makes tokens, learnt positions are added, pre-norm transformer
blocks follow (published: 6, 6 heads, width 768), a final norm and a head that tells the slices again. It is
pre-trained by hiding runs of tokens and telling them from the rest. Parts are named as in the published weights.

Not known: how the published comparison brought it to LAMOST, and which read-out it used.

Ours: bad pixels are bridged by straight lines, since the encoder knows no mask, and pixels beyond the data are level.
Pre-training hides runs in proportion to the number of tokens, as 6 runs of 50 would hide most of a short spectrum.
Flux is in units of the spectrum's median, since surveys' units differ: the level that the first token holds is
that of this scale. Layers begin as torch makes them, where the release scales their weights by depth. Four read-outs:
``finetuned`` (an MLP on the mean token, everything trained), ``head`` (the same MLP on a frozen encoder), ``few-shot``
(a small MLP, frozen encoder, a few labels a class), ``knn`` (the nearest labelled spectra vote by distance; nothing is
trained). Each MLP standardises the mean token first, number by number, over spectra. Of a fresh encoder's mean token
nine tenths (of its squared length, `small` on SpecVI-Mini) are the same for all spectra, as positions and biases outlive
the final norm, and two directions, the slope of the continuum, hold 95 % of the rest. What all share drowns the gradient
of a line. Linear probes of masked autoencoders standardise likewise (He et al. 2022, CVPR, appendix A.1).
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from specvi_baselines.networks.attention import Block
from specvi_baselines.networks.settings import Masking, Readout
from specvi_baselines.networks.tensors import filled

SLICE, EVERY, PADDED = 20, 10, 2
LEAST_SIGMA = 0.2
NEIGHBOURS = 64
"""AstroCLIP's zero-shot read-out asks so many neighbours."""

MLP_LAYERS = (128, 128, 128)
FEW_SHOT_LAYERS = (64, 64)
MLP_DROPOUT = 0.2


class SpecFormer(nn.Module):
    """The encoder. Its state has the names of the published weights."""

    def __init__(self, width: int, depth: int, heads: int, longest: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.data_embed = nn.Linear(SLICE + PADDED, width)
        self.position_embed = nn.Embedding(longest, width)
        self.blocks = nn.ModuleList(Block(width, heads, dropout) for _ in range(depth))
        self.final_layernorm = nn.LayerNorm(width)
        self.head = nn.Linear(width, SLICE + PADDED)
        for embedding in (self.data_embed, self.position_embed):
            nn.init.trunc_normal_(embedding.weight, std=1 / math.sqrt(width))

    def slices(self, flux: Tensor, ivar: Tensor) -> Tensor:
        """Return ``(n, tokens, 22)``, what the encoder reads."""
        known = filled(flux, ivar > 0)
        mean = known.mean(dim=1, keepdim=True)
        sigma = known.std(dim=1, keepdim=True).clamp(min=LEAST_SIGMA)
        cut = ((known - mean) / sigma).unfold(1, SLICE, EVERY)
        level = functional.pad(torch.cat([(mean - 2) / 2, (sigma - 2) / 8], dim=1), (0, SLICE))
        return torch.cat([level[:, None], functional.pad(cut, (PADDED, 0))], dim=1)

    def forward(self, slices: Tensor) -> Tensor:
        """Return ``(n, tokens, width)`` behind the final norm."""
        places = self.position_embed.weight[: slices.shape[1]]
        tokens = self.data_embed(slices) + places
        for block in self.blocks:
            tokens = block(tokens)
        found: Tensor = self.final_layernorm(tokens)
        return found

    def embed(self, flux: Tensor, ivar: Tensor) -> Tensor:
        """Return ``(n, width)``: the mean token."""
        found: Tensor = self(self.slices(flux, ivar)).mean(dim=1)
        return found


class MaskedReconstruction(nn.Module):
    """The pre-training task: mean squared error on the slices that were hidden."""

    def __init__(self, encoder: SpecFormer, masking: Masking) -> None:
        super().__init__()
        self.encoder, self.masking = encoder, masking

    def forward(self, flux: Tensor, ivar: Tensor) -> Tensor:
        """Return ``(n,)`` losses. Where to hide is drawn from torch's generator while training, fixed otherwise."""
        slices = self.encoder.slices(flux, ivar)
        hidden = self._hidden(len(slices), slices.shape[1]).to(slices.device)
        found = self.encoder.head(self.encoder(slices.masked_fill(hidden[:, :, None], 0.0)))
        error = ((found - slices) ** 2).mean(dim=2)
        losses: Tensor = (error * hidden).sum(dim=1) / hidden.sum(dim=1)
        return losses

    def _hidden(self, n: int, tokens: int) -> Tensor:
        """Return ``(n, tokens)`` bool: one run in each of equal stretches, as AstroCLIP places them."""
        runs, length = self.masking.runs, self.masking.tokens
        stretch = tokens // runs
        room = max(1, stretch - length)
        start = torch.randint(room, (n, runs)) if self.training else torch.full((n, runs), room // 2)
        first = start + torch.arange(runs) * stretch
        place = torch.arange(tokens)
        inside = (place >= first[:, :, None]) & (place < first[:, :, None] + length)
        return inside.any(dim=1)


class Vetting(nn.Module):
    """Encoder and read-out. ``forward(flux, ivar)``, ``(n, pixels)`` each → ``(n, tasks)`` logits."""

    def __init__(
        self,
        pixels: int,
        tasks: int,
        readout: Readout,
        width: int,
        depth: int,
        heads: int,
        dropout: float = 0.0,
        longest: int = 0,
        references: int = 0,
    ) -> None:
        super().__init__()
        self.readout = readout
        needed = (pixels - SLICE) // EVERY + 2
        self.encoder = SpecFormer(width, depth, heads, longest or needed, dropout)
        self.reader: nn.Module
        if readout == "knn":
            self.reader = Neighbours(width, tasks, references)
        elif readout == "few-shot":
            self.reader = mlp(width, FEW_SHOT_LAYERS, tasks, 0.0)
        else:
            self.reader = mlp(width, MLP_LAYERS, tasks, MLP_DROPOUT)

    def forward(self, flux: Tensor, ivar: Tensor) -> Tensor:
        """Classify."""
        logits: Tensor = self.reader(self.encoder.embed(flux, ivar))
        return logits


class Neighbours(nn.Module):
    """Votes of the nearest labelled spectra of a task, weighted by 1 / distance, as a logit."""

    references: Tensor
    labels: Tensor

    def __init__(self, width: int, tasks: int, references: int) -> None:
        super().__init__()
        self.register_buffer("references", torch.zeros(references, width))
        self.register_buffer("labels", torch.zeros(references, tasks))  # 1 YES, -1 NO, 0 another task's

    def remember(self, references: Tensor, labels: Tensor) -> None:
        """Keep labelled embeddings: ``(m, width)``, and ``(m, tasks)`` of 1 (YES), −1 (NO) or 0 (not asked)."""
        self.references, self.labels = references, labels

    def forward(self, embedding: Tensor) -> Tensor:
        """Return ``(n, tasks)`` logits; half a vote is added to each side, so that none is infinite."""
        distance = torch.cdist(embedding, self.references)
        logits = []
        for labels in self.labels.unbind(dim=1):
            asked = labels != 0
            nearest = distance[:, asked].topk(min(NEIGHBOURS, int(asked.sum())), largest=False)
            weight = 1 / nearest.values.clamp(min=1e-6)
            weight = weight / weight.sum(dim=1, keepdim=True) * weight.shape[1]
            positive = (weight * (labels[asked][nearest.indices] > 0)).sum(dim=1)
            logits.append(torch.log((positive + 0.5) / (weight.shape[1] - positive + 0.5).clamp(min=0.25)))
        return torch.stack(logits, dim=1)


class Standardise(nn.BatchNorm1d):
    """Each of an embedding's numbers less its mean over spectra, in units of its spread over them.

    Nothing in it is trained. A batch of one spectrum has no spread, and takes that of the batches before it.
    """

    def __init__(self, width: int) -> None:
        super().__init__(width, affine=False)

    def forward(self, embedding: Tensor) -> Tensor:
        """Return the embedding, ``(n, width)``, standardised."""
        if len(embedding) == 1:
            return functional.batch_norm(embedding, self.running_mean, self.running_var, eps=self.eps)
        return super().forward(embedding)


def mlp(width: int, layers: Sequence[int], tasks: int, dropout: float) -> nn.Sequential:
    """Return a multilayer perceptron from an embedding, standardised first, to one logit a task."""
    made: list[nn.Module] = [Standardise(width)]
    for after in layers:
        made += [nn.Linear(width, after), nn.ReLU(), nn.Dropout(dropout)]
        width = after
    return nn.Sequential(*made, nn.Linear(width, tasks))
