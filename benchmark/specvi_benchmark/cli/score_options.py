"""Options of `specvi score` beyond accuracy, from words to values."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from specvi_benchmark.errors import UserError

if TYPE_CHECKING:
    from specvi_benchmark.runs.beyond import Asked
    from specvi_benchmark.runs.matching import MatchedPredictions
    from specvi_benchmark.scoring.prevalence import Share

_COUNTS = re.compile(r"(\d+)/(\d+)")


def read_asked(
    matched: "MatchedPredictions",
    run: Path | None,
    *,
    prevalence: float | None,
    trained_at: float | None,
    screen_completeness: str | None,
    screen_acceptance: str | None,
    calibrate: Path | None,
    false_share: float,
    by: Sequence[str],
) -> "Asked":
    """Check the options and read the calibration run.

    Raises
    ------
    UserError
        A share that is none, a screen without a prevalence, an unknown breakdown, or a run that can't calibrate.
    """
    from specvi_benchmark.runs.beyond import Asked, read_calibration
    from specvi_benchmark.scoring.beyond import Breakdown
    from specvi_benchmark.scoring.prevalence import NO_SCREEN, Screen

    for name, value in (
        ("--prevalence", prevalence),
        ("--trained-at", trained_at),
        ("--false-share", false_share),
    ):
        if value is not None and not 0 < value < 1:
            raise UserError("not a share", where=name, expected="a number between 0 and 1", got=value)
    if prevalence is None and (screen_completeness or screen_acceptance):
        raise UserError(
            "a screen says nothing without the share of members before it",
            where="--screen-completeness, --screen-acceptance",
            fix="add --prevalence",
        )
    known: tuple[Breakdown, ...] = get_args(Breakdown)
    if strange := sorted(set(by) - set(known)):
        raise UserError(
            "no such breakdown", where="--by", expected=" or ".join(known), got=", ".join(strange)
        )
    return Asked(
        prevalence=prevalence,
        trained_at=trained_at,
        screen=Screen(
            _share("--screen-completeness", screen_completeness) or NO_SCREEN.members,
            _share("--screen-acceptance", screen_acceptance) or NO_SCREEN.others,
        ),
        calibration=None if calibrate is None else read_calibration(calibrate, matched, run),
        q=false_share,
        by=tuple(way for way in known if way in by),
    )


def _share(name: str, text: str | None) -> "Share | None":
    """Read ``0.97`` as a share that is known, ``776/803`` as one that was counted."""
    from specvi_benchmark.scoring.prevalence import Share

    if text is None:
        return None
    try:
        if counted := _COUNTS.fullmatch(text):
            found, of = int(counted[1]), int(counted[2])
            share = Share(found / of, (found, of))
        else:
            share = Share(float(text))
    except (ValueError, ZeroDivisionError):
        share = None
    if share is None or not 0 < share.value <= 1:
        raise UserError(
            "not a share", where=name, expected="a number up to 1, or counts as 776/803", got=text
        )
    return share
