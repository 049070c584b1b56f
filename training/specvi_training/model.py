"""The model of a training: loaded as the evaluator loads it, with only the weights trainable that a recipe trains."""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from specvi_agents.models.checkpoint import Checkpoint, find_checkpoint
from specvi_agents.models.local.chat import Chat
from specvi_agents.models.local.loading import load_chat, load_weights
from specvi_agents.tiny import TinyShape, build_tiny_model
from specvi_benchmark.errors import UserError
from specvi_training.config import LoraPart, ModelPart, Recipe, TinyPart

LANGUAGE = "language_model"
"""Name of the module, in every Qwen-VL model, that holds the language model."""

LORA_TARGETS = rf".*\.{LANGUAGE}\..*\.(q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj)"
"""Every linear layer of the language model's blocks, by its name."""


@dataclass(frozen=True, slots=True)
class Base:
    """What a training begins with.

    Attributes
    ----------
    checkpoint
        Where it came from; ``identity`` stands in the record.
    model, chat
        Weights; processor and template.
    generation
        The checkpoint's own generation settings, for the finished folder.
    """

    checkpoint: Checkpoint
    model: Any
    chat: Chat
    generation: Any


def find_base(part: ModelPart, build: Path, boilerplate: "Boilerplate", seed: int) -> Checkpoint:
    """Return the checkpoint to begin with; a tiny one is built into ``build`` if it is not there yet."""
    if part.tiny is None:
        return find_checkpoint(part.base, "base", revision=part.revision)
    if not (build / "config.json").is_file():
        build_tiny(part.tiny, build, boilerplate, seed)
    return find_checkpoint(str(build), "tiny")


@dataclass(frozen=True, slots=True)
class Boilerplate:
    """What a tiny model's tokenizer is made for: texts it learns from, phrases that become one token each."""

    texts: Sequence[str] = ()
    phrases: Sequence[str] = ()


def build_tiny(part: TinyPart, folder: Path, boilerplate: Boilerplate, seed: int) -> Path:
    """Write a tiny model with random weights; the folder appears whole."""
    shape = TinyShape(
        vocab_size=part.vocab_size,
        hidden_size=part.hidden_size,
        layers=part.layers,
        heads=part.heads,
        vision_hidden_size=part.vision_hidden_size,
        vision_layers=part.vision_layers,
        initializer_range=part.initializer_range,
        largest_picture_px=part.picture_px[0] * part.picture_px[1],
    )
    building = folder.parent / f".{folder.name}.tmp"
    shutil.rmtree(building, ignore_errors=True)
    build_tiny_model(
        building, texts=boilerplate.texts or None, phrases=boilerplate.phrases, shape=shape, seed=seed
    )
    building.replace(folder)
    return folder


def load_base(checkpoint: Checkpoint, *, dtype: str) -> Base:
    """Load model, processor and template; ``dtype`` is of the weights as they are trained."""
    model = load_weights(checkpoint, dtype=dtype)
    return Base(checkpoint, model, load_chat(checkpoint), model.generation_config)


def freeze(model: torch.nn.Module, part: ModelPart) -> None:
    """Leave only those weights trainable that the recipe trains; before adapters are added.

    Raises
    ------
    UserError
        The model's language part can't be told from its vision tower.
    """
    if part.trained == "all":
        return
    names = [name for name, _ in model.named_parameters() if f"{LANGUAGE}." in name]
    if not names:
        raise UserError(
            "the model's language part can't be told from its vision tower",
            where="model.trained: language",
            expected=f"weights under {LANGUAGE}, as Qwen-VL models have",
            got=type(model).__name__,
            fix="write trained: all",
        )
    for name, weight in model.named_parameters():
        weight.requires_grad_(f"{LANGUAGE}." in name or name.startswith("lm_head"))


def lora_config(part: LoraPart | None) -> Any:
    """Return the adapters as `peft` takes them; None without any."""
    if part is None:
        return None
    from peft import LoraConfig  # noqa: PLC0415  # slow to import; needed with lora only

    return LoraConfig(
        r=part.rank,
        lora_alpha=part.alpha,
        lora_dropout=part.dropout,
        target_modules=LORA_TARGETS,
        task_type="CAUSAL_LM",
    )


def count_weights(model: torch.nn.Module) -> Mapping[str, int]:
    """Return how many weights there are, and how many of them are trained."""
    sizes = [(weight.numel(), weight.requires_grad) for weight in model.parameters()]
    return {"all": sum(size for size, _ in sizes), "trained": sum(size for size, trained in sizes if trained)}


def save_model(trainer: Any, base: Base, folder: Path, *, precision: str) -> None:
    """Write a folder that loads wherever the base did: weights, processor, template, generation settings.

    Adapters are merged in for good. Called by every process; the first one writes, unless weights are sharded.
    """
    whole = trainer.accelerator.unwrap_model(trainer.model)
    if is_zero3():
        trainer.save_model(str(folder))  # gathers the weights, in 16 bits
    elif trainer.is_world_process_zero():
        if hasattr(whole, "merge_and_unload"):
            whole = whole.merge_and_unload()
        whole.to(torch.bfloat16 if precision == "bf16" else torch.float32).save_pretrained(folder)
    if trainer.is_world_process_zero():
        base.generation.save_pretrained(folder)
        base.chat.processor.save_pretrained(folder)
        (folder / "training_args.bin").unlink(missing_ok=True)  # a pickle, with paths of this machine
    trainer.accelerator.wait_for_everyone()


def is_sharded() -> bool:
    """Tell whether DeepSpeed holds the master weights, by the launch configuration."""
    return os.environ.get("ACCELERATE_USE_DEEPSPEED", "").lower() == "true"


def is_zero3() -> bool:
    """Tell whether the weights themselves are spread over the devices."""
    return is_sharded() and os.environ.get("ACCELERATE_DEEPSPEED_ZERO_STAGE") == "3"


def weights_dtype(recipe: Recipe) -> str:
    """Return the number format in which weights are loaded.

    bfloat16 has 8 bits of mantissa: a step of 1e-5 would round to nothing. So weights that are trained stay in
    float32 and only the arithmetic is in bfloat16, unless DeepSpeed keeps a float32 copy, or adapters are trained.
    """
    if is_zero3() and recipe.model.lora is not None:
        raise UserError(
            "adapters can't be merged where the weights are spread over the devices",
            where="model.lora with ZeRO-3",
            expected="a launch configuration without DeepSpeed, or with ZeRO-2",
        )
    halved = recipe.optimiser.precision == "bf16" and (is_sharded() or recipe.model.lora is not None)
    return "bfloat16" if halved else "float32"
