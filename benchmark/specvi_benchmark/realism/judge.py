"""The judge: trained on simulated spectra alone, asked about real ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from pydantic import TypeAdapter
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from specvi_benchmark.files import parse_yaml
from specvi_benchmark.realism.table import RANGES_AA, measure
from specvi_benchmark.simulator import KINDS, make_source, observe
from specvi_benchmark.spectrum import BoolArray, FloatArray

SNR_RANGE = (8.0, 80.0)
"""Median signal to noise of simulated and degraded spectra, uniform in its logarithm."""
_TREES = 300
_PENALTY = 0.003  # inverse strength, for features of unit variance


@dataclass(frozen=True, slots=True, eq=False)
class Simulated:
    """Simulated spectra of every class: flux and bad ``(n, 3909)``, class and kind ``(n,)``."""

    flux: FloatArray
    bad: BoolArray
    classes: np.ndarray
    kinds: np.ndarray


@cache
def classes() -> Mapping[str, tuple[str, ...]]:
    """Return class → simulated kinds, of ``classes.yaml``."""
    source = files("specvi_benchmark.realism") / "classes.yaml"
    return TypeAdapter(dict[str, tuple[str, ...]]).validate_python(
        parse_yaml(source.read_text(encoding="utf-8"), source)
    )


def simulate(per_class: int, seed: int) -> Simulated:
    """Simulate ``per_class`` spectra of each class, its kinds in turn, as LAMOST would see them."""
    fluxes, bads, names, kinds = [], [], [], []
    for place, (name, members) in enumerate(sorted(classes().items())):
        for number in range(per_class):
            rng = np.random.default_rng([seed, place, number])
            kind = members[number % len(members)]
            source, snr = make_source(kind, rng), draw_snr(rng)
            while not KINDS[kind].decidable(source.truth, snr):
                source, snr = make_source(kind, rng), draw_snr(rng)
            seen = observe(source, snr, rng)
            fluxes.append(seen.flux)
            bads.append(seen.mask)
            names.append(name)
            kinds.append(kind)
    return Simulated(np.array(fluxes), np.array(bads), np.array(names), np.array(kinds))


def draw_snr(rng: np.random.Generator) -> float:
    """Draw a signal to noise from `SNR_RANGE`."""
    return float(np.exp(rng.uniform(*np.log(SNR_RANGE))))


@dataclass(frozen=True, slots=True, eq=False)
class Judge:
    """Two classifiers of different habits for one range of wavelengths; their probabilities are averaged.

    Extremely randomised trees (Geurts, Ernst & Wehenkel 2006, Mach. Learn. 63, 3) look at one feature after
    the other; a logistic regression with a strong penalty looks at all together. Both are kept plain: the
    question is whether simulated and real spectra agree, not how far a classifier can be tuned.
    """

    range_AA: tuple[float, float]
    names: tuple[str, ...]
    members: tuple[Pipeline, ...]

    def probabilities(self, flux: FloatArray, bad: BoolArray) -> FloatArray:
        """Return ``(n, classes)``, classes in the order of ``names``."""
        values = _filled(measure(flux, bad, self.range_AA[1]).values)
        mean: FloatArray = np.mean([member.predict_proba(values) for member in self.members], axis=0)
        return mean


def train(simulated: Simulated, seed: int, ranges: Sequence[str] = tuple(RANGES_AA)) -> dict[str, Judge]:
    """Train one judge for each range of wavelengths."""
    judges = {}
    for name in ranges:
        table = measure(simulated.flux, simulated.bad, RANGES_AA[name][1])
        values = _filled(table.values)
        members = (
            make_pipeline(ExtraTreesClassifier(_TREES, min_samples_leaf=2, random_state=seed)),
            make_pipeline(StandardScaler(), LogisticRegression(C=_PENALTY, max_iter=300)),
        )
        for member in members:
            member.fit(values, simulated.classes)
        judges[name] = Judge(RANGES_AA[name], tuple(map(str, members[0].classes_)), members)
    return judges


def _filled(values: FloatArray) -> FloatArray:
    """Return the table with what was not measured as if nothing was there: a ratio of 1."""
    return np.where(np.isfinite(values), values, 0.0)
