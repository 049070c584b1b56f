"""The pictures an inspection of a task looks at: the whole spectrum, then the task's windows."""

from collections.abc import Iterator
from dataclasses import dataclass

from specvi_benchmark.features import Shift
from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.tasks import Task
from specvi_benchmark.views.drawing import cut_window, stretch_of
from specvi_benchmark.views.style import ViewOptions
from specvi_benchmark.views.view import View, render

COVERED_SHARE = 0.5
"""A window counts as covered when at least so much of it lies within the data."""


@dataclass(frozen=True, slots=True, eq=False)
class NamedView:
    """A view, what it is of (``full``, or the label of a window) and what to look for."""

    label: str
    look_for: str
    view: View


def inspection_views(
    spectrum: Spectrum, task: Task, shift: Shift, options: ViewOptions | None = None
) -> Iterator[NamedView]:
    """Yield the full view, then each diagnostic window of the task that the spectrum covers.

    Windows are in the task's frame; where no redshift could be used they are drawn in the observed frame, as
    they are measured.
    """
    yield NamedView("full", "", render(spectrum, None, options, redshift=shift.redshift))
    stretch = stretch_of(shift.redshift)
    low, high = (edge / stretch for edge in spectrum.range_AA)
    for window in task.windows:
        first, last = window.range_AA
        covered = min(last, high) - max(first, low)
        _, inside = cut_window(spectrum, stretch, window.range_AA)
        if covered >= COVERED_SHARE * (last - first) and spectrum.good[inside].any():
            view = render(spectrum, window.range_AA, options, redshift=shift.redshift)
            yield NamedView(window.label, window.look_for, view)
