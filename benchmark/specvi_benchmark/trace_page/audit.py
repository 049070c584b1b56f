"""Draws recorded views again and compares their pixels: whether this renderer still shows what was shown."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from specvi_benchmark.errors import UserError
from specvi_benchmark.splits import Split
from specvi_benchmark.trace_page.recorded import RecordedRun
from specvi_benchmark.traces import TraceRecord, Turn, ViewRecord
from specvi_benchmark.vetting import Question
from specvi_benchmark.views import View, ViewOptions, render
from specvi_benchmark.views.tool import call_tool


@dataclass(frozen=True, slots=True)
class Audit:
    """How many recorded views were drawn again to the same pixels, and those that were not.

    ``faulty`` are pictures on disk that are missing or damaged, each with its fault.
    """

    same: int
    changed: tuple[str, ...]
    faulty: tuple[str, ...]


def audit(run: RecordedRun, split: Split) -> Audit:
    """Draw every recorded view again from the split, from the raw arguments of the call that asked for it.

    Raises
    ------
    UserError
        A trace belongs to no candidate of the split, or does not say how its views were drawn.
    """
    questions = {(c.task.key, c.id): c.question for c in split.candidates}
    same, changed, faulty = 0, [], []
    for key, samples in run.traces.items():
        if key not in questions:
            raise UserError(
                "a trace belongs to no candidate of the split", where=run.folder, got=" ".join(key)
            )
        faulty += [
            f"{' '.join(key)}: {one.fault}" for one in run.find(key[1], key[0]).pictures.values() if one.fault
        ]
        for sample in samples:
            for record, view in _drawn(sample, questions[key]):
                if view is not None and view.pixel_sha256 == record.pixel_sha256:
                    same += 1
                else:
                    changed.append(
                        f"{' '.join(key)}: {record.window_AA[0]:.1f} to {record.window_AA[1]:.1f} Å"
                    )
    return Audit(same, tuple(changed), tuple(faulty))


def view_options(config: Mapping[str, Any]) -> ViewOptions:
    """Return the options that `ViewOptions.config` wrote out."""
    values = dict(config)
    size = values.get("size_px")
    values["size_px"] = tuple(size) if isinstance(size, list) else None
    values["markers"] = tuple(values.get("markers", ()))
    try:
        return ViewOptions(**values)
    except TypeError as error:
        raise UserError("the trace does not say how its views were drawn", got=error) from None


def _drawn(sample: TraceRecord, question: Question) -> Iterator[tuple[ViewRecord, View | None]]:
    """Yield each recorded view with the same drawn anew; None where the call gives no picture any more."""
    calls: dict[str, str] = {}
    if not any(turn.views for turn in sample.turns):
        return
    options = view_options(sample.environment.get("view", {}))
    redshift = float(sample.environment.get("redshift", 0.0))
    for turn in sample.turns:
        calls |= {call.id: call.arguments for call in turn.tool_calls}
        for record in turn.views:
            yield record, _draw(turn, question, calls, options, redshift)


def _draw(
    turn: Turn, question: Question, calls: Mapping[str, str], options: ViewOptions, redshift: float
) -> View | None:
    if turn.role != "tool":
        return render(question.spectrum, None, options, redshift=redshift)
    arguments = calls.get(turn.tool_call_id or "")
    return (
        None
        if arguments is None
        else call_tool(question.spectrum, arguments, options, redshift=redshift).view
    )
