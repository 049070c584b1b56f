"""Which 2×2 tables can have produced a printed accuracy and F1, or that none can.

Of n candidates, c are right and e are answered wrong. F1 = 2TP / (2TP + e) depends on nothing else, so
every rule for non-answers below comes down to which pairs (c, e) the printed accuracy allows, and how many
positives fit a TP. All arithmetic is in whole numbers and fractions: no verdict hangs on a float.

The idea of testing whether printed figures can come from whole counts: Brown & Heathers 2017, Soc. Psychol.
Personal. Sci. 8, 363 (GRIM). The inversion of F1 is elementary algebra.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from specvi_benchmark.errors import UserError
from specvi_benchmark.scoring.ledger import IntArray
from specvi_benchmark.scoring.printed import LARGEST, Bounds, describe_runs, runs_of


class Convention(StrEnum):
    """How candidates without an answer enter the two figures, or how F1 was meant."""

    ONE_TABLE = "one-table"
    """Both figures from one table over all n: every candidate has an answer, or non-answers count as
    wrong in both, or as NO in both. The printed figures can't tell these apart."""
    WRONG_NO = "wrong-no"
    """Wrong in accuracy, NO in F1: an unanswered positive is FN, an unanswered negative is not seen."""
    WRONG_DROPPED = "wrong-dropped"
    """Wrong in accuracy, left out of F1."""
    DROPPED = "dropped"
    """Left out of both."""
    MACRO_F1 = "macro-f1"
    """One table over all n, and F1 is the mean of the F1 of YES and the F1 of NO."""


class Table(NamedTuple):
    """A table that produces the figures.

    ``fp`` and ``fn`` are (lowest, highest): where unanswered candidates are left out, their truth decides,
    and a higher ``fn`` goes with a lower ``fp``. Otherwise the two ends are equal.
    """

    positives: int
    tp: int
    fp: tuple[int, int]
    fn: tuple[int, int]
    tn: int
    unanswered: int


class Span(NamedTuple):
    """The least and the greatest value of each cell, and of the number of positives, over many tables."""

    positives: tuple[int, int]
    tp: tuple[int, int]
    fp: tuple[int, int]
    fn: tuple[int, int]
    tn: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Block:
    """Solutions with the same number right and wrong: each TP in ``tp`` with each fitting number of positives.

    ``missed`` is the most positives that can be without a TP.
    """

    correct: int
    wrong: int
    unanswered: int
    tp: range
    positives: range
    missed: int

    def positives_for(self, tp: int) -> range:
        """Return the numbers of positives that go with a TP."""
        return range(max(self.positives.start, tp), min(self.positives.stop - 1, tp + self.missed) + 1)

    @property
    def count(self) -> int:
        """Return how many (TP, TN, positives) the block has."""
        _, fewest, most = self._positives_by_tp()
        return int((most - fewest + 1).sum())

    @property
    def span(self) -> Span:
        """Return the range of each cell over the tables of the block."""
        tp, fewest, most = self._positives_by_tp()
        silent = self.missed - self.wrong
        fn = int(np.maximum(0, fewest - tp - silent).min()), int(np.minimum(self.wrong, most - tp).max())
        return Span(
            positives=(int(fewest.min()), int(most.max())),
            tp=(self.tp[0], self.tp[-1]),
            fp=(self.wrong - fn[1], self.wrong - fn[0]),
            fn=fn,
            tn=(self.correct - self.tp[-1], self.correct - self.tp[0]),
        )

    def _positives_by_tp(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return each TP, and the fewest and most positives that go with it."""
        tp = np.arange(self.tp.start, self.tp.stop)
        fewest = np.maximum(tp, self.positives.start)
        return tp, fewest, np.minimum(tp + self.missed, self.positives.stop - 1)

    def tables(self) -> Iterator[Table]:
        """Yield every table of the block."""
        silent = self.missed - self.wrong  # unanswered candidates that may be positives
        for tp in self.tp:
            for positives in self.positives_for(tp):
                fn = max(0, positives - tp - silent), min(self.wrong, positives - tp)
                fp = self.wrong - fn[1], self.wrong - fn[0]
                yield Table(positives, tp, fp, fn, self.correct - tp, self.unanswered)


@dataclass(frozen=True, slots=True)
class Finding:
    """What one convention allows: every solution with the fewest unanswered candidates; none if impossible."""

    convention: Convention
    blocks: tuple[Block, ...]

    @property
    def possible(self) -> bool:
        """Return whether the convention can produce the figures."""
        return bool(self.blocks)

    @property
    def unanswered(self) -> int | None:
        """Return the fewest unanswered candidates that are needed; None if impossible."""
        return self.blocks[0].unanswered if self.blocks else None

    @property
    def count(self) -> int:
        """Return how many (TP, TN, positives) there are."""
        return sum(block.count for block in self.blocks)

    @property
    def span(self) -> Span | None:
        """Return the range of each cell over all tables; None if impossible."""
        if not self.blocks:
            return None
        spans = [block.span for block in self.blocks]
        return Span(
            *(
                (min(low for low, _ in ends), max(high for _, high in ends))
                for ends in zip(*spans, strict=True)
            )
        )

    def tables(self) -> Iterator[Table]:
        """Yield the tables, one for each (TP, TN, positives)."""
        for block in self.blocks:
            yield from block.tables()


def check_table(n: int, positives: Iterable[int] | None, accuracy: Bounds, f1: Bounds) -> tuple[Finding, ...]:
    """Return what every convention allows, in the order of `Convention`.

    Parameters
    ----------
    n
        Number of candidates.
    positives
        Numbers of positives that are possible: one, a range or a list. None: any.
    accuracy, f1
        What the printed figures stand for, see `printed.read_printed`.

    Raises
    ------
    UserError
        ``n`` is not positive or above a million, or a number of positives is not within 0 and ``n``.
    """
    if n > LARGEST:
        raise UserError("too many candidates", where="n", expected=f"at most {LARGEST:,}", got=f"{n:,}")
    runs = runs_of(range(n + 1) if positives is None else positives)
    if n < 1 or not runs or runs[0].start < 0 or runs[-1].stop > n + 1:
        raise UserError(
            "these numbers of candidates and positives do not go together",
            expected="n of at least 1, and positives from 0 to n",
            got=f"n {n}, positives {describe_runs(runs) or 'none'}",
        )
    found = []
    for convention in Convention:
        if convention is Convention.MACRO_F1:
            blocks = _macro_blocks(n, runs, accuracy, f1)
        else:
            blocks = _blocks(n, runs, accuracy, f1, convention)
        found.append(Finding(convention, tuple(blocks)))
    return tuple(found)


def _blocks(
    n: int, runs: Sequence[range], accuracy: Bounds, f1: Bounds, convention: Convention
) -> list[Block]:
    """Return the solutions with the fewest unanswered candidates, searched upwards from none."""
    most = 0 if convention is Convention.ONE_TABLE else n - 1
    span = range(runs[0].start, runs[-1].stop)
    for unanswered in range(most + 1):
        answered = n - unanswered
        right = accuracy.counts(answered if convention is Convention.DROPPED else n)
        right = range(right.start, min(right.stop, answered + 1))
        if not right or _hopeless(n, answered, right, span, f1):
            continue
        blocks: list[Block] = []
        for correct in right:
            wrong = answered - correct
            silent = 0 if convention is Convention.WRONG_NO else unanswered
            tp = f1.true_positives(correct, wrong)
            blocks += _within(runs, Block(correct, wrong, unanswered, tp, range(0), wrong + silent))
        if blocks:
            return blocks
    return []


def _hopeless(n: int, answered: int, right: range, positives: range, f1: Bounds) -> bool:
    """Return at a glance that F1 needs more true positives than there can be, or allows fewer than there must be.

    Otherwise each number right has to be tried. ``n`` - TN positives at most come with a TP.
    """
    fewest_wrong, most_wrong = answered - right[-1], answered - right[0]
    if fewest_wrong == 0:
        return False
    needed = max(0, positives.start - (n - right[0]))
    return (
        f1.least_true_positives(fewest_wrong) > min(right[-1], positives.stop - 1)
        or f1.most_true_positives(most_wrong) < needed
    )


def _macro_blocks(n: int, runs: Sequence[range], accuracy: Bounds, f1: Bounds) -> list[Block]:
    blocks: list[Block] = []
    for correct in accuracy.counts(n):
        wrong = n - correct

        def mean(tp: int, correct: int = correct, wrong: int = wrong) -> Fraction:
            return _half_f1(tp, wrong) + _half_f1(correct - tp, wrong)

        # The mean of both F1 rises up to TP = TN and falls as a mirror image after it.
        rising = range(correct // 2 + 1)
        first = bisect_left(rising, f1.low, key=mean)
        after = (bisect_left if f1.is_open else bisect_right)(rising, f1.high, key=mean)
        mirror = range(max(correct - after + 1, after), correct - first + 1)
        for tp in (range(first, after), mirror):
            blocks += _within(runs, Block(correct, wrong, 0, tp, range(0), wrong))
    return blocks


def _half_f1(hits: int, wrong: int) -> Fraction:
    return Fraction(hits, 2 * hits + wrong) if hits else Fraction(0)


def _within(runs: Sequence[range], block: Block) -> Iterator[Block]:
    """Yield the part of a block that each run of numbers of positives leaves, if any."""
    for run in runs:
        tp = range(max(block.tp.start, run.start - block.missed), min(block.tp.stop, run.stop))
        if tp:
            yield Block(block.correct, block.wrong, block.unanswered, tp, run, block.missed)
