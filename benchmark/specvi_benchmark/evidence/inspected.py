"""One inspection held against its spectrum: each claim with what the flux says and whether it was shown."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from specvi_benchmark.evidence.claims import Claim, Kind, extract_claims
from specvi_benchmark.evidence.decisive import decisive_names
from specvi_benchmark.evidence.features import get_feature
from specvi_benchmark.evidence.looked import Looked, looked_at
from specvi_benchmark.evidence.measure import Light, Outcome, Tested, check_claim, measure_light
from specvi_benchmark.features.frame import choose_shift
from specvi_benchmark.traces import TraceRecord
from specvi_benchmark.vetting import Question

WIDTH_FACTOR = 2.0
"""A claimed FWHM agrees when it is within this factor of the measured one, which is good to 1.3 itself."""

METALS = ("Ca ", "Na ", "Mg ", "K I", "Ba ", "Sr ", "Li ", "Si ", "C II 4")
"""Lines that stars show in absorption."""

_USUAL: Mapping[str, Kind] = {
    "cv": "emission", "qso": "emission", "wd": "absorption", "o": "absorption", "b": "absorption", "a": "absorption",
}  # fmt: skip

Verdict = Literal["holds", "unsupported", "contradicted", "open"]


@dataclass(frozen=True, slots=True)
class Held:
    """One claim held against the flux.

    Attributes
    ----------
    claim, tested
        What was said, and what the flux says.
    outcome
        That of the test, or ``not covered`` where no view up to the claim showed the place.
    zoomed
        Whether a zoom showed it.
    is_decisive
        A presence of what decides the task.
    """

    claim: Claim
    tested: Tested
    outcome: Outcome
    zoomed: bool
    is_decisive: bool

    @property
    def verdict(self) -> Verdict:
        """Return what becomes of the claim; ``open`` where nothing can be said, or it was made with a doubt."""
        if self.claim.polarity == "uncertain" or self.outcome in {"not covered", "not testable"}:
            return "open"
        if self.claim.polarity == "absent":
            return "contradicted" if self.outcome == "found" else "holds"
        if self.outcome == "found":
            return "holds"
        return "contradicted" if self.tested.is_opposite else "unsupported"

    @property
    def width_agrees(self) -> bool | None:
        """Tell whether the claimed FWHM is that of the line found; None where either is not known."""
        claim, measured = self.claim, self.tested.fwhm_kms
        if self.outcome != "found" or measured is None:
            return None
        claimed = claim.fwhm_kms
        if claimed is None and claim.fwhm_AA is not None:
            places = get_feature(claim.feature).places
            claimed = claim.fwhm_AA / places[0].vacuum_AA * 299_792.458
        if claimed is None:
            return None
        return 1 / WIDTH_FACTOR <= claimed / measured <= WIDTH_FACTOR


@dataclass(frozen=True, slots=True)
class Inspected:
    """One inspection: its last word on each feature, held against the flux, and where it looked."""

    held: tuple[Held, ...]
    looked: Looked
    has_text: bool


def hold_against(question: Question, trace: TraceRecord) -> Inspected:
    """Hold the claims of one inspection against its spectrum.

    What is said later of the same feature and kind, named or implied, replaces what was said before.
    """
    task = question.task
    shift = choose_shift(question.redshift, task.frame).redshift
    looked = looked_at(trace.turns, trace.environment, task, shift)
    last: dict[tuple[str, str | None], tuple[int, Claim]] = {}
    has_text = False
    for number, turn in enumerate(trace.turns):
        if turn.role != "assistant":
            continue
        text = "\n".join(filter(None, (turn.reasoning, turn.text)))
        has_text = has_text or bool(text.strip())
        for claim in extract_claims(text, quasar=task.key == "qso"):
            last[claim.feature, claim.kind or implied_kind(claim.feature, task.key)] = (number, claim)
    light = measure_light(question.spectrum) if last else None
    known: dict[tuple[str, str | None, float], Tested] = {}
    held = tuple(
        _held(light, question, looked, number, claim, shift, known)
        for number, claim in last.values()
        if light
    )
    return Inspected(held, looked, has_text)


def _held(
    light: Light,
    question: Question,
    looked: Looked,
    turn: int,
    claim: Claim,
    shift: float,
    known: dict[tuple[str, str | None, float], Tested],
) -> Held:
    feature = get_feature(claim.feature)
    redshift = claimed_redshift(claim, question, shift)
    if redshift is None:
        tested = Tested("not testable")
    else:
        kind = claim.kind or implied_kind(claim.feature, question.task.key)
        key = (claim.feature, kind, redshift)
        if key not in known:
            known[key] = check_claim(light, feature, kind, redshift)
        tested = known[key]
    places = [place.vacuum_AA * (1 + (redshift or 0.0)) for place in feature.places]
    shown = not looked.views or any(looked.shows(place, turn) for place in places)
    outcome: Outcome = tested.outcome if shown else "not covered"
    return Held(
        claim=claim,
        tested=tested,
        outcome=outcome,
        zoomed=any(looked.shows(place, turn, zoomed=True) for place in places),
        is_decisive=is_decisive(claim, decisive_names(question.task.key)),
    )


def claimed_redshift(claim: Claim, question: Question, shift: float) -> float | None:
    """Return where a claim places its feature; None where a quasar's redshift is said nowhere.

    In a stellar task that is the shift of the views. In the quasar task it follows from the wavelength written with
    the line, else from the redshift said, else from the question's; bands and Galactic lines are at rest there.
    """
    if question.task.frame == "rest":
        return shift
    feature = get_feature(claim.feature)
    if feature.is_band or " at rest" in claim.sentence or "zero redshift" in claim.sentence:
        return 0.0
    rest = feature.places[0].vacuum_AA
    if (
        claim.written_AA is not None
        and len(feature.places) == 1
        and abs(claim.written_AA - rest) > 0.01 * rest
    ):
        return claim.written_AA / rest - 1
    return claim.redshift if claim.redshift is not None else question.redshift


def implied_kind(name: str, task: str) -> Kind | None:
    """Return what a claim without a kind must mean: forbidden lines emit, metals absorb, others as decides the task."""
    if name.startswith(("[", "Bowen")):
        return "emission"
    if name.startswith(METALS) and task != "qso":
        return "absorption"
    kinds = decisive_names(task).get(name) or ()
    if kinds:
        return kinds[0]
    return _USUAL.get(task)


def is_decisive(claim: Claim, names: Mapping[str, tuple[Kind, ...]]) -> bool:
    """Tell whether a claim is the presence of what decides its task, at its right wavelength."""
    kinds = names.get(claim.feature)
    if kinds is None or claim.polarity != "present" or claim.is_misplaced:
        return False
    return claim.kind is None or claim.kind in kinds
