"""What a build reports about itself: the funnel of every set, and the weak classifier it selected with."""

from collections.abc import Mapping

from specvi_benchmark.files import StrictModel
from specvi_benchmark.splits.recipe import CandidateSet, PositivesFilter, TaskKey
from specvi_benchmark.tasks.task import Track
from specvi_benchmark.vetting import Answer


class Funnel(StrictModel):
    """Spectra left after each step of the selection of one truth.

    ``labelled``: known as the class (YES), or neither that nor on the exclusion list (NO); ``usable``: pass
    the quality cuts; ``decidable``: an astronomer could tell; ``accepted``: the weak classifier takes them
    for the class; ``chosen``: became candidates. A set without a filter on positives draws YES from ``decidable``.
    """

    archive: int
    labelled: int
    usable: int
    decidable: int
    accepted: int
    chosen: int

    @property
    def acceptance(self) -> float | None:
        """Return the share of decidable spectra that the weak classifier takes for the class."""
        return self.accepted / self.decidable if self.decidable else None


class SetReport(StrictModel):
    """How one set of one task came about.

    ``acceptance_rate``: share of non-members that the weak classifier takes for members, among spectra that
    are there by the survey's own odds (1.74 % in the published benchmark); None without any.
    ``recall_lost``: share of members that the positives filter removes; 0 without one.
    """

    track: Track
    task: TaskKey
    positives_filter: PositivesFilter
    funnel: Mapping[Answer, Funnel]
    acceptance_rate: float | None
    recall_lost: float | None

    @classmethod
    def of(
        cls,
        item: CandidateSet,
        task: TaskKey,
        funnel: Mapping[Answer, Funnel],
        acceptance_rate: float | None,
    ) -> "SetReport":
        """Work out the recall that a funnel loses."""
        kept = funnel["YES"].acceptance
        lost = None if kept is None else 1 - kept
        return cls(
            track=item.track,
            task=task,
            positives_filter=item.positives_filter,
            funnel=funnel,
            acceptance_rate=acceptance_rate,
            recall_lost=lost if item.positives_filter == "same_threshold" else 0.0,
        )


class SnrBin(StrictModel):
    """Weak classifier in one range of signal to noise: members and non-members, and how many it accepts."""

    snr: tuple[float, float]
    members: int
    members_accepted: int
    others: int
    others_accepted: int


class WeakReport(StrictModel):
    """The weak classifier of one task over all usable, decidable spectra.

    ``accepted_as``: the classes under which the accepted non-members are known, most frequent first.
    """

    task: TaskKey
    trained_on: Mapping[Answer, int]
    by_snr: tuple[SnrBin, ...]
    accepted_as: Mapping[str, int]


class BuildReport(StrictModel):
    """The ``report`` of ``split.json``."""

    sets: tuple[SetReport, ...]
    weak: tuple[WeakReport, ...]
