"""Checks a submission as a maintainer does: offline, without running anything of it, and with the scores it gets."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from specvi_benchmark.errors import UserError
from specvi_benchmark.runs.matching import MatchedPredictions
from specvi_benchmark.splits import Split
from specvi_benchmark.splits.named import find_split
from specvi_leaderboard.entry import KINDS
from specvi_leaderboard.submissions.answers import match_answers
from specvi_leaderboard.submissions.folder import METADATA, TRAINING_OBJECTS, SubmittedFiles, read_folder
from specvi_leaderboard.submissions.plain_yaml import parse_plain_yaml
from specvi_leaderboard.submissions.schema import Submission, SubmittedSplit, check
from specvi_leaderboard.submissions.text import skeleton
from specvi_leaderboard.submissions.training import check_objects, check_training


@dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """A submission that may be merged.

    ``digest`` is the SHA-256 of its answers, ``place`` where its split lies; ``notes`` are for the reviewer.
    """

    id: str
    submission: Submission
    matched: MatchedPredictions
    place: str
    digest: str
    notes: tuple[str, ...]


def read_submission(folder: Path) -> tuple[Submission, SubmittedFiles]:
    """Read and check the metadata of a submission; its answers are read, not yet understood."""
    files = read_folder(folder)
    where = folder / METADATA
    return check(Submission, parse_plain_yaml(files.metadata, where), where), files


def validate_submission(
    folder: Path, places: Iterable[str], known: Mapping[str, str | None] | None = None
) -> Checked:
    """Check a submission in full.

    Parameters
    ----------
    folder
        ``submissions/ID``.
    places
        Names or paths of splits: where its candidates may lie.
    known
        Name of every other system → its id as a submission, None where it is none; what looks like one of these
        names or ids is refused.

    Raises
    ------
    UserError
        The first thing that is wrong.
    """
    submission, files = read_submission(folder)
    refuse_twins(submission.name, files.id, known or {}, folder)
    whole, split, place = split_of(submission.split, places, folder)
    return check_answers(folder, submission, files, whole, split, place)


def check_answers(
    folder: Path, submission: Submission, files: SubmittedFiles, whole: Split, split: Split, place: str
) -> Checked:
    """Check what was submitted against the scored candidates; ``whole`` is their split with all its parts."""
    matched = match_answers(files.predictions, folder / files.predictions_name, split)
    notes = [
        *check_training(submission, whole, split, place, folder / METADATA),
        *check_objects(files.training_objects, split, folder / TRAINING_OBJECTS),
        *_notes(submission, matched, whole),
    ]
    return Checked(files.id, submission, matched, place, answers_digest(files), tuple(notes))


def answers_digest(files: SubmittedFiles) -> str:
    """Return the SHA-256 of the answers."""
    return hashlib.sha256(files.predictions).hexdigest()


def refuse_twins(name: str, own_id: str, known: Mapping[str, str | None], where: object) -> None:
    """Raise if a name or id can be taken for that of another system; ``known`` as in `validate_submission`."""
    mine = {skeleton(name): name, skeleton(own_id): own_id}
    for other, other_id in known.items():
        if other_id == own_id:
            continue
        for theirs in filter(None, (other, other_id)):
            if twin := mine.get(skeleton(theirs)):
                raise UserError(
                    f"the {'name' if twin == name else 'id'} can be taken for that of another system",
                    where=where,
                    got=f"{twin}, beside {theirs}",
                )


def split_of(wanted: SubmittedSplit, places: Iterable[str], where: object) -> tuple[Split, Split, str]:
    """Return the split that a submission is about: whole, its scored candidates, and where it lies.

    Raises
    ------
    UserError
        None of the places holds candidates of that fingerprint.
    """
    found: list[str] = []
    for place in places:
        whole = find_split(place)
        chosen = whole.select(part=wanted.part, task=wanted.task, track=wanted.track)
        if chosen.candidates and chosen.fingerprint == wanted.fingerprint:
            return whole, chosen, place
        found.append(f"{whole.name} {whole.version} at {place}: {chosen.fingerprint[:16]}…")
    raise UserError(
        "the split that was answered is not here",
        where=where,
        expected=f"{wanted.name} {wanted.version} ({wanted.part}), fingerprint {wanted.fingerprint[:16]}…",
        got="; ".join(found) or "no split",
        fix="name the split with --split; answers made for another version have to be made anew",
    )


def _notes(submission: Submission, matched: MatchedPredictions, whole: Split) -> Iterator[str]:
    asked, there = len(matched.split.candidates), len(whole.select(part=submission.split.part).candidates)
    if asked < there:
        yield f"answers {asked} of the {there} candidates of the {submission.split.part} part: on a board of its own"
    made_by = submission.run.vetter if submission.run else None
    if made_by and submission.model and submission.model.vetter != made_by:
        yield f"the answers were made by {made_by}, the declared model is run by {submission.model.vetter}"
    kind = KINDS.get(made_by) if made_by else None
    if kind and kind != submission.kind:
        yield f"declared as {submission.kind}; {made_by} is of kind {kind}"
    if matched.outcomes_undeclared:
        yield "outcomes are not declared: an empty answer counts as unparsed"
    if matched.repeated:
        yield f"{matched.repeated} rows say the same twice"
    if matched.ignored_columns:
        yield f"{len(matched.ignored_columns)} columns are not read"
    if all(prediction.p_yes is None for prediction in matched.predictions):
        yield "no P(YES): no calibration, and no order for deferral"
    if submission.model is None:
        yield "no public model is declared: it can be re-scored, not verified"
