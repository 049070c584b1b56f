"""Which redshift a spectrum is shifted by before it is measured or shown."""

from dataclasses import dataclass

from specvi_benchmark.tasks.task import Frame

MAX_STELLAR_REDSHIFT = 0.005
"""A star's |z| is below this (1500 km/s, above the escape speed of the Galaxy everywhere). A larger value
is the pipeline's quasar or galaxy fit to a star, common for rare objects, and would move every line."""


@dataclass(frozen=True, slots=True)
class Shift:
    """The redshift that is applied (0: none), and a sentence that says what was done with the one given."""

    redshift: float
    words: str


def choose_shift(redshift: float | None, frame: Frame) -> Shift:
    """Choose the shift for a task whose windows are given in ``frame``.

    In the observed frame nothing is shifted. In the rest frame a star's redshift is, any other is not.
    """
    if frame == "observed":
        return Shift(0.0, "observed frame")
    if redshift is None:
        return Shift(0.0, "no redshift given, observed frame")
    if abs(redshift) < MAX_STELLAR_REDSHIFT:
        return Shift(redshift, f"shifted to rest by the pipeline's z = {redshift:.5f}")
    return Shift(
        0.0,
        f"pipeline's z = {redshift:.4f} ignored, since no star has |z| ≥ {MAX_STELLAR_REDSHIFT}; observed frame",
    )
