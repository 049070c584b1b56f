"""What a kind of object is to the simulator: a name, a way to make its light, and how far away it may be."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from specvi_benchmark.errors import UserError
from specvi_benchmark.simulator.lattice import FAR_REDSHIFT
from specvi_benchmark.spectrum import FloatArray

Truth = dict[str, Any]
"""Parameters that were put in, JSON values with units in their names."""

Maker = Callable[[FloatArray, np.random.Generator], tuple[FloatArray, Truth]]
"""(rest-frame vacuum wavelength in Å, random numbers) → (F_λ in any unit, parameters)."""


Decidable = Callable[[Truth, float], bool]
"""(parameters, median S/N) → whether an astronomer could tell what this object is from that spectrum."""


def _always(truth: Truth, snr: float) -> bool:  # noqa: ARG001  # one signature for all
    return True


def visible(parameter: str, least: float) -> Decidable:
    """Return a judge that asks for ``least`` of a parameter (a depth, a width) times the signal to noise."""

    def decidable(truth: Truth, snr: float) -> bool:
        return bool(truth[parameter] * snr >= least)

    return decidable


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of object.

    Attributes
    ----------
    name
        How it is asked for.
    make
        Makes its light.
    redshifts
        Range of cosmological redshift, within 0 and 5; None for an object of the Galaxy.
    decidable
        Tells whether an object with these parameters is recognisable at a signal to noise. What is not
        has no place in a split, whatever was put in.
    """

    name: str
    make: Maker
    redshifts: tuple[float, float] | None = None
    decidable: Decidable = _always

    def __post_init__(self) -> None:
        if self.redshifts and not 0 <= self.redshifts[0] < self.redshifts[1] <= FAR_REDSHIFT:
            raise UserError(
                "such redshifts cannot be simulated",
                where=f"kind {self.name}",
                expected=f"a range within 0 and {FAR_REDSHIFT:g}",
                got=self.redshifts,
            )
