"""What an artefact is to the simulator: a name, a dial, a stage, and a way to spoil a visit."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from specvi_benchmark.simulator.instrument import Instrument
from specvi_benchmark.spectrum import BoolArray, FloatArray

Stage = Literal["light", "detector", "calibration"]
"""Before the noise (what reaches the telescope), with it (what the detector adds), after it (the pipeline's)."""

STAGES: tuple[Stage, ...] = ("light", "detector", "calibration")


@dataclass(slots=True, eq=False)
class Visit:
    """A spectrum while it is being observed. Artefacts change it in place.

    Attributes
    ----------
    instrument
        Who looks.
    flux
        ``(pixels,)`` F_λ: before the noise in stage ``light``, with it afterwards.
    sigma
        ``(pixels,)`` standard deviation of the noise; from stage ``detector`` on.
    sky_unit
        The dark sky's continuum at 5500 Å in the unit of ``flux``; from stage ``detector`` on.
    moon
        ``(pixels,)`` moonlight in the subtracted sky, in units of ``sky_unit``; None on a dark night.
    lost, flagged
        ``(pixels,)`` where the detector gave nothing; where the pipeline says that it is bad.
    truth
        What was done, JSON values.
    """

    instrument: Instrument
    flux: FloatArray
    moon: FloatArray | None
    lost: BoolArray
    flagged: BoolArray
    sigma: FloatArray = field(default_factory=lambda: np.empty(0))
    sky_unit: float = 0.0
    truth: dict[str, Any] = field(default_factory=dict)


Spoil = Callable[[Visit, float, np.random.Generator], None]
"""(visit, dial, random numbers): changes the visit and notes in ``visit.truth`` what it did."""


@dataclass(frozen=True, slots=True)
class Artefact:
    """One thing that goes wrong.

    Attributes
    ----------
    name
        Of its dial in `Rates`.
    meaning
        What the dial's number is: a share of spectra, a standard deviation, a mean number. At 0 nothing is done.
    default
        The dial's usual setting, of the order of what is published of LAMOST.
    stage
        When it happens. Within a stage artefacts follow each other by name.
    spoil
        Does it.
    """

    name: str
    meaning: str
    default: float
    stage: Stage
    spoil: Spoil
