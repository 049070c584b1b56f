"""What a split must hold beyond being readable, checked from its candidates alone."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.splits.split import Split


@dataclass(frozen=True, slots=True)
class Check:
    """One finding: what was checked, whether it holds, and the figures."""

    name: str
    holds: bool
    detail: str


def verify_split(split: Split) -> tuple[Check, ...]:
    """Check object separation, truths and decidability of a split.

    Fingerprint, counts and unique ids are checked whenever a split is read, see `io.read_split`.
    """
    checks: tuple[Callable[[Split], Check], ...] = (_parts_apart, _one_truth, _both_truths, _decidable)
    return tuple(check(split) for check in checks)


def require(checks: tuple[Check, ...], where: object) -> None:
    """Raise one UserError that names every check that fails."""
    failed = [check for check in checks if not check.holds]
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
