"""Light without a feature: what surveys file as unknown."""

import numpy as np

from specvi_benchmark.simulator.kinds.kind import Kind, Truth
from specvi_benchmark.spectrum import FloatArray


def unknown(wavelength_AA: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, Truth]:
    """A flat to red curve with slow bends and no line: a faint or missed target, a badly calibrated fibre."""
    x = np.clip((wavelength_AA - 6400) / 2800, -1, 1)
    slope, bends = float(rng.uniform(0.1, 0.8)), rng.normal(0, 0.05, 3)
    waves = sum(
        float(height) * np.sin(np.pi * (number + 1.5) * x + phase)
        for number, (height, phase) in enumerate(zip(bends, rng.uniform(0, 2 * np.pi, 3), strict=True))
    )
    return np.maximum(1 + slope * x + waves, 0.05), {"slope": slope}


KINDS = (Kind("unknown", unknown),)
