"""Memory and time of a training, worked out from its configuration and the model's shapes; no weights, no GPU.

The shapes are those of the real model, built on the meta device, so that the counts are exact; bytes and seconds are
estimates, by the formulae that stand beside them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForImageTextToText, Qwen2_5_VLConfig

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import parse_yaml
from specvi_training.config import ModelPart, Recipe
from specvi_training.model import LANGUAGE, freeze

GIB = 1 << 30
BF16, FP32 = 2, 4
ADAM = 2 * FP32  # first and second moment of each trained weight


@dataclass(frozen=True, slots=True)
class Shapes:
    """What is counted of a model: weights, and sizes of its language part.

    Attributes
    ----------
    weights, trained, language, adapters
        Numbers of weights: all; trained; of the language model; of adapters, which come on top of all.
    layers, hidden, intermediate
        Of the language model.
    """

    weights: int
    trained: int
    language: int
    adapters: int
    layers: int
    hidden: int
    intermediate: int


@dataclass(frozen=True, slots=True)
class Workload:
    """What one GPU holds and does.

    Attributes
    ----------
    gpus
        How many share the work.
    zero_stage
        0: none; 2: gradients and optimiser are spread over the GPUs; 3: the weights too.
    tokens
        Of a mean row, pictures included.
    rows
        Of the data.
    flops
        What a GPU really does a second.
    """

    gpus: int
    zero_stage: int
    tokens: int
    rows: int
    flops: float


@dataclass(frozen=True, slots=True)
class Cost:
    """Memory of one GPU in bytes, and time in seconds."""

    weights: float
    gradients: float
    optimiser: float
    activations: float
    seconds_a_step: float
    steps: int

    @property
    def bytes(self) -> float:
        """Return the sum, without the few GiB that CUDA and communication take."""
        return self.weights + self.gradients + self.optimiser + self.activations


def model_config(base: str) -> Any:
    """Return the configuration of a model folder, or of a model whose shapes are shipped.

    Raises
    ------
    UserError
        Neither.
    """
    if (Path(base) / "config.json").is_file():
        return AutoConfig.from_pretrained(base)
    source = files("specvi_training") / "shapes.yaml"
    known = parse_yaml(source.read_text(encoding="utf-8"), source)
    if base not in known:
        raise UserError(
            "the shapes of this model are not known",
            where=f"model.base {base}",
            expected=f"a folder with config.json, or one of {', '.join(sorted(known))}",
            fix="download its config.json into a folder and name that",
        )
    return Qwen2_5_VLConfig(**known[base])


def count(part: ModelPart) -> Shapes:
    """Return the numbers of weights of a configuration's model, from its shapes on the meta device."""
    if part.base is None:
        raise UserError(
            "a tiny model costs nothing worth counting", where="model.tiny", expected="model.base"
        )
    config = model_config(part.base)
    with torch.device("meta"):
        model = AutoModelForImageTextToText.from_config(config)
    model.tie_weights()
    freeze(model, part)
    text = config.get_text_config()
    named = list(model.named_parameters())  # tied weights once
    adapters = 0
    if part.lora is not None:
        layers = [
            m
            for n, m in model.named_modules()
            if f"{LANGUAGE}.layers" in n and isinstance(m, torch.nn.Linear)
        ]
        adapters = sum(part.lora.rank * (m.in_features + m.out_features) for m in layers)
    return Shapes(
        weights=sum(weight.numel() for _, weight in named),
        trained=adapters or sum(weight.numel() for _, weight in named if weight.requires_grad),
        language=sum(weight.numel() for name, weight in named if f"{LANGUAGE}." in name or "lm_head" in name),
        adapters=adapters,
        layers=text.num_hidden_layers,
        hidden=text.hidden_size,
        intermediate=text.intermediate_size,
    )


def cost(recipe: Recipe, epochs: float, shapes: Shapes, load: Workload) -> Cost:
    """Return memory and time of a supervised training.

    Bytes of a weight (Rajbhandari et al. 2020, arXiv 1910.02054, section 3): 2 in bfloat16; trained with DeepSpeed 2
    for its gradient and 12 for Adam with its float32 copy; without DeepSpeed the weight itself is in float32, its
    gradient 4 and Adam 8. Activations with checkpointing: the input of every layer, one layer at work, and its
    gradient; without, every layer at work; the logits are left out, which TRL works out piece by piece. Time: 6 FLOP a weight and token (Kaplan et al. 2020, arXiv 2001.08361,
    section 2.1), 8 with checkpointing, 4 and 6 where only adapters are trained; attention adds 12·layers·hidden·tokens,
    half of it masked.
    """
    shared = load.gpus if load.zero_stage else 1
    spread = load.gpus if load.zero_stage == 3 else 1
    halved = load.zero_stage > 0 or shapes.adapters > 0
    weight_bytes = BF16 if halved and recipe.optimiser.precision == "bf16" else FP32
    by_deepspeed = load.zero_stage > 0
    gradient = (BF16 if by_deepspeed else FP32) * shapes.trained / shared
    optimiser = (ADAM + (FP32 if by_deepspeed else 0)) * shapes.trained / shared
    tokens = load.tokens * recipe.optimiser.batch_per_device
    boundary = tokens * shapes.hidden * BF16
    at_work = tokens * (10 * shapes.hidden + 4 * shapes.intermediate) * BF16
    checkpointed = recipe.optimiser.checkpointing
    activations = shapes.layers * boundary + 2 * at_work if checkpointed else shapes.layers * at_work
    factor = (4 if shapes.adapters else 6) + (2 if checkpointed else 0)
    attention = 12 * shapes.layers * shapes.hidden * load.tokens / 2 * factor / 6
    rows_a_step = recipe.optimiser.batch_per_device * recipe.optimiser.accumulation * load.gpus
    flop = (factor * shapes.language + attention) * load.tokens * rows_a_step / load.gpus
    return Cost(
        weights=weight_bytes * shapes.weights / spread + FP32 * shapes.adapters,
        gradients=gradient,
        optimiser=optimiser,
        activations=activations,
        seconds_a_step=flop / load.flops,
        steps=max(1, math.ceil(-(-load.rows // rows_a_step) * epochs)),
    )


def table(found: Cost) -> Mapping[str, str]:
    """Return the cost in words."""
    parts = ("weights", "gradients", "optimiser", "activations", "bytes")
    return {
        **{
            ("in all" if name == "bytes" else name): f"{getattr(found, name) / GIB:.1f} GiB" for name in parts
        },
        "a step": f"{found.seconds_a_step:.1f} s",
        "steps": str(found.steps),
        "training": f"{found.seconds_a_step * found.steps / 3600:.2f} h",
    }
