"""Asks the judge about labelled real spectra, and counts: objects, not spectra, and each class by itself."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from specvi_benchmark.files import StrictModel
from specvi_benchmark.realism.degrade import Pixels, to_lamost, with_noise
from specvi_benchmark.realism.judge import Judge, Simulated, classes, draw_snr
from specvi_benchmark.realism.labels import Label, Origin
from specvi_benchmark.realism.table import range_of
from specvi_benchmark.scoring.intervals import RESAMPLES, interval
from specvi_benchmark.scoring.measure import Measure, measure
from specvi_benchmark.spectrum import FloatArray
from specvi_benchmark.surveys import read_spectrum

LEAST_OBJECTS = 5
"""Objects of a class without which its recall says nothing and does not count."""

Unjudged = dict[str, dict[str, int]]
"""Reason → class → how many objects."""


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """A labelled spectrum as the judge sees it, and for which range of wavelengths; None: too little of it."""

    label: Label
    pixels: Pixels
    range_name: str | None


@dataclass(frozen=True, slots=True)
class Call:
    """What the judge said about one spectrum."""

    label: Label
    called: str
    probability: float

    @property
    def right(self) -> bool:
        """Return whether it is one of the label's classes."""
        return self.called in self.label.classes


class ClassResult(StrictModel):
    """One class. ``recall`` is the mean over objects; ``called`` counts spectra by what they were called."""

    class_name: str
    objects: int
    spectra: int
    recall: Measure
    counts: bool
    called: dict[str, int]


class OriginResult(StrictModel):
    """Everything of one origin. ``balanced_accuracy`` is the mean recall of the classes that count."""

    origin: Origin
    objects: int
    spectra: int
    balanced_accuracy: Measure
    classes_counted: int
    classes: list[ClassResult]
    not_judged: Unjudged


def look(labels: Sequence[Label], seed: int) -> Iterator[Seen]:
    """Read labelled spectra and bring them to LAMOST's pixels.

    A library spectrum also gets noise, at a signal to noise drawn for it as for simulated ones: from the
    seed and the names of its object and file, so that its neighbours in the list don't matter.
    """
    for label in labels:
        spectrum = read_spectrum(label.path, label.row, medium=label.medium)
        pixels = to_lamost(spectrum, label.resolution_AA, label.redshift)
        if label.origin == "library":
            name = f"{label.object}/{label.path.name}/{label.row}"
            digest = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
            rng = np.random.default_rng([seed, digest])
            pixels = Pixels(with_noise(pixels, draw_snr(rng), rng).flux, pixels.bad)
        yield Seen(label, pixels, range_of(pixels.bad))


def ask(judges: dict[str, Judge], seen: Sequence[Seen]) -> list[Call]:
    """Return the judge's call on every spectrum whose class is simulated and that covers enough."""
    calls: dict[int, Call] = {}
    for name, judge in judges.items():
        places = [i for i, one in enumerate(seen) if one.range_name == name and is_simulated(one.label)]
        if not places:
            continue
        flux = np.array([seen[i].pixels.flux for i in places])
        bad = np.array([seen[i].pixels.bad for i in places])
        for place, row in zip(places, judge.probabilities(flux, bad), strict=True):
            best = int(row.argmax())
            calls[place] = Call(seen[place].label, judge.names[best], float(row[best]))
    return [calls[place] for place in sorted(calls)]


def is_simulated(label: Label) -> bool:
    """Return whether every class that the label leaves open is simulated."""
    return label.classes <= classes().keys()


def summarise(
    calls: Sequence[Call], seen: Sequence[Seen], origin: Origin, listed: Sequence[Label]
) -> OriginResult:
    """Count the calls of one origin.

    Parameters
    ----------
    calls
        Of `ask`.
    seen
        What it was asked about, for what could not be judged.
    origin
        Whose spectra to count.
    listed
        All labels, of which ``seen`` may be one half: a class counts if it has `LEAST_OBJECTS` objects here.
    """
    mine = [call for call in calls if call.label.origin == origin]
    enough = {name for name, objects in _objects(listed, origin).items() if len(objects) >= LEAST_OBJECTS}
    results, draws, points = [], [], []
    for name in sorted({call.label.class_name for call in mine}):
        of_class = [call for call in mine if call.label.class_name == name]
        shares = _share_right(of_class)
        recall, sample = _recall(shares)
        results.append(
            ClassResult(
                class_name=name,
                objects=len(shares),
                spectra=len(of_class),
                recall=measure(recall, *interval(recall, sample)),
                counts=name in enough,
                called=dict(Counter(call.called for call in of_class).most_common()),
            )
        )
        if name in enough:
            points.append(recall)
            draws.append(sample)
    return OriginResult(
        origin=origin,
        objects=len({call.label.object for call in mine}),
        spectra=len(mine),
        balanced_accuracy=_mean(points, draws),
        classes_counted=len(points),
        classes=results,
        not_judged=_not_judged(seen, origin, enough),
    )


def accuracy_on_simulated(judges: dict[str, Judge], fresh: Simulated) -> float:
    """Return the mean recall over classes on simulated spectra the judge has not seen: what it could reach."""
    judge = judges["whole"]
    best = judge.probabilities(fresh.flux, fresh.bad).argmax(axis=1)
    right = np.array(judge.names)[best] == fresh.classes
    return float(np.mean([right[fresh.classes == name].mean() for name in judge.names]))


def _objects(labels: Sequence[Label], origin: Origin) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for label in labels:
        if label.origin == origin:
            found[label.class_name].add(label.object)
    return found


def _share_right(calls: Sequence[Call]) -> list[float]:
    """Return for each object which share of its spectra was called rightly."""
    by_object: dict[str, list[bool]] = defaultdict(list)
    for call in calls:
        by_object[call.label.object].append(call.right)
    return [float(np.mean(rights)) for _, rights in sorted(by_object.items())]


def _recall(shares: Sequence[float]) -> tuple[float, FloatArray]:
    """Return the mean, and draws from Beta(k + ½, n − k + ½), as `specvi_benchmark.scoring.intervals` has."""
    right, objects = float(np.sum(shares)), len(shares)
    rng = np.random.default_rng(0)
    return right / objects, rng.beta(right + 0.5, objects - right + 0.5, RESAMPLES)


def _mean(points: Sequence[float], draws: Sequence[FloatArray]) -> Measure:
    """Return the mean over classes; its draws are independent and recentred, as for every macro average."""
    if not points:
        return measure(np.nan)
    rng = np.random.default_rng(1)
    mean = np.mean([rng.permutation(sample) for sample in draws], axis=0)
    point = float(np.mean(points))
    return measure(point, *interval(point, mean + (point - mean.mean())))


def _not_judged(seen: Sequence[Seen], origin: Origin, enough: set[str]) -> Unjudged:
    reasons: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for one in seen:
        label = one.label
        if label.origin != origin:
            continue
        if not is_simulated(label):
            reason = "no simulated kind stands for the class"
        elif one.range_name is None:
            reason = "too little of 3900 to 7380 Å is covered"
        elif label.class_name not in enough:
            reason = f"fewer than {LEAST_OBJECTS} objects: judged, but not counted"
        else:
            continue
        reasons[reason][label.class_name].add(label.object)
    return {
        reason: {name: len(objects) for name, objects in sorted(of.items())}
        for reason, of in sorted(reasons.items())
    }
