"""Which stretches of a spectrum are hidden: what decides a task, and as much that does not."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from pydantic import RootModel

from specvi_benchmark.features import choose_shift
from specvi_benchmark.files import StrictModel, parse_yaml, validate
from specvi_benchmark.vetting import Question

Range = tuple[float, float]

COVERED_SHARE = 0.5
"""A stretch counts where the range of the data reaches over at least so much of it."""

LEAST_CONTROL = 0.7
"""The control is as wide as what is decisive; where the data end too soon for that, at least to this share."""


class Stretch(StrictModel):
    """Vacuum ångström in the frame of the object; ``features`` are the lines and bands in it, by name."""

    features: str
    range_AA: Range


class Hidden(StrictModel):
    """What is hidden for one task: what decides it, and the control."""

    decisive: tuple[Stretch, ...]
    control: tuple[Stretch, ...]


class _AllHidden(RootModel[Mapping[str, Hidden]]):
    pass


@cache
def hidden_of(task: str) -> Hidden:
    """Return what is hidden for the task of this key."""
    return _read()[task]


def seen_stretches(question: Question) -> tuple[tuple[Range, ...], tuple[Range, ...]] | None:
    """Return the decisive and the control stretches within the data, in the observed frame.

    They depend on the task, the redshift given and the range of the data, on nothing else: not on the flux, and not
    on the truth. For quasars they move with the redshift given, whatever it is.

    Returns
    -------
    Control stretches together are no wider than the decisive ones: where more of them lies within the data, all are
    narrowed by one factor. None where no decisive stretch lies within the data, or too little of a control, or where a
    quasar has no redshift.
    """
    stretch = 1 + choose_shift(question.redshift, question.task.frame).redshift
    if question.task.frame == "observed":
        if question.redshift is None:
            return None
        stretch = 1 + question.redshift
    low, high = question.spectrum.range_AA
    hidden = hidden_of(question.task.key)
    decisive, control = (
        tuple(found for one in stretches if (found := _within(one, stretch, low, high)))
        for stretches in (hidden.decisive, hidden.control)
    )
    share = _width(control, low, high) / wanted if (wanted := _width(decisive, low, high)) else 0.0
    return (decisive, _narrowed(control, share, low, high)) if share >= LEAST_CONTROL else None


def _width(stretches: tuple[Range, ...], low_AA: float, high_AA: float) -> float:
    """Return how much of the data some stretches take; none overlaps another."""
    return sum(min(last, high_AA) - max(first, low_AA) for first, last in stretches)


def _narrowed(stretches: tuple[Range, ...], by: float, low_AA: float, high_AA: float) -> tuple[Range, ...]:
    """Return what lies within the data of each, about its middle divided by a factor above 1."""
    inside = ((max(first, low_AA), min(last, high_AA)) for first, last in stretches)
    factor = max(1.0, by)
    return tuple(
        ((first + last - (last - first) / factor) / 2, (first + last + (last - first) / factor) / 2)
        for first, last in inside
    )


def _within(one: Stretch, stretch: float, low_AA: float, high_AA: float) -> Range | None:
    first, last = (edge * stretch for edge in one.range_AA)
    covered = min(last, high_AA) - max(first, low_AA)
    return (first, last) if covered >= COVERED_SHARE * (last - first) else None


@cache
def _read() -> Mapping[str, Hidden]:
    source = files("specvi_benchmark.probes") / "stretches.yaml"
    return validate(_AllHidden, parse_yaml(source.read_text(encoding="utf-8"), source), source).root
