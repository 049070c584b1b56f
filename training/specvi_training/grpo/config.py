"""The configuration of a GRPO."""

from typing import Literal, Self

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from specvi_benchmark.files import StrictModel
from specvi_benchmark.splits import Part
from specvi_training.config import Recipe


class DifficultyPart(StrictModel):
    """Leaves out questions that teach nothing, by what an earlier training's rollouts made of them.

    A group whose rollouts all have the same reward has advantage 0 and moves no weight.

    Attributes
    ----------
    rollouts
        Folder of that training.
    least, most
        Share of right answers, over all rollouts of a question; questions it never asked are kept.
    """

    rollouts: str
    least: float = Field(default=0.0, ge=0, le=1)
    most: float = Field(default=1.0, ge=0, le=1)


class QuestionsPart(StrictModel):
    """Whom it asks.

    Attributes
    ----------
    split, part, tasks
        Candidates; no task named: every one of the part.
    limit
        Candidates of each task, YES and NO by turns; None: all.
    balance
        ``as_is``: each candidate once an epoch. ``class``: the rarer class of each task is asked so often that an
        epoch has as many YES as NO. ``task``: every task as often as the most frequent one, too.
    difficulty
        Which are left out for being too easy or too hard.
    """

    split: str
    part: Part = "train"
    tasks: tuple[str, ...] = ()
    limit: PositiveInt | None = None
    balance: Literal["as_is", "class", "task"] = "class"
    difficulty: DifficultyPart | None = None


class VllmPart(StrictModel):
    """How vLLM generates, where it does.

    Attributes
    ----------
    mode
        ``colocate``: in the training processes, on their GPUs. ``server``: a `trl vllm-serve` on GPUs of its own.
    gpu_memory
        Share of a GPU that it takes, in colocate mode.
    tensor_parallel
        GPUs over which one copy is spread, in colocate mode.
    max_length
        Longest conversation, prompt and pictures included.
    host, port
        Of the server.
    """

    mode: Literal["colocate", "server"]
    gpu_memory: float = Field(default=0.4, gt=0, lt=1)
    tensor_parallel: PositiveInt = 1
    max_length: PositiveInt | None = None
    host: str = "127.0.0.1"
    port: PositiveInt = 8000


class RolloutsPart(StrictModel):
    """What is drawn before the weights move.

    Attributes
    ----------
    prompts, group
        Questions of one round; inspections of each.
    updates
        Steps that one round gives: verl's mini-batches.
    completion_tokens
        Longest rest of a conversation after its opening, the tool's answers and pictures included.
    temperature, top_p
        Of every draw.
    vllm
        None: transformers generates.
    traced
        Questions of each round whose inspections are kept whole, for ``specvi trace``.
    """

    prompts: PositiveInt = 64
    group: int = Field(default=8, ge=2)
    updates: PositiveInt = 1
    completion_tokens: PositiveInt = 32_768
    temperature: float = Field(default=1.0, gt=0)
    top_p: float = Field(default=1.0, gt=0, le=1)
    vllm: VllmPart | None = None
    traced: NonNegativeInt = 1

    @model_validator(mode="after")
    def _whole_updates(self) -> Self:
        if self.prompts % self.updates:
            raise ValueError("prompts is no multiple of updates")
        return self


class GrpoConfig(Recipe):
    """A GRPO: model, questions, rollouts, and how long.

    Attributes
    ----------
    loss
        How tokens are weighted, by TRL's names. ``dapo``: every token of a step alike, as verl's ``token-mean``.
    clip
        How far the ratio of new to old probability may move the loss.
    scale
        What an advantage is divided by: the spread of its group's rewards, of all, or nothing.
    """

    recipe: Literal["grpo"] = "grpo"
    questions: QuestionsPart
    rollouts: RolloutsPart = RolloutsPart()
    epochs: PositiveInt = 3
    loss: Literal["dapo", "grpo", "dr_grpo", "bnpo"] = "dapo"
    clip: float = Field(default=0.2, gt=0, lt=1)
    scale: Literal["group", "batch", "none"] = "group"

    @model_validator(mode="after")
    def _whole_rounds(self) -> Self:
        if self.optimiser.accumulation != 1:
            raise ValueError(
                "leave optimiser.accumulation out: it follows from prompts, group, updates and devices"
            )
        if self.kept.every % self.rollouts.updates:
            raise ValueError(
                "kept.every is no multiple of rollouts.updates: a checkpoint lies between two rounds"
            )
        return self
