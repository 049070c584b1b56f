"""How often the test in flux is wrong: simulated objects, in which a feature is there or not, by signal to noise."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from specvi_benchmark.evidence.claims import Kind
from specvi_benchmark.evidence.features import get_feature
from specvi_benchmark.evidence.measure import check_claim, measure_light
from specvi_benchmark.scoring.intervals import interval
from specvi_benchmark.simulator import make_source, observe, wavelengths
from specvi_benchmark.spectrum import Spectrum

SNRS = (3.0, 5.0, 10.0, 20.0, 50.0)


@dataclass(frozen=True, slots=True)
class Case:
    """One feature looked for in one kind of object, where the simulator has put it or has not."""

    kind: str
    feature: str
    looked_for: Kind
    is_there: bool


_THERE: tuple[tuple[str, str, Kind], ...] = (
    ("cv-quiescent", "Hα", "emission"),
    ("cv-quiescent", "Hβ", "emission"),
    ("cv-quiescent", "Balmer", "emission"),
    ("cv-quiescent", "He I 5877", "emission"),
    ("cv-polar", "He II 4687", "emission"),
    ("active-m-dwarf", "Hα", "emission"),
    ("nebular", "Hα", "emission"),
    ("carbon-h", "C2 5165", "band"),
    ("carbon-h", "C2", "band"),
    ("carbon-n", "C2", "band"),
    ("carbon-n", "CN 7065", "band"),
    ("m-giant", "TiO 7054", "band"),
    ("m-giant", "TiO", "band"),
    ("m-giant", "Ca II triplet", "absorption"),
    ("m-dwarf", "TiO", "band"),
    ("s-star", "ZrO 6474", "band"),
    ("s-star", "ZrO", "band"),
    ("wd-da", "Hβ", "absorption"),
    ("wd-da", "Balmer", "absorption"),
    ("wd-db", "He I 4473", "absorption"),
    ("wd-dz", "Ca II H&K", "absorption"),
    ("b-star", "He I", "absorption"),
    ("subdwarf-o", "He II 4687", "absorption"),
    ("a-star", "Hγ", "absorption"),
)

_NOT_THERE: tuple[tuple[str, str, Kind], ...] = (
    ("cv-quiescent", "C2", "band"),
    ("cv-quiescent", "ZrO 6474", "band"),
    ("cv-quiescent", "[O III] 5008", "emission"),
    ("carbon-n", "TiO 5448", "band"),
    ("carbon-n", "TiO", "band"),
    ("carbon-n", "Hα", "emission"),
    ("carbon-h", "ZrO 6474", "band"),
    ("m-giant", "C2 5165", "band"),
    ("m-giant", "C2", "band"),
    ("m-giant", "ZrO 6474", "band"),
    ("m-giant", "ZrO", "band"),
    ("m-dwarf", "Hα", "emission"),
    ("m-dwarf", "He II 4687", "emission"),
    ("k-giant", "ZrO 6474", "band"),
    ("k-giant", "C2 5165", "band"),
    ("k-giant", "Hα", "emission"),
    ("fg-star", "TiO 7054", "band"),
    ("fg-star", "C2", "band"),
    ("fg-star", "He I 5877", "absorption"),
    ("wd-da", "Hα", "emission"),
    ("wd-da", "He I 5877", "absorption"),
    ("wd-da", "Ca II K", "absorption"),
    ("wd-da", "C2", "band"),
    ("wd-db", "Balmer", "absorption"),
    ("wd-dc", "Hβ", "absorption"),
    ("wd-dc", "Balmer", "absorption"),
    ("wd-dc", "C2", "band"),
    ("a-star", "He I 4473", "absorption"),
    ("a-star", "He II 4687", "absorption"),
)

CASES: tuple[Case, ...] = tuple(Case(*case, is_there=True) for case in _THERE) + tuple(
    Case(*case, is_there=False) for case in _NOT_THERE
)
"""What is looked for. A feature that is there may still be too weak to be seen: `Rate.found` says how often it is."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How often a feature was found in ``n`` objects at one signal to noise, with Jeffreys' 95 % interval.

    ``opposite`` of those not found were found as the opposite; ``untested`` could not be tested (in no share).
    """

    case: Case
    snr: float
    n: int
    found: int
    opposite: int
    untested: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """Return the share found: one minus the missed rate, or the false-found rate."""
        return self.found / self.n if self.n else float("nan")


def validate(objects: int, snrs: Sequence[float] = SNRS, seed: int = 0) -> Iterator[Rate]:
    """Yield the rates of every case at every signal to noise.

    The same object is seen at every signal to noise, at the redshift that a survey's pipeline would give, its own.
    """
    by_kind: dict[str, list[Case]] = {}
    for case in CASES:
        by_kind.setdefault(case.kind, []).append(case)
    for kind, cases in by_kind.items():
        for snr in snrs:
            yield from _rates(kind, cases, snr, objects, seed)


def pooled(rates: Sequence[Rate]) -> tuple[int, int, float, float]:
    """Return found and tested over several rates, with Jeffreys' interval of their share."""
    found, n = sum(rate.found for rate in rates), sum(rate.n for rate in rates)
    return found, n, *_jeffreys(found, n)


def _rates(kind: str, cases: Sequence[Case], snr: float, objects: int, seed: int) -> Iterator[Rate]:
    counts = {case: [0, 0, 0] for case in cases}
    for number in range(objects):
        rng = np.random.default_rng([seed, number])
        source = make_source(kind, rng)
        seen = observe(source, snr, rng)
        spectrum = Spectrum(wavelengths(), seen.flux, seen.ivar, seen.mask, survey="simulated")
        light = measure_light(spectrum)
        for case in cases:
            tested = check_claim(light, get_feature(case.feature), case.looked_for, source.redshift)
            counts[case][0] += tested.outcome == "found"
            counts[case][1] += tested.is_opposite
            counts[case][2] += tested.outcome == "not testable"
    for case, (found, opposite, untested) in counts.items():
        n = objects - untested
        yield Rate(case, snr, n, found, opposite, untested, *_jeffreys(found, n))


def _jeffreys(found: int, n: int) -> tuple[float, float]:
    if n == 0:
        return float("nan"), float("nan")
    draws = np.random.default_rng(0).beta(found + 0.5, n - found + 0.5, 4000)
    return interval(found / n, draws)
