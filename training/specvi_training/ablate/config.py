"""The configuration of an ablation, and the arms that it has."""

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from specvi_benchmark.files import StrictModel
from specvi_benchmark.splits import Part

Stage = Literal["base", "sft", "rl", "sft+rl", "few sft", "few sft+rl"]

STAGES: tuple[Stage, ...] = ("base", "sft", "rl", "sft+rl", "few sft", "few sft+rl")


class Arm(StrictModel):
    """One row of the table."""

    stage: Stage
    tool: bool = True

    @property
    def name(self) -> str:
        """Return its name in the table."""
        return self.stage if self.tool else f"{self.stage}, no tool"


class DraftPart(StrictModel):
    """Trajectories that are drafted first, of each task so many; with and without the tool as the arms need them."""

    teacher: str
    split: str
    per_task: PositiveInt | None = None


class TestPart(StrictModel):
    """What every arm is scored on: by `specvi run`, greedily."""

    __test__ = False  # no test of pytest's

    split: str
    part: Part = "test"
    tasks: tuple[str, ...] = Field(min_length=1)
    batch_size: PositiveInt = 32
    max_tokens: PositiveInt = 2048


class AblateConfig(StrictModel):
    """An ablation: the two trainings, which arms, and what they are scored on.

    Attributes
    ----------
    note
        What must be said of the table.
    sft, grpo
        Configurations, by name or file.
    set_sft, set_grpo
        Values in place of theirs, by dotted keys, in every arm.
    no_tool
        More of them for arms without the tool: ``{"sft": {…}, "grpo": {…}}``.
    draft
        None: `sft` names trajectories that are there.
    few
        Trajectories of each task in the arms with few of them.
    arms, seeds
        Rows of the table, and trainings of each.
    workers, threads
        Commands that run at once, and threads of each.
    launch
        What comes before ``-m specvi_benchmark.cli.main`` in place of this Python: ``[accelerate, launch, …]``.
    """

    note: str | None = None
    sft: str
    grpo: str
    set_sft: Mapping[str, Any] = {}
    set_grpo: Mapping[str, Any] = {}
    no_tool: Mapping[Literal["sft", "grpo"], Mapping[str, Any]] = {}
    draft: DraftPart | None = None
    few: PositiveInt = 40
    arms: tuple[Arm, ...] = tuple(
        Arm(stage=stage, tool=tool) for tool in (True, False) for stage in STAGES[:4]
    )
    seeds: tuple[NonNegativeInt, ...] = (0,)
    test: TestPart
    workers: PositiveInt = 1
    threads: PositiveInt | None = None
    launch: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        names = [arm.name for arm in self.arms]
        if len(set(names)) != len(names) or len(set(self.seeds)) != len(self.seeds):
            raise ValueError("each arm and each seed stands once")
        return self
