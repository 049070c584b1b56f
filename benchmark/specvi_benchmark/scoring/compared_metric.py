"""A metric as a comparison sees it: its value, and how it bends when one count changes."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from specvi_benchmark.errors import UserError
from specvi_benchmark.scoring.ledger import BoolArray, Group, IntArray
from specvi_benchmark.scoring.metrics import FloatArray
from specvi_benchmark.scoring.panel import CREDIT_UNITS, Panel
from specvi_benchmark.tasks.task import Track

Kind = Literal["f1", "accuracy", "mean-accuracy", "brier"]

DEFAULT = "macro-f1"
BRIER = "brier"
FORMS = "macro-f1, accuracy, mean-accuracy, f1:TASK or accuracy:TASK"


class Slopes(NamedTuple):
    """A metric at some counts, and its partial derivatives there. A higher value is better.

    ``value`` is ``(systems, resamples)``; ``by_yes`` ``(labels, systems, resamples)`` is the derivative after
    the sum of what is counted (see `ComparedMetric.counted`), ``by_rows`` after the number of all rows.
    """

    value: FloatArray
    by_yes: FloatArray
    by_rows: FloatArray


@dataclass(frozen=True, slots=True)
class ComparedMetric:
    """What systems are compared by.

    Attributes
    ----------
    name
        As the user writes it.
    kind
        ``f1``: the mean of F1 over the groups. ``accuracy``: the share of candidates that are right, over all
        of them together. ``mean-accuracy``: the mean of that share over the groups. ``brier``: 1 less the mean
        of the Brier score over the groups; every candidate needs a P(YES).
    track
        The track of its groups.
    places
        Indices into the groups of a panel.
    """

    name: str
    kind: Kind
    track: Track
    places: tuple[int, ...]

    @property
    def unit(self) -> int:
        """Return what one candidate adds at most to a sum of what is counted."""
        return CREDIT_UNITS if self.kind == "brier" else 1

    def counted(self, systems: Panel) -> IntArray | BoolArray:
        """Return ``(systems, n)`` what the metric counts: rows that count as YES, right ones, or credit."""
        if self.kind == "brier":
            return systems.credit
        return systems.right if self.kind == "mean-accuracy" else systems.counts_as_yes

    def slopes(self, yes: FloatArray, rows: FloatArray) -> Slopes:
        """Return value and derivatives.

        Parameters
        ----------
        yes
            ``(labels, systems, resamples)``, sums of what is counted. Even labels are the positives of a group,
            the odd one after it its negatives.
        rows
            ``(labels, 1, resamples)``, all rows.

        Notes
        -----
        With P positives, TP and FP, F1 = 2 TP / (P + TP + FP). Where that is 0 / 0 in a resample F1 is taken
        as 0; at the data themselves it is undefined, and the caller leaves the system out.
        """
        if self.kind in {"mean-accuracy", "brier"}:
            return _mean_credit(yes, rows, self.unit)
        return (_f1 if self.kind == "f1" else _accuracy)(yes, rows)


def parse_metric(text: str, groups: tuple[Group, ...], track: Track | None = None) -> ComparedMetric:
    """Read the name of a metric.

    Parameters
    ----------
    text
        ``macro-f1``, ``accuracy``, ``mean-accuracy``, ``brier``, ``f1:cv`` or ``accuracy:cv``.
    groups
        The groups there are.
    track
        Which track; the first one there is, where it is not named.

    Raises
    ------
    UserError
        Another name, or a track or task that the candidates do not have.
    """
    kind, _, task = text.strip().lower().partition(":")
    kinds: dict[str, Kind] = (
        {"f1": "f1", "accuracy": "accuracy"}
        if task
        else {
            "macro-f1": "f1",
            "accuracy": "accuracy",
            "mean-accuracy": "mean-accuracy",
            BRIER: "brier",
        }
    )
    if kind not in kinds:
        raise UserError("no such metric", where="--metric", expected=FORMS, got=text)
    of_track = [group for group in groups if track in {None, group.track}]
    chosen = [group for group in of_track if not task or group.task == task]
    if not chosen:
        raise UserError(
            "no candidates of that track and task",
            expected=", ".join("/".join(group) for group in groups),
            got=f"{track or 'any track'}/{task or 'any task'}",
        )
    first = chosen[0].track
    places = tuple(place for place, group in enumerate(groups) if group in chosen and group.track == first)
    return ComparedMetric(text.strip().lower(), kinds[kind], first, places)


def _f1(yes: FloatArray, rows: FloatArray) -> Slopes:
    tp, fp, positives = yes[0::2], yes[1::2], rows[0::2]
    whole = positives + tp + fp
    safe = np.where(whole > 0, whole, 1.0)
    f1 = 2 * tp / safe
    by_yes, by_rows = np.empty(yes.shape), np.zeros(yes.shape)
    by_yes[0::2] = (2 - f1) / (safe * len(tp))
    by_yes[1::2] = by_rows[0::2] = -f1 / (safe * len(tp))
    return Slopes(f1.mean(axis=0), by_yes, by_rows)


def _accuracy(yes: FloatArray, rows: FloatArray) -> Slopes:
    n = rows.sum(axis=0)
    value = (yes[0::2].sum(axis=0) + (rows[1::2] - yes[1::2]).sum(axis=0)) / n
    by_yes, by_rows = np.empty(yes.shape), np.empty(yes.shape)
    by_yes[0::2], by_yes[1::2] = 1 / n, -1 / n
    by_rows[0::2], by_rows[1::2] = -value / n, (1 - value) / n
    return Slopes(value, by_yes, by_rows)


def _mean_credit(yes: FloatArray, rows: FloatArray, unit: int) -> Slopes:
    """Return the mean over groups of credit by row; members and others of a group weigh alike."""
    n = rows[0::2] + rows[1::2]
    mean = (yes[0::2] + yes[1::2]) / (unit * n)
    by_yes, by_rows = np.empty(yes.shape), np.empty(yes.shape)
    by_yes[0::2] = by_yes[1::2] = 1 / (unit * n * len(n))
    by_rows[0::2] = by_rows[1::2] = -mean / (n * len(n))
    return Slopes(mean.mean(axis=0), by_yes, by_rows)
