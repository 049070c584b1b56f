"""What ``results.json`` holds beyond accuracy: probability, deferral, promises and the survey, each optional."""

from collections.abc import Mapping
from typing import Literal

from specvi_benchmark.files import StrictModel
from specvi_benchmark.scoring.measure import Measure
from specvi_benchmark.tasks.task import Track

Version = Literal["raw", "prior-shifted", "platt", "isotonic", "venn-abers"]
"""Which probabilities: the system's own, shifted to the declared prevalence, or mended on a calibration run."""

Breakdown = Literal["snr", "subtype", "survey"]


class OfTask(StrictModel):
    """A part of a section that belongs to one task of one track."""

    track: Track
    task: str


class ReliabilityBin(StrictModel):
    """Candidates of nearly equal P(YES): what was said on average, and the share that is YES (exact bounds)."""

    low: float
    high: float
    n: int
    mean_p: float
    positive_share: Measure


class ProbabilityScore(StrictModel):
    """How good one version of the probabilities is.

    ``reliability`` − ``resolution`` + ``uncertainty`` + ``within_bins`` is the Brier score. ``ece_by_chance`` is
    what a perfectly calibrated system would show on as many candidates. ``undefined``: value → reason.
    """

    version: Version
    auroc: Measure
    average_precision: Measure
    brier: Measure
    log_loss: Measure
    reliability: float | None
    resolution: float | None
    uncertainty: float | None
    within_bins: float | None
    ece: float | None
    ece_by_chance: float | None
    ece_adaptive: float | None
    ece_adaptive_by_chance: float | None
    bins: tuple[ReliabilityBin, ...]
    undefined: Mapping[str, str]


class TaskProbability(OfTask):
    """The probabilities of one task.

    ``n`` candidates have a P(YES); ``left_out`` are non-answers without one. ``venn_abers_width`` is the mean
    distance of its two probabilities. ``undefined`` says why there are no versions, or not all.
    """

    n: int
    positives: int
    left_out: int
    declared_prevalence: float | None
    venn_abers_width: float | None
    versions: tuple[ProbabilityScore, ...]
    undefined: str | None


class DeferralPoint(StrictModel):
    """With this share in people's hands: the catalogue's purity and completeness, and the machine's part alone."""

    deferred: float
    purity: float | None
    machine_purity: float | None
    completeness: float | None


class Workload(StrictModel):
    """The share of candidates a person opens to reach a completeness, here and at the stated prevalence."""

    completeness: float
    opened: float | None
    opened_at_prevalence: float | None


class DeferralScore(StrictModel):
    """Deferral in the order of one version of the probabilities."""

    version: Version
    points: tuple[DeferralPoint, ...]
    points_at_prevalence: tuple[DeferralPoint, ...]
    aurc: float | None
    augrc: float | None
    workload: tuple[Workload, ...]


class TaskDeferral(OfTask):
    """Deferral to people in one task. ``non_answers`` is the share that is theirs from the start.

    ``without_order`` is the catalogue with exactly the non-answers deferred: all there is without P(YES).
    """

    non_answers: float
    without_order: DeferralPoint
    versions: tuple[DeferralScore, ...]
    workload_by_answer: tuple[Workload, ...]
    undefined: str | None


class Promise(StrictModel):
    """A threshold fixed on the calibration run, and what it gives on the scored candidates (exact bounds)."""

    kind: Literal["completeness", "purity"]
    target: float
    confidence: float
    threshold: float | None
    purity: Measure
    completeness: Measure
    undefined: str | None


class TaskPromises(OfTask):
    """Conformal selection and thresholds of one task.

    ``negatives`` are independent calibration negatives, ``negatives_needed`` what a list as long as the class
    needs at the share of positives of the scored set. ``false_share`` is the false-discovery proportion of
    this list; only its mean over many is bounded by q.
    """

    q: float
    negatives: int
    negatives_needed: int | None
    negatives_needed_at_prevalence: int | None
    selected: int | None
    false_share: float | None
    completeness: float | None
    thresholds: tuple[Promise, ...]
    undefined: str | None


class CalibrationSource(StrictModel):
    """The run that probabilities were mended and promises made on."""

    run: str
    part: str
    fingerprint: str
    surveys: tuple[str, ...]
    warnings: tuple[str, ...]


class TaskSurvey(OfTask):
    """One task at the stated prevalence. ``…_with_queue``: non-answers are opened by people too.

    Completeness is end to end: of all members, those that pass the screen and the system. ``hours_saved`` are
    per ``spectra`` of the section, against opening everything that passes the screen. ``looks_per_member``
    counts what people open, queue included. ``undefined``: value → reason.
    """

    purity: Measure
    completeness: Measure
    completeness_with_queue: Measure
    false_alarms: Measure
    opened: Measure
    looks_per_member: Measure
    hours_saved: Measure
    undefined: Mapping[str, str]


class Survey(StrictModel):
    """What a search would give where ``prevalence`` of all spectra are members."""

    prevalence: float
    screen_completeness: float
    screen_acceptance: float
    seconds_a_look: float
    spectra: int
    tasks: tuple[TaskSurvey, ...]


class BreakdownRow(OfTask):
    """One bin of signal to noise, one subtype or one survey; purity at the stated prevalence."""

    by: Breakdown
    value: str
    positives: int
    completeness: Measure
    negatives: int
    false_alarms: Measure
    purity: Measure


class SurveyDrop(OfTask):
    """One metric on the spectra of two surveys of the same objects; ``drop`` is reference − other."""

    metric: str
    reference_survey: str
    other_survey: str
    objects: int
    positives: int
    reference: float | None
    other: float | None
    drop: Measure


class BeyondAccuracy(StrictModel):
    """Everything beyond accuracy that the answers and the options allow."""

    trained_at: float | None
    prevalence: float | None
    probability: tuple[TaskProbability, ...]
    deferral: tuple[TaskDeferral, ...]
    calibration: CalibrationSource | None
    promises: tuple[TaskPromises, ...]
    survey: Survey | None
    breakdown: tuple[BreakdownRow, ...]
    survey_drops: tuple[SurveyDrop, ...]
