"""Systems side by side: rank sets, differences of every pair, and what it would take to tell two apart."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy import stats

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import StrictModel
from specvi_benchmark.scoring.answers import NO_PROBABILITY
from specvi_benchmark.scoring.compared_metric import DEFAULT, FORMS, ComparedMetric, parse_metric
from specvi_benchmark.scoring.intervals import LEVEL, RESAMPLES, draw_tables, interval, recentred
from specvi_benchmark.scoring.ledger import Rows, ledgers
from specvi_benchmark.scoring.metrics import ERROR_LIMIT, Rule, error_share, macro, metrics, tables
from specvi_benchmark.scoring.paired import PairedDraws, paired_draws
from specvi_benchmark.scoring.panel import Panel, panel
from specvi_benchmark.scoring.rank_sets import adjusted_p, holm, rank_sets, single_p
from specvi_benchmark.tasks.task import Track

POWER = 0.8  # chance of finding a difference that is there, for the number of candidates needed


class McNemar(StrictModel):
    """Candidates on which two systems differ in being right, and the exact two-sided test on them.

    ``p`` is the binomial one of McNemar 1947, Psychometrika 12, 153, for this pair alone; ``p_adjusted`` is
    adjusted over all pairs by Holm's method. Both take candidates as independent.
    """

    both_right: int
    only_higher: int
    only_lower: int
    both_wrong: int
    p: float
    p_adjusted: float


class PairDifference(StrictModel):
    """Two systems; ``difference`` = ``higher`` − ``lower`` ≥ 0.

    ``low``, ``high``: 95 % for this pair alone. ``joint_low``, ``joint_high``: 95 % for all pairs at once.
    ``p_adjusted`` decides ``apart``. ``equivalent``: the joint interval lies within ± the margin; None
    without a margin. ``candidates_needed``: see `candidates_to_separate`. ``detectable``: the smallest true
    difference these candidates would show for this pair alone in 80 % of cases.
    """

    higher: str
    lower: str
    difference: float
    error: float
    low: float
    high: float
    joint_low: float
    joint_high: float
    p: float
    p_adjusted: float
    apart: bool
    equivalent: bool | None
    candidates_needed: int | None
    detectable: float
    mcnemar: McNemar


class SystemRank(StrictModel):
    """A system's value with its own 95 % interval, the ranks it could have, and whom it is tied with."""

    system: str
    value: float
    low: float
    high: float
    rank_best: int
    rank_worst: int
    tied_with: tuple[str, ...]


class LeftOut(StrictModel):
    """A system that is not ranked, and why."""

    system: str
    reason: str


class Comparison(StrictModel):
    """Everything `compare` says. Systems and pairs stand from the highest value to the lowest."""

    metric: str
    track: Track
    tasks: tuple[str, ...]
    candidates: int
    objects: int
    level: float
    resamples: int
    seed: int
    margin: float | None
    systems: tuple[SystemRank, ...]
    left_out: tuple[LeftOut, ...]
    pairs: tuple[PairDifference, ...]


def compare(
    systems: Mapping[str, Rows],
    metric: str = DEFAULT,
    *,
    track: Track | None = None,
    margin: float | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Comparison:
    """Compare systems that answered the same questions. Their order changes nothing.

    Parameters
    ----------
    systems
        Name → answers; the same candidates in the same order.
    metric
        ``macro-f1``, ``accuracy``, ``mean-accuracy``, ``f1:TASK`` or ``accuracy:TASK``.
    track
        Which track; the first one there is, where it is not named.
    margin
        Half-width of what counts as no difference that matters.
    resamples, seed
        Of the bootstrap.

    Raises
    ------
    UserError
        No such metric, track or task.
    ValueError
        No system, or systems that answered other candidates than each other.
    """
    if not systems:
        raise ValueError("nothing to compare")
    some = next(iter(systems.values()))
    chosen = parse_metric(metric, some.groups, track)
    if chosen.kind == "brier":
        raise UserError(
            "systems are not compared by their Brier score here",
            expected=FORMS,
            fix="a leaderboard ranks by it too",
        )
    reasons = {name: _why_unranked(rows, chosen) for name, rows in systems.items()}
    ranked = {name: rows for name, rows in systems.items() if reasons[name] is None}
    scope = np.isin(some.group, chosen.places)
    standings, pairs = _ranked(ranked, chosen, margin, resamples, seed)
    return Comparison(
        metric=chosen.name,
        track=chosen.track,
        tasks=tuple(some.groups[place].task for place in chosen.places),
        candidates=int(scope.sum()),
        objects=len(np.unique(some.object_code[scope])),
        level=LEVEL,
        resamples=resamples,
        seed=seed,
        margin=margin,
        systems=standings,
        left_out=tuple(
            LeftOut(system=name, reason=reason) for name, reason in sorted(reasons.items()) if reason
        ),
        pairs=pairs,
    )


class RankSet(NamedTuple):
    """The ranks a system could have, and the systems it is not shown to differ from, highest first."""

    system: str
    rank_best: int
    rank_worst: int
    tied_with: tuple[str, ...]


class Ranking(NamedTuple):
    """Systems from the highest value to the lowest.

    ``errors`` are standard errors of the difference of every pair: of the first system with each below it, then of
    the second, and so on.
    """

    sets: tuple[RankSet, ...]
    left_out: tuple[LeftOut, ...]
    errors: tuple[float, ...]


def rank(
    systems: Mapping[str, Rows],
    metric: str = DEFAULT,
    *,
    track: Track | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Ranking:
    """Rank systems as `compare` does, without what it says of every pair: for pools of hundreds of systems.

    By ``brier`` as well, the lowest Brier score first: systems with a P(YES) for every candidate of the track.
    """
    some = next(iter(systems.values()))
    chosen = parse_metric(metric, some.groups, track)
    reasons = {name: _why_unranked(rows, chosen) for name, rows in systems.items()}
    ranked = {name: rows for name, rows in systems.items() if reasons[name] is None}
    left_out = tuple(
        LeftOut(system=name, reason=reason) for name, reason in sorted(reasons.items()) if reason
    )
    if len(ranked) < 2:
        return Ranking(tuple(RankSet(name, 1, 1, ()) for name in ranked), left_out, ())
    together = panel(ranked)
    draws = paired_draws(together, chosen, resamples=resamples, seed=seed)
    order, sets = _rank_sets(together, draws, adjusted_p(draws))
    place = {number: k for k, number in enumerate(order)}
    errors = {
        tuple(sorted((place[one], place[other]))): float(error)
        for one, other, error in zip(draws.first.tolist(), draws.second.tolist(), draws.error, strict=True)
    }
    return Ranking(sets, left_out, tuple(errors[pair] for pair in sorted(errors)))


def candidates_to_separate(difference: float, error: float, candidates: int) -> int | None:
    """Return how many candidates would show a difference of this size, with 80 % power at the 5 % level.

    n · ((z₀.₉₇₅ + z₀.₈) · error / difference)², since the squared standard error of a paired difference
    falls as 1 / n. It takes the observed difference for the true one, more candidates of the same kind and
    mix, and one planned comparison. None where there is no difference.
    """
    if difference == 0:
        return None
    return math.ceil(candidates * (_effect() * error / difference) ** 2)


def mcnemar_p(only_first: int, only_second: int) -> float:
    """Return the exact two-sided p of McNemar's test; 1 where the systems never differ."""
    differing = only_first + only_second
    return 1.0 if differing == 0 else float(stats.binomtest(only_first, differing, 0.5).pvalue)


class _Discordance(NamedTuple):
    """``(pairs,)`` counts of right answers, and McNemar's p, for first and second of `PairedDraws`."""

    both: list[int]
    only_first: list[int]
    only_second: list[int]
    neither: list[int]
    p: list[float]
    p_adjusted: list[float]


def _ranked(
    systems: Mapping[str, Rows], metric: ComparedMetric, margin: float | None, resamples: int, seed: int
) -> tuple[tuple[SystemRank, ...], tuple[PairDifference, ...]]:
    intervals = {name: _interval(rows, metric, resamples, seed) for name, rows in systems.items()}
    if len(systems) < 2:  # nothing to tell apart
        return tuple(
            SystemRank(system=name, value=value, low=low, high=high, rank_best=1, rank_worst=1, tied_with=())
            for name, (value, low, high) in intervals.items()
        ), ()
    together = panel(systems)
    draws = paired_draws(together, metric, resamples=resamples, seed=seed)
    p_adjusted = adjusted_p(draws)
    order, sets = _rank_sets(together, draws, p_adjusted)
    standings = tuple(
        SystemRank(
            **row._asdict(),
            value=intervals[row.system][0],
            low=intervals[row.system][1],
            high=intervals[row.system][2],
        )
        for row in sets
    )
    return standings, _pairs(together, draws, metric, p_adjusted, margin, order)


def _rank_sets(
    together: Panel, draws: PairedDraws, p_adjusted: np.ndarray
) -> tuple[list[int], tuple[RankSet, ...]]:
    """Return the places of the systems from the highest value to the lowest, and the rank set of each."""
    apart = p_adjusted <= 1 - LEVEL
    best, worst = rank_sets(draws, apart)
    tied: dict[str, set[str]] = {name: set() for name in together.names}
    for one, other in zip(draws.first[~apart].tolist(), draws.second[~apart].tolist(), strict=True):
        tied[together.names[one]].add(together.names[other])
        tied[together.names[other]].add(together.names[one])
    order = sorted(range(len(together.names)), key=lambda place: (-draws.value[place], together.names[place]))
    names = [together.names[place] for place in order]
    return order, tuple(
        RankSet(name, int(best[place]), int(worst[place]), tuple(n for n in names if n in tied[name]))
        for place, name in zip(order, names, strict=True)
    )


def _pairs(
    together: Panel,
    draws: PairedDraws,
    metric: ComparedMetric,
    p_adjusted: np.ndarray,
    margin: float | None,
    order: list[int],
) -> tuple[PairDifference, ...]:
    found = _discordance(together, draws, metric)
    single, half, joint = single_p(draws), draws.half_width(), draws.joint_half_width()
    candidates = int(np.isin(together.group, metric.places).sum())
    rank = {place: number for number, place in enumerate(order)}
    pairs = {}
    for k, ends in enumerate(zip(draws.first.tolist(), draws.second.tolist(), strict=True)):
        higher, lower = sorted(ends, key=rank.__getitem__)
        difference, error = abs(float(draws.difference[k])), float(draws.error[k])
        only_higher, only_lower = found.only_first[k], found.only_second[k]
        if higher != ends[0]:
            only_higher, only_lower = only_lower, only_higher
        low, high = _around(difference, float(half[k]))
        joint_low, joint_high = _around(difference, float(joint[k]))
        pairs[rank[higher], rank[lower]] = PairDifference(
            higher=together.names[higher],
            lower=together.names[lower],
            difference=difference,
            error=error,
            low=low,
            high=high,
            joint_low=joint_low,
            joint_high=joint_high,
            p=float(single[k]),
            p_adjusted=float(p_adjusted[k]),
            apart=bool(p_adjusted[k] <= 1 - LEVEL),
            equivalent=None if margin is None else -margin < joint_low and joint_high < margin,
            candidates_needed=candidates_to_separate(difference, error, candidates),
            detectable=_effect() * error,
            mcnemar=McNemar(
                both_right=found.both[k],
                only_higher=only_higher,
                only_lower=only_lower,
                both_wrong=found.neither[k],
                p=found.p[k],
                p_adjusted=found.p_adjusted[k],
            ),
        )
    return tuple(pairs[key] for key in sorted(pairs))


def _discordance(together: Panel, draws: PairedDraws, metric: ComparedMetric) -> _Discordance:
    right = together.right[:, np.isin(together.group, metric.places)].astype(np.int64)
    both = (right @ right.T)[draws.first, draws.second]
    totals = right.sum(axis=1)
    only_first, only_second = totals[draws.first] - both, totals[draws.second] - both
    p = [mcnemar_p(b, c) for b, c in zip(only_first.tolist(), only_second.tolist(), strict=True)]
    return _Discordance(
        both=both.tolist(),
        only_first=only_first.tolist(),
        only_second=only_second.tolist(),
        neither=(right.shape[1] - both - only_first - only_second).tolist(),
        p=p,
        p_adjusted=holm(np.array(p)).tolist(),
    )


def _why_unranked(rows: Rows, metric: ComparedMetric) -> str | None:
    counts = ledgers(rows)
    # Only what is compared: errors in a track or task that was not learnt say nothing about the others.
    share = error_share(counts)
    broken = [rows.groups[place] for place in metric.places if share[place] > ERROR_LIMIT]
    if broken:
        return f"incomplete: too many errors in {', '.join('/'.join(group) for group in broken)}"
    f1 = metrics(tables(counts, Rule.RANKED)).f1[list(metric.places)]
    if metric.kind == "f1" and np.isnan(f1).any():
        return "F1 is undefined: a task has neither a positive candidate nor a YES"
    if metric.kind == "brier":
        return _without_p(rows, metric)
    return None


def _without_p(rows: Rows, metric: ComparedMetric) -> str | None:
    """Say how many candidates have no P(YES): compared are systems on the same candidates, so none may lack."""
    scope = np.isin(rows.group, metric.places)
    missing = int(np.isnan(rows.p_yes_or_nan[scope]).sum())
    if missing == scope.sum():
        return NO_PROBABILITY
    return f"no P(YES) for {missing:,} of {scope.sum():,} candidates" if missing else None


def _interval(rows: Rows, metric: ComparedMetric, resamples: int, seed: int) -> tuple[float, float, float]:
    """Return the metric of one system and its 95 % interval, as `score` has them."""
    places = list(metric.places)
    counts = tables(ledgers(rows), Rule.RANKED)
    draws, _ = draw_tables(rows, resamples=resamples, seed=seed)
    if metric.kind == "accuracy":
        value = metrics(counts[places].sum(axis=0)[None])
        drawn = metrics(draws[:, places].sum(axis=1)[:, None])
        point, spread = macro(value, [0]), macro(drawn, [0])
    else:
        point, spread = macro(metrics(counts), places), macro(metrics(draws), places)
    if len(places) > 1:
        spread = recentred(point, spread)
    chosen, values = (point.f1, spread.f1) if metric.kind == "f1" else (point.accuracy, spread.accuracy)
    low, high = interval(float(chosen), values)
    return float(chosen), low, high


def _around(difference: float, half: float) -> tuple[float, float]:
    """Return an interval, within what a difference of two shares can be."""
    return max(difference - half, -1.0), min(difference + half, 1.0)


def _effect() -> float:
    """Return by how many standard errors a difference must exceed 0 to be found with the power wanted."""
    return float(stats.norm.ppf((1 + LEVEL) / 2) + stats.norm.ppf(POWER))
