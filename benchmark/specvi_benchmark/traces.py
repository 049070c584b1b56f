"""The record of one inspection: ordered turns of text, tool calls and views."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from specvi_benchmark.files import StrictModel, read_lines, validate

Role = Literal["system", "user", "assistant", "tool", "error"]


class ToolCall(StrictModel):
    """A call as the model wrote it; ``arguments`` is the raw text."""

    id: str
    name: str
    arguments: str


class ViewRecord(StrictModel):
    """A picture that was shown: ``views/<png_sha256>.png`` holds its bytes."""

    png_sha256: str
    pixel_sha256: str
    window_AA: tuple[float, float]
    frame: Literal["observed", "rest"]
    style: str
    size_px: tuple[int, int]


class Turn(StrictModel):
    """One turn; ``text`` is raw. The role ``error`` records why an inspection ended without a verdict.

    Of an assistant's turn, ``stop`` says why it ended (``stop``, ``tool_calls``, ``length``,
    ``content_filter``; ``budget`` for the turn that was not allowed to go on); ``reasoning`` and ``refusal``
    are what the server gave in those fields apart from the text.
    """

    role: Role
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    views: tuple[ViewRecord, ...] = ()
    reasoning: str | None = None
    refusal: str | None = None
    stop: str | None = None
    usage: Mapping[str, int] | None = None
    seconds: float | None = None


class TraceRecord(StrictModel):
    """One line of ``traces.jsonl``."""

    schema_version: Literal[1]
    id: str
    task: str
    sample: int
    environment: Mapping[str, Any]
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """The turns of one inspection, and the settings of the environment it ran in.

    ``pictures`` are the PNG files that its views name, by SHA-256; a run keeps each once, under ``views/``.
    """

    turns: tuple[Turn, ...]
    environment: Mapping[str, Any]
    sample: int = 0
    pictures: Mapping[str, bytes] = field(default_factory=dict)

    def record(self, task: str, question_id: str) -> TraceRecord:
        """Return the line of ``traces.jsonl``."""
        return TraceRecord(
            schema_version=1,
            id=question_id,
            task=task,
            sample=self.sample,
            environment=self.environment,
            turns=self.turns,
        )


def said(text: str) -> Trace:
    """Return the trace of a system that gives its evidence in one statement, without a tool."""
    return Trace(turns=(Turn(role="assistant", text=text),), environment={})


def read_traces(path: Path) -> dict[tuple[str, str, int], TraceRecord]:
    """Read ``traces.jsonl``: (task, id, sample) → trace, of the last attempt at each question.

    An attempt logs its samples in growing order, so a number that does not grow begins a new one.
    """
    attempts: dict[tuple[str, str], dict[int, TraceRecord]] = {}
    for number, value in read_lines(path):
        record = validate(TraceRecord, value, f"{path}, line {number}")
        samples = attempts.setdefault((record.task, record.id), {})
        if samples and record.sample <= max(samples):
            samples.clear()
        samples[record.sample] = record
    return {
        (task, question_id, sample): record
        for (task, question_id), samples in attempts.items()
        for sample, record in samples.items()
    }
