"""Asks a vetter the same candidates once for each probe: each probe is a run of its own, resumable as any."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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


@dataclass(frozen=True, slots=True)
class System:
    """The vetter under test: how it is made, with its options."""

    spec: str
    options: Mapping[str, str]

    def load(self, more: Mapping[str, str] | None = None) -> AnyVetter:
        """Make the vetter, with further options.

        Raises
        ------
        UserError
            It does not take these options.
        """
        return load_vetter(self.spec, {**self.options, **(more or {})})


@dataclass(frozen=True, slots=True)
class Step:
    """One probe, ready to be asked: the vetter to ask, and the candidates as the probe changes them."""

    probe: Probe
    vetter: AnyVetter
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


def plan(
    system: System, probes: Sequence[Probe], split: Split, seed: int
) -> tuple[list[Step], list[LeftOut]]:
    """Return the steps of a series, and the probes that can't be asked."""
    vetter = system.load()
    steps, left_out = [], []
    for probe in probes:
        asked: AnyVetter | None = vetter
        if probe.options:
            try:
                asked = system.load(probe.options)
            except UserError:
                asked = None if probe.needs_options else vetter
        if asked is None:
            left_out.append(LeftOut(probe, "the vetter draws no pictures with a title"))
            continue
        changed = probed(split, probe, seed)
        if changed.candidates:
            steps.append(Step(probe, asked, changed))
        else:
            left_out.append(LeftOut(probe, "it applies to none of these candidates"))
    return steps, left_out


def ask_steps(
    system: System,
    steps: Sequence[Step],
    reference: SplitReference,
    folder: Path,
    *,
    seed: int,
    limits: Limits = NO_LIMITS,
    report: Callable[[Step, Progress], None] = lambda *_: None,
) -> str | None:
    """Run every step in a folder of its own; return why it stopped early, None where all are answered.

    ``max_usd`` of the limits holds for all steps together, earlier calls included; ``max_minutes`` for each step.
    """
    left_usd = limits.max_usd
    for step in steps:
        last = Progress(0, len(step.split.candidates), {})

        def told(progress: Progress, step: Step = step) -> None:
            nonlocal last
            last = progress
            report(step, progress)

        record = run(
            step.vetter,
            system.spec,
            step.split,
            replaced(reference, step.split),
            folder / step.probe.name,
            seed=seed,
            limits=replace(limits, max_usd=left_usd),
            report=told,
        )
        if record.ended is None:
            return last.stopped_by
        if left_usd is not None:
            left_usd = max(0.0, left_usd - (last.spent_usd or 0.0))
    return None


def replaced(reference: SplitReference, split: Split) -> SplitReference:
    """Return the reference of a changed split: another name and fingerprint, so that no score mixes them up."""
    return reference.model_copy(update={"name": split.name, "fingerprint": split.fingerprint})


def answers_of(folder: Path) -> Answers:
    """Read what a run has said: candidate id → prediction."""
    return {row.id: row for row in read_run_predictions(folder / PREDICTIONS_FILE).values()}


def _with(candidate: Candidate, spectrum: object, redshift: float | None) -> Candidate:
    """Return the candidate as changed; pictures that were published with it no longer show it."""
    return replace(candidate, spectrum=spectrum, redshift=redshift, images=(), image_paths=())  # type: ignore[arg-type]
