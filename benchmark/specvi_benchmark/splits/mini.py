"""SpecVI-Mini: the built-in split, simulated, so that everything can be shown and tested without a network.

It is simulated and always called so; its scores say nothing about real spectra. Negatives are the objects
that are taken for the class, not random ones, so that neither a constant nor an index rule is at 0 or 1.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from specvi_benchmark.simulator import KINDS, SIMULATOR_VERSION, make_source, observe, wavelengths
from specvi_benchmark.simulator.lines import SPEED_OF_LIGHT_KMS
from specvi_benchmark.spectrum import Claims, Spectrum
from specvi_benchmark.splits.split import Candidate, Part, Split, candidate_seed, question_id
from specvi_benchmark.tasks import get_task
from specvi_benchmark.vetting import ANSWERS, Answer

NAME = "specvi-mini-simulated"
VERSION = "1"
SEED = 20260111

# Candidates a task: (YES, NO). Test and cal hold five negatives for a positive, as the real test set does.
COUNTS: Mapping[Part, tuple[int, int]] = {
    "train": (24, 24),
    "dev": (12, 12),
    "cal": (12, 60),
    "test": (12, 60),
}

# Kinds of object by weight. Negatives are the confusers that the task files name.
MIXES: Mapping[str, Mapping[Answer, Mapping[str, int]]] = {
    "cv": {
        "YES": {"cv-quiescent": 6, "cv-outburst": 3, "cv-polar": 2},
        "NO": {
            "active-m-dwarf": 2,
            "be-star": 2,
            "t-tauri": 2,
            "agn": 1,
            "quasar": 1,
            "wd-plus-m": 1,
            "nebular": 1,
        },
    },
    "cs": {
        "YES": {"carbon-n": 3, "carbon-h": 4, "carbon-j": 2, "carbon-dwarf": 3},
        "NO": {
            "barium-star": 3,
            "k-giant": 2,
            "m-giant": 1,
            "m-dwarf": 1,
            "k-dwarf": 1,
            "s-star": 1,
            "wd-dq": 1,
        },
    },
    "ss": {
        "YES": {"s-star": 1},
        "NO": {"m-giant": 6, "m-dwarf": 1, "carbon-n": 1, "barium-star": 1, "k-giant": 1},
    },
    "mg": {
        "YES": {"m-giant": 1},
        "NO": {"m-dwarf": 4, "k-giant": 2, "k-dwarf": 1, "pure-s-star": 1, "carbon-h": 1, "wd-plus-m": 1},
    },
    "wd": {
        "YES": {"wd-da": 6, "wd-db": 2, "wd-dz": 2, "wd-dq": 2},
        "NO": {
            "bhb-star": 2,
            "a-star": 2,
            "subdwarf-b": 2,
            "subdwarf-o": 1,
            "b-star": 1,
            "fg-star": 1,
            "quasar": 1,
        },
    },
}

# The same laws for every task and truth, so that signal to noise and a missing redshift tell nothing.
SNR_MEDIAN = 10.0
SNR_SPREAD_DEX = 0.35
SNR_RANGE = (3.2, 100.0)
SNR_VISITS_DEX = 0.05
REDSHIFT_MISSING = 0.06
REDSHIFT_WRONG = 0.04
GALAXY_RECOGNISED = 0.4
SECOND_VISITS = 12  # one candidate in so many is a second visit of an object that is there already

RECIPE: dict[str, Any] = {
    "source": "simulated",
    "simulator_version": SIMULATOR_VERSION,
    "seed": SEED,
    "counts": {part: {"YES": counts[0], "NO": counts[1]} for part, counts in COUNTS.items()},
    "mixes": {task: {truth: dict(kinds) for truth, kinds in mix.items()} for task, mix in MIXES.items()},
    "snr": {
        "median": SNR_MEDIAN,
        "spread_dex": SNR_SPREAD_DEX,
        "range": list(SNR_RANGE),
        "visits_dex": SNR_VISITS_DEX,
    },
    "redshift": {
        "missing": REDSHIFT_MISSING,
        "wrong": REDSHIFT_WRONG,
        "galaxy_recognised": GALAXY_RECOGNISED,
    },
    "second_visits": f"1 in {SECOND_VISITS}",
}


@dataclass(frozen=True, slots=True)
class Slot:
    """A candidate that is planned: everything about it but its numbers."""

    task: str
    part: Part
    truth: Answer
    kind: str
    object_id: str
    survey_id: str


def build_mini() -> Split:
    """Return SpecVI-Mini. Always the same, whatever ran before and on however many processes."""
    return Split(NAME, VERSION, tuple(simulate(slot) for slot in plan()), RECIPE)


def plan() -> tuple[Slot, ...]:
    """Return every candidate of SpecVI-Mini, planned. Serial numbers are shuffled: they don't tell the truth."""
    return tuple(slot for task in MIXES for part in COUNTS for slot in _plan_part(task, part))


def simulate(slot: Slot) -> Candidate:
    """Return the candidate of a plan. Its numbers depend on nothing but its own id and its object's."""
    release = f"mini-{VERSION}"
    identity = question_id(
        track="main", task=slot.task, survey="simulated", release=release, survey_id=slot.survey_id
    )
    about = np.random.default_rng(candidate_seed(SEED, slot.object_id))
    visit = np.random.default_rng(candidate_seed(SEED, identity))
    ra, dec = round(float(about.uniform(0, 360)), 5), round(float(about.uniform(-10, 60)), 5)
    brightness = _draw_snr(about)
    source = make_source(slot.kind, about, snr=brightness)
    snr = brightness * 10 ** float(abs(visit.normal(0, SNR_VISITS_DEX)))
    redshift, quality = _pipeline_redshift(slot.kind, source.redshift, visit)
    mjd = int(visit.integers(55860, 60400))
    seen = observe(source, snr, visit)
    spectrum = Spectrum(
        wavelengths(),
        seen.flux,
        seen.ivar,
        seen.mask,
        survey="simulated",
        release=release,
        survey_id=slot.survey_id,
        name=slot.survey_id,
        format="simulated",
        ra_deg=ra,
        dec_deg=dec,
        mjd=mjd,
        claims=Claims(object_class=_pipeline_class(redshift), redshift=redshift),
    )
    evidence = {"kind": slot.kind, "pipeline_redshift": quality, "object": source.truth, "visit": seen.truth}
    return Candidate(
        id=identity,
        task=get_task(slot.task),
        track="main",
        part=slot.part,
        spectrum=spectrum,
        redshift=redshift,
        truth=slot.truth,
        object_id=slot.object_id,
        object_id_source="simulated",
        label_source="simulated",
        label_evidence=_rounded(evidence),
    )


def _plan_part(task: str, part: Part) -> list[Slot]:
    """Return the slots of one part of one task, in the order of their serial numbers."""
    wanted: dict[Answer, int] = dict(zip(ANSWERS, COUNTS[part], strict=True))
    visits = [
        (truth, kind, f"sim-{_digest(f'{SEED} {task} {part} {truth} {number}')}")
        for truth, count in wanted.items()
        for number, kind in _objects_by_visit(count, MIXES[task][truth])
    ]
    order = np.random.default_rng(candidate_seed(SEED, f"{task} {part}")).permutation(len(visits))
    shuffled = [visits[place] for place in order]
    return [
        Slot(task, part, truth, kind, object_id, f"{part}-{task}-{serial:03d}")
        for serial, (truth, kind, object_id) in enumerate(shuffled)
    ]


def _objects_by_visit(count: int, mix: Mapping[str, int]) -> list[tuple[int, str]]:
    """Return (number of the object, kind) for each of ``count`` visits; some objects have two."""
    again = count // SECOND_VISITS
    objects = list(enumerate(_share_out(count - again, mix)))
    return objects + [objects[number * len(objects) // again] for number in range(again)]


def _share_out(count: int, mix: Mapping[str, int]) -> list[str]:
    """Return ``count`` kinds in the proportion of their weights, by largest remainder."""
    total = sum(mix.values())
    whole = {kind: count * weight // total for kind, weight in mix.items()}
    by_remainder = sorted(mix, key=lambda kind: -(count * mix[kind] % total))
    for kind in by_remainder[: count - sum(whole.values())]:
        whole[kind] += 1
    return [kind for kind, number in whole.items() for _ in range(number)]


def _draw_snr(rng: np.random.Generator) -> float:
    """Return a signal to noise from a log-normal law, cut at both ends."""
    while True:
        snr = float(SNR_MEDIAN * 10 ** rng.normal(0, SNR_SPREAD_DEX))
        if SNR_RANGE[0] <= snr <= SNR_RANGE[1]:
            return snr


def _pipeline_redshift(kind: str, true: float, rng: np.random.Generator) -> tuple[float | None, str]:
    """Return the redshift a survey's pipeline would give, and how it came about."""
    luck, error = rng.random(), rng.normal(0, 8 / SPEED_OF_LIGHT_KMS)
    elsewhere, recognised = rng.uniform(0.05, 2.0), rng.random() < GALAXY_RECOGNISED
    if luck < REDSHIFT_MISSING:
        return None, "missing"
    if luck < REDSHIFT_MISSING + REDSHIFT_WRONG:
        return round(float(elsewhere), 6), "wrong"
    if KINDS[kind].redshifts is not None and not recognised:
        return round(float(error * 5), 6), "fitted as a star"
    return round(float(true + error), 6), "right"


def _pipeline_class(redshift: float | None) -> str:
    if redshift is None:
        return "Unknown"
    return "STAR" if abs(redshift) < 0.005 else "GALAXY" if redshift < 0.5 else "QSO"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _rounded(value: Any) -> Any:
    """Return JSON values with floats to six digits: what was drawn, not its last bits."""
    if isinstance(value, Mapping):
        return {name: _rounded(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
