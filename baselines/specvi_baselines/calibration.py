"""P(YES) of systems that learn from equal shares: mended on labels not trained on, moved to a declared prevalence.

A learner weighs both classes alike, so its raw P(YES) belongs to equal shares. Platt's sigmoid mends it at the
share of members of the part it is calibrated on (`cal` has that of the survey of candidates, `test` too); from
there it is shifted to any other share. A sigmoid never falls: where a system ranks the members of that part *below*
the others, the likeliest sigmoid that does not turn its answers round is level, and P(YES) is the share of members.
"""

import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from pydantic import Field

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import StrictModel, parse_json, read_text, refuse_newer, validate, write_json
from specvi_benchmark.runs.fitting import CalibrationPart
from specvi_benchmark.scoring.calibration import Platt, fit_platt, shift_prior
from specvi_benchmark.spectrum import FloatArray
from specvi_benchmark.splits import Split
from specvi_benchmark.vetting import Answer

CALIBRATION_FILE = "calibration.json"
THRESHOLD = 0.5
"""YES from this mended P(YES) on: more likely a member than not, where members have the declared share."""

Reported = Literal["calibrated", "raw"]


class TaskCalibration(StrictModel):
    """Platt's sigmoid of one task, and how many labels it rests on."""

    YES: int = Field(gt=0)
    NO: int = Field(gt=0)
    slope: float = Field(ge=0, allow_inf_nan=False)
    intercept: float = Field(allow_inf_nan=False)

    @property
    def is_level(self) -> bool:
        """Return whether P(YES) is the same for every spectrum: the raw one did not rank members above others."""
        return self.slope == 0

    @property
    def share(self) -> float:
        """Return the share of members among the labels."""
        return self.YES / (self.YES + self.NO)


class Calibration(StrictModel):
    """The content of ``calibration.json``. ``dev`` stands where the split had no ``cal``: its choices were made there."""

    schema_version: Literal[1]
    part: CalibrationPart
    fingerprint: str
    tasks: Mapping[str, TaskCalibration]

    def mended(self, task: str, p: FloatArray, prevalence: float | None) -> FloatArray:
        """Return P(YES) where members have the share ``prevalence``; None: that of the calibration part."""
        known = self.tasks[task]
        found = Platt(known.slope, known.intercept)(p)
        return found if prevalence is None else shift_prior(found, known.share, prevalence)

    def words(self, task: str, prevalence: float | None) -> str:
        """Return what a verdict says about where its P(YES) comes from."""
        share = prevalence or self.tasks[task].share
        level = (
            ", where it ranked members no higher than others: it tells nothing"
            if self.tasks[task].is_level
            else ""
        )
        return f"where {100 * share:.2g} % are members (calibrated on {self.part}{level})"


@dataclass(frozen=True, slots=True)
class Reporting:
    """What a user declares with ``--option``.

    ``prevalence`` is the share of members where the system is used (None: that of the calibration part);
    answers and mended P(YES) refer to it. ``probability`` says which of the two is logged as P(YES); answers
    come from the mended one either way.
    """

    prevalence: float | None = None
    probability: Reported = "calibrated"

    @property
    def config(self) -> Mapping[str, Any]:
        """Return what changes a verdict."""
        return {"prevalence": self.prevalence, "probability": self.probability, "threshold": THRESHOLD}


def calibrate(held: Split, part: CalibrationPart, raw: Mapping[str, FloatArray], out: Path) -> None:
    """Fit a sigmoid for each task, and write them into the model folder.

    Parameters
    ----------
    held
        The labelled part.
    raw
        Task → ``(n,)`` P(YES) at equal shares, in the order of ``held.select(task=task)``. NaN: no P(YES), left out.

    Raises
    ------
    UserError
        A task has no member, or no other, with a P(YES) there.
    """
    tasks: dict[str, TaskCalibration] = {}
    for task, p in raw.items():
        seen = np.isfinite(p)
        positive = np.array([c.truth == "YES" for c in held.select(task=task).candidates], dtype=np.bool_)[
            seen
        ]
        yes, no = int(positive.sum()), int((~positive).sum())
        if not (yes and no):
            raise UserError(
                "P(YES) can't be calibrated on one class",
                where=f"split {held.name}, {part}, task {task}",
                expected="YES and NO",
                got=f"{yes} YES and {no} NO",
                fix="a split whose parts hold both, for every task that is learnt",
            )
        slope, intercept = fit_platt(positive, p[seen])
        if slope <= 0:
            slope, intercept = 0.0, float(np.log(yes / no))
            sys.stderr.write(
                f"Task {task}: of {yes} YES and {no} NO in {part}, YES do not have the higher P(YES). It knows nothing "
                f"there that could be mended: every P(YES) becomes the share of members.\n"
            )
        tasks[task] = TaskCalibration(YES=yes, NO=no, slope=slope, intercept=intercept)
    found = Calibration(schema_version=1, part=part, fingerprint=held.fingerprint, tasks=tasks)
    write_json(out / CALIBRATION_FILE, found.model_dump(mode="json"))


def read_calibration(folder: Path, tasks: Collection[str] | None = None) -> Calibration:
    """Read the ``calibration.json`` of a folder whose model knows these tasks (None: whichever).

    Raises
    ------
    UserError
        No such file, not a calibration, or one of other tasks.
    """
    path = folder / CALIBRATION_FILE
    content = parse_json(read_text(path), path)
    refuse_newer(content, 1, path)
    found = validate(Calibration, content, path)
    if tasks is not None and set(found.tasks) != set(tasks):
        raise UserError(
            "the calibration is not that of the model",
            where=path,
            expected=", ".join(tasks),
            got=", ".join(found.tasks),
            fix="train again",
        )
    return found


def read_reporting(name: str, options: Mapping[str, str]) -> Reporting:
    """Read the options ``prevalence`` and ``probability`` of a vetter.

    Raises
    ------
    UserError
        Another option, or a value that is none.
    """
    if strange := sorted(set(options) - {"prevalence", "probability"}):
        raise UserError(
            f"vetter {name} has no such option",
            where="--option",
            expected="prevalence=SHARE or probability=raw",
            got=", ".join(strange),
        )
    reported = options.get("probability", "calibrated")
    if reported not in ("calibrated", "raw"):
        raise UserError(
            "not a kind of probability",
            where="--option probability",
            expected="calibrated or raw",
            got=reported,
        )
    prevalence = _share(options["prevalence"]) if "prevalence" in options else None
    return Reporting(prevalence, cast("Reported", reported))


def answer(p: float) -> Answer:
    """Return the answer that a mended P(YES) gives."""
    return "YES" if p >= THRESHOLD else "NO"


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = np.nan
    if not 0 < share < 1:
        raise UserError(
            "not a share of members",
            where="--option prevalence",
            expected="a number between 0 and 1",
            got=text,
        )
    return share
