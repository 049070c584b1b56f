"""The simulated archive: an invented sky as a survey would publish it, made on demand, never stored."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from pydantic import Field

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import StrictModel
from specvi_benchmark.simulator import KINDS, SIMULATOR_VERSION, Source, make_source, observe, wavelengths
from specvi_benchmark.simulator.lines import SPEED_OF_LIGHT_KMS
from specvi_benchmark.simulator.simulate import FASTEST_STAR_KMS, STELLAR_SPREAD_KMS
from specvi_benchmark.spectrum import Claims, Spectrum
from specvi_benchmark.splits.archive import Key, Record, Shown
from specvi_benchmark.splits.split import Candidate, candidate_seed

RELEASE = "simulated"
SHARD = 500  # spectra: about a second of work, so that a killed build loses little

ERROR_KMS = 8.0
"""Standard deviation of the pipeline's velocity errors."""

Item = TypeVar("Item")
Instrument = Literal["lamost", "sdss", "desi"]
_Share = Field(ge=0, le=1)
_Weight = Annotated[float, Field(gt=0)]


class SnrLaw(StrictModel):
    """Signal to noise of a visit: log-normal, cut at both ends; the same for every kind of object."""

    median: float = Field(gt=0)
    spread_dex: float = Field(gt=0)
    range: tuple[float, float]


class RedshiftLaw(StrictModel):
    """How often the pipeline's redshift goes wrong; the same for every kind of object."""

    missing: float = _Share
    wrong: float = _Share
    galaxy_recognised: float = _Share


class SimulatedSource(StrictModel):
    """The simulated archive as a recipe describes it.

    ``size`` is the number of spectra. A share ``sought`` of the objects are of rare kinds, with the weights
    of ``rare``; the others are a survey's ordinary mix, with those of ``field``. ``second_visit`` is the
    share of objects with two spectra, ``overlap`` the share that SDSS and DESI have seen too.
    """

    archive: Literal["simulated"]
    size: int = Field(gt=0)
    seed: int
    field: dict[str, _Weight] = Field(min_length=1)
    rare: dict[str, _Weight] = Field(min_length=1)
    sought: float = _Share
    snr: SnrLaw
    redshift: RedshiftLaw
    second_visit: float = _Share
    overlap: float = _Share


@dataclass(frozen=True)
class SimulatedArchive:
    """LAMOST-like spectra, with SDSS- and DESI-like ones of the same objects.

    Object number n has a kind, a source, a brightness and a position that depend on the seed and n alone;
    so has every visit. Nothing but the light depends on the kind: signal to noise, dates, positions and
    faults of the pipeline follow one law.

    Raises
    ------
    UserError
        The simulator has no such kind.
    """

    source: SimulatedSource
    label_source: str = field(default="simulated", init=False)

    def __post_init__(self) -> None:
        if unknown := sorted(self.classes - set(KINDS)):
            raise UserError(
                "the simulator has no such kind of object",
                where="recipe, source.field and source.rare",
                expected=f"one of {', '.join(sorted(KINDS))}",
                got=", ".join(unknown),
            )

    @property
    def identity(self) -> Mapping[str, Any]:
        """Return the recipe's source and the simulator's version."""
        return {**self.source.model_dump(mode="json"), "simulator_version": SIMULATOR_VERSION}

    def shard_identity(self, shard: int) -> Mapping[str, Any]:
        """Return the archive's identity and the shard's number."""
        return {**self.identity, "shard": shard}

    def shard_labels(self, shard: int) -> None:  # noqa: ARG002 -- as every archive has it
        """Return None: what is decidable is told from the light."""
        return

    @property
    def classes(self) -> frozenset[str]:
        """Return the kinds of object in it."""
        return frozenset({*self.source.field, *self.source.rare})

    @property
    def shards(self) -> int:
        """Return how many shards there are."""
        return -(-self.source.size // SHARD)

    def read_shard(self, shard: int) -> Iterator[Record]:
        """Yield the spectra of one shard."""
        for row in range(min(SHARD, self.source.size - shard * SHARD)):
            yield self._record(shard * SHARD + row, "lamost")

    def read_light(self, shard: int) -> Iterator[Spectrum]:
        """Yield the spectra of one shard, without what is known of them."""
        yield from (record.spectrum for record in self.read_shard(shard))

    def read(self, keys: Sequence[Key]) -> Iterator[Record]:
        """Yield the spectra at these places."""
        for key in keys:
            yield self._record(key.shard * SHARD + key.row, "lamost")

    def counterpart(self, key: Key, survey: str) -> Record | None:
        """Return the same object seen by ``lamost``, ``sdss`` or ``desi``; None where it was not."""
        number = key.shard * SHARD + key.row
        if survey == "lamost":
            return self._record(number, "lamost")
        if survey not in {"sdss", "desi"} or not self._overlaps(self._objects[number]):
            return None
        return self._record(number, "sdss" if survey == "sdss" else "desi")

    def shown_by(self, candidates: Sequence[Candidate]) -> Sequence[Shown]:
        """Return the object that each candidate names: objects of a simulated sky keep their ids."""
        return [Shown(c.object_id, frozenset({c.object_id})) for c in candidates]

    def _record(self, number: int, instrument: Instrument) -> Record:
        """Return one visit. SDSS and DESI see an object at the brightness LAMOST does, on other nights."""
        name = f"obj-{self._objects[number]:07d}"
        sought, kind = self._kind(name)
        about = np.random.default_rng(candidate_seed(self.source.seed, name))
        visit = np.random.default_rng(candidate_seed(self.source.seed, f"{name} {number} {instrument}"))
        ra, dec = round(float(about.uniform(0, 360)), 5), round(float(about.uniform(-10, 60)), 5)
        snr = self._snr(about) * 10 ** float(abs(visit.normal(0, 0.05)))
        source = make_source(kind, about)
        redshift, quality = self._pipeline_redshift(source, visit)
        mjd = int(visit.integers(55860, 60400))
        seen = observe(source, snr, visit, instrument=instrument)
        serial = f"{instrument}-{self._serials[number]:07d}"
        evidence = {
            "kind": kind,
            "pipeline_redshift": quality,
            "object": dict(source.truth),
            "visit": dict(seen.truth),
        }
        spectrum = Spectrum(
            wavelengths(instrument),
            seen.flux,
            seen.ivar,
            seen.mask,
            survey=f"simulated-{instrument}",
            release=RELEASE,
            survey_id=serial,
            name=serial,
            format="simulated",
            ra_deg=ra,
            dec_deg=dec,
            mjd=mjd,
            claims=Claims(object_class=_pipeline_class(redshift), redshift=redshift),
        )
        return Record(
            spectrum=spectrum,
            object_id=f"sim-{name}",
            object_id_source="simulated",
            known_as=frozenset({kind}),
            evidence=_rounded(evidence),
            decidable=bool(KINDS[kind].decidable(source.truth, snr)),
            random=not sought,
        )

    @cached_property
    def _objects(self) -> list[int]:
        """Return the object of every spectrum: a visit in so many is a second one of the object before."""
        rng = np.random.default_rng([self.source.seed, 1])
        again = rng.random(self.source.size) < self.source.second_visit / (1 + self.source.second_visit)
        again[0] = False
        again[1:] &= ~again[:-1]  # no third visits
        return list(map(int, np.cumsum(~again) - 1))

    @cached_property
    def _serials(self) -> list[int]:
        """Return shuffled serial numbers: neighbours in the archive do not have neighbouring names."""
        return list(map(int, np.random.default_rng([self.source.seed, 2]).permutation(self.source.size)))

    def _kind(self, name: str) -> tuple[bool, str]:
        """Return whether an object was sought out, and its kind, drawn by weight."""
        rng = np.random.default_rng(candidate_seed(self.source.seed, f"{name} kind"))
        sought = bool(rng.random() < self.source.sought)
        weights = self.source.rare if sought else self.source.field
        kinds = sorted(weights)
        shares = np.cumsum([weights[kind] for kind in kinds])
        place = int(np.searchsorted(shares, rng.random() * shares[-1], side="right"))
        return sought, kinds[min(place, len(kinds) - 1)]

    def _overlaps(self, number: int) -> bool:
        seed = candidate_seed(self.source.seed, f"obj-{number:07d} overlap")
        return bool(np.random.default_rng(seed).random() < self.source.overlap)

    def _snr(self, rng: np.random.Generator) -> float:
        """Return a signal to noise from the recipe's law."""
        law = self.source.snr
        while True:
            snr = float(law.median * 10 ** rng.normal(0, law.spread_dex))
            if law.range[0] <= snr <= law.range[1]:
                return snr

    def _pipeline_redshift(self, source: Source, rng: np.random.Generator) -> tuple[float | None, str]:
        """Return the redshift a survey's pipeline would give, and how it came about."""
        law = self.source.redshift
        luck, error_kms = rng.random(), rng.normal(0, ERROR_KMS)
        elsewhere, recognised = rng.uniform(0.05, 2.0), rng.random() < law.galaxy_recognised
        if luck < law.missing:
            return None, "missing"
        if luck < law.missing + law.wrong:
            return round(float(elsewhere), 6), "wrong"
        if KINDS[source.kind].redshifts is not None and not recognised:
            # A star's velocity, by the law for stars: a velocity must not tell that it means nothing.
            velocity = np.clip(
                error_kms / ERROR_KMS * STELLAR_SPREAD_KMS, -FASTEST_STAR_KMS, FASTEST_STAR_KMS
            )
            return round(float(velocity / SPEED_OF_LIGHT_KMS), 6), "fitted as a star"
        return round(float(source.redshift + error_kms / SPEED_OF_LIGHT_KMS), 6), "right"


def batches(items: Iterator[Item], size: int) -> Iterator[list[Item]]:
    """Yield items in lists of ``size``, the last one shorter."""
    while batch := list(islice(items, size)):
        yield batch


def _pipeline_class(redshift: float | None) -> str:
    if redshift is None:
        return "Unknown"
    return "STAR" if abs(redshift) < 0.005 else "GALAXY" if redshift < 0.5 else "QSO"


def _rounded(value: Any) -> Any:
    """Return JSON values with floats to six digits: what was drawn, not its last bits."""
    if isinstance(value, Mapping):
        return {name: _rounded(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
