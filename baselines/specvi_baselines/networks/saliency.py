"""What a trained network looks at: integrated gradients of a task's logit over flux, and where they fall."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from captum.attr import IntegratedGradients
from torch import nn

from specvi_baselines.networks.settings import Grid
from specvi_baselines.networks.tensors import LEAST_SEEN, continuum, stack
from specvi_benchmark.errors import UserError
from specvi_benchmark.features import choose_shift
from specvi_benchmark.features.continuum import BIN_KMS, CONTINUUM_KMS
from specvi_benchmark.features.resolution import LIGHT_KMS
from specvi_benchmark.probes.stretches import seen_stretches
from specvi_benchmark.spectrum import BoolArray, FloatArray
from specvi_benchmark.vetting import Question

STEPS = 64
"""Points of the integral; the sum of the attribution then meets the change of the logit to a percent as a rule, to a
tenth at worst. Four times as many change the shares by less than 0.001."""

Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Share:
    """How much of the attribution falls into some stretches: ``share``, where ``width`` of the pixels lie.

    Chance would give share = width; ``lift`` is their ratio.
    """

    share: float
    width: float

    @property
    def lift(self) -> float:
        """Return how many times more than by chance."""
        return self.share / self.width if self.width else np.nan


@dataclass(frozen=True, slots=True, eq=False)
class Saliency:
    """Integrated gradients of one question; arrays ``(pixels,)`` on the network's grid, observed frame.

    Attributes
    ----------
    wavelength_AA, flux, known
        The spectrum as the network reads it.
    attribution
        Of the logit, in its unit; positive speaks for YES. Zero where nothing is known.
    p_yes
        P(YES) at equal shares.
    residue
        Change of the logit from baseline to spectrum, less the sum of the attribution: what the integral missed.
    windows, decisive
        The share that falls on the task's windows, and on the stretches that the probe `masked` hides; None where
        the task's stretches can't be placed (a quasar without a redshift).
    """

    wavelength_AA: FloatArray
    flux: FloatArray
    known: BoolArray
    attribution: FloatArray
    p_yes: float
    residue: float
    windows: Share | None
    decisive: Share | None


def saliency(network: nn.Module, question: Question, tasks: Sequence[str], grid: Grid) -> Saliency:
    """Attribute the logit of a question's task to the pixels of its spectrum.

    The baseline is the spectrum's own continuum (a running median over 42,000 km/s): what is explained is what
    lines and bands add to it. Sundararajan, Taly & Yan 2017, ICML (arXiv 1703.01365).

    Raises
    ------
    UserError
        The network has not learnt the task, or the spectrum lies outside of its range.
    """
    task = question.task.key
    if task not in tasks:
        raise UserError(
            "the network has not learnt this task", where=f"task {task}", expected=", ".join(tasks)
        )
    read = stack([question.spectrum], grid)
    if float(read.seen()) < LEAST_SEEN:
        raise UserError("the spectrum covers next to nothing of the network's range", where=question.id)
    column = tasks.index(task)
    good = read.ivar > 0
    baseline = torch.where(good, _continuum(read.flux, good, grid), 0.0)
    found, delta = IntegratedGradients(network).attribute(
        read.flux,
        baselines=baseline,
        target=column,
        additional_forward_args=(read.ivar,),
        n_steps=STEPS,
        internal_batch_size=16,
        return_convergence_delta=True,
    )
    with torch.inference_mode():
        p_yes = float(network(read.flux, read.ivar)[0, column].sigmoid())
    attribution = np.where(good[0].numpy(), found[0].detach().numpy(), 0.0).astype(np.float64)
    wavelength, known = grid.wavelength_AA, good[0].numpy()
    stretches = seen_stretches(question)
    windows = _windows(question)
    return Saliency(
        wavelength_AA=wavelength,
        flux=read.flux[0].numpy().astype(np.float64),
        known=known,
        attribution=attribution,
        p_yes=p_yes,
        residue=float(delta),
        windows=None if windows is None else share_of(attribution, wavelength, known, windows),
        decisive=None if stretches is None else share_of(attribution, wavelength, known, stretches[0]),
    )


def share_of(
    attribution: FloatArray, wavelength_AA: FloatArray, known: BoolArray, stretches: Sequence[Range]
) -> Share:
    """Return the share of the size of the attribution within stretches, and the share of known pixels there."""
    inside = np.zeros(wavelength_AA.size, dtype=np.bool_)
    for low, high in stretches:
        inside |= (wavelength_AA >= low) & (wavelength_AA <= high)
    size = np.abs(attribution)
    total = float(size.sum())
    return Share(
        share=float(size[inside].sum()) / total if total else 0.0,
        width=float((inside & known).sum()) / max(1, int(known.sum())),
    )


def _windows(question: Question) -> tuple[Range, ...] | None:
    """Return the task's windows in the observed frame."""
    if question.task.frame == "observed":
        return None
    stretch = 1 + choose_shift(question.redshift, question.task.frame).redshift
    return tuple((low * stretch, high * stretch) for low, high in (w.range_AA for w in question.task.windows))


def _continuum(flux: torch.Tensor, good: torch.Tensor, grid: Grid) -> torch.Tensor:
    pixel_kms = LIGHT_KMS * np.log(grid.last_AA / grid.first_AA) / (grid.pixels - 1)
    bins = max(1, round(BIN_KMS / pixel_kms))
    return continuum(flux, good, bins, round(CONTINUUM_KMS / (bins * pixel_kms)))
