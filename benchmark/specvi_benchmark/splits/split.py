"""Candidate and Split: questions with their truth, and the fingerprint that names the whole set."""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal
from uuid import NAMESPACE_URL, uuid5

import numpy as np

from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.files import canonical_json
from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.tasks import Task
from specvi_benchmark.tasks.task import Track
from specvi_benchmark.vetting import Answer, Question

Part = Literal["train", "dev", "cal", "test"]
ObjectIdSource = Literal["gaia", "position", "file-name", "simulated"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the published prompt."""

    role: str
    content: str


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A question with its truth and where the truth comes from. Systems never receive it.

    ``prompt`` and ``images`` are kept as published; both are empty where the suite makes them when
    they are needed. ``image_paths`` are the names published beside the pictures, one each (None: no name).
    """

    id: str
    task: Task
    track: Track
    part: Part
    spectrum: Spectrum
    redshift: float | None
    truth: Answer
    object_id: str
    object_id_source: ObjectIdSource
    label_source: str
    label_evidence: Mapping[str, Any] = field(default_factory=dict)
    decidable: bool = True
    prompt: tuple[Message, ...] = ()
    images: tuple[bytes, ...] = ()
    image_paths: tuple[str | None, ...] = ()

    def __post_init__(self) -> None:
        if len(self.image_paths) not in {0, len(self.images)}:
            raise ValueError(f"{len(self.images)} pictures with {len(self.image_paths)} names")

    @property
    def question(self) -> Question:
        """Return what a system may see."""
        prompt = tuple((message.role, message.content) for message in self.prompt)
        return Question(self.id, self.task, self.spectrum, self.redshift, prompt)

    @property
    def group(self) -> str:
        """Return task and track as files and counts name them: ``cv`` on its own track, else ``cv_extreme``."""
        return self.task.key if self.track == self.task.track else f"{self.task.key}_{self.track}"


@dataclass(frozen=True)
class Split:
    """A frozen set of candidates of one version. Ids are unique.

    ``recipe`` says how it was made, in full: the same recipe gives the same fingerprint. ``report`` is what
    the build found out on the way; empty for a split that was not built by a recipe.
    """

    name: str
    version: str
    candidates: tuple[Candidate, ...]
    recipe: Mapping[str, Any]
    report: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unsound = [repr(c.id) for c in self.candidates if not is_sound_id(c.id)]
        if unsound:
            raise UserError(
                "ids are empty or have blanks around them", where=f"split {self.name}", got=examples(unsound)
            )
        seen: set[str] = set()
        doubled = [c.id for c in self.candidates if c.id in seen or seen.add(c.id)]  # type: ignore[func-returns-value]  # the idiom for first-seen order
        if doubled:
            raise UserError("ids are not unique", where=f"split {self.name}", got=examples(doubled))

    @cached_property
    def fingerprint(self) -> str:
        """Return the SHA-256 over every candidate, 64 hex digits; the order of candidates has no part in it.

        Over candidates sorted by id: canonical JSON of {id, task, track, part, object_id, truth,
        redshift}, then wavelength, flux and ivar as little-endian float64 and the mask as bytes.
        What else a candidate carries is not covered; docs/splits.md lists it.
        """
        digest = hashlib.sha256()
        for candidate in sorted(self.candidates, key=lambda c: c.id):
            digest.update(_labels(candidate))
            spectrum = candidate.spectrum
            for array in (spectrum.wavelength_AA, spectrum.flux, spectrum.ivar):
                digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
            digest.update(spectrum.mask.astype("u1").tobytes())
        return digest.hexdigest()

    @property
    def tasks(self) -> tuple[str, ...]:
        """Return the keys of the tasks in it, in order of first appearance."""
        return tuple(dict.fromkeys(candidate.task.key for candidate in self.candidates))

    @property
    def tracks(self) -> tuple[Track, ...]:
        """Return the tracks in it, in order of first appearance."""
        return tuple(dict.fromkeys(candidate.track for candidate in self.candidates))

    def select(
        self, *, part: Part | None = None, task: str | None = None, track: Track | None = None
    ) -> "Split":
        """Return the candidates of a part, a task and a track, each if given, as a split of its own."""
        kept = tuple(
            c
            for c in self.candidates
            if (part is None or c.part == part)
            and (task is None or c.task.key == task)
            and (track is None or c.track == track)
        )
        return Split(self.name, self.version, kept, self.recipe, self.report)


def is_sound_id(text: str) -> bool:
    """Tell whether a text can be an id: not empty, and no blanks around it that a table would lose."""
    return bool(text) and text == text.strip()


def question_id(*, track: str, task: str, survey: str, release: str | None, survey_id: str) -> str:
    """Return the id of a candidate that has no official one: uuid5 of ``specvi:track:task:survey:release:id``."""
    return str(uuid5(NAMESPACE_URL, f"specvi:{track}:{task}:{survey}:{release or ''}:{survey_id}"))


def candidate_seed(seed: int, candidate_id: str) -> np.random.SeedSequence:
    """Return the random seed of one candidate: independent of order, batch and process count."""
    word = int.from_bytes(hashlib.sha256(candidate_id.encode()).digest()[:8], "big")
    return np.random.SeedSequence([seed, word])


def _labels(candidate: Candidate) -> bytes:
    redshift = candidate.redshift
    if redshift is not None and not math.isfinite(redshift):
        raise UserError("a redshift must be finite or none", where=candidate.id, got=redshift)
    return canonical_json(
        {
            "id": candidate.id,
            "task": candidate.task.key,
            "track": candidate.track,
            "part": candidate.part,
            "object_id": candidate.object_id,
            "truth": candidate.truth,
            "redshift": redshift,
        }
    )
