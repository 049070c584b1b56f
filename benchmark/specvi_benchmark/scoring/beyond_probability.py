"""Builds the sections that need probabilities: how good they are, deferral by them, promises made on them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from specvi_benchmark.scoring import beyond, conformal, deferral, thresholds
from specvi_benchmark.scoring import probability as prob
from specvi_benchmark.scoring.answers import TaskAnswers
from specvi_benchmark.scoring.beyond import Version
from specvi_benchmark.scoring.calibration import fit_isotonic, fit_platt, shift_prior, venn_abers
from specvi_benchmark.scoring.ledger import BoolArray, IntArray
from specvi_benchmark.scoring.measure import Measure, measure, number
from specvi_benchmark.scoring.metrics import FloatArray

DEFERRED = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
"""Shares in people's hands that a result holds."""

COMPLETENESS = (0.90, 0.95, 0.99)
PURITY = (0.80, 0.90, 0.95)


@dataclass(frozen=True, slots=True, eq=False)
class Probabilities:
    """Every version of one task's P(YES), ``(n,)`` each and NaN where there is none; why one is missing."""

    versions: Mapping[Version, FloatArray]
    pair: tuple[FloatArray, FloatArray] | None
    declared: float | None
    undefined: str | None


def probabilities(
    task: TaskAnswers, calibration: TaskAnswers | None, *, trained_at: float | None, balanced: bool
) -> Probabilities:
    """Return the system's own probabilities and every mended version.

    Parameters
    ----------
    calibration
        The same task on the calibration run, None without one.
    trained_at
        Share of positives the system's own probabilities refer to; they are shifted from there to the
        share in the scored set. None leaves them.
    balanced
        Whether the calibration candidates have another share of positives than the scored ones by design (dev):
        what is fitted there is shifted too.
    """
    if reason := task.without_probability:
        return Probabilities({}, None, None, reason)
    known, p = task.has_p, task.p_yes[task.has_p]
    declared = float(task.positive.mean())
    made: dict[Version, FloatArray] = {"raw": p}
    reason = None
    if (trained_at is not None or balanced) and not 0 < declared < 1:
        reason = "only one class is there, so that no share of positives is declared"
    if trained_at is not None and reason is None:
        made["prior-shifted"] = shift_prior(p, trained_at, declared)
    pair = None
    if calibration is not None:
        reason = reason or _not_fit(calibration)
        if reason is None:
            fitted, pair = _mended(calibration, p, declared if balanced else None)
            made |= fitted
    return Probabilities(
        {version: _spread(values, known) for version, values in made.items()},
        None if pair is None else (_spread(pair[0], known), _spread(pair[1], known)),
        declared,
        reason,
    )


def probability_section(task: TaskAnswers, found: Probabilities) -> beyond.TaskProbability:
    """Judge every version of the probabilities of a task."""
    known = task.has_p
    return beyond.TaskProbability(
        track=task.group.track,
        task=task.group.task,
        n=int(known.sum()),
        positives=int(task.positive[known].sum()),
        left_out=int((~known).sum()),
        declared_prevalence=found.declared if "prior-shifted" in found.versions else None,
        venn_abers_width=None
        if found.pair is None
        else number(float(np.nanmean(found.pair[1] - found.pair[0]))),
        versions=tuple(
            _judged(version, task.positive[known], p[known], task.object_code[known])
            for version, p in found.versions.items()
        ),
        undefined=found.undefined,
    )


def deferral_section(
    task: TaskAnswers, found: Probabilities, prevalence: float | None
) -> beyond.TaskDeferral:
    """Defer by every version of the probabilities; without any, say what the answers alone allow."""
    weights = None if prevalence is None else deferral.prevalence_weights(task.positive, prevalence)
    equal = np.where(task.answered, 1.0, -np.inf)
    first = deferral.deferral_curve(task.positive, task.called_yes, equal)
    by_answer = np.where(task.answered, task.called_yes * 1.0, np.inf)
    return beyond.TaskDeferral(
        track=task.group.track,
        task=task.group.task,
        non_answers=float((~task.answered).mean()),
        without_order=_points(first, first.deferred[:1])[0],
        versions=tuple(_deferred(version, task, p, weights) for version, p in found.versions.items()),
        workload_by_answer=_workloads(task.positive, by_answer, weights),
        undefined=task.without_probability,
    )


def promise_section(
    task: TaskAnswers,
    calibration: TaskAnswers | None,
    *,
    q: float,
    prevalence: float | None,
    balanced: bool,
) -> beyond.TaskPromises:
    """Select conformally and set thresholds on the calibration run, and see what they give on the scored set."""
    reason = task.without_probability
    if reason is None:
        reason = (
            "no such task in the calibration run" if calibration is None else calibration.without_probability
        )
    share = float(task.positive.mean())
    needed = conformal.negatives_needed(q, share) if share else None
    negatives, chosen = 0, None
    if reason is None and calibration is not None:
        rows = calibration.one_an_object
        nulls = calibration.score(calibration.p_yes)[rows][~calibration.positive[rows]]
        negatives = len(nulls)
        if needed is None:
            reason = "no positive to select"
        elif negatives < needed:
            reason = f"{needed} independent calibration negatives are needed, {negatives} are there"
        else:
            chosen = conformal.select(nulls, task.score(task.p_yes), q)
    return beyond.TaskPromises(
        track=task.group.track,
        task=task.group.task,
        q=q,
        negatives=negatives,
        negatives_needed=needed,
        negatives_needed_at_prevalence=(
            None if prevalence is None else conformal.negatives_needed(q, prevalence)
        ),
        selected=None if chosen is None else int(chosen.sum()),
        false_share=None if chosen is None or not chosen.any() else float((~task.positive[chosen]).mean()),
        completeness=None if chosen is None else number(_share(chosen, task.positive)),
        thresholds=_promises(task, calibration, balanced=balanced),
        undefined=reason,
    )


def _not_fit(calibration: TaskAnswers) -> str | None:
    """Return why nothing can be fitted on these answers."""
    if reason := calibration.without_probability:
        return f"calibration run: {reason}"
    truth = calibration.positive[calibration.has_p]
    return None if 0 < truth.mean() < 1 else "calibration run: only one class is there"


def _mended(
    calibration: TaskAnswers, p: FloatArray, declared: float | None
) -> tuple[dict[Version, FloatArray], tuple[FloatArray, FloatArray]]:
    """Return the mended versions of ``p`` and the Venn–Abers pair, at the declared share where it is another."""
    known = calibration.has_p
    truth, p_known = calibration.positive[known], calibration.p_yes[known]
    pair = venn_abers(truth, p_known, p)

    def here(values: FloatArray) -> FloatArray:
        return values if declared is None else shift_prior(values, float(truth.mean()), declared)

    made: dict[Version, FloatArray] = {
        "platt": here(fit_platt(truth, p_known)(p)),
        "isotonic": here(fit_isotonic(truth, p_known)(p)),
        "venn-abers": here(pair.p),
    }
    return made, (here(pair.low), here(pair.high))


def _spread(values: FloatArray, known: BoolArray) -> FloatArray:
    """Put values back among candidates without any."""
    full: FloatArray = np.full(len(known), np.nan)
    full[known] = values
    return full


def _judged(
    version: Version, positive: BoolArray, p: FloatArray, object_code: IntArray
) -> beyond.ProbabilityScore:
    width, mass = prob.equal_width_bins(p), prob.adaptive_bins(p)
    members, others = (prob.effective_count(object_code[positive == truth]) for truth in (True, False))
    area, average = prob.auroc(positive, p), prob.average_precision(positive, p)
    brier, logs = prob.brier_losses(positive, p), prob.log_losses(positive, p)
    parts = prob.decompose(positive, p, width)
    undefined = {}
    if np.isnan(area):
        absent = "no positive" if not positive.any() else "no negative"
        undefined["auroc"] = absent
        if not positive.any():
            undefined["average_precision"] = absent
    if infinite := int(np.isinf(logs).sum()):
        undefined["log_loss"] = f"infinite: {infinite} candidates have probability 0 for what they are"
    return beyond.ProbabilityScore(
        version=version,
        auroc=measure(area, *prob.auroc_interval(area, members, others)),
        average_precision=measure(average, *prob.average_precision_interval(average, members)),
        brier=measure(float(brier.mean()), *prob.mean_interval(brier, object_code)),
        log_loss=measure(np.nan if infinite else float(logs.mean()), *prob.mean_interval(logs, object_code)),
        reliability=number(parts.reliability),
        resolution=number(parts.resolution),
        uncertainty=number(parts.uncertainty),
        within_bins=number(parts.within),
        ece=number(prob.expected_calibration_error(positive, p, width)),
        ece_by_chance=number(prob.error_by_chance(p, width)),
        ece_adaptive=number(prob.expected_calibration_error(positive, p, mass)),
        ece_adaptive_by_chance=number(prob.error_by_chance(p, mass)),
        bins=_bins(prob.reliability(positive, p, mass)),
        undefined=undefined,
    )


def _bins(made: prob.Reliability) -> tuple[beyond.ReliabilityBin, ...]:
    hits = np.rint(made.positive_share * made.n).astype(int)
    return tuple(
        beyond.ReliabilityBin(
            low=float(low), high=float(high), n=int(n), mean_p=float(mean),
            positive_share=measure(float(share), *thresholds.clopper_pearson(int(hit), int(n))),
        )
        for low, high, n, mean, share, hit in zip(*made, hits, strict=True)
    )  # fmt: skip


def _deferred(
    version: Version, task: TaskAnswers, p: FloatArray, weights: FloatArray | None
) -> beyond.DeferralScore:
    confidence = task.confidence(p)
    wrong = ~task.answered | (task.called_yes != task.positive)
    curve = deferral.deferral_curve(task.positive, task.called_yes, confidence)
    usable = weights is not None and not np.isnan(weights).any()
    survey = deferral.deferral_curve(task.positive, task.called_yes, confidence, weights) if usable else None
    return beyond.DeferralScore(
        version=version,
        points=_points(curve, np.array(DEFERRED)),
        points_at_prevalence=() if survey is None else _points(survey, np.array(DEFERRED)),
        aurc=number(deferral.aurc(wrong, confidence)),
        augrc=number(deferral.augrc(wrong, confidence)),
        workload=_workloads(task.positive, np.where(task.answered, p, np.inf), weights),
    )


def _points(curve: deferral.DeferralCurve, shares: FloatArray) -> tuple[beyond.DeferralPoint, ...]:
    there = curve.at(shares)
    return tuple(
        beyond.DeferralPoint(
            deferred=float(share),
            purity=number(purity),
            machine_purity=number(machine),
            completeness=number(completeness),
        )
        for share, purity, machine, completeness in zip(
            shares, there.purity, there.machine_purity, there.completeness, strict=True
        )
    )


def _workloads(
    positive: BoolArray, score: FloatArray, weights: FloatArray | None
) -> tuple[beyond.Workload, ...]:
    return tuple(
        beyond.Workload(
            completeness=target,
            opened=number(deferral.workload(positive, score, target)),
            opened_at_prevalence=(
                None if weights is None else number(deferral.workload(positive, score, target, weights))
            ),
        )
        for target in COMPLETENESS
    )


def _promises(
    task: TaskAnswers, calibration: TaskAnswers | None, *, balanced: bool
) -> tuple[beyond.Promise, ...]:
    if calibration is None or task.without_probability or calibration.without_probability:
        return ()
    rows = calibration.one_an_object
    truth, score = calibration.positive[rows], calibration.score(calibration.p_yes)[rows]
    members = int(truth.sum())
    made = []
    for target in COMPLETENESS:
        found = thresholds.completeness_threshold(truth, score, target)
        needed = thresholds.positives_needed(target)
        reason = None
        if members < needed:
            reason = f"{needed} independent calibration positives are needed, {members} are there"
        elif not np.isfinite(found):
            found, reason = np.nan, "too many calibration positives have no P(YES)"
        made.append(_promise("completeness", target, found, task, task.score(task.p_yes) >= found, reason))
    for target in PURITY:
        found = np.nan if balanced else thresholds.purity_threshold(truth, score, target)
        reason = (
            "the calibration part has another share of positives" if balanced else "no list is pure enough"
        )
        above = task.score(task.p_yes) > found
        made.append(_promise("purity", target, found, task, above, reason if np.isnan(found) else None))
    return tuple(made)


def _promise(
    kind: Literal["completeness", "purity"],
    target: float,
    threshold: float,
    task: TaskAnswers,
    listed: BoolArray,
    reason: str | None,
) -> beyond.Promise:
    return beyond.Promise(
        kind=kind,
        target=target,
        confidence=thresholds.CONFIDENCE,
        threshold=number(threshold),
        purity=_exact(task.positive & listed, listed) if reason is None else measure(np.nan),
        completeness=_exact(listed & task.positive, task.positive) if reason is None else measure(np.nan),
        undefined=reason,
    )


def _exact(part: BoolArray, whole: BoolArray) -> Measure:
    found, of = int(part.sum()), int(whole.sum())
    return measure(found / of if of else np.nan, *thresholds.clopper_pearson(found, of))


def _share(part: BoolArray, whole: BoolArray) -> float:
    return float(part[whole].mean()) if whole.any() else np.nan
