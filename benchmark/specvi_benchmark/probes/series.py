"""Asks a vetter the same candidates once for each probe: each probe is a run of its own, resumable as any."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from specvi_benchmark.errors import UserError
from specvi_benchmark.probes.probe import PLAIN, PROBE_VERSION, Probe, unchanged
from specvi_benchmark.runs.budget import Limits
from specvi_benchmark.runs.predictions import Prediction, read_run_predictions
from specvi_benchmark.runs.record import PREDICTIONS_FILE, SplitReference
from specvi_benchmark.runs.runner import NO_LIMITS, Progress, run
from specvi_benchmark.splits import Candidate, Split
from specvi_benchmark.splits.split import candidate_seed
from specvi_benchmark.vetting import AnyVetter, load_vetter

AS_IS = Probe(PLAIN, "the questions as they are", None, unchanged, against=())

Answers = Mapping[str, Prediction]
"""Candidate id → what was said of it."""


class System:
    """The vetter under test: how it is made, and with which options.

    One vetter is kept at a time: it may be a model that fills a GPU.
    """

    def __init__(self, spec: str, options: Mapping[str, str]) -> None:
        self.spec, self.options = spec, dict(options)
        self._made: tuple[Mapping[str, str], AnyVetter] | None = None

    def load(self, more: Mapping[str, str] | None = None) -> AnyVetter:
        """Make the vetter, with further options; the one that was made last is not made again.

        Raises
        ------
        UserError
            It does not take these options.
        """
        wanted = {**self.options, **(more or {})}
        if self._made is None or self._made[0] != wanted:
            self._made = None
            self._made = wanted, load_vetter(self.spec, wanted)
        return self._made[1]

    def for_probe(self, probe: Probe) -> AnyVetter | None:
        """Return the vetter to ask a probe; None where it lacks the options that the probe can't do without."""
        try:
            return self.load(probe.options)
        except UserError:
            if not probe.options:
                raise
            return None if probe.needs_options else self.load()


@dataclass(frozen=True, slots=True)
class Step:
    """One probe, ready to be asked: the candidates as it changes them."""

    probe: Probe
    split: Split


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A probe that says nothing of this system, and why."""

    probe: Probe
    reason: str


def probed(split: Split, probe: Probe, seed: int) -> Split:
    """Return the candidates as a probe changes them; those it does not apply to are left out."""
    kept = []
    for candidate in split.candidates:
        rng = np.random.default_rng(candidate_seed(seed, candidate.id))
        question = probe.change(candidate.question, rng)
        if question is not None:
            kept.append(_with(candidate, question.spectrum, question.redshift))
    recipe = {**split.recipe, "probe": {"name": probe.name, "version": PROBE_VERSION, "seed": seed}}
    return Split(f"{split.name}-{probe.name}", split.version, tuple(kept), recipe)


def plan(probes: Sequence[Probe], split: Split, seed: int) -> tuple[list[Step], list[LeftOut]]:
    """Return the steps of a series, and the probes that apply to none of the candidates."""
    steps, left_out = [], []
    for probe in probes:
        changed = probed(split, probe, seed)
        if changed.candidates:
            steps.append(Step(probe, changed))
        else:
            left_out.append(LeftOut(probe, "it applies to none of these candidates"))
    return steps, left_out


@dataclass(slots=True)
class Series:
    """What came of asking: the steps that are answered, the probes left out, and why it stopped early, if it did."""

    answered: list[Step] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    stopped_by: str | None = None


def ask_steps(
    system: System,
    steps: Sequence[Step],
    reference: SplitReference,
    folder: Path,
    *,
    seed: int,
    limits: Limits = NO_LIMITS,
    report: Callable[[Step, Progress], None] = lambda *_: None,
) -> Series:
    """Run every step in a folder of its own, up to the first that a limit stops.

    ``max_usd`` of the limits holds for all steps together, earlier calls included; ``max_minutes`` for each step.
    """
    series, left_usd = Series(), limits.max_usd
    for step in steps:
        vetter = system.for_probe(step.probe)
        if vetter is None:
            series.left_out.append(LeftOut(step.probe, "the vetter draws no pictures with a title"))
            continue
        reports: list[Progress] = []

        def told(progress: Progress, step: Step = step, reports: list[Progress] = reports) -> None:
            reports[:] = [progress]
            report(step, progress)

        record = run(
            vetter,
            system.spec,
            step.split,
            replaced(reference, step.split),
            folder / step.probe.name,
            seed=seed,
            limits=replace(limits, max_usd=left_usd),
            report=told,
        )
        if record.ended is None:
            series.stopped_by = reports[-1].stopped_by
            return series
        series.answered.append(step)
        if left_usd is not None:
            left_usd = max(0.0, left_usd - (reports[-1].spent_usd or 0.0))
    return series


def replaced(reference: SplitReference, split: Split) -> SplitReference:
    """Return the reference of a changed split: another name and fingerprint, so that no score mixes them up."""
    return reference.model_copy(update={"name": split.name, "fingerprint": split.fingerprint})


def answers_of(folder: Path) -> Answers:
    """Read what a run has said: candidate id → prediction."""
    return {row.id: row for row in read_run_predictions(folder / PREDICTIONS_FILE).values()}


def _with(candidate: Candidate, spectrum: object, redshift: float | None) -> Candidate:
    """Return the candidate as changed; pictures that were published with it no longer show it."""
    return replace(candidate, spectrum=spectrum, redshift=redshift, images=(), image_paths=())  # type: ignore[arg-type]
