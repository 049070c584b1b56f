"""Leaks: how well truth can be told without looking at the light, or from how candidates were selected."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from specvi_benchmark.splits.auroc import Auroc, auroc
from specvi_benchmark.splits.metadata import COLUMNS, LEAST, fit_metadata, metadata
from specvi_benchmark.splits.split import Candidate, Split
from specvi_benchmark.splits.weak import WEAK_SCORE

Probe = Literal["metadata-only", "metadata without redshift", "inverted-weak"]
FAMILY_LEVEL = 0.95
"""Confidence that no warning of a whole split is false; shared out among its probes (Bonferroni)."""

FOLDS, BLOCKS = 5, 4
"""Folds of a probe that has no train part, and blocks of neighbours in S/N in each of them."""

EVERY_COLUMN = tuple(range(len(COLUMNS)))
BUT_REDSHIFT = tuple(number for number, name in enumerate(COLUMNS) if "redshift" not in name)
"""A survey's redshift is a claim about what an object is; whatever else tells is how spectra were collected."""

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

    `metadata-only`, with and without the redshift, learns from the task's train part, or from the other
    objects of the same part where there is none (five folds). `inverted-weak` takes the selection's own score, where candidates have one.
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
            ("metadata-only", *_by_metadata(members, part, judged, EVERY_COLUMN)),
            ("metadata without redshift", *_by_metadata(members, part, judged, BUT_REDSHIFT)),
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
    members: Sequence[Candidate], part: str, judged: Sequence[Candidate], columns: Sequence[int]
) -> tuple[str, np.ndarray | None]:
    train = [candidate for candidate in members if candidate.part == "train"]
    values = metadata([c.question for c in judged])[:, columns]
    if part != "train" and _enough(train):
        learnt = fit_metadata(metadata([c.question for c in train])[:, columns], _positive(train), SEED)
        return "train", learnt.predict(values, num_threads=1)
    if not _enough(judged):
        return "", None
    positive, score = _positive(judged), np.empty(len(judged))
    fold = _folds(judged)
    for number in range(FOLDS):
        rest = fold != number
        if not rest.all():
            learnt = fit_metadata(values[rest], positive[rest], SEED)
            score[~rest] = learnt.predict(values[~rest], num_threads=1)
    return f"other objects of {part}", score


def _folds(judged: Sequence[Candidate]) -> np.ndarray:
    """Return ``(n,)`` folds of objects; neighbours in S/N are in one fold.

    Where YES and NO are matched in S/N, taking out a YES leaves the NO of its S/N to learn from: with folds by
    chance a probe would learn the opposite of the truth, and hide a small leak behind an AUROC below one half.
    """
    first = {candidate.object_id: candidate for candidate in reversed(judged)}
    ordered = sorted(first, key=lambda name: (first[name].spectrum.snr or 0.0, name))
    fold = {name: place * FOLDS * BLOCKS // len(ordered) % FOLDS for place, name in enumerate(ordered)}
    return np.array([fold[candidate.object_id] for candidate in judged], dtype=np.intp)


def _enough(candidates: Sequence[Candidate]) -> bool:
    yes = sum(candidate.truth == "YES" for candidate in candidates)
    return min(yes, len(candidates) - yes) >= LEAST


def _positive(candidates: Sequence[Candidate]) -> np.ndarray:
    return np.array([candidate.truth == "YES" for candidate in candidates])
