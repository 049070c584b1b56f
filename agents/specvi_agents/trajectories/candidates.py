"""Finding the candidates that trajectories were drawn from: their spectra for checks, their names for overlaps."""

from collections.abc import Mapping, Sequence

from specvi_agents.trajectories.records import Record
from specvi_agents.trajectories.store import Store
from specvi_benchmark.errors import UserError
from specvi_benchmark.splits import Split
from specvi_benchmark.splits.duplicates import plain_name
from specvi_benchmark.splits.named import find_split
from specvi_benchmark.vetting import Question


def questions_of(store: Store, splits: Sequence[str]) -> dict[str, Question]:
    """Return the questions of a folder's trajectories by id, read from the splits they name.

    Parameters
    ----------
    splits
        Names or paths to read instead. Imported trajectories, which name no split, are looked for in these by the file
        name of their spectrum, under their task.

    Raises
    ------
    UserError
        A split is not there, or does not hold a candidate that was drawn from it.
    """
    return _found(store.records(), splits)


def question_of(record: Record, splits: Sequence[str]) -> Question | None:
    """Return the question of one trajectory; None for an imported one that is in none of the splits. As above."""
    return _found({record.id: record}, splits).get(record.id)


def _found(records: Mapping[str, Record], splits: Sequence[str]) -> dict[str, Question]:
    found: dict[str, Question] = {}
    for split in splits_of(records, splits):
        by_id = {candidate.id: candidate for candidate in split.candidates}
        by_name = {(c.task.key, plain_name(c.spectrum.name)): c for c in split.candidates if c.spectrum.name}
        for record in records.values():
            if record.split is None:
                candidate = by_name.get((record.task, plain_name(record.source_name)))
            else:
                candidate = by_id.get(record.id)
            if candidate is not None:
                found[record.id] = candidate.question
    if lost := [record for record in records.values() if record.split is not None and record.id not in found]:
        raise UserError(
            "the split does not hold the candidates of these trajectories",
            got=f"{len(lost)} are missing, for example {lost[0].id}",
            fix="name the split they were drafted from with --split",
        )
    return found


def splits_of(records: Mapping[str, Record], instead: Sequence[str]) -> list[Split]:
    """Return the splits that records were drawn from, whole, each once; those of ``instead`` where any are named."""
    paths = instead or list(dict.fromkeys(record.split.path for record in records.values() if record.split))
    return [find_split(path) for path in paths]
