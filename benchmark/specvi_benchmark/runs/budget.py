"""What a run may cost in dollars and minutes, and what it has cost: a run stops before it costs more."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import read_lines, validate
from specvi_benchmark.runs.predictions import Prediction

GRACE_S = 60.0


@dataclass(frozen=True, slots=True)
class Limits:
    """``max_usd`` is for the whole run, earlier calls included; ``max_minutes`` for this call."""

    max_usd: float | None = None
    max_minutes: float | None = None


@dataclass(slots=True)
class Spending:
    """Counts what verdicts cost. ``expected_usd`` stands in until there are verdicts to average over."""

    limits: Limits
    expected_usd: float | None
    spent_usd: float | None = 0.0
    verdicts: int = 0
    stopped_by: str | None = None
    _began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        if self.limits.max_usd is not None and self.expected_usd is None:
            raise _price_unknown()

    @property
    def give_up_at_s(self) -> float | None:
        """Return when questions under way are given up too: a minute after the last was asked."""
        minutes = self.limits.max_minutes
        return None if minutes is None else self._began + 60 * minutes + GRACE_S

    def add(self, cost_usd: float | None) -> None:
        """Count one verdict; None where its price is not known.

        Raises
        ------
        UserError
            The price is not known, and there is a limit in dollars to keep.
        """
        self.verdicts += 1
        if cost_usd is None:
            self.spent_usd = None
            if self.limits.max_usd is not None:
                raise _price_unknown()
        elif self.spent_usd is not None:
            self.spent_usd += cost_usd

    def may_ask(self, running: int) -> bool:
        """Return whether one more question fits, beside ``running`` ones that are not paid for yet."""
        limits = self.limits
        if limits.max_minutes is not None and time.monotonic() - self._began >= 60 * limits.max_minutes:
            self.stopped_by = f"{limits.max_minutes:g} minutes are over"
        elif limits.max_usd is not None and self.spent_usd is not None:
            one = self.spent_usd / self.verdicts if self.verdicts else self.expected_usd or 0.0
            if self.spent_usd + (running + 1) * one > limits.max_usd * (1 + 1e-9):  # sums of cents
                self.stopped_by = f"one more question would exceed {limits.max_usd:g} dollars"
            else:
                self.stopped_by = None
        return self.stopped_by is None


def costs(path: Path) -> Iterator[float | None]:
    """Yield what every line of a log cost: an attempt that ended as `error` was paid for too."""
    if path.exists():
        for number, value in read_lines(path):
            yield validate(Prediction, value, f"{path}, line {number}").cost_usd


def _price_unknown() -> UserError:
    return UserError(
        "the price is not known, so a limit in dollars can't be kept",
        where="--max-usd",
        fix="name the price with the vetter's options (docs/models.md), or leave the limit out; a server that "
        "counts no tokens can't be priced",
    )
