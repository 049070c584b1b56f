"""Where a system looked: which windows of the task it zoomed to, in which order, and which calls gave it nothing new."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from specvi_benchmark.tasks.task import Task
from specvi_benchmark.traces import Turn, ViewRecord

Range = tuple[float, float]

COVERS = 0.8
"""A zoom shows a window that it covers to this share,"""

CLOSE = 3.0
"""and that it is at most so many times as wide as."""

SAME = 0.9
"""Overlap over union from which on a zoom is a repetition."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A view, in observed wavelengths: the turn it came in, and whether a call asked for it."""

    turn: int
    range_AA: Range
    is_zoom: bool


@dataclass(frozen=True, slots=True)
class Looked:
    """Where one inspection looked.

    Attributes
    ----------
    views
        Every picture in order.
    order
        Labels of the task's windows in the order in which zooms first showed them.
    windows
        How many windows the task has.
    calls
        Tool calls made, and of them: without a picture, and repetitions of an earlier zoom or of the whole view.
    """

    views: tuple[Seen, ...]
    order: tuple[str, ...]
    windows: int
    calls: int
    without_picture: int
    repeated: int

    def shows(self, observed_AA: float, before_turn: int, *, zoomed: bool = False) -> bool:
        """Tell whether a view (``zoomed``: a zoom) up to a turn shows an observed wavelength."""
        return any(
            view.range_AA[0] <= observed_AA <= view.range_AA[1] and view.turn <= before_turn
            for view in self.views
            if view.is_zoom or not zoomed
        )


def looked_at(turns: Sequence[Turn], environment: Mapping[str, Any], task: Task, shift: float) -> Looked:
    """Return where an inspection looked.

    Parameters
    ----------
    environment
        Its ``redshift`` is what views in the rest frame were divided by; without one, ``shift``.
    shift
        Redshift that brings the windows of the task to observed wavelengths.
    """
    shown = environment.get("redshift")
    redshift = float(shown) if isinstance(shown, int | float) else shift
    views = tuple(
        Seen(number, _observed(view, redshift), turn.role == "tool")
        for number, turn in enumerate(turns)
        for view in turn.views
    )
    zooms = [view for view in views if view.is_zoom]
    calls = sum(len(turn.tool_calls) for turn in turns if turn.role == "assistant")
    stretch = 1 + shift if task.frame == "rest" else 1.0
    windows = {w.label: (w.range_AA[0] * stretch, w.range_AA[1] * stretch) for w in task.windows}
    order = dict.fromkeys(
        label for zoom in zooms for label, window in windows.items() if _is_shown(window, zoom.range_AA)
    )
    return Looked(
        views=views,
        order=tuple(order),
        windows=len(windows),
        calls=calls,
        without_picture=max(0, calls - len(zooms)),
        repeated=sum(
            any(
                overlap(zoom.range_AA, earlier.range_AA) >= SAME
                for earlier in views
                if earlier.turn < zoom.turn
            )
            for zoom in zooms
        ),
    )


def _observed(view: ViewRecord, redshift: float) -> Range:
    stretch = 1 + redshift if view.frame == "rest" else 1.0
    return view.window_AA[0] * stretch, view.window_AA[1] * stretch


def _is_shown(window: Range, zoom: Range) -> bool:
    common = min(window[1], zoom[1]) - max(window[0], zoom[0])
    width = window[1] - window[0]
    return common >= COVERS * width and zoom[1] - zoom[0] <= CLOSE * width


def overlap(first: Range, second: Range) -> float:
    """Return the common length of two windows over the length from the first edge to the last; 0 where they are apart."""
    common = min(first[1], second[1]) - max(first[0], second[0])
    return max(0.0, common) / (max(first[1], second[1]) - min(first[0], second[0]))
