"""The two constant systems, without which no score can be read: always YES and always NO."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from specvi_baselines.arguments import refuse_arguments
from specvi_benchmark.vetting import Answer, Question, Verdict, answered


@dataclass(frozen=True, slots=True)
class Constant:
    """A vetter that gives one answer to every question, without looking."""

    answer: Answer

    @property
    def config(self) -> Mapping[str, Any]:
        """Return what changes a verdict: the answer."""
        return {"answer": self.answer}

    def vet(self, questions: Sequence[Question]) -> Iterator[Verdict]:
        """Yield the same answer for every question; a constant has no P(YES)."""
        for question in questions:
            yield answered(question, self.answer)


def always_yes(argument: str | None, options: Mapping[str, str]) -> Constant:
    """Make the vetter ``always-yes``; it takes no argument and no option."""
    refuse_arguments("always-yes", argument, options)
    return Constant("YES")


def always_no(argument: str | None, options: Mapping[str, str]) -> Constant:
    """Make the vetter ``always-no``; it takes no argument and no option."""
    refuse_arguments("always-no", argument, options)
    return Constant("NO")
