"""The vetter `inverted-weak`: YES where the selection's weak classifier says not. It measures a shortcut.

Negatives are in a split because the weak classifier took them for the class. Where positives did not have
to pass it too, a low score gives a positive away. The scores stand in the split, beside the truth; no
system but this one, which measures exactly that, reads them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from specvi_baselines.arguments import refuse_arguments
from specvi_benchmark.errors import UserError
from specvi_benchmark.splits.named import find_split
from specvi_benchmark.splits.weak import WEAK_SCORE
from specvi_benchmark.vetting import Question, Verdict, answered


@dataclass(frozen=True, slots=True)
class InvertedWeak:
    """Answers from the score that selected a candidate, by a classifier trained without its object."""

    scores: Mapping[tuple[str, str], float]
    threshold: float
    fingerprint: str

    @property
    def config(self) -> Mapping[str, Any]:
        """Return what changes a verdict: the split whose scores are read, and the threshold."""
        return {"split": self.fingerprint, "threshold": self.threshold}

    def vet(self, questions: Sequence[Question]) -> Iterator[Verdict]:
        """Yield YES where the score is not above the selection's threshold; P(YES) is one minus the score."""
        for question in questions:
            score = self.scores[question.task.key, question.id]
            yield answered(question, "NO" if score > self.threshold else "YES", p_yes=1 - score)


def create(argument: str | None, options: Mapping[str, str]) -> InvertedWeak:
    """Make ``inverted-weak:SPLIT``, with the name or path of the split that the questions come from.

    Raises
    ------
    UserError
        No split is named, or its candidates have no selection score.
    """
    refuse_arguments("inverted-weak", None, options)
    if argument is None:
        raise UserError(
            "inverted-weak needs the split whose selection it inverts",
            where="vetter 'inverted-weak'",
            expected="inverted-weak:SPLIT, for example inverted-weak:mini",
        )
    split = find_split(argument)
    scores = {
        (candidate.task.key, candidate.id): candidate.label_evidence[WEAK_SCORE]
        for candidate in split.candidates
        if WEAK_SCORE in candidate.label_evidence
    }
    if not scores:
        raise UserError(
            "the split does not say how its weak classifier scored its candidates",
            where=argument,
            expected="a split that `specvi split build` made",
        )
    return InvertedWeak(scores, float(split.recipe["weak_classifier"]["acceptance"]), split.fingerprint)
