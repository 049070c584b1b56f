"""``predictions.jsonl``: one line a verdict, as a run logs them."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from specvi_benchmark.files import StrictModel, read_lines, validate
from specvi_benchmark.vetting import Answer, Outcome, Verdict, Vote

Key = tuple[str, str]
"""(task, id): what names a prediction."""

Count = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Probability = Annotated[float, Field(ge=0, le=1)]


class Prediction(StrictModel):
    """One line: what a system said about one candidate, and what it cost.

    ``answer`` is there exactly when ``outcome`` is ``answered``. Costs are None only where a file made
    elsewhere does not state them; that is not the same as 0.
    """

    id: str
    task: str
    answer: Answer | None
    outcome: Outcome
    answer_lenient: Answer | None = None
    p_yes: Probability | None = None
    votes: tuple[Vote, ...] | None = None
    tool_calls: Count | None = None
    tokens_in: Count | None = None
    tokens_out: Count | None = None
    cost_usd: Amount | None = None
    seconds: Amount | None = None

    @model_validator(mode="after")
    def _answer_fits_outcome(self) -> Self:
        if (self.answer is not None) != (self.outcome is Outcome.ANSWERED):
            raise ValueError(f"answer {self.answer} does not go with outcome {self.outcome}")
        return self

    @property
    def key(self) -> Key:
        """Return (task, id)."""
        return self.task, self.id


def prediction_of(verdict: Verdict) -> Prediction:
    """Return the line of a verdict. Its trace has a file of its own."""
    return Prediction(**{name: getattr(verdict, name) for name in Prediction.model_fields})


def read_run_predictions(path: Path) -> dict[Key, Prediction]:
    """Read the log of a run: (task, id) → prediction, in order of first appearance.

    The last line of a pair counts, since `error` rows are tried again; an unfinished last line, as a
    kill leaves it, is dropped.
    """
    lines = (validate(Prediction, value, f"{path}, line {number}") for number, value in read_lines(path))
    return {line.key: line for line in lines}
