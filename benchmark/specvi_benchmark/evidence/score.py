"""The evidence score of a run: how far its right answers rest on what is there, with intervals and examples."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from specvi_benchmark.evidence.claims import Claim
from specvi_benchmark.evidence.inspected import Held, Inspected
from specvi_benchmark.scoring.evidence import (
    ClaimScore,
    DecisiveScore,
    Example,
    ExampleOf,
    LookScore,
    TaskEvidence,
)
from specvi_benchmark.scoring.intervals import interval
from specvi_benchmark.scoring.measure import Measure, measure
from specvi_benchmark.splits import Candidate
from specvi_benchmark.tasks.task import Track

RESAMPLES = 2000
THIN = 10
"""Below so many claims of either kind the interval comes from Beta draws (Jeffreys), else from a bootstrap of objects."""

EXAMPLES = 3
"""Of each sort, for a person to look at."""


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One candidate: what was asked and answered, and its inspection; None without a trace."""

    candidate: Candidate
    answer: str | None
    inspected: Inspected | None

    @property
    def is_right_yes(self) -> bool:
        """Tell whether the system rightly said YES."""
        return self.answer == "YES" == self.candidate.truth


def score_task(track: Track, task: str, rows: Sequence[Row]) -> TaskEvidence:
    """Score the evidence of one task."""
    told = [row for row in rows if row.inspected is not None and row.inspected.has_text]
    return TaskEvidence(
        track=track,
        task=task,
        n=len(told),
        without_text=len(rows) - len(told),
        decisive=_decisive([row for row in told if row.is_right_yes]),
        claims=_claims(told),
        looked=_looked(told),
        examples=tuple(_examples(told)),
    )


def share(hits: Sequence[bool], objects: Sequence[str]) -> Measure:
    """Return the share of hits with its 95 % interval; undefined without any.

    Claims of one object stand or fall together, so that objects are resampled; where fewer than ten are hits, or fewer
    than ten are not, the interval is Jeffreys', for as many independent claims as have the variance that objects show.
    """
    n, k = len(hits), sum(hits)
    if n == 0:
        return Measure(value=None, low=None, high=None)
    rng = np.random.default_rng(0)
    code = np.unique(list(objects), return_inverse=True)[1]
    right = np.bincount(code, np.asarray(hits, dtype=np.float64))
    total = np.bincount(code)
    if min(k, n - k) < THIN:
        # The design effect: the variance of the share between objects over that of independent claims.
        independent = k * (n - k) / n
        effect = max(1.0, float(((right - k / n * total) ** 2).sum()) / independent) if independent else 1.0
        draws = rng.beta(k / effect + 0.5, (n - k) / effect + 0.5, RESAMPLES)
    else:
        times = rng.multinomial(right.size, np.full(right.size, 1 / right.size), RESAMPLES)
        draws = (times @ right) / np.maximum(times @ total, 1)
    return measure(k / n, *interval(k / n, draws))


def standing(held: Iterable[Held]) -> str:
    """Return what the decisive claims of one right YES come to, as `DecisiveScore` counts them."""
    decisive = [item for item in held if item.is_decisive]
    if not decisive:
        return "none"
    outcomes = {item.outcome for item in decisive}
    if "found" in outcomes:
        return "found"
    if any(item.outcome == "not covered" and item.tested.outcome == "found" for item in decisive):
        return "not_shown"
    return "not_found" if "not found" in outcomes else "not_testable"


def _decisive(rows: Sequence[Row]) -> DecisiveScore:
    found = [standing(row.inspected.held) for row in rows if row.inspected]
    counts = Counter(found)
    return DecisiveScore(
        n=len(found),
        found=counts["found"],
        not_found=counts["not_found"],
        not_shown=counts["not_shown"],
        not_testable=counts["not_testable"],
        none=counts["none"],
        share=share([one == "found" for one in found], [row.candidate.object_id for row in rows]),
    )


def _claims(rows: Sequence[Row]) -> ClaimScore:
    pairs = [(item, row.candidate.object_id) for row in rows if row.inspected for item in row.inspected.held]
    tested = [(item, name) for item, name in pairs if item.verdict != "open"]
    present = [(item, name) for item, name in tested if item.claim.polarity == "present"]
    widths = [item.width_agrees for item, _ in present if item.width_agrees is not None]
    said = Counter(item.claim.polarity for item, _ in pairs)
    return ClaimScore(
        present=said["present"],
        absent=said["absent"],
        uncertain=said["uncertain"],
        not_shown=sum(item.outcome == "not covered" for item, _ in pairs),
        not_testable=sum(item.outcome == "not testable" for item, _ in pairs),
        wrong_wavelength=sum(item.claim.is_misplaced for item, _ in pairs),
        widths=len(widths),
        widths_wrong=widths.count(False),
        unsupported=share([item.outcome != "found" for item, _ in present], [name for _, name in present]),
        contradicted=share(
            [item.verdict == "contradicted" for item, _ in tested], [name for _, name in tested]
        ),
    )


def _looked(rows: Sequence[Row]) -> LookScore:
    looks = [row.inspected.looked for row in rows if row.inspected and row.inspected.looked.views]
    calls = sum(look.calls for look in looks)
    decisive = [
        item.zoomed
        for row in rows
        if row.inspected and row.inspected.looked.views
        for item in row.inspected.held
        if item.is_decisive
    ]
    order = [label for look in looks for label in look.order]
    usual = [label for label, times in Counter(order).items() if 2 * times >= len(looks)]
    places = {
        label: np.mean([look.order.index(label) for look in looks if label in look.order]) for label in usual
    }
    return LookScore(
        calls=calls / len(looks) if looks else None,
        windows_shown=float(np.mean([len(look.order) / look.windows for look in looks])) if looks else None,
        wasted=sum(look.without_picture + look.repeated for look in looks) / calls if calls else None,
        decisive_zoomed=float(np.mean(decisive)) if decisive else None,
        usual_order=tuple(sorted(usual, key=lambda label: places[label])),
    )


def _examples(rows: Sequence[Row]) -> Iterator[Example]:
    """Yield the first few of each sort, the most significant contradiction of an absence first."""
    sorts: dict[ExampleOf, list[tuple[float, Example]]] = {}
    for row in rows:
        if row.inspected is None:
            continue
        unsupported = row.is_right_yes and standing(row.inspected.held) == "not_found"
        for item in row.inspected.held:
            sort: ExampleOf | None = None
            if item.claim.is_misplaced:
                sort = "wrong wavelength"
            elif unsupported and item.is_decisive:
                sort = "unsupported YES"
            elif item.verdict in {"unsupported", "contradicted"}:
                sort = "unsupported" if item.verdict == "unsupported" else "contradicted"
            if sort:
                example = Example(
                    of=sort,
                    id=row.candidate.id,
                    sentence=item.claim.sentence,
                    claim=claim_words(item.claim),
                    flux=flux_words(item),
                )
                sorts.setdefault(sort, []).append((-abs(item.tested.significance or 0.0), example))
    for found in sorts.values():
        yield from (example for _, example in sorted(found, key=lambda pair: pair[0])[:EXAMPLES])


def claim_words(claim: Claim) -> str:
    """Return a claim in a few words: ``Hα emission, present``."""
    kind = f" {claim.kind}" if claim.kind in {"emission", "absorption"} else ""
    at = f" at {claim.written_AA:.0f} Å" if claim.is_misplaced and claim.written_AA else ""
    return f"{claim.feature}{kind}{at}, {claim.polarity}"


def flux_words(item: Held) -> str:
    """Return what the flux says in a few words: ``found, 12.3σ, p 0.005``."""
    tested = item.tested
    if item.outcome in {"not covered", "not testable"} or tested.p is None:
        return item.outcome
    opposite = ", the opposite found" if tested.is_opposite else ""
    return f"{item.outcome}, {tested.significance:.1f}σ, p {tested.p:.3f}{opposite}"
