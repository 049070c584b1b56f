"""The form of the released cold-start set: a row of ShareGPT turns, names of pictures, and five facts.

Tools answer in human turns, in ``<tool_response>`` tags; ``<image>`` stands for the next picture. A row that is read and
written again is the same row, and a trajectory that is written and read again the same conversation.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from specvi_agents.dialects import calls_in_text
from specvi_agents.messages import IMAGE_MARK
from specvi_agents.trajectories.conversation import Said, conversation
from specvi_agents.trajectories.records import (
    SCHEMA_VERSION,
    Imported,
    PictureName,
    Record,
    SourceName,
    Trajectory,
)
from specvi_benchmark.errors import UserError
from specvi_benchmark.files import StrictModel
from specvi_benchmark.tasks import TASK_KEYS, Task, get_task
from specvi_benchmark.traces import TraceRecord, Turn
from specvi_benchmark.vetting import Answer

_ANSWER = re.compile(r"<tool_response>\n(.*?)\n</tool_response>", re.DOTALL)


class ReleasedTurn(StrictModel):
    """One turn of a row."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    speaker: Annotated[Literal["system", "human", "gpt"], Field(alias="from")]
    value: str


class ReleasedRow(StrictModel):
    """One row of the released form, with the published names of its columns."""

    conversations: tuple[ReleasedTurn, ...]
    images: tuple[PictureName, ...]
    sample_index: int
    source_name: SourceName
    ground_truth: Answer
    total_iterations: int
    total_tool_calls: int

    def plain(self) -> dict[str, Any]:
        """Return the row as it is written to a file."""
        return self.model_dump(mode="json", by_alias=True)


def to_row(trajectory: Trajectory, sample_index: int) -> tuple[ReleasedRow, dict[str, str]]:
    """Return a trajectory as a row, and the SHA-256 of each picture by the name it has in the row.

    An imported one keeps its number, its counts, and the names of its pictures.

    Raises
    ------
    UserError
        A text holds ``<image>`` where no picture is.
    """
    said = conversation(trajectory.record, trajectory.trace)
    turns: list[ReleasedTurn] = []
    for number, message in enumerate(said):
        if any(isinstance(part, str) and IMAGE_MARK in part for part in message.parts):
            raise UserError(
                f"a text holds {IMAGE_MARK} where no picture is", where=f"trajectory {trajectory.id}"
            )
        text = message.text
        if message.role == "tool":
            text = f"<tool_response>\n{text}\n</tool_response>"
            if said[number - 1].role == "tool":
                before = turns.pop()
                text = f"{before.value}\n{text}"
        turns.append(ReleasedTurn(speaker=_speaker(message), value=text))
    shown = [picture.sha256 for message in said for picture in message.pictures]
    imported = trajectory.record.imported
    names = imported.images if imported else tuple(f"{sha256}.png" for sha256 in shown)
    spoken = [turn for turn in trajectory.trace.turns if turn.role == "assistant"]
    row = ReleasedRow(
        conversations=tuple(turns),
        images=names,
        sample_index=imported.sample_index if imported else sample_index,
        source_name=trajectory.record.source_name,
        ground_truth=trajectory.record.truth,
        total_iterations=imported.total_iterations if imported else len(spoken),
        total_tool_calls=imported.total_tool_calls
        if imported
        else sum(len(turn.tool_calls) for turn in spoken),
    )
    return row, dict(zip(names, shown, strict=True))


def from_row(
    row: ReleasedRow, png_sha256: Mapping[str, str], *, teacher: str, task: Task, repaired: int
) -> Record:
    """Return a row as a record.

    Parameters
    ----------
    png_sha256
        Of each picture, by its name.
    teacher
        Where the row is from.
    task
        What it asks, see `task_of`.
    repaired
        How many characters of it were mended.
    """
    marks = sum(turn.value.count(IMAGE_MARK) for turn in row.conversations)
    name = f"released-{row.sample_index:04d}"
    if marks != len(row.images):
        raise UserError(
            "places for pictures and pictures differ", where=name, expected=marks, got=len(row.images)
        )
    turns: list[Turn] = []
    for turn in row.conversations:
        turns += _turns(turn, turns)
    return Record(
        schema_version=SCHEMA_VERSION,
        id=name,
        task=task.key,
        truth=row.ground_truth,
        source_name=row.source_name,
        object_id=None,
        split=None,
        teacher=teacher,
        trace=TraceRecord(
            schema_version=1,
            id=name,
            task=task.key,
            sample=0,
            environment={"dialect": "hermes", "tool": True},
            turns=tuple(turns),
        ),
        imported=Imported(
            sample_index=row.sample_index,
            images=row.images,
            png_sha256=tuple(png_sha256[image] for image in row.images),
            total_iterations=row.total_iterations,
            total_tool_calls=row.total_tool_calls,
            repaired=repaired,
        ),
    )


def task_of(row: ReleasedRow) -> Task:
    """Return the task that a row asks: the class in bold in its first human turn, or the one its system turn is about.

    Raises
    ------
    UserError
        None is named, or several are.
    """
    told = "\n".join(turn.value for turn in row.conversations[:2] if turn.speaker != "gpt")
    tasks = [get_task(key) for key in TASK_KEYS]
    named = [task for task in tasks if f"**{task.class_name}**" in told] or [
        task for task in tasks if f"# The class: {task.class_name}\n" in told
    ]
    if len(named) != 1:
        raise UserError(
            "which task?",
            where=f"row {row.sample_index}",
            expected="the class in bold in the first human turn",
            got=", ".join(task.key for task in named) or "none",
        )
    return named[0]


def _speaker(message: Said) -> Literal["system", "human", "gpt"]:
    speakers: dict[str, Literal["system", "human", "gpt"]] = {"system": "system", "assistant": "gpt"}
    return speakers.get(message.role, "human")


def _turns(turn: ReleasedTurn, before: list[Turn]) -> list[Turn]:
    """Return the turns of one released turn: of a human's, one for each answer of a tool that stands in it."""
    if turn.speaker == "system":
        return [Turn(role="system", text=turn.value)]
    if turn.speaker == "gpt":
        calls = calls_in_text(turn.value)
        return [Turn(role="assistant", text=turn.value, tool_calls=calls)]
    answers = _ANSWER.findall(turn.value)
    calls = before[-1].tool_calls if before else ()
    joined = "\n".join(f"<tool_response>\n{answer}\n</tool_response>" for answer in answers)
    if not answers or joined != turn.value or len(answers) != len(calls):
        return [Turn(role="user", text=turn.value)]  # in a form of its own: kept as it is
    return [
        Turn(role="tool", text=answer, tool_call_id=call.id)
        for answer, call in zip(answers, calls, strict=True)
    ]
