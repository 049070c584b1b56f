"""A leaderboard as its maintainer keeps it: ``board.yaml``, and a folder ``submissions`` that pull requests add to."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import StrictModel
from specvi_benchmark.runs.record import SplitReference
from specvi_benchmark.splits.named import NAMED
from specvi_leaderboard.always import added, reasons
from specvi_leaderboard.board import Board, build_board
from specvi_leaderboard.entry import ALWAYS_SHOWN, RESCORED, About, Entry, System
from specvi_leaderboard.probed import Probes, probes_of_folder
from specvi_leaderboard.published import Withdrawn
from specvi_leaderboard.reported import reported_id, reported_names
from specvi_leaderboard.scored import SplitPlace, kept_score, score_all
from specvi_leaderboard.submissions.folder import SubmittedFiles, read_folder
from specvi_leaderboard.submissions.plain_yaml import parse_plain_yaml
from specvi_leaderboard.submissions.schema import Submission, Version, check
from specvi_leaderboard.submissions.text import Day, Digest, Line, SystemId, Words
from specvi_leaderboard.submissions.validate import (
    answers_digest,
    check_answers,
    read_submission,
    refuse_twins,
)

BOARD_FILE = "board.yaml"
SUBMISSIONS = "submissions"
HOW_VERIFIED = {
    "run": "run again by the maintainers, and the answers agree",
    "sealed part": "answers to a part whose labels were sealed",
}


class Verified(StrictModel):
    """How a maintainer came to trust the answers; ``digest`` binds it to these answers and no others."""

    date: Day
    by: Literal["run", "sealed part"]
    digest: Digest
    note: Line | None = None


class WithdrawnNote(StrictModel):
    """Since when a system is out of the table, and why."""

    date: Day
    reason: Words


class Decision(StrictModel):
    """What the maintainer decided about one submission."""

    verified: Verified | None = None
    superseded_by: SystemId | None = None
    withdrawn: WithdrawnNote | None = None


class BoardFile(StrictModel):
    """The content of ``board.yaml``. ``splits`` are names, or paths beside the file."""

    schema_version: Version
    title: Line = "SpecVI-Bench"
    splits: Annotated[tuple[str, ...], Field(min_length=1)]
    decisions: Mapping[SystemId, Decision] = {}


@dataclass(frozen=True, slots=True)
class Collection:
    """The boards of a folder, one a split, and what is no longer in them.

    Attributes
    ----------
    entries
        Those of each board.
    splits
        Which candidates each board is about, and where they lie.
    runs
        Of systems that were given as run folders, by id: where they lie.
    probes
        Of each board: what probes of its systems found; empty where none was looked for.
    """

    title: str
    boards: tuple[Board, ...]
    entries: tuple[tuple[Entry, ...], ...]
    withdrawn: tuple[Withdrawn, ...]
    splits: tuple[tuple[SplitReference, SplitPlace], ...]
    runs: Mapping[str, Path]
    probes: tuple[Probes, ...] = ()


def is_collection(folder: Path) -> bool:
    """Tell whether a folder is a leaderboard that is kept."""
    return (folder / BOARD_FILE).is_file()


def read_board_file(folder: Path) -> BoardFile:
    """Read ``board.yaml``; paths in it are taken from its folder."""
    path = folder / BOARD_FILE
    try:
        content = parse_plain_yaml(path.read_bytes(), path)
    except OSError as error:
        raise UserError(
            "not a leaderboard's folder", where=path, got=error.strerror, fix="docs/maintain.md shows one"
        ) from None
    board = check(BoardFile, content, path)
    places = (place if place in NAMED else str((folder / place).resolve()) for place in board.splits)
    return board.model_copy(update={"splits": tuple(places)})


def known_names(folder: Path) -> dict[str, str | None]:
    """Return name → id of every system that a new one must not be taken for; None where it is no submission."""
    names = taken_names()
    for path in _folders(folder):
        submission, files = read_submission(path)
        names[submission.name] = files.id
    return names


def refuse_replacing(sent: Path, folder: Path) -> None:
    """Raise if what was sent would take the place of another submission of that id: what was published stays."""
    there = folder / SUBMISSIONS / sent.absolute().name
    if there.is_dir() and read_folder(there) != read_folder(sent):
        raise UserError(
            "a submission of this id is already there, and it is another one",
            where=sent,
            fix="send it under an id of its own; the maintainers can name it as the successor",
        )


def read_collection(folder: Path, date: str | None = None) -> Collection:
    """Score everything in a leaderboard's folder, one board a split. What is in the cache is not scored again.

    Raises
    ------
    UserError
        A submission that can't be merged, a decision about none, or a verification of other answers.
    """
    board = read_board_file(folder)
    places = [SplitPlace(place) for place in board.splits]
    read = [(path, *read_submission(path)) for path in _folders(folder)]
    _refuse_strange_decisions(board, {files.id for _, _, files in read}, folder)
    names = taken_names()
    groups: dict[str, tuple[SplitReference, SplitPlace, list[Entry]]] = {}
    withdrawn = []
    for path, submission, files in read:
        refuse_twins(submission.name, files.id, names, path)
        names[submission.name] = files.id
        decision = board.decisions.get(files.id, Decision())
        if note := decision.withdrawn:
            withdrawn.append(Withdrawn(id=files.id, name=submission.name, date=note.date, reason=note.reason))
            continue
        reference, place = _found(submission, places, path)
        entry = _entry(path, submission, files, decision, reference, place)
        groups.setdefault(reference.fingerprint, (reference, place, []))[2].append(entry)
    boards, entries = [], []
    for reference, place, members in groups.values():
        always = added((), reference, place)
        entries.append((*members, *always))
        boards.append(build_board(entries[-1], date, lacking=reasons(always, reference, place)))
    splits = tuple((reference, place) for reference, place, _ in groups.values())
    probes = probes_of_folder(folder, boards, {gone.id for gone in withdrawn})
    return Collection(board.title, tuple(boards), tuple(entries), tuple(withdrawn), splits, {}, probes)


def taken_names() -> dict[str, str | None]:
    """Return names and ids of the systems that every leaderboard has: those always shown, and those reported."""
    reported = [text for name in reported_names() for text in (name, reported_id(name))]
    return dict.fromkeys([*ALWAYS_SHOWN, *reported])


def _folders(folder: Path) -> list[Path]:
    place = folder / SUBMISSIONS
    return sorted(path for path in place.iterdir() if not path.name.startswith(".")) if place.is_dir() else []


def _refuse_strange_decisions(board: BoardFile, ids: set[str], folder: Path) -> None:
    named = set(board.decisions) | {d.superseded_by for d in board.decisions.values() if d.superseded_by}
    if strange := sorted(named - ids):
        raise UserError(
            "a decision about a submission that is not there",
            where=folder / BOARD_FILE,
            expected=f"ids of folders in {SUBMISSIONS}",
            got=strange[0],
        )
    for start, decision in board.decisions.items():
        seen, newest = {start}, decision.superseded_by
        while newest and newest not in seen:
            seen.add(newest)
            newest = board.decisions.get(newest, Decision()).superseded_by
        if newest:
            raise UserError(
                "submissions that supersede each other in a circle",
                where=folder / BOARD_FILE,
                got=f"{start}, by way of {newest}",
                fix="let the newest stand without superseded_by",
            )


def _found(
    submission: Submission, places: Iterable[SplitPlace], where: Path
) -> tuple[SplitReference, SplitPlace]:
    """Find which of the board's splits a submission is about."""
    wanted = submission.split
    for place in places:
        reference = SplitReference(
            name=wanted.name,
            version=wanted.version,
            path=place.place,
            part=wanted.part,
            task=wanted.task,
            track=wanted.track,
            fingerprint=wanted.fingerprint,
        )
        if place.holds(reference):
            return reference, place
    raise UserError(
        "the split that was answered is not one of this leaderboard",
        where=where,
        expected=f"candidates with the fingerprint {wanted.fingerprint[:16]}…",
        got=f"none in {', '.join(place.place for place in places)}",
        fix=f"add the split to {BOARD_FILE}, or let the answers be made for one of these",
    )


def _entry(
    path: Path,
    submission: Submission,
    files: SubmittedFiles,
    decision: Decision,
    reference: SplitReference,
    place: SplitPlace,
) -> Entry:
    what = {
        "answers": answers_digest(files),
        "metadata": hashlib.sha256(files.metadata).hexdigest(),
        "training": hashlib.sha256(files.training_objects or b"").hexdigest(),
        "split": place.digest(reference),
    }
    made = kept_score(
        what,
        lambda: score_all(
            check_answers(path, submission, files, place.whole, place.chosen(reference), place.place).matched
        ),
    )
    provenance = submission.run
    system = System(
        name=submission.name,
        about=_about(submission, files, decision, path),
        vetter=provenance.vetter if provenance else "foreign answers",
        trivial=False,
        config={},
        seed=int(provenance.seed) if provenance else None,
        suite=provenance.suite if provenance else None,
        started=provenance.started if provenance else None,
        ended=provenance.ended if provenance else None,
        seconds=made.seconds,
        cost_usd=made.cost_usd,
        results=made.results,
    )
    return Entry(system, made.rows)


def _about(submission: Submission, files: SubmittedFiles, decision: Decision, path: Path) -> About:
    verified = decision.verified
    if verified and verified.digest != answers_digest(files):
        raise UserError(
            "the answers are not those that were verified",
            where=path / files.predictions_name,
            expected=f"SHA-256 {verified.digest}",
            got=answers_digest(files),
            fix=f"verify them again, or take the line out of {BOARD_FILE}",
        )
    how = RESCORED
    if verified:
        how = f"{HOW_VERIFIED[verified.by]}, {verified.date}" + (
            f": {verified.note}" if verified.note else ""
        )
    return About(
        id=files.id,
        kind=submission.kind,
        status="verified" if verified else "re-scored",
        how=how,
        date=submission.date,
        authors=submission.authors,
        licence=submission.licence,
        links=submission.links,
        training=submission.training,
        model=submission.model,
        hardware=submission.hardware,
        notes=submission.notes,
        superseded_by=decision.superseded_by,
    )
