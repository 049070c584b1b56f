"""What changed between two splits: candidates, truths, parts, spectra and recipe."""

from collections.abc import Iterator, Mapping
from typing import Any

from specvi_benchmark.files import StrictModel
from specvi_benchmark.splits.split import Candidate, Split
from specvi_benchmark.splits.weak import WEAK_SCORE


class Change(StrictModel):
    """One value of one candidate that differs."""

    id: str
    group: str
    what: str
    before: str
    after: str


class Entry(StrictModel):
    """A candidate that is in one split only."""

    id: str
    group: str
    part: str
    truth: str
    name: str


class RecipeChange(StrictModel):
    """One key of the recipe that differs; None where it is lacking."""

    key: str
    before: Any
    after: Any


class Difference(StrictModel):
    """Two splits compared candidate by candidate, by id."""

    before: str
    after: str
    same_fingerprint: bool
    unchanged: int
    added: tuple[Entry, ...]
    removed: tuple[Entry, ...]
    changed: tuple[Change, ...]
    recipe: tuple[RecipeChange, ...]


def compare_splits(before: Split, after: Split) -> Difference:
    """Compare two splits.

    ``what`` of a change is ``truth``, ``part``, ``track``, ``task``, ``object``, ``redshift``, ``spectrum``
    (wavelength, flux, errors or mask), ``weak score`` (the selection's) or ``decidable``. Pictures, prompts
    and other evidence are not compared.
    """
    old = {candidate.id: candidate for candidate in before.candidates}
    new = {candidate.id: candidate for candidate in after.candidates}
    both = [name for name in old if name in new]
    changes = [change for name in both for change in _changes(old[name], new[name])]
    return Difference(
        before=f"{before.name} {before.version}",
        after=f"{after.name} {after.version}",
        same_fingerprint=before.fingerprint == after.fingerprint,
        unchanged=len(both) - len({change.id for change in changes}),
        added=tuple(_entry(candidate) for name, candidate in new.items() if name not in old),
        removed=tuple(_entry(candidate) for name, candidate in old.items() if name not in new),
        changed=tuple(changes),
        recipe=tuple(_recipe_changes(before.recipe, after.recipe)),
    )


def _entry(candidate: Candidate) -> Entry:
    return Entry(
        id=candidate.id,
        group=candidate.group,
        part=candidate.part,
        truth=candidate.truth,
        name=candidate.spectrum.name,
    )


def _changes(old: Candidate, new: Candidate) -> Iterator[Change]:
    values = (
        ("truth", old.truth, new.truth),
        ("part", old.part, new.part),
        ("track", old.track, new.track),
        ("task", old.task.key, new.task.key),
        ("object", old.object_id, new.object_id),
        ("redshift", old.redshift, new.redshift),
        ("weak score", old.label_evidence.get(WEAK_SCORE), new.label_evidence.get(WEAK_SCORE)),
        ("decidable", old.decidable, new.decidable),
    )
    for what, before, after in values:
        if before != after:
            yield Change(id=new.id, group=new.group, what=what, before=_said(before), after=_said(after))
    arrays = ("wavelength_AA", "flux", "ivar", "mask")
    differing = [
        name
        for name in arrays
        if getattr(old.spectrum, name).tobytes() != getattr(new.spectrum, name).tobytes()
    ]
    if differing:
        size = old.spectrum.flux.size, new.spectrum.flux.size
        yield Change(
            id=new.id,
            group=new.group,
            what="spectrum",
            before=f"{size[0]} pixels",
            after=f"{size[1]} pixels, other {', '.join(differing)}",
        )


def _recipe_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[RecipeChange]:
    old, new = dict(_flat(before)), dict(_flat(after))
    for key in dict.fromkeys((*old, *new)):
        if old.get(key) != new.get(key):
            yield RecipeChange(key=key, before=old.get(key), after=new.get(key))


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every plain value of nested JSON by its dotted key."""
    if isinstance(value, Mapping) and value:
        for name, item in value.items():
            yield from _flat(item, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value):
        for number, item in enumerate(value):
            yield from _flat(item, f"{path}.{number}")
    elif path and value != {}:
        yield path, list(value) if isinstance(value, tuple) else value


def _said(value: object) -> str:
    return "none" if value is None else str(value)
