"""What is minimised: labelled spectra for vetting, and spectra without labels for masked pre-training."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from specvi_baselines.networks.settings import Grid
from specvi_baselines.networks.tensors import LEAST_SEEN, stack
from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.splits import Split


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """Labelled inputs, ``(n, …)`` each: what the network takes, the column of its task, truth, and weight.

    Weights are such that every class of every task counts the same, and their mean is 1.
    """

    inputs: tuple[Tensor, ...]
    column: Tensor
    positive: Tensor
    weight: Tensor
    label_smoothing: float = 0.0

    def __len__(self) -> int:
        return len(self.column)

    def losses(self, network: nn.Module, rows: Tensor, inputs: Sequence[Tensor]) -> Tensor:
        """Return ``(rows,)`` weighted cross-entropies of each candidate's own task."""
        logits = network(*inputs).gather(1, self.column[rows, None].to(inputs[0].device))[:, 0]
        smooth = self.label_smoothing if network.training else 0.0
        target = (self.positive[rows] * (1 - 2 * smooth) + smooth).to(logits.device)
        losses = functional.binary_cross_entropy_with_logits(logits.float(), target, reduction="none")
        return losses * self.weight[rows].to(logits.device)


@dataclass(frozen=True, slots=True, eq=False)
class Unlabelled:
    """Spectra for masked pre-training; the network gives the losses itself."""

    inputs: tuple[Tensor, ...]

    def __len__(self) -> int:
        return len(self.inputs[0])

    def losses(self, network: nn.Module, rows: Tensor, inputs: Sequence[Tensor]) -> Tensor:
        """Return ``(rows,)`` losses."""
        assert len(rows) == len(inputs[0])
        losses: Tensor = network(*inputs)
        return losses


Objective = Labelled | Unlabelled


def labelled(
    split: Split, tasks: Sequence[str], grid: Grid, *, where: str, label_smoothing: float = 0.0
) -> Labelled:
    """Return the candidates of a part as tensors; those of which the grid sees nothing are left out.

    Raises
    ------
    UserError
        A task has candidates of one class only, or none; or there are tasks that are not to be learnt.
    """
    if strange := sorted(set(split.tasks) - set(tasks)):
        raise UserError(
            "a task is not in the train part", where=f"split {split.name}, {where}", got=", ".join(strange)
        )
    made = stack([candidate.spectrum for candidate in split.candidates], grid)
    seen = made.seen() >= LEAST_SEEN
    column = torch.tensor([tasks.index(candidate.task.key) for candidate in split.candidates])[seen]
    positive = torch.tensor([float(candidate.truth == "YES") for candidate in split.candidates])[seen]
    counts = torch.stack(
        [torch.bincount(column[positive == truth], minlength=len(tasks)) for truth in (0.0, 1.0)], dim=1
    )
    lacking = [
        f"{task}: {int(no)} NO, {int(yes)} YES"
        for task, (no, yes) in zip(tasks, counts.tolist(), strict=True)
        if not (no and yes)
    ]
    if lacking:
        raise UserError(
            "a task has one class only, and can't be learnt",
            where=f"split {split.name}, {where}",
            expected="YES and NO of every task, with spectra in the network's range",
            got=examples(lacking),
            fix="a split with both classes of each task",
        )
    weight = (1 / counts.float())[column, positive.long()]
    return Labelled(
        inputs=(made.flux[seen], made.ivar[seen]),
        column=column,
        positive=positive,
        weight=weight * len(weight) / weight.sum(),
        label_smoothing=label_smoothing,
    )
