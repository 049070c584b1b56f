"""A split extended by a new release: what was in it stays, what catalogues now contradict goes, new objects come."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import StrictModel, home
from specvi_benchmark.splits.archive import Archive, Shown
from specvi_benchmark.splits.build import build_split
from specvi_benchmark.splits.choosing import Labels, label
from specvi_benchmark.splits.difference import Difference, compare_splits
from specvi_benchmark.splits.recipe import Recipe, open_archive, refuse_unknown_classes
from specvi_benchmark.splits.screening import Report, Screened, screen
from specvi_benchmark.splits.split import Candidate, Split
from specvi_benchmark.splits.workers import workers


class Withdrawn(StrictModel):
    """A candidate of the earlier version that the labels of the new archive contradict."""

    id: str
    group: str
    part: str
    truth: str
    object_id: str
    why: str


@dataclass(frozen=True, slots=True)
class Refreshed:
    """The new version, what changed, what was withdrawn, and the candidates that are new (the fresh part).

    ``not_there``: how many earlier candidates show no object of the archive, so that its labels say nothing of them.
    """

    split: Split
    difference: Difference
    withdrawn: tuple[Withdrawn, ...]
    fresh: Split
    not_there: int


def refresh_split(
    before: Split,
    recipe: Recipe,
    *,
    archive: Archive | None = None,
    work: Path | None = None,
    processes: int = 1,
    report: Report = lambda *_: None,
) -> Refreshed:
    """Extend a split by a recipe over a new or grown archive.

    Candidates stay as they are, in the part they are in, with the spectrum they had. One whose object the new
    labels contradict is withdrawn, and told; a truth is never turned round in silence. The recipe's counts
    are those of what is added: objects that no candidate of the earlier version shows, under any id
    (`Archive.shown_by`).

    Parameters
    ----------
    recipe
        Its version names the new one; it must differ from the earlier one's.

    Raises
    ------
    UserError
        The version is the old one, or the archive does not fill the recipe with new objects.
    """
    if recipe.version == before.version:
        raise UserError(
            "a refreshed split needs a version of its own",
            where=f"recipe {recipe.name}, version",
            expected="another one than the earlier split's",
            got=recipe.version,
        )
    source = open_archive(recipe) if archive is None else archive
    refuse_unknown_classes(recipe, source.classes)
    folder = work or home() / "screened"
    with workers(processes) as pool:
        screening = screen(source, folder, pool, report)
    shown = source.shown_by(before.candidates)
    screened = screening.of_objects(frozenset(one.object_id for one in shown if one.object_id is not None))
    withdrawn = find_withdrawn(before, screened, recipe, shown)
    gone = {item.id for item in withdrawn}
    kept = tuple(candidate for candidate in before.candidates if candidate.id not in gone)
    taken = frozenset(name for one in shown for name in one.near)
    added = build_split(recipe, archive=source, work=folder, processes=processes, report=report, taken=taken)
    about = {
        **added.recipe,
        "extends": {"name": before.name, "version": before.version, "fingerprint": before.fingerprint},
        "withdrawn": [item.model_dump(mode="json") for item in withdrawn],
    }
    split = Split(before.name, recipe.version, (*kept, *added.candidates), about, added.report)
    fresh = Split(f"{before.name}-fresh", recipe.version, added.candidates, about, added.report)
    not_there = sum(one.object_id is None for one in shown)
    return Refreshed(split, compare_splits(before, split), withdrawn, fresh, not_there)


def find_withdrawn(
    before: Split, screened: Screened, recipe: Recipe, shown: Sequence[Shown]
) -> tuple[Withdrawn, ...]:
    """Return the candidates whose object the archive now labels otherwise.

    A NO whose object is now a member, or is on the exclusion list; a YES whose object is no longer known as the
    class. An object that the archive does not hold contradicts nothing, nor does a task the recipe lacks.
    """
    place: dict[str, int] = {}
    for row, name in enumerate(screened.object_id):
        place.setdefault(name, row)
    labels: Mapping[str, Labels] = {task: label(screened, recipe, task) for task in recipe.tasks}
    found = []
    for candidate, now in zip(before.candidates, shown, strict=True):
        if now.object_id not in place or candidate.task.key not in labels:
            continue
        row = place[now.object_id]
        why = _contradiction(candidate, labels[candidate.task.key], row, screened)
        if why is not None:
            found.append(
                Withdrawn(
                    id=candidate.id,
                    group=candidate.group,
                    part=candidate.part,
                    truth=candidate.truth,
                    object_id=candidate.object_id,
                    why=why,
                )
            )
    return tuple(found)


def _contradiction(candidate: Candidate, labels: Labels, row: int, screened: Screened) -> str | None:
    known = ", ".join(sorted(screened.known_as[row])) or "nothing"
    if candidate.truth == "YES" and not labels.member[row]:
        return f"no longer a member: now known as {known}"
    if candidate.truth == "NO" and labels.member[row]:
        return f"now a member: known as {known}"
    if candidate.truth == "NO" and labels.excluded[row]:
        return f"now too doubtful for a negative: known as {known}"
    return None
