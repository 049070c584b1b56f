"""The configuration of an SFT."""

from typing import Literal

from pydantic import Field, PositiveInt

from specvi_agents.trajectories.records import State
from specvi_benchmark.files import StrictModel
from specvi_training.config import Recipe


class DataPart(StrictModel):
    """What is learnt from.

    Attributes
    ----------
    trajectories
        Folders of trajectories.
    at_least
        Only those that have come so far in the review.
    tasks
        Only of these tasks; none named: all.
    limit
        Of each task at most so many, the first by a hash of their ids, half of them YES if there are enough.
    max_tokens
        Longest row.
    one_sided
        Take tasks too whose lessons rightly answer only YES, or only NO: a model learns to say that of everything.
    in_memory
        Keep pictures as tensors, for small sets; else they are made anew in every epoch.
    """

    trajectories: tuple[str, ...] = Field(min_length=1)
    at_least: State = "accepted"
    tasks: tuple[str, ...] = ()
    limit: PositiveInt | None = None
    max_tokens: PositiveInt = 32_768
    one_sided: bool = False
    in_memory: bool = False


class SftConfig(Recipe):
    """An SFT: model, data, and how long.

    Attributes
    ----------
    answer_weight
        Weight in the loss of the tokens that say YES or NO in the answer's box; of all others 1, as in the paper. The
        logged loss is the weighted sum over the number of tokens, and so no mean a token unless it is 1.
    """

    recipe: Literal["sft"] = "sft"
    data: DataPart
    epochs: float = Field(gt=0, allow_inf_nan=False)
    answer_weight: float = Field(default=1.0, ge=0, allow_inf_nan=False)
