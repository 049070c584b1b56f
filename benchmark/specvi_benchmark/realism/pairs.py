"""Finds for real spectra the simulated ones of their class that are most like them, for the contact sheet."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from specvi_benchmark.realism.assess import Call, Seen
from specvi_benchmark.realism.judge import Simulated
from specvi_benchmark.realism.sheet import Pair
from specvi_benchmark.realism.table import RANGES_AA, measure
from specvi_benchmark.simulator import wavelengths
from specvi_benchmark.spectrum import BoolArray, FloatArray, Spectrum, clean_spectrum


def nearest_pairs(
    seen: Sequence[Seen], calls: Sequence[Call], simulated: Simulated, per_class: int
) -> list[Pair]:
    """Return up to ``per_class`` pairs of each class, in the order of classes and of the list of labels.

    The nearest is that with the smallest mean difference of shape and fine structure over what both cover.
    """
    said = {id(call.label): call for call in calls}
    measured = measure(simulated.flux, simulated.bad, RANGES_AA["blue"][1])
    looks = [place for place, name in enumerate(measured.names) if name.startswith(("shape", "bin "))]
    table = measured.values[:, looks]
    taken: Counter[str] = Counter()
    pairs = []
    for one in sorted(seen, key=lambda one: one.label.class_name):
        call = said.get(id(one.label))
        if call is None or taken[one.label.class_name] >= per_class:
            continue
        taken[one.label.class_name] += 1
        own = measure(one.pixels.flux[None], one.pixels.bad[None], RANGES_AA["blue"][1]).values[0, looks]
        places = np.flatnonzero(np.isin(simulated.classes, sorted(one.label.classes)))
        apart = np.nanmean(np.abs(table[places] - own), axis=1)
        best = int(places[apart.argmin()])
        pairs.append(
            Pair(
                f"{one.label.class_name}: {one.label.object}"
                + ("" if call.right else f"  (called {call.called})"),
                _spectrum(one.pixels.flux, one.pixels.bad, one.label.object),
                f"simulated {simulated.kinds[best]}, {apart.min():.3f} apart",
                _spectrum(simulated.flux[best], simulated.bad[best], "simulated"),
            )
        )
    return pairs


def _spectrum(flux: FloatArray, bad: BoolArray, name: str) -> Spectrum:
    return clean_spectrum(wavelengths(), flux, None, bad, name=name)
