"""Ticks and labels are matplotlib's, for any axis."""

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.ticker import AutoMinorLocator, MaxNLocator, MultipleLocator, ScalarFormatter

from specvi_benchmark.views.ticks import (
    RELEASED_TICKS,
    label_ticks,
    minor_ticks,
    multiples,
    nice_ticks,
    released_steps,
)


def axis_of(low, high):
    axes = Figure().add_subplot()
    axes.set_ylim(low, high)
    return axes.yaxis


def inside(values, low, high):
    return [value for value in values if low <= value <= high]


def matplotlib_ticks(low, high, intervals):
    return MaxNLocator(nbins=intervals, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)


def matplotlib_labels(ticks, low, high, *, may_split):
    formatter = ScalarFormatter(useOffset=may_split)
    formatter.set_scientific(may_split)
    axis_of(low, high).set_major_formatter(formatter)
    formatter.set_locs(ticks)
    return tuple(formatter(tick) for tick in ticks), formatter.get_offset()


ENDS = st.tuples(
    st.floats(-1e4, 1e4), st.floats(1e-6, 1e5), st.sampled_from([1e-17, 1e-5, 1e-2, 1.0, 10.0, 1e7])
).map(lambda t: (t[0] * t[2], (t[0] + t[1]) * t[2]))


@settings(max_examples=400)
@given(ENDS, st.integers(1, 12))
@example((20.0, 20.2), 1)
def test_ticks_stand_where_matplotlib_puts_them(ends, intervals):
    low, high = ends
    assume(high - low > 1e-5 * max(abs(low), abs(high)))  # below, rounding decides about a tick on the edge
    ours = inside(nice_ticks(low, high, intervals), low, high)
    theirs = inside(matplotlib_ticks(low, high, intervals), low, high)
    assert ours == pytest.approx(theirs, rel=1e-12, abs=1e-9 * (high - low))


@settings(max_examples=400)
@given(ENDS, st.integers(2, 10), st.booleans())
def test_labels_say_what_matplotlib_says(ends, intervals, may_split):
    low, high = ends
    ticks = [float(tick) for tick in matplotlib_ticks(low, high, intervals)]
    ours = label_ticks(ticks, low, high, may_split=may_split)
    assert (ours.texts, ours.common) == matplotlib_labels(ticks, low, high, may_split=may_split)


@settings(max_examples=200)
@given(ENDS)
def test_minor_ticks_are_matplotlib_s(ends):
    low, high = ends
    assume(high - low > 1e-6 * max(abs(low), abs(high)))  # below, rounding of the steps decides
    majors = nice_ticks(low, high, 6)
    axis = axis_of(low, high)
    axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    axis.set_minor_locator(AutoMinorLocator())
    edge = 1e-6 * (high - low)  # whether a tick on the very edge is inside is a matter of rounding
    theirs = inside(axis.get_minorticklocs(), low + edge, high - edge)  # those on a major tick are taken out
    ours = inside(minor_ticks(majors, low, high), low + edge, high - edge)
    assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-7 * (high - low))


@settings(max_examples=200)
@given(st.floats(1000, 12_000), st.floats(0.5, 8000))
def test_released_wavelength_ticks_are_multiples(low, width):
    step, _ = released_steps(width)
    first, last = low + 1e-6 * width, low + width * (1 - 1e-6)  # on the very edge rounding decides
    theirs = inside(MultipleLocator(step).tick_values(low, low + width), first, last)
    assert inside(multiples(low, low + width, step), first, last) == pytest.approx(theirs)


def test_the_released_table():
    assert [released_steps(width) for width in (5400, 2000, 600, 400, 200, 120, 60, 30, 8, 2)] == [
        (1000, 200), (200, 50), (100, 20), (100, 25), (50, 25), (25, 5), (10, 2), (5, 1), (2, 0.5), (1, 0.2),
    ]  # fmt: skip
    assert [edge for edge, *_ in RELEASED_TICKS] == sorted(
        (edge for edge, *_ in RELEASED_TICKS), reverse=True
    )


def test_no_ticks_have_no_labels():
    assert label_ticks([], 0, 1, may_split=True).texts == ()
    assert minor_ticks([1.0], 0, 2) == []
    assert np.isfinite(nice_ticks(0.0, 1e-290, 5)).all()
