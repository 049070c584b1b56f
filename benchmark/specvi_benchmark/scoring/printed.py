"""Printed percentages and numbers of positives, read for what they can stand for: whole numbers and fractions."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from specvi_benchmark.errors import UserError

Reading = Literal["rounded", "truncated"]
READINGS: tuple[Reading, ...] = ("rounded", "truncated")

_NUMBER = re.compile(r"\d+(?:\.(\d+))?")
_RUN = re.compile(r"(\d+)(?:\s*[-–]\s*(\d+))?")
LARGEST = 1_000_000
"""The most candidates that are checked: every number of right ones is tried, and a test set has fewer."""

_NEVER = 10**18  # more true positives than there are candidates


@dataclass(frozen=True, slots=True)
class Bounds:
    """The values a printed figure stands for: from ``low`` to ``high``, the latter left out if ``is_open``."""

    low: Fraction
    high: Fraction
    is_open: bool

    def counts(self, whole: int) -> range:
        """Return the whole numbers k with k / ``whole`` inside, 0 ≤ k ≤ ``whole``."""
        first = -(-self.low.numerator * whole // self.low.denominator)
        last = (self.high.numerator * whole - self.is_open) // self.high.denominator
        return range(max(0, first), min(whole, last) + 1)

    def true_positives(self, correct: int, wrong: int) -> range:
        """Return every TP ≤ ``correct`` with 2TP / (2TP + ``wrong``) inside.

        With TP = ``wrong`` = 0 the value is undefined; many programs print 0, and 0 is what it counts as.
        """
        if wrong == 0:
            first, last = (0 if self.low <= 0 else 1), (correct if self._reaches_one else 0)
        else:
            first, last = self.least_true_positives(wrong), self.most_true_positives(wrong)
        return range(first, min(correct, last) + 1)

    def least_true_positives(self, wrong: int) -> int:
        """Return the least TP with 2TP / (2TP + ``wrong``) ≥ ``low``, for ``wrong`` > 0."""
        whole, part = self.low.denominator, self.low.numerator
        if part <= 0:
            return 0
        return -(-part * wrong // (2 * (whole - part))) if part < whole else _NEVER

    def most_true_positives(self, wrong: int) -> int:
        """Return the greatest TP with 2TP / (2TP + ``wrong``) still inside, for ``wrong`` > 0."""
        whole, part = self.high.denominator, self.high.numerator
        return (part * wrong - self.is_open) // (2 * (whole - part)) if part < whole else _NEVER

    @property
    def _reaches_one(self) -> bool:
        return self.high > 1 or (self.high == 1 and not self.is_open)


def read_printed(text: str, reading: Reading, name: str = "figure") -> Bounds:
    """Return what a printed percentage can stand for; the decimals are counted in the text.

    ``rounded``: half a unit of the last decimal either way, both ends included, since programs differ
    in where they send a value that lies exactly between. ``truncated``: from the value up to the next
    printable one.

    >>> read_printed("93.1", "truncated")
    Bounds(low=Fraction(931, 1000), high=Fraction(233, 250), is_open=True)
    """
    stripped = text.strip().removesuffix("%").strip()
    found = _NUMBER.fullmatch(stripped)
    if not found or Fraction(stripped) > 100:
        raise UserError(
            "not a percentage",
            where=name,
            expected="a number from 0 to 100 as it is printed, for example 93.1",
            got=text,
        )
    value = Fraction(stripped) / 100
    unit = Fraction(1, 100 * 10 ** len(found[1] or ""))
    if reading == "truncated":
        return Bounds(value, value + unit, is_open=True)
    return Bounds(value - unit / 2, value + unit / 2, is_open=False)


def read_positives(text: str, name: str = "positives") -> list[range]:
    """Return the numbers of positives that a text names: ``229``, ``190-256`` or ``190-200,223``.

    >>> read_positives("229, 190-192")
    [range(190, 193), range(229, 230)]
    """
    numbers: set[int] = set()
    for part in text.split(","):
        found = _RUN.fullmatch(part.strip())
        if not found:
            raise UserError(
                "not a number of positives",
                where=name,
                expected="a number, a range or a list: 229, 190-256, 220,223,230-240",
                got=text,
            )
        low, high = (float(number or found[1]) for number in found.groups())
        if max(low, high) > LARGEST:  # before a range of them is written out
            raise UserError("too many positives", where=name, expected=f"at most {LARGEST:,}", got=text[:60])
        numbers.update(range(int(low), int(high) + 1))
    return runs_of(numbers)


def runs_of(numbers: Iterable[int]) -> list[range]:
    """Return numbers as sorted ranges without a gap."""
    if isinstance(numbers, range) and numbers.step == 1:
        return [numbers] if numbers else []
    runs: list[range] = []
    for number in sorted(set(numbers)):
        if runs and runs[-1].stop == number:
            runs[-1] = range(runs[-1].start, number + 1)
        else:
            runs.append(range(number, number + 1))
    return runs


def describe_runs(runs: Sequence[range]) -> str:
    """Return ranges as people write them: ``190–256, 300``."""
    return ", ".join(f"{run.start}–{run.stop - 1}" if len(run) > 1 else str(run.start) for run in runs)
