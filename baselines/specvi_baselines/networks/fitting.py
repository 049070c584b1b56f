"""Trains a network on a split's train part and writes its model folder."""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from specvi_baselines import calibration
from specvi_baselines.networks.augment import Augmenter
from specvi_baselines.networks.build import build
from specvi_baselines.networks.folder import MODEL_FILE, Learnt, Metrics, read_model, read_record, write_model
from specvi_baselines.networks.inference import probabilities
from specvi_baselines.networks.objectives import Labelled, labelled
from specvi_baselines.networks.options import Options
from specvi_baselines.networks.pretraining import pretrained, read_out
from specvi_baselines.networks.training import DEV_BATCH, Report, Stage, State, batches, train
from specvi_benchmark.hub.surveys import is_simulated
from specvi_benchmark.runs.fitting import CalibrationPart
from specvi_benchmark.scoring.probability import auroc
from specvi_benchmark.splits import Split


@dataclass(frozen=True, slots=True)
class Untrained:
    """A network before it has learnt anything. One network learns all tasks of the train part, an output each."""

    name: str
    options: Options
    resumes: bool = True

    @property
    def config(self) -> Mapping[str, Any]:
        """Return what changes a training, and the verdicts after it."""
        return {"network": self.name, **self.options.config}

    def fit(self, train: Split, dev: Split, out: Path, seed: int) -> None:
        """Train on the train part until dev gets no better; go on from a checkpoint that lies in ``out``.

        A network that lies there whole is left as it is: what comes after training was killed.

        Raises
        ------
        UserError
            A task has one class only, in train or in dev.
        """
        if not (out / MODEL_FILE).exists():
            self._train(train, dev, out, seed)
        for checkpoint in out.glob("checkpoint-*.pt"):
            checkpoint.unlink()

    def _train(self, train: Split, dev: Split, out: Path, seed: int) -> None:
        settings, tasks = self.options.settings, train.tasks
        learnt = labelled(
            train, tasks, settings.grid, where="train", label_smoothing=settings.training.label_smoothing
        )
        held = labelled(dev, tasks, settings.grid, where="dev")
        report = _on_stderr(self.name)
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            references = len(learnt) if settings.readout == "knn" else 0
            network = build(self.name, settings, len(tasks), references)
        about: dict[str, Any] = {"references": references}
        history: dict[str, Any] = {}
        if self.name == "specformer":
            about |= pretrained(network, (train, dev), self.options, out, seed, history, report)
        stage = Stage("training", settings.training, seed, out)
        state = self._trained(network, learnt, held, stage, report)
        history["training"] = tuple(state.history)
        write_model(
            out,
            network,
            name=self.name,
            setting=self.options.setting,
            settings=settings,
            tasks=tasks,
            seed=seed,
            train=_learnt(train),
            metrics=Metrics(
                best_epoch=state.best_epoch,
                dev_log_loss=_log_loss(network, held),
                dev_auroc=_aurocs(network, held, tasks),
                history=history,
            ),
            **about,
        )

    def calibrate(self, held: Split, part: CalibrationPart, out: Path) -> None:
        """Fit each task's sigmoid on a part that was not trained on."""
        record = read_record(out, self.name)
        network = read_model(out, record)
        raw = {}
        for column, task in enumerate(record.tasks):
            spectra = [candidate.spectrum for candidate in held.select(task=task).candidates]
            raw[task] = probabilities(network, spectra, record.settings.grid)[:, column]
        calibration.calibrate(held, part, raw, out)

    def _trained(
        self, network: nn.Module, learnt: Labelled, held: Labelled, stage: Stage, report: Report
    ) -> State:
        settings = self.options.settings
        if self.name == "specformer" and settings.readout != "finetuned":
            return read_out(network, learnt, held, settings, stage, report)
        augment = None if settings.augmentation is None else Augmenter(settings.augmentation, settings.grid)
        return train(network, learnt, held, stage, augment=augment, report=report)


def _learnt(split: Split) -> Learnt:
    counts = {task: Counter(c.truth for c in split.candidates if c.task.key == task) for task in split.tasks}
    return Learnt(
        split=f"{split.name} {split.version}",
        fingerprint=split.fingerprint,
        candidates={task: {"YES": found["YES"], "NO": found["NO"]} for task, found in counts.items()},
        simulated=any(is_simulated(candidate.spectrum.survey) for candidate in split.candidates),
    )


@torch.no_grad()
def _logits(network: nn.Module, held: Labelled) -> torch.Tensor:
    network.cpu().eval()
    flux, ivar = held.inputs
    found = [network(flux[rows], ivar[rows]) for rows in batches(torch.arange(len(held)), DEV_BATCH)]
    return torch.cat(found).gather(1, held.column[:, None])[:, 0]


def _log_loss(network: nn.Module, held: Labelled) -> float:
    losses = nn.functional.binary_cross_entropy_with_logits(
        _logits(network, held), held.positive, reduction="none"
    )
    return float((losses * held.weight).mean())


def _aurocs(network: nn.Module, held: Labelled, tasks: Sequence[str]) -> dict[str, float]:
    p = _logits(network, held).sigmoid().numpy().astype(np.float64)
    positive, column = held.positive.numpy() > 0, held.column.numpy()
    return {task: auroc(positive[column == place], p[column == place]) for place, task in enumerate(tasks)}


def _on_stderr(name: str) -> Report:
    """Return what tells an epoch: one line that is overwritten on a terminal, a line each elsewhere."""

    def tell(words: str) -> None:
        on_line = sys.stderr.isatty()
        sys.stderr.write(f"\r{name}, {words}\x1b[K" if on_line else f"{name}, {words}\n")
        sys.stderr.flush()

    return tell
