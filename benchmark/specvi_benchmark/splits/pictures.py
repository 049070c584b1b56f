"""The picture of a whole spectrum, for candidates that come without one."""

from specvi_benchmark.features import choose_shift
from specvi_benchmark.splits.split import Candidate
from specvi_benchmark.views import render


def full_view(candidate: Candidate) -> bytes:
    """Return the PNG of the whole spectrum, in the frame of its task: one title-less view, nothing marked."""
    shift = choose_shift(candidate.redshift, candidate.task.frame)
    return render(candidate.spectrum, redshift=shift.redshift).png
