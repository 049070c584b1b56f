"""What a training is told: the parts that every recipe's configuration shares, and how a configuration is found.

A configuration is a YAML file. One that is shipped is known by its name, ``sft_7b``; unknown keys are refused.
"""

from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal, Self, TypeVar

from pydantic import BaseModel, Field, PositiveInt, model_validator

from specvi_agents.options import AgentOptions, refuse_rest
from specvi_benchmark.errors import UserError
from specvi_benchmark.files import StrictModel, parse_yaml, read_text, validate, write_text

Model = TypeVar("Model", bound=BaseModel)

SeenPart = Literal["train", "dev", "cal"]
"""A part that a training may see: never ``test``, nor to choose a checkpoint."""


class TinyPart(StrictModel):
    """A tiny Qwen2.5-VL with random weights, built into the run folder: for tests and the miniature.

    Attributes
    ----------
    picture_px
        Width and height to which a view is scaled down, both multiples of 28.
    """

    vocab_size: PositiveInt = 3000
    hidden_size: PositiveInt = 64
    layers: PositiveInt = 2
    heads: PositiveInt = 4
    vision_hidden_size: PositiveInt = 64
    vision_layers: PositiveInt = 2
    initializer_range: float = Field(default=0.08, gt=0)
    picture_px: tuple[PositiveInt, PositiveInt] = (224, 112)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.heads % 2 or self.hidden_size % (2 * self.heads):
            raise ValueError("heads is even, and hidden_size a multiple of twice heads")
        if self.vision_hidden_size % (4 * self.heads):
            raise ValueError("vision_hidden_size is a multiple of four times heads")
        if any(side % 28 for side in self.picture_px):
            raise ValueError("picture_px are multiples of 28")
        return self


class LoraPart(StrictModel):
    """Low-rank adapters on every linear layer of the language model; merged into the weights at the end."""

    rank: PositiveInt = 32
    alpha: PositiveInt = 64
    dropout: float = Field(default=0.0, ge=0, lt=1)


class ModelPart(StrictModel):
    """What is trained, and which of its weights.

    Attributes
    ----------
    base
        A model folder or ``OWNER/NAME`` of the Hub, as for the vetter ``transformers:``.
    tiny
        In its place: a tiny model, built here.
    trained
        ``language``: vision tower and projector stay as they are, as in the paper. ``all``: everything.
    """

    base: str | None = None
    revision: str | None = None
    tiny: TinyPart | None = None
    trained: Literal["language", "all"] = "language"
    lora: LoraPart | None = None

    @model_validator(mode="after")
    def _one_origin(self) -> Self:
        if (self.base is None) == (self.tiny is None):
            raise ValueError("give either base or tiny")
        if self.lora is not None and self.trained == "all":
            raise ValueError("lora adapts the language model alone: trained is language with it")
        return self


class OptimiserPart(StrictModel):
    """How the weights move.

    Attributes
    ----------
    batch_per_device, accumulation
        Rows of one forward pass on one device; passes before a step.
    beta2
        How long AdamW remembers the size of a weight's gradients: over about 1 / (1 − beta2) steps.
    warmup
        Share of all steps in which the learning rate rises; then it falls as ``schedule`` says.
    precision
        ``bf16`` or ``fp32``.
    checkpointing
        Work activations out again in the backward pass: a third more time, far less memory.
    """

    learning_rate: float = Field(gt=0, allow_inf_nan=False)
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    warmup: float = Field(default=0.05, ge=0, lt=1)
    beta2: float = Field(default=0.999, gt=0, lt=1)
    weight_decay: float = Field(default=0.0, ge=0)
    max_grad_norm: float = Field(default=1.0, gt=0)
    batch_per_device: PositiveInt = 4
    accumulation: PositiveInt = 1
    precision: Literal["bf16", "fp32"] = "bf16"
    checkpointing: bool = True


class DevPart(StrictModel):
    """How a training is watched: dev candidates inspected through the environment, greedily, and scored.

    Attributes
    ----------
    split, part, tasks
        Candidates; no task named: every one of the part.
    limit
        Candidates of each task; None: all.
    patience
        The training ends after so many scores in a row that are no better than the best one before; None: never.
    batch_size, max_tokens
        Conversations at once; tokens of one reply.
    """

    split: str
    part: SeenPart = "dev"
    tasks: tuple[str, ...] = ()
    limit: PositiveInt | None = None
    patience: PositiveInt | None = None
    batch_size: PositiveInt = 8
    max_tokens: PositiveInt = 2048


class KeptPart(StrictModel):
    """What is written while it trains.

    Attributes
    ----------
    every
        Steps between checkpoints, and between scores on dev.
    checkpoints
        How many are kept, the best one on dev beside them.
    log_every
        Steps between lines of the log.
    """

    every: PositiveInt
    checkpoints: PositiveInt = 2
    log_every: PositiveInt = 10


class Recipe(StrictModel):
    """What every recipe's configuration has.

    Attributes
    ----------
    recipe
        Which training it is.
    inspection
        Options of the inspection, as ``specvi run --option`` takes them; the trained model is to be run with these.
    note
        What must be said of every result, in the model card and the log.
    """

    recipe: str
    model: ModelPart
    inspection: Mapping[str, str] = {}
    optimiser: OptimiserPart
    kept: KeptPart
    dev: DevPart | None = None
    seed: int = Field(default=0, ge=0, lt=2**32)
    note: str | None = None

    def agent_options(self) -> AgentOptions:
        """Return the options of the inspection.

        Raises
        ------
        UserError
            A key or value can't be used.
        """
        options, rest = AgentOptions.read(self.inspection)
        if drawn := sorted(
            {"votes", "abstain_on_split", "temperature", "seed", "max_tokens"} & set(self.inspection)
        ):
            raise UserError(
                "options of a run do nothing in a training",
                where=f"inspection: {', '.join(drawn)}",
                expected="what an inspection shows: style, title, prompt, tool, dialect, profile",
                fix="take them out, and hand them to `specvi run`",
            )
        refuse_rest(rest, "in a training's `inspection`")
        return options


def load_config(name_or_path: str, kind: type[Model], overrides: Mapping[str, object] | None = None) -> Model:
    """Read a configuration: a YAML file, or a shipped one by its name.

    Parameters
    ----------
    overrides
        Dotted key → value, in place of what the file says: ``{"optimiser.learning_rate": 1e-5}``.

    Raises
    ------
    UserError
        There is no such configuration, or it is not one of this kind.
    """
    source = find_config(name_or_path)
    content = parse_yaml(source.read_text(encoding="utf-8"), source) or {}
    if not isinstance(content, dict):
        raise UserError("a configuration is keys with values", where=source, got=type(content).__name__)
    for key, value in (overrides or {}).items():
        _set(content, key, value)
    return validate(kind, content, source)


def recipe_of(name_or_path: str) -> Literal["sft", "grpo"]:
    """Tell which training a configuration is of, by what it learns from: ``data``, or ``questions``.

    Raises
    ------
    UserError
        There is no such configuration, or it has neither.
    """
    source = find_config(name_or_path)
    content = parse_yaml(source.read_text(encoding="utf-8"), source)
    keys = set(content) if isinstance(content, dict) else set()
    if len(keys & {"data", "questions"}) != 1:
        raise UserError(
            "not the configuration of a training", where=source, expected="data (SFT) or questions (GRPO)"
        )
    return "sft" if "data" in keys else "grpo"


def find_config(name_or_path: str) -> Path | Traversable:
    """Return the file of a configuration."""
    path = Path(name_or_path).expanduser()
    if path.is_file():
        read_text(path)
        return path
    shipped = files("specvi_training") / "configs" / f"{name_or_path}.yaml"
    if name_or_path in config_names():
        return shipped
    raise UserError(
        "no such configuration",
        where=name_or_path,
        expected=f"a YAML file, or one of {', '.join(config_names())}",
        fix="`specvi train configs` lists those that are shipped and writes copies",
    )


def config_names() -> list[str]:
    """Return the names of the shipped configurations."""
    folder = files("specvi_training") / "configs"
    return sorted(item.name.removesuffix(".yaml") for item in folder.iterdir() if item.name.endswith(".yaml"))


def read_overrides(pairs: tuple[str, ...] | list[str]) -> dict[str, object]:
    """Read ``key=value`` texts; a value is YAML, so numbers and lists are what they look like."""
    found: dict[str, object] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key:
            raise UserError("a setting is KEY=VALUE", where="--set", expected="as in seed=3", got=pair)
        found[key] = parse_yaml(value, f"--set {key}")
    return found


def _set(content: dict[str, object], key: str, value: object) -> None:
    *outer, last = key.split(".")
    for name in outer:
        inner = content.setdefault(name, {})
        if not isinstance(inner, dict):
            raise UserError("the setting lies inside a value", where=f"--set {key}", got=f"{name} is a value")
        content = inner
    content[last] = value


def copy_configs(folder: Path) -> list[Path]:
    """Write copies of every shipped configuration, and of the launch configurations, into a folder.

    Raises
    ------
    UserError
        A file of that name is there already.
    """
    written: list[Path] = []
    for part, place in (("configs", folder), ("launch", folder / "launch")):
        for item in sorted((files("specvi_training") / part).iterdir(), key=lambda item: item.name):
            path = place / item.name
            if path.exists():
                raise UserError("the file is there already", where=path, fix="name a new folder")
            write_text(path, item.read_text(encoding="utf-8"))
            written.append(path)
    return written
