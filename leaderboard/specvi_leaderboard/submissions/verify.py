"""Runs a submission's declared public model again, on a sample or on everything, and compares the answers."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from scipy import stats

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import StrictModel
from specvi_benchmark.runs.evaluate import match_log, rows_of
from specvi_benchmark.runs.fitting import load_system
from specvi_benchmark.runs.matching import MatchedPredictions
from specvi_benchmark.runs.predictions import Prediction
from specvi_benchmark.runs.record import SplitReference
from specvi_benchmark.runs.runner import Progress, run
from specvi_benchmark.scoring.compare import compare
from specvi_benchmark.splits import Split
from specvi_benchmark.tasks.task import Track
from specvi_benchmark.vetting import AnyVetter
from specvi_leaderboard.submissions.schema import PublicModel
from specvi_leaderboard.submissions.validate import Checked

SAMPLE = 200
LEAST_AGREEMENT = 0.95
SUBMITTED, AGAIN = "submitted", "run again"


class TrackCheck(StrictModel):
    """``metric`` of both on the candidates run again; ``p`` of no difference, paired. None: undefined.

    Macro-F1 where all were run again; accuracy on a sample, in which a task may have no positive.
    """

    track: str
    metric: str
    submitted: float | None
    run_again: float | None
    p: float | None


class Difference(StrictModel):
    """A candidate on which the two do not say the same."""

    task: str
    id: str
    submitted: str
    run_again: str


class Verification(StrictModel):
    """What running a system again gave.

    ``agreement`` is the share of equal answers, ``low`` and ``high`` its exact 95 % interval (Clopper & Pearson
    1934, Biometrika 26, 404). ``reproduced``: enough agree, and no track is shown to be better as submitted.
    """

    id: str
    digest: str
    vetter: str
    candidates: int
    sampled: bool
    seed: int
    agree: int
    agreement: float
    low: float
    high: float
    tracks: tuple[TrackCheck, ...]
    differences: tuple[Difference, ...]
    reproduced: bool


def declared_vetter(model: PublicModel | None, local: str | None, where: object) -> tuple[str, AnyVetter]:
    """Make the vetter that a submission declares; return its spec string with it.

    Nothing of the submission is run: the vetter is one of this suite, and a checkpoint is data to it.

    Parameters
    ----------
    local
        Folder of a copy of the checkpoint, or of a trained vetter, in place of the Hub's.

    Raises
    ------
    UserError
        No model is declared, or it can't be made here.
    """
    if model is None:
        raise UserError(
            "no public model is declared, so nothing can be run again",
            where=where,
            expected="model with vetter, and hub_id and revision of a checkpoint",
            fix="it can be re-scored only",
        )
    argument = local or model.hub_id
    if local is None and model.hub_id is not None and Path(model.hub_id).exists():
        raise UserError(
            "a folder here has the name of the model on the Hub",
            where=model.hub_id,
            fix="type it elsewhere, or name the copy with --model-path",
        )
    options = {str(name): value for name, value in model.options.items()}
    if local is None and model.revision is not None:
        options["revision"] = model.revision
    spec = model.vetter if argument is None else f"{model.vetter}:{argument}"
    return spec, load_system(spec, options)


def verify(
    checked: Checked,
    spec: str,
    vetter: AnyVetter,
    folder: Path,
    *,
    sample: int | None = SAMPLE,
    seed: int = 0,
    least: float = LEAST_AGREEMENT,
    report: Callable[[Progress], None] = lambda _: None,
) -> Verification:
    """Run a system again over its candidates and compare; a run that was stopped goes on.

    Parameters
    ----------
    folder
        Run folder of the new answers.
    sample
        How many candidates, drawn by hash over ``seed``; None: all.
    least
        Share of equal answers below which it is not reproduced.
    """
    chosen = _sampled(checked.matched, sample, seed)
    wanted = checked.submission.split
    reference = SplitReference(
        name=wanted.name,
        version=wanted.version,
        path=checked.place,
        part=wanted.part,
        task=wanted.task,
        track=wanted.track,
        fingerprint=chosen.split.fingerprint,
    )
    run(vetter, spec, chosen.split, reference, folder, seed=seed, report=report)
    again = match_log(folder, chosen.split)
    pairs = list(zip(chosen.predictions, again.predictions, strict=True))
    agree = sum(_call(one) == _call(other) for one, other in pairs)
    bounds = stats.binomtest(agree, len(pairs)).proportion_ci(0.95, method="exact")
    sampled = len(pairs) < len(checked.matched.predictions)
    metric = "accuracy" if sampled else "macro-f1"
    tracks = tuple(_track(track, chosen, again, metric) for track in chosen.split.tracks)
    worse = any(
        t.p is not None
        and t.p <= 0.05
        and t.submitted is not None
        and t.run_again is not None
        and t.submitted > t.run_again
        for t in tracks
    )
    return Verification(
        id=checked.id,
        digest=checked.digest,
        vetter=spec,
        candidates=len(pairs),
        sampled=sampled,
        seed=seed,
        agree=agree,
        agreement=agree / len(pairs),
        low=float(bounds.low),
        high=float(bounds.high),
        tracks=tracks,
        differences=tuple(
            Difference(task=one.task, id=one.id, submitted=_call(one), run_again=_call(other))
            for one, other in pairs
            if _call(one) != _call(other)
        ),
        reproduced=agree / len(pairs) >= least and not worse,
    )


def _sampled(matched: MatchedPredictions, sample: int | None, seed: int) -> MatchedPredictions:
    split = matched.split
    if sample is None or sample >= len(split.candidates):
        return matched
    order = sorted(
        range(len(split.candidates)),
        key=lambda place: hashlib.sha256(f"verify {seed} {split.candidates[place].id}".encode()).digest(),
    )
    kept = sorted(order[:sample])
    few = Split(split.name, split.version, tuple(split.candidates[place] for place in kept), split.recipe)
    return replace(matched, split=few, predictions=tuple(matched.predictions[place] for place in kept))


def _track(track: Track, submitted: MatchedPredictions, again: MatchedPredictions, metric: str) -> TrackCheck:
    found = compare({SUBMITTED: rows_of(submitted), AGAIN: rows_of(again)}, metric, track=track)
    values = {system.system: system.value for system in found.systems}
    return TrackCheck(
        track=track,
        metric=metric,
        submitted=values.get(SUBMITTED),
        run_again=values.get(AGAIN),
        p=found.pairs[0].p_adjusted if found.pairs else None,
    )


def _call(prediction: Prediction) -> str:
    return prediction.answer or prediction.outcome.value
