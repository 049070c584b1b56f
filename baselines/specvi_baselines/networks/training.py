"""The training loop: epochs on Accelerate, early stopping on `dev`, and a checkpoint after each epoch.

Everything random in an epoch comes from the seed and the number of the epoch, so that training that was killed
goes on from its checkpoint to the very same weights (on the same machine, with the same number of threads).
"""

import hashlib
import io
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch import Generator, Tensor, nn

from specvi_baselines.networks.objectives import Objective
from specvi_baselines.networks.settings import Training
from specvi_benchmark.errors import UserError
from specvi_benchmark.files import write_bytes

CHECKPOINT = "checkpoint-{stage}.pt"
DEV_BATCH = 256

Augment = Callable[[Tensor, Tensor, Generator], tuple[Tensor, Tensor]]
Report = Callable[[str], None]


@dataclass(slots=True)
class State:
    """How far a stage is: what a checkpoint holds beside the weights. ``best`` are those of the best dev loss."""

    epoch: int = 0
    best_epoch: int = 0
    best_loss: float = math.inf
    best: dict[str, Tensor] = field(default_factory=dict)
    history: list[dict[str, float]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Stage:
    """One training: its name, how, its seed, and the folder of its checkpoint."""

    name: str
    settings: Training
    seed: int
    folder: Path

    @property
    def checkpoint(self) -> Path:
        """Return where the checkpoint lies."""
        return self.folder / CHECKPOINT.format(stage=self.name)

    def generator(self, epoch: int) -> int:
        """Return the seed of one epoch."""
        words = f"{self.name} {self.seed} {epoch}".encode()
        return int.from_bytes(hashlib.sha256(words).digest()[:7], "big")


def train(
    network: nn.Module,
    learnt: Objective,
    held: Objective,
    stage: Stage,
    *,
    augment: Augment | None = None,
    report: Report = lambda _: None,
) -> State:
    """Train what of a network asks for gradients; leave it with the weights of the best dev loss.

    Raises
    ------
    UserError
        The loss is no number any more, or several processes were launched.
    """
    accelerator = _accelerator()
    optimiser = _optimiser(network, stage.settings)
    network, optimiser = accelerator.prepare(network, optimiser)
    state = _resumed(network, optimiser, stage)
    if state.epoch:
        report(f"{stage.name}: going on after epoch {state.epoch}")
    while not _is_done(state, stage.settings):
        with torch.random.fork_rng():
            loss = _one_epoch(network, learnt, optimiser, accelerator, stage, state.epoch, augment)
            dev_loss = mean_loss(network, held, accelerator)
        if not math.isfinite(loss + dev_loss):
            raise UserError(
                "training lost its way: the loss is no number",
                where=f"{stage.name}, epoch {state.epoch + 1}",
                fix="a smaller learning_rate, or another seed",
            )
        state.epoch += 1
        state.history.append({"epoch": state.epoch, "loss": loss, "dev_loss": dev_loss})
        if dev_loss < state.best_loss:
            state.best_loss, state.best_epoch = dev_loss, state.epoch
            state.best = {name: value.detach().clone() for name, value in network.state_dict().items()}
        save_checkpoint(network, optimiser, state, stage)
        report(
            f"{stage.name}: epoch {state.epoch} of {stage.settings.epochs}, loss {loss:.4f}, dev {dev_loss:.4f}"
        )
    network.load_state_dict(state.best)
    return state


@torch.no_grad()
def mean_loss(network: nn.Module, objective: Objective, accelerator: Accelerator) -> float:
    """Return the mean loss over all rows, without augmentation or dropout."""
    network.eval()
    total = 0.0
    for rows in batches(torch.arange(len(objective)), DEV_BATCH):
        inputs = [one[rows].to(accelerator.device) for one in objective.inputs]
        with accelerator.autocast():
            total += float(objective.losses(network, rows, inputs).sum())
    return total / len(objective)


def batches(rows: Tensor, size: int) -> Iterator[Tensor]:
    """Yield so many rows at a time."""
    for first in range(0, len(rows), size):
        yield rows[first : first + size]


def save_checkpoint(network: nn.Module, optimiser: Any, state: State, stage: Stage) -> None:
    """Write weights, optimiser and history in one atomic step; only tensors and plain values are in it.

    By way of memory: torch's own writer turns a full disk into an error about its archive.
    """
    content = {
        "network": network.state_dict(),
        "optimiser": optimiser.state_dict(),
        "state": {name: getattr(state, name) for name in State.__slots__},
    }
    memory = io.BytesIO()
    torch.save(content, memory)
    write_bytes(stage.checkpoint, memory.getvalue())


def _one_epoch(
    network: nn.Module,
    learnt: Objective,
    optimiser: Any,
    accelerator: Accelerator,
    stage: Stage,
    epoch: int,
    augment: Augment | None,
) -> float:
    settings = stage.settings
    torch.manual_seed(
        stage.generator(epoch)
    )  # dropout and masks; a copy of the generator's state is put back after
    generator = Generator().manual_seed(stage.generator(epoch) + 1)
    network.train()
    order = list(batches(torch.randperm(len(learnt), generator=generator), settings.batch))
    total = 0.0
    for number, rows in enumerate(order):
        inputs = tuple(one[rows] for one in learnt.inputs)
        if augment is not None:
            inputs = augment(inputs[0], inputs[1], generator)
        for group in optimiser.param_groups:
            group["lr"] = _rate(settings, epoch + number / len(order))
        with accelerator.autocast():
            loss = learnt.losses(network, rows, [one.to(accelerator.device) for one in inputs]).mean()
        accelerator.backward(loss)
        if settings.clip is not None:
            accelerator.clip_grad_norm_(network.parameters(), settings.clip)
        optimiser.step()
        optimiser.zero_grad()
        total += float(loss.detach()) * len(rows)
    return total / len(learnt)


def _accelerator() -> Accelerator:
    """Return one process on the machine's GPU, in bfloat16, or else on its processor, in float32."""
    accelerator = Accelerator(mixed_precision="bf16" if torch.cuda.is_available() else "no")
    if accelerator.num_processes > 1:
        raise UserError(
            "a network is trained by one process",
            where="accelerate launch",
            got=f"{accelerator.num_processes} processes",
            fix="start it without a launcher; one GPU holds all of the data",
        )
    return accelerator


def _optimiser(network: nn.Module, settings: Training) -> torch.optim.Optimizer:
    trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
    if settings.optimiser == "sgd":
        return torch.optim.SGD(
            trained, settings.learning_rate, momentum=settings.momentum, weight_decay=settings.weight_decay
        )
    groups = [  # biases, norms and queries are not decayed
        {"params": [one for one in trained if one.ndim > 1], "weight_decay": settings.weight_decay},
        {"params": [one for one in trained if one.ndim <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, settings.learning_rate, betas=(0.9, settings.beta2))


def _rate(settings: Training, epoch: float) -> float:
    """Return the learning rate at a moment: a linear warm-up, then constant, or a cosine to a hundredth."""
    if epoch < settings.warmup_epochs:
        return settings.learning_rate * max(epoch / settings.warmup_epochs, 0.01)
    if settings.schedule == "constant":
        return settings.learning_rate
    done = (epoch - settings.warmup_epochs) / max(settings.epochs - settings.warmup_epochs, 1e-9)
    return settings.learning_rate * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(done, 1.0))))


def _is_done(state: State, settings: Training) -> bool:
    return state.epoch >= settings.epochs or state.epoch - state.best_epoch >= settings.patience


def _resumed(network: nn.Module, optimiser: Any, stage: Stage) -> State:
    if not stage.checkpoint.exists():
        return State()
    content = torch.load(stage.checkpoint, map_location="cpu", weights_only=True)
    network.load_state_dict(content["network"])
    optimiser.load_state_dict(content["optimiser"])
    return State(**content["state"])
