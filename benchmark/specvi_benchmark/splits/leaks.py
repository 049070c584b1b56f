"""Leaks: how well truth can be told without looking at the light, or from how candidates were selected."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from specvi_benchmark.splits.auroc import Auroc, auroc
from specvi_benchmark.splits.metadata import LEAST, fit_metadata, metadata
from specvi_benchmark.splits.split import Candidate, Split
from specvi_benchmark.splits.weak import WEAK_SCORE, folds_of

Probe = Literal["metadata-only", "inverted-weak"]
FAMILY_LEVEL = 0.95
"""Confidence that no warning of a whole split is false; shared out among its probes (Bonferroni)."""

FOLDS = 5
SEED = 0


@dataclass(frozen=True, slots=True)
class Leak:
    """One probe of one task of a track: its area under the ROC curve on the scored part.

    ``fitted_on`` says where a probe that learns did so; ``above_chance``: the lower end of the interval,
    at the level that makes a false warning in the whole split unlikely, is above one half.
    """

    probe: Probe
    track: str
    task: str
    part: str
    fitted_on: str
    auroc: Auroc
    above_chance: bool


def find_leaks(split: Split) -> tuple[Leak, ...]:
    """Probe every task of every track, on ``test`` where there is one, else on its largest part.

    `metadata-only` learns from the task's train part, or from the other objects of the same part where
    there is none (five folds). `inverted-weak` takes the selection's own score, where candidates have one.
    Probes that need more than is there are left out.
    """
    groups: dict[tuple[str, str], list[Candidate]] = {}
    for candidate in split.candidates:
        groups.setdefault((candidate.track, candidate.task.key), []).append(candidate)
    probes = [
        (probe, track, task, part, fitted_on, judged, score)
        for (track, task), members in groups.items()
        for part, judged in [_scored_part(members)]
        for probe, fitted_on, score in (
            ("metadata-only", *_by_metadata(members, part, judged)),
            ("inverted-weak", "the selection", _by_weakness(judged)),
        )
        if score is not None
    ]
    level = 1 - 2 * (1 - FAMILY_LEVEL) / max(1, len(probes))  # one-sided
    leaks = []
    for probe, track, task, part, fitted_on, judged, score in probes:
        positive = np.array([c.truth == "YES" for c in judged])
        objects = [c.object_id for c in judged]
        found, strict = auroc(score, positive, objects), auroc(score, positive, objects, level)
        if found is not None and strict is not None:
            leaks.append(Leak(probe, track, task, part, fitted_on, found, strict.low > 0.5))  # type: ignore[arg-type]
    return tuple(leaks)


def weak_scores(candidates: Sequence[Candidate]) -> np.ndarray | None:
    """Return ``(n,)`` selection scores; None unless every candidate has one."""
    found = [candidate.label_evidence.get(WEAK_SCORE) for candidate in candidates]
    return None if any(score is None for score in found) else np.array(found, dtype=np.float64)


def _scored_part(members: Sequence[Candidate]) -> tuple[str, list[Candidate]]:
    parts: dict[str, list[Candidate]] = {}
    for candidate in members:
        parts.setdefault(candidate.part, []).append(candidate)
    part = "test" if "test" in parts else max(parts, key=lambda name: len(parts[name]))
    return part, parts[part]


def _by_weakness(judged: Sequence[Candidate]) -> np.ndarray | None:
    scores = weak_scores(judged)
    return None if scores is None else -scores


def _by_metadata(
    members: Sequence[Candidate], part: str, judged: Sequence[Candidate]
) -> tuple[str, np.ndarray | None]:
    train = [candidate for candidate in members if candidate.part == "train"]
    values = metadata([c.question for c in judged])
    if part != "train" and _enough(train):
        learnt = fit_metadata(metadata([c.question for c in train]), _positive(train), SEED)
        return "train", learnt.predict(values, num_threads=1)
    if not _enough(judged):
        return "", None
    positive, score = _positive(judged), np.empty(len(judged))
    fold = folds_of([c.object_id for c in judged], SEED, FOLDS)
    for number in range(FOLDS):
        rest = fold != number
        if not rest.all():
            learnt = fit_metadata(values[rest], positive[rest], SEED)
            score[~rest] = learnt.predict(values[~rest], num_threads=1)
    return f"other objects of {part}", score


def _enough(candidates: Sequence[Candidate]) -> bool:
    yes = sum(candidate.truth == "YES" for candidate in candidates)
    return min(yes, len(candidates) - yes) >= LEAST


def _positive(candidates: Sequence[Candidate]) -> np.ndarray:
    return np.array([candidate.truth == "YES" for candidate in candidates])
