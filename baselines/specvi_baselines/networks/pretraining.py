"""What only `specformer` does: begin with published weights or masked pre-training, and read out a frozen encoder."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Generator, nn

from specvi_baselines.networks.objectives import Labelled, Unlabelled
from specvi_baselines.networks.options import Options
from specvi_baselines.networks.published import load_published
from specvi_baselines.networks.settings import Settings
from specvi_baselines.networks.specformer import MaskedReconstruction, Neighbours, Vetting
from specvi_baselines.networks.tensors import Stack, stack
from specvi_baselines.networks.training import DEV_BATCH, Report, Stage, State, batches, train
from specvi_benchmark.archive.source import StoredArchive
from specvi_benchmark.archive.store.store import INFO
from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.splits import Split
from specvi_benchmark.splits.named import find_split


def pretrained(
    network: nn.Module,
    parts: tuple[Split, Split],
    options: Options,
    out: Path,
    seed: int,
    history: dict[str, Any],
    report: Report,
) -> dict[str, Any]:
    """Give the encoder published weights, or pre-train it; return what the model record says of it.

    ``parts`` are train and dev, whose labels are not looked at here.
    """
    assert isinstance(network, Vetting)
    settings, (train_part, dev) = options.settings, parts
    if options.weights is not None:
        return {"published_weights": load_published(network.encoder, Path(options.weights).expanduser())}
    if settings.pretraining is None or settings.masking is None:
        return {}
    spectra = [candidate.spectrum for candidate in train_part.candidates]
    if options.unlabelled is not None:
        spectra += list(unlabelled_spectra(options.unlabelled))
    learnt = stack(spectra, settings.grid)
    held = stack([candidate.spectrum for candidate in dev.candidates], settings.grid)
    stage = Stage("pretraining", settings.pretraining, seed, out)
    task = MaskedReconstruction(network.encoder, settings.masking)
    state = train(task, _without_labels(learnt), _without_labels(held), stage, report=report)
    history["pretraining"] = tuple(state.history)
    return {"unlabelled": len(learnt)}


def unlabelled_spectra(source: str) -> Iterator[Spectrum]:
    """Yield the spectra of an archive, or those of a split's train and dev parts; no label is read.

    What is to be scored (parts cal and test) is left out, though labels are not looked at: its spectra would
    shape the encoder that is tested on them.
    """
    path = Path(source).expanduser()
    if (path / INFO).is_file():
        archive = StoredArchive.open(path)
        for shard in range(archive.shards):
            yield from (record.spectrum for record in archive.read_shard(shard))
        return
    for candidate in find_split(source).candidates:
        if candidate.part in ("train", "dev"):
            yield candidate.spectrum


def read_out(
    network: nn.Module, learnt: Labelled, held: Labelled, settings: Settings, stage: Stage, report: Report
) -> State:
    """Train a read-out on the embeddings of a frozen encoder; ``knn`` only remembers them."""
    assert isinstance(network, Vetting)
    if settings.readout == "few-shot":
        learnt = few(learnt, settings.few_shot, stage.seed)
    embedded, embedded_held = (_embedded(network, one) for one in (learnt, held))
    if isinstance(network.reader, Neighbours):
        labels = torch.zeros(len(learnt), network.reader.labels.shape[1])
        labels[torch.arange(len(learnt)), learnt.column] = 2 * learnt.positive - 1
        network.reader.remember(embedded.inputs[0], labels)
        return State()
    return train(network.reader, embedded, embedded_held, stage, report=report)


def few(learnt: Labelled, labels: int, seed: int) -> Labelled:
    """Return so many labels of each class of each task, drawn by the seed."""
    order = torch.randperm(len(learnt), generator=Generator().manual_seed(seed))
    group = (2 * learnt.column + learnt.positive.long())[order]
    rank = torch.stack([(group[: place + 1] == one).sum() for place, one in enumerate(group)])
    rows = order[rank <= labels].sort().values
    weight = learnt.weight[rows]
    return Labelled(
        inputs=tuple(one[rows] for one in learnt.inputs),
        column=learnt.column[rows],
        positive=learnt.positive[rows],
        weight=weight * len(weight) / weight.sum(),
        label_smoothing=learnt.label_smoothing,
    )


@torch.no_grad()
def _embedded(network: Vetting, part: Labelled) -> Labelled:
    network.cpu().eval()
    found = [
        network.encoder.embed(part.inputs[0][rows], part.inputs[1][rows])
        for rows in batches(torch.arange(len(part)), DEV_BATCH)
    ]
    return Labelled((torch.cat(found),), part.column, part.positive, part.weight, part.label_smoothing)


def _without_labels(spectra: Stack) -> Unlabelled:
    return Unlabelled((spectra.flux, spectra.ivar))
