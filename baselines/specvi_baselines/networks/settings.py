"""Settings of a network: one file each, with a full-size setting and smaller ones; and the options that change them."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Literal

import numpy as np
from pydantic import Field, model_validator

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import StrictModel, parse_yaml, validate
from specvi_benchmark.spectrum import FloatArray

NAMES = ("carbonnet-style", "gaianet-style", "specformer", "spectrum-net")
Readout = Literal["finetuned", "head", "few-shot", "knn"]
DEFAULT_SETTING = "small"


class Grid(StrictModel):
    """The wavelengths a network reads, vacuum Å, observed frame; every spectrum is brought to them."""

    first_AA: float = Field(gt=0)
    last_AA: float
    pixels: int = Field(ge=16)
    spacing: Literal["log", "linear"]

    @property
    def wavelength_AA(self) -> FloatArray:
        """Return ``(pixels,)`` the centres."""
        make = np.geomspace if self.spacing == "log" else np.linspace
        found: FloatArray = make(self.first_AA, self.last_AA, self.pixels)
        return found


class Augmentation(StrictModel):
    """What a training spectrum may go through, each drawn anew each time. Zero turns it off.

    Attributes
    ----------
    velocity_kms
        Standard deviation of the radial velocity added.
    noise
        Largest factor by which noise grows (its logarithm is drawn evenly, for half of the spectra).
    reddening_mag
        Standard deviation of the E(B−V) added (negative: taken away).
    gap_share
        Mean share of pixels hidden in stretches.
    end_share
        Largest share hidden at either end, as a survey that begins later or ends sooner.
    blur_pixels
        Largest sigma of the blur, in pixels of the grid.
    tilt
        Standard deviation of the slope and the curvature of a smooth error of the flux calibration, end to end.
    coarse
        Share of spectra read off a grid of twice the pixel, as from a coarser survey.
    """

    velocity_kms: float = 0.0
    noise: float = Field(1.0, ge=1)
    reddening_mag: float = 0.0
    gap_share: float = 0.0
    end_share: float = 0.0
    blur_pixels: float = 0.0
    tilt: float = 0.0
    coarse: float = 0.0


class Training(StrictModel):
    """How a stage is trained. ``patience``: epochs without a better dev loss until it ends."""

    epochs: int = Field(ge=1)
    batch: int = Field(ge=1)
    optimiser: Literal["sgd", "adamw"]
    learning_rate: float = Field(gt=0)
    weight_decay: float = 0.0
    beta2: float = 0.999
    momentum: float = 0.9
    warmup_epochs: float = 0.0
    schedule: Literal["constant", "cosine"] = "constant"
    clip: float | None = None
    patience: int = Field(ge=1)
    label_smoothing: float = Field(0.0, ge=0, lt=0.5)


class Masking(StrictModel):
    """Masked pre-training: so many runs of so many tokens are hidden and have to be told from the rest."""

    runs: int = Field(ge=1)
    tokens: int = Field(ge=1)


class Settings(StrictModel):
    """Everything that makes a network but its seed and its data.

    ``network`` are the arguments of the network's class. ``pretraining``, ``masking``, ``readout`` and
    ``few_shot`` (labels a task and class) belong to `specformer`.
    """

    grid: Grid
    network: Mapping[str, Any]
    training: Training
    augmentation: Augmentation | None = None
    pretraining: Training | None = None
    masking: Masking | None = None
    readout: Readout | None = None
    few_shot: int = 10

    @model_validator(mode="after")
    def _masks_to_pretrain(self) -> "Settings":
        if (self.pretraining is None) != (self.masking is None):
            raise ValueError("pretraining and masking go together")
        return self


def load_settings(name: str, setting: str) -> Settings:
    """Return a setting of a network: ``small`` (minutes on two cores), ``full``, or ``test`` (seconds).

    Raises
    ------
    UserError
        The network has no such setting.
    """
    source = files("specvi_baselines.networks") / f"{name}.yaml"
    known = parse_yaml(source.read_text(encoding="utf-8"), source)
    if setting not in known:
        raise UserError(
            f"{name} has no such setting",
            where="--option setting",
            expected=f"one of {', '.join(known)}",
            got=setting,
        )
    return validate(Settings, known[setting], f"{source}, {setting}")
