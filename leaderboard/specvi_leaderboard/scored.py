"""Scores that are kept: what the same answers to the same candidates got from the same version is not computed again."""

import hashlib
import io
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
from pydantic import ValidationError

from specvi_benchmark.evidence.claims import EXTRACTOR_VERSION
from specvi_benchmark.evidence.measure import MEASURE_VERSION
from specvi_benchmark.files import canonical_json, home, sha256_file, write_bytes
from specvi_benchmark.runs.beyond import Asked, beyond_accuracy
from specvi_benchmark.runs.evaluate import rows_of, score_matched
from specvi_benchmark.runs.evidence import evidence_of
from specvi_benchmark.runs.matching import MatchedPredictions
from specvi_benchmark.runs.record import SplitReference, load_split
from specvi_benchmark.scoring import Group, Results, Rows
from specvi_benchmark.scoring.results import SCHEMA_VERSION, SCORING_VERSION
from specvi_benchmark.splits import Split
from specvi_benchmark.splits.named import NAMED, find_split, named_folder


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """What a table needs of one system. ``seconds`` and ``cost_usd`` are means, None where nobody measured."""

    results: Results
    rows: Rows
    seconds: float | None
    cost_usd: float | None


class SplitPlace:
    """Where a split lies. Its candidates are read when something asks for them, and once."""

    def __init__(self, place: str) -> None:
        self.place = place
        self._digest: str | None = None
        self._whole: Split | None = None
        self._chosen: dict[str, Split] = {}

    def digest(self, reference: SplitReference) -> str:
        """Return the SHA-256 over the split's files and over which of its candidates are meant."""
        folder = named_folder(self.place) if self.place in NAMED else Path(self.place).expanduser()
        if not folder.exists():
            self.chosen(reference)  # tells where it should be
        if self._digest is None:
            self._digest = _files_digest(folder)
        return _key({"files": self._digest, "which": [reference.part, reference.task, reference.track]})

    def holds(self, reference: SplitReference) -> bool:
        """Tell whether the candidates a reference means lie here; what was worked out once is kept."""

        def fingerprint() -> str:
            kept = self.whole.select(part=reference.part, task=reference.task, track=reference.track)
            return kept.fingerprint

        return kept_text({"fingerprint of": self.digest(reference)}, fingerprint) == reference.fingerprint

    @property
    def whole(self) -> Split:
        """Return the split with all its parts."""
        if self._whole is None:
            self._whole = find_split(self.place)
        return self._whole

    def chosen(self, reference: SplitReference) -> Split:
        """Return the candidates a reference means; see `load_split`."""
        if reference.fingerprint not in self._chosen:
            instead = None if self.place == reference.path else self.place
            self._chosen[reference.fingerprint] = load_split(reference, instead)
        return self._chosen[reference.fingerprint]


def score_all(matched: MatchedPredictions, run: Path | None = None) -> Scored:
    """Score predictions with everything a leaderboard shows; ``run`` is a folder whose traces are held against the flux."""
    evidence = None if run is None else evidence_of(matched, run)
    beyond = beyond_accuracy(matched, Asked()).sections
    return Scored(
        results=score_matched(matched).model_copy(update={"beyond": beyond, "evidence": evidence}),
        rows=rows_of(matched),
        seconds=_mean(prediction.seconds for prediction in matched.predictions),
        cost_usd=_mean(prediction.cost_usd for prediction in matched.predictions),
    )


def kept_score(what: Mapping[str, object], make: Callable[[], Scored]) -> Scored:
    """Return the score of ``what``, made if it is not in the cache.

    Parameters
    ----------
    what
        Names everything the score depends on: digests of answers and split. Versions are added here, so that
        a score of an older one is never taken.
    """
    path = _place(what, "npz")
    try:
        return _read(path)
    except (OSError, ValueError, KeyError, ValidationError):
        made = make()
        write_bytes(path, _packed(made))
        return made


def kept_text(what: Mapping[str, object], make: Callable[[], str]) -> str:
    """Return a text that is made once for ``what`` and these versions."""
    path = _place(what, "txt")
    if not path.is_file():
        write_bytes(path, make().encode())
    return path.read_text(encoding="utf-8")


def rows_digest(rows: Iterable[Rows]) -> str:
    """Return the SHA-256 over the answers of some systems."""
    digest = hashlib.sha256()
    for system in rows:
        digest.update(repr(system.groups).encode())
        for array in (system.group, system.positive, system.call, system.object_code, system.p_yes_or_nan):
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _place(what: Mapping[str, object], kind: str) -> Path:
    key = _key({"what": what, "versions": [SCORING_VERSION, SCHEMA_VERSION, EXTRACTOR_VERSION, MEASURE_VERSION, version("specvi-bench")]})  # fmt: skip
    return home() / "leaderboard" / key[:2] / f"{key}.{kind}"


def _key(value: object) -> str:
    return hashlib.sha256(canonical_json(value)).hexdigest()


def _files_digest(place: Path) -> str:
    if place.is_file():
        return sha256_file(place)
    files = sorted(
        path
        for path in place.rglob("*")
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(place).parts)
    )
    return _key([[str(path.relative_to(place)), sha256_file(path)] for path in files])


def _packed(scored: Scored) -> bytes:
    told = {
        "results": scored.results.model_dump(mode="json"),
        "groups": [list(group) for group in scored.rows.groups],
        "seconds": scored.seconds,
        "cost_usd": scored.cost_usd,
    }
    text = np.frombuffer(json.dumps(told, allow_nan=False).encode(), dtype=np.uint8)
    rows = scored.rows
    stream = io.BytesIO()
    np.savez_compressed(
        stream,
        told=text,
        group=rows.group,
        positive=rows.positive,
        call=rows.call,
        object_code=rows.object_code,
        p_yes=rows.p_yes_or_nan,
    )
    return stream.getvalue()


def _read(path: Path) -> Scored:
    with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
        told = json.loads(arrays["told"].tobytes())
        rows = Rows(
            groups=tuple(Group(track, task) for track, task in told["groups"]),
            group=arrays["group"],
            positive=arrays["positive"],
            call=arrays["call"],
            object_code=arrays["object_code"],
            p_yes=arrays["p_yes"],
        )
    results = Results.model_validate(told["results"])
    return Scored(results, rows, told["seconds"], told["cost_usd"])


def _mean(values: Iterable[float | None]) -> float | None:
    stated = [value for value in values if value is not None]
    return sum(stated) / len(stated) if stated else None
