"""How systems rank on a split, and on the same split selected by another family of weak classifier."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau, rankdata

from specvi_benchmark.files import StrictModel
from specvi_benchmark.runs.evaluate import match_run, score_matched
from specvi_benchmark.runs.fitting import load_system
from specvi_benchmark.runs.record import choose_split
from specvi_benchmark.runs.runner import run
from specvi_benchmark.scoring import Results
from specvi_benchmark.splits.split import Split
from specvi_benchmark.tasks.task import AskedTrack

NOT_RANKED = float("nan")


class Standing(StrictModel):
    """One system: its macro-F1 and rank (1 is best, ties share the mean) on both splits; None where undefined."""

    system: str
    macro_f1: tuple[float | None, float | None]
    rank: tuple[float | None, float | None]


class Selection(StrictModel):
    """How the two selections differ, by group. ``shared_no``: negatives in both, of those in either."""

    group: str
    shared_no: float
    shared_yes: float


class RankChange(StrictModel):
    """Ranks on two selections of one track and part.

    ``tau_b`` is Kendall's, over the systems with a score on both; None with fewer than two, or when all tie.
    ``swapped`` are the pairs whose order is the other way round.
    """

    track: str
    families: tuple[str, str]
    systems: tuple[Standing, ...]
    tau_b: float | None
    swapped: tuple[tuple[str, str], ...]
    selections: tuple[Selection, ...]


def compare_selections(
    folders: tuple[Path, Path],
    splits: tuple[Split, Split],
    families: tuple[str, str],
    vetters: Sequence[str],
    out: Path,
    *,
    track: AskedTrack | None = None,
    report: Callable[[str, int, int], None] = lambda *_: None,
) -> RankChange:
    """Run every system over the test part of both splits, and compare their ranks by macro-F1.

    Parameters
    ----------
    folders, splits
        Two splits as they lie on disk, and as read.
    families
        The selectors' names.
    vetters
        Spec strings; systems that need no training on the split.
    out
        Gets a run folder for each system and split; finished runs are not repeated.
    """
    chosen = [choose_split(str(folder), "test", None, track) for folder in folders]
    scores: dict[str, list[float | None]] = {}
    for number, spec in enumerate(vetters):
        report("Running systems", number, len(vetters))
        scores[spec] = []
        for family, (split, reference) in zip(families, chosen, strict=True):
            folder = out / family / spec.replace(":", "-").replace("/", "-")
            run(load_system(spec, {}), spec, split, reference, folder)
            results = score_matched(match_run(folder))
            scores[spec].append(_f1(results))
    report("Running systems", len(vetters), len(vetters))
    return rank_change(scores, families, chosen[0][0].tracks[0], selections(*splits))


def rank_change(
    scores: Mapping[str, Sequence[float | None]],
    families: tuple[str, str],
    track: str,
    found: Sequence[Selection] = (),
) -> RankChange:
    """Compare two rankings; ``scores`` are the systems' two macro-F1."""
    values = np.array([[NOT_RANKED if v is None else v for v in pair] for pair in scores.values()]).reshape(
        -1, 2
    )
    names = list(scores)
    both = np.isfinite(values).all(axis=1)
    ranks = np.full(values.shape, NOT_RANKED)
    for column in range(2):
        ranks[both, column] = rankdata(-values[both, column])
    tau = float(kendalltau(values[both, 0], values[both, 1]).statistic) if both.sum() > 1 else NOT_RANKED
    rows = np.flatnonzero(both)
    swapped = tuple(
        (names[a], names[b])
        for place, a in enumerate(rows)
        for b in rows[place + 1 :]
        if (values[a, 0] - values[b, 0]) * (values[a, 1] - values[b, 1]) < 0
    )
    return RankChange(
        track=track,
        families=families,
        systems=tuple(
            Standing(
                system=name,
                macro_f1=(_known(value[0]), _known(value[1])),
                rank=(_known(rank[0]), _known(rank[1])),
            )
            for name, value, rank in zip(names, values, ranks, strict=True)
        ),
        tau_b=_known(tau),
        swapped=swapped,
        selections=tuple(found),
    )


def selections(first: Split, second: Split) -> list[Selection]:
    """Return how many candidates of each group two selections share (Jaccard index), by id."""
    found = []
    for group in dict.fromkeys(c.group for c in first.candidates):
        shared = []
        for truth in ("NO", "YES"):
            one, two = (
                {c.id for c in s.candidates if c.group == group and c.truth == truth} for s in (first, second)
            )
            shared.append(len(one & two) / len(one | two) if one | two else 1.0)
        found.append(Selection(group=group, shared_no=shared[0], shared_yes=shared[1]))
    return found


def _f1(results: Results) -> float | None:
    """Return the macro-F1 of the one track that was run; None where it is undefined or there were errors."""
    return results.macro[0].ranked.f1.value if results.macro and results.rankable else None


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
