"""What a trajectory folder holds: each inspection as it came, and every change that was made to it since."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import StrictModel, read_bytes
from specvi_benchmark.runs.record import SplitReference
from specvi_benchmark.trace_page.text import visible
from specvi_benchmark.traces import TraceRecord
from specvi_benchmark.vetting import Answer

SCHEMA_VERSION: Literal[1] = 1

State = Literal["draft", "screened", "revised", "audited", "accepted", "rejected"]
"""``draft``: as it came. ``screened``: every check of the screening holds. ``revised``: a person has read it, and
changed what was wrong. ``audited``: two others found nothing wrong. ``accepted``: voted in by a majority of three.
``rejected``: out, by the screening, a person or the vote."""

STATES: tuple[State, ...] = get_args(State)

Action = Literal["screen", "revise", "audit", "vote", "reject"]


def _seen(name: str) -> str:
    if visible(name) != name:
        raise ValueError(f"a name with what can't be seen: {visible(name)!r}")
    return name


def _inside(name: str) -> str:
    path = PurePosixPath(_seen(name))
    if path.is_absolute() or ".." in path.parts or not path.name:
        raise ValueError(f"a picture outside of the folder: {name!r}")
    return name


SourceName = Annotated[str, AfterValidator(_seen)]
PictureName = Annotated[str, AfterValidator(_inside)]
"""Where a picture lies in the folder of pictures, and nowhere else."""


class Imported(StrictModel):
    """What a row of the released form has beside its conversation.

    Attributes
    ----------
    sample_index
        Its number in the released set.
    images, png_sha256
        Names of its pictures in the order they are shown, and what the store keeps them under.
    total_iterations, total_tool_calls
        As the row states them.
    repaired
        Damaged characters that were mended on import.
    """

    sample_index: int
    images: tuple[PictureName, ...]
    png_sha256: tuple[str, ...]
    total_iterations: int
    total_tool_calls: int
    repaired: int = 0


class Record(StrictModel):
    """One line of ``trajectories.jsonl``: an inspection as it came, and of what. It never changes.

    Attributes
    ----------
    id, task, truth
        Of the candidate; the id is unique in a folder.
    source_name, object_id
        File name of the spectrum, and the object it is of; the latter is None where only the file is known.
    survey
        Of the spectrum; empty where it is not known.
    split
        The candidates it was drawn from; None for an imported one that was found in no split.
    teacher
        Spec string of the vetter that inspected, or where it was imported from. Its settings stand in ``run.json``.
    trace
        The inspection. Of an imported one the pictures stand where ``<image>`` marks them, and turns have no views.
    cost_usd
        Of the inspection; None where it is not known.
    """

    schema_version: Literal[1]
    id: str
    task: str
    truth: Answer
    source_name: str
    object_id: str | None
    survey: str = ""
    split: SplitReference | None
    teacher: str
    trace: TraceRecord
    cost_usd: float | None = None
    imported: Imported | None = None


class Edit(StrictModel):
    """A turn of the inspection (counted from 0) that was rewritten."""

    turn: int
    before: str
    after: str


class Change(StrictModel):
    """One line of ``changes.jsonl``: who did what to which trajectory, when and why.

    Attributes
    ----------
    by
        A person, or ``screening`` with its version.
    at
        UTC, ISO 8601.
    before, after
        States.
    edits
        What a revision rewrote.
    vote
        In a vote: for or against.
    faults
        Of a screening: check → what is wrong. Empty where everything holds.
    unchecked
        Of a screening: check → why it could not be made.
    """

    schema_version: Literal[1]
    id: str
    action: Action
    by: str
    at: str
    why: str
    before: State
    after: State
    edits: tuple[Edit, ...] = ()
    vote: Literal["for", "against"] | None = None
    faults: Mapping[str, str] = {}
    unchecked: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A trajectory as it stands now.

    Attributes
    ----------
    record
        As it came.
    trace
        The inspection with every edit in it.
    state
        How far it has come.
    changes
        Everything that happened to it, in order.
    views
        Folder of the pictures, ``<sha256>.png``.
    """

    record: Record
    trace: TraceRecord
    state: State
    changes: tuple[Change, ...]
    views: Path

    @property
    def id(self) -> str:
        """Return the id, unique in its folder."""
        return self.record.id

    @property
    def faults(self) -> Mapping[str, str]:
        """Return what the last screening found wrong."""
        screenings = [change for change in self.changes if change.action == "screen"]
        return screenings[-1].faults if screenings else {}

    def png(self, sha256: str) -> bytes:
        """Return the bytes of a picture.

        Raises
        ------
        UserError
            It is missing, or has other bytes than its name says.
        """
        path = self.views / f"{sha256}.png"
        content = read_bytes(path)
        if hashlib.sha256(content).hexdigest() != sha256:
            raise UserError(
                "a picture is damaged", where=path, expected="the bytes that its name is the SHA-256 of"
            )
        return content


def applied(trace: TraceRecord, edits: tuple[Edit, ...]) -> TraceRecord:
    """Return a trace with turns rewritten."""
    texts = {edit.turn: edit.after for edit in edits}
    turns = tuple(
        turn.model_copy(update={"text": texts[number]}) if number in texts else turn
        for number, turn in enumerate(trace.turns)
    )
    return trace.model_copy(update={"turns": turns})
