"""What a split must hold beyond being readable, checked from its candidates alone."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.splits.leaks import Leak, find_leaks
from specvi_benchmark.splits.manifest import count
from specvi_benchmark.splits.near import ALIKE, near_duplicates
from specvi_benchmark.splits.recipe import BALANCED, PREVALENCE
from specvi_benchmark.splits.split import Split

BALANCE = (0.45, 0.55)
"""Share of YES in ``train`` and ``dev``; the published train set has 1681 of 3364."""


@dataclass(frozen=True, slots=True)
class Check:
    """One finding: what was checked, whether it holds, and the figures.

    ``warns``: it does not hold, and the split can be used all the same by one who knows it.
    """

    name: str
    holds: bool
    detail: str
    warns: bool = False

    @property
    def verdict(self) -> str:
        """Return ``holds``, ``warns`` or ``FAILS``."""
        return "holds" if self.holds else "warns" if self.warns else "FAILS"


def verify_split(split: Split) -> tuple[Check, ...]:
    """Check object separation, near-duplicates, truths, decidability, balance and leaks of a split.

    Nothing but the candidates is needed. Fingerprint, counts and unique ids are checked whenever a split
    is read, see `io.read_split`.
    """
    checks: tuple[Callable[[Split], Check], ...] = (
        _parts_apart,
        _no_near_duplicates,
        _one_truth,
        _both_truths,
        _decidable,
        _balanced,
    )
    return (*(check(split) for check in checks), *(_leak_check(leak) for leak in find_leaks(split)))


def require(checks: tuple[Check, ...], where: object) -> None:
    """Raise one UserError that names every check that fails."""
    failed = [check for check in checks if not check.holds and not check.warns]
    if failed:
        raise UserError(
            f"{len(failed)} of {len(checks)} checks fail",
            where=where,
            got="; ".join(f"{check.name}: {check.detail}" for check in failed),
        )


def _parts_apart(split: Split) -> Check:
    """No object is in two parts, whatever the task: training must not have seen what is tested."""
    parts: dict[str, set[str]] = defaultdict(set)
    for candidate in split.candidates:
        parts[candidate.object_id].add(candidate.part)
    shared = [
        f"{name} in {' and '.join(sorted(found))}" for name, found in sorted(parts.items()) if len(found) > 1
    ]
    detail = (
        f"{len(shared)} objects in more than one part: {examples(shared)}"
        if shared
        else f"{len(parts)} objects"
    )
    return Check("parts share no object", not shared, detail)


def _no_near_duplicates(split: Split) -> Check:
    """No spectrum is in two parts under two names: a new reduction of one exposure has another object id."""
    pairs = near_duplicates(split)
    shown = examples(
        f"{pair.first.spectrum.name or pair.first.id} in {pair.first.part} is "
        f"{pair.second.spectrum.name or pair.second.id} in {pair.second.part} (r = {pair.correlation:.4f})"
        for pair in pairs
    )
    detail = f"{len(pairs)} pairs: {shown}" if pairs else f"none with r ≥ {ALIKE}"
    return Check("parts share no near-duplicate", not pairs, detail)


def _balanced(split: Split) -> Check:
    """Train and dev are balanced, test and cal hold about 17 % YES. A recipe's split must; others may differ."""
    odd = []
    for part, groups in count(split.candidates).items():
        low, high = BALANCE if part in BALANCED else PREVALENCE
        for group, truths in groups.items():
            share = truths["YES"] / sum(truths.values())
            if not low <= share <= high:
                odd.append(f"{part} {group} {share:.0%} YES, not {low:.0%} to {high:.0%}")
    detail = f"{len(odd)} groups: {examples(odd)}" if odd else "as parts should be"
    return Check("balance", not odd, detail, warns="sets" not in split.recipe)


def _leak_check(leak: Leak) -> Check:
    """A probe that sees no light is at chance."""
    found = leak.auroc
    detail = f"AUROC {found.value:.2f} ({found.low:.2f} to {found.high:.2f}) on {leak.part}, fitted on {leak.fitted_on}"
    return Check(
        f"{leak.probe} at chance, {leak.track} {leak.task}",
        not leak.above_chance,
        detail + (", above chance" if leak.above_chance else ""),
        warns=True,
    )


def _one_truth(split: Split) -> Check:
    """An object has one truth for a task, whichever of its spectra is asked about."""
    truths: dict[tuple[str, str], set[str]] = defaultdict(set)
    for candidate in split.candidates:
        truths[candidate.task.key, candidate.object_id].add(candidate.truth)
    both = [f"{name} ({task})" for (task, name), found in sorted(truths.items()) if len(found) > 1]
    detail = (
        f"{len(both)} objects are YES and NO: {examples(both)}"
        if both
        else f"{len(truths)} objects and tasks"
    )
    return Check("an object has one truth", not both, detail)


def _both_truths(split: Split) -> Check:
    """Every part of every task has both truths; without one of them F1 has no meaning."""
    groups: dict[str, set[str]] = defaultdict(set)
    for candidate in split.candidates:
        groups[f"{candidate.part} {candidate.task.key} ({candidate.track})"].add(candidate.truth)
    single = [name for name, truths in sorted(groups.items()) if len(truths) < 2]
    detail = f"only one truth in {examples(single)}" if single else f"{len(groups)} groups"
    return Check("both truths are there", not single, detail)


def _decidable(split: Split) -> Check:
    """Candidates on which astronomers could not agree have no place in a scored set."""
    undecidable = [candidate.id for candidate in split.candidates if not candidate.decidable]
    detail = f"{len(undecidable)} undecidable: {examples(undecidable)}" if undecidable else "every candidate"
    return Check("every candidate can be decided", not undecidable, detail)
