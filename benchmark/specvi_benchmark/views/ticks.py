"""Where ticks stand and what they are called: the choices of matplotlib, without an axis.

`nice_ticks` places ticks where matplotlib's MaxNLocator does, `label_ticks` names them as its
ScalarFormatter does; the tests hold both to matplotlib itself. Own code, since matplotlib's needs an Axis,
changes with its version, and costs more than the rest of the picture.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

NICE_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_SLACK = 1e-10  # of a step: a tick this close outside is on the edge

RELEASED_TICKS = (
    (5000, 1000, 200),
    (1000, 200, 50),
    (500, 100, 20),
    (300, 100, 25),
    (150, 50, 25),
    (100, 25, 5),
    (50, 10, 2),
    (20, 5, 1),
    (5, 2, 0.5),
    (0, 1, 0.2),
)
"""Width of the window in ångström from which on, step of the major and of the minor ticks (Spec-o3)."""


@dataclass(frozen=True, slots=True)
class TickLabels:
    """What stands at each tick, and what is taken out of all of them (``1e−17``, ``+1.2e3``; mostly empty)."""

    texts: tuple[str, ...]
    common: str


def released_steps(width_AA: float) -> tuple[float, float]:
    """Return the steps of major and minor wavelength ticks in the style ``spec-o3``."""
    return next((major, minor) for edge, major, minor in RELEASED_TICKS if width_AA >= edge)


def multiples(low: float, high: float, step: float) -> list[float]:
    """Return the multiples of ``step`` from ``low`` to ``high``."""
    first, last = math.ceil(low / step - _SLACK), math.floor(high / step + _SLACK)
    return [number * step for number in range(first, last + 1)]


def nice_ticks(low: float, high: float, most_intervals: int) -> list[float]:
    """Return ticks at 1, 2, 2.5 or 5 times a power of ten, at most ``most_intervals`` steps in the range.

    At least two where two fit. ``low < high``, both finite.
    """
    span = high - low
    middle = (high + low) / 2
    offset = 0.0
    if abs(middle) >= 100 * span:  # steps are counted from nearby, so that they stay exact
        offset = math.copysign(10.0 ** math.floor(math.log10(abs(middle))), middle)
    start, end = low - offset, high - offset
    scale = 10.0 ** math.floor(math.log10(span / most_intervals))
    steps = [factor * scale for factor in (0.1, 0.2, 0.25, 0.5, *NICE_STEPS, 20.0)]
    wide_enough = next((i for i, step in enumerate(steps) if step >= span / most_intervals), len(steps) - 1)
    inside: list[float] = []
    for step in reversed(steps[: wide_enough + 1]):
        slack = _slack(offset, step)
        base = (
            start // step * step
        )  # not floor(start / step): 20 // 0.2 is 99, and matplotlib counts from there
        first, last = _whole(start - base, step, slack, up=True), _whole(end - base, step, slack, up=False)
        ticks = [number * step + base for number in range(first, last + 1)]
        if sum(start <= tick <= end for tick in ticks) >= 2:
            return [tick + offset for tick in ticks]
        inside = [tick + offset for tick in ticks]
    return inside


def _whole(distance: float, step: float, slack: float, *, up: bool) -> int:
    """Return how many whole steps fit, or with ``up`` are needed; a near miss counts as a hit."""
    count, rest = divmod(distance, step)
    share = rest / step
    return int(count) + (share >= slack if up else share > 1 - slack)


def _slack(offset: float, step: float) -> float:
    """Return by how much of a step a tick may miss the edge: more where a large offset costs digits."""
    if offset == 0:
        return _SLACK
    return float(min(0.4999, max(_SLACK, 10.0 ** (math.log10(abs(offset) / step) - 12))))


def minor_ticks(majors: Sequence[float], low: float, high: float) -> list[float]:
    """Return four ticks between major ones (three where the major step is 2 times a power of ten)."""
    if len(majors) < 2:
        return []
    step = majors[1] - majors[0]
    mantissa = 10.0 ** (math.log10(step) % 1)
    parts = 5 if any(math.isclose(mantissa, nice, rel_tol=1e-5) for nice in (1, 2.5, 5, 10)) else 4
    small = step / parts
    first, last = round((low - majors[0]) / small), round((high - majors[0]) / small)
    return [
        majors[0] + number * small
        for number in range(first, last + 1)
        if number % parts and low <= majors[0] + number * small <= high
    ]


def label_ticks(ticks: Sequence[float], low: float, high: float, *, may_split: bool) -> TickLabels:
    """Name ticks with as many decimals as tell them apart.

    Parameters
    ----------
    ticks
        Positions, in order.
    low, high
        Ends of the axis.
    may_split
        Take a large common part and powers of ten of 10⁻⁵ and less or 10⁶ and more out of the labels.
    """
    if not ticks:
        return TickLabels((), "")
    offset = _offset(ticks, low, high) if may_split else 0.0
    power = _power(ticks, low, high, offset) if may_split else 0
    places = _decimals(ticks, low, high, offset, power)
    texts = []
    for tick in ticks:
        value = (tick - offset) / 10.0**power
        texts.append(f"{0.0 if abs(value) < 1e-8 else value:.{places}f}".replace("-", "−"))
    common = f"1e{power}" if power else ""
    if offset:
        common += ("+" if offset > 0 else "") + _short(offset)
    return TickLabels(tuple(texts), common.replace("-", "−"))


def _visible(ticks: Sequence[float], low: float, high: float) -> list[float]:
    return [tick for tick in ticks if low <= tick <= high]


def _offset(ticks: Sequence[float], low: float, high: float) -> float:
    """Return the common part worth taking out: it saves at least four digits; else 0."""
    seen = _visible(ticks, low, high)
    if not seen or seen[0] == seen[-1] or seen[0] <= 0 <= seen[-1]:
        return 0.0
    small, large = sorted((abs(seen[0]), abs(seen[-1])))
    power = math.ceil(math.log10(large))
    while small // 10.0**power == large // 10.0**power:
        power -= 1
    power += 1
    if (large - small) / 10.0**power <= 1e-2:  # they straddle a round number: only digits that truly differ
        power = math.ceil(math.log10(large))
        while large // 10.0**power - small // 10.0**power <= 1:
            power -= 1
        power += 1
    count = large // 10.0**power
    return math.copysign(count * 10.0**power, seen[0]) if count >= 1000 else 0.0


def _power(ticks: Sequence[float], low: float, high: float, offset: float) -> int:
    """Return the power of ten to take out: none between 10⁻⁵ and 10⁶."""
    seen = [abs(tick) for tick in _visible(ticks, low, high)]
    largest = high - low if offset else max(seen, default=0.0)
    if not seen or largest == 0:
        return 0
    power = math.floor(math.log10(largest))
    return 0 if -5 < power < 6 else power


def _decimals(ticks: Sequence[float], low: float, high: float, offset: float, power: int) -> int:
    """Return how many decimals are needed so that no label is off by a thousandth of the range's size."""
    ends = list(ticks) if len(ticks) > 1 else [*ticks, low, high]
    values = [(value - offset) / 10.0**power for value in ends]
    spread = max(values) - min(values) or max(abs(value) for value in values) or 1.0
    size = math.floor(math.log10(spread))
    places = max(0, 3 - size)
    shown = values[: len(ticks)]
    while places >= 0 and max(abs(value - round(value, places)) for value in shown) < 1e-3 * 10.0**size:
        places -= 1
    return places + 1


def _short(offset: float) -> str:
    """Return a number as ``1.25e3``, without needless zeros."""
    mantissa, exponent = f"{offset:.10e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}e{int(exponent)}" if int(exponent) else mantissa
