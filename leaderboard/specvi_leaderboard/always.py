"""The systems that no table is without: answers of the trivial vetters and of `rules`, made when none were run."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import StrictModel
from specvi_benchmark.runs.ask import verdicts
from specvi_benchmark.runs.fitting import fit, load_system
from specvi_benchmark.runs.matching import MatchedPredictions
from specvi_benchmark.runs.predictions import Prediction, prediction_of
from specvi_benchmark.runs.record import SplitReference
from specvi_benchmark.vetting import AnyVetter
from specvi_leaderboard.entry import ALWAYS_SHOWN, KINDS, TRIVIAL, About, Entry, System, vetter_name
from specvi_leaderboard.scored import Scored, SplitPlace, kept_score, kept_text, score_all

ADDED = "answers made when the table was made"


def added(shown: Iterable[Entry], reference: SplitReference, place: SplitPlace) -> tuple[Entry, ...]:
    """Return the systems that are not shown yet, each trained or told of the split where it needs that.

    `metadata-only` is trained on the train part of the same split, `inverted-weak` takes its selection scores;
    where the split has none of these, the system is left out, and `reasons` says why.
    """
    there = {vetter_name(entry.system.vetter) for entry in shown}
    found = (_entry(name, reference, place) for name in ALWAYS_SHOWN if name not in there)
    return tuple(entry for entry in found if entry is not None)


def reasons(shown: Iterable[Entry], reference: SplitReference, place: SplitPlace) -> tuple[str, ...]:
    """Say of each system that is not shown why it can't be."""
    there = {vetter_name(entry.system.vetter) for entry in shown}
    lacking = [name for name in ALWAYS_SHOWN if name not in there]
    obstacles = {name: _attempt(name, reference, place).obstacle for name in lacking}
    return tuple(
        f"{name}: {obstacle or f'no run of it is here; specvi run --vetter {name}'}"
        for name, obstacle in obstacles.items()
    )


class _Attempt(StrictModel):
    """What came of letting a system answer: its config, or what keeps it from answering."""

    config: Mapping[str, Any] = {}
    obstacle: str | None = None


def _entry(name: str, reference: SplitReference, place: SplitPlace) -> Entry | None:
    attempt = _attempt(name, reference, place)
    if attempt.obstacle:
        return None
    made = kept_score(_what(name, reference, place), lambda: _answered(name, reference, place)[0])
    system = System(
        name=name,
        about=About(id=name, kind=KINDS[name], status="verified", how=ADDED),
        vetter=name,
        trivial=name in TRIVIAL,
        config=attempt.config,
        seed=None,
        suite=None,
        started=None,
        ended=None,
        seconds=None,
        cost_usd=None,
        results=made.results,
    )
    return Entry(system, made.rows)


def _attempt(name: str, reference: SplitReference, place: SplitPlace) -> _Attempt:
    what = _what(name, reference, place)

    def tried() -> str:
        try:
            scored, config = _answered(name, reference, place)
        except UserError as error:
            if (error.fix or "").startswith("pip install"):
                raise  # lies with this machine, not with the split: to be tried again next time
            return _Attempt(obstacle=error.what).model_dump_json()
        kept_score(what, lambda: scored)
        return _Attempt(config=config).model_dump_json()

    try:
        return _Attempt.model_validate_json(kept_text(what, tried))
    except UserError as error:
        return _Attempt(obstacle=error.what)


def _what(name: str, reference: SplitReference, place: SplitPlace) -> Mapping[str, object]:
    return {"added": name, "split": place.digest(reference)}


@contextmanager
def _ready(name: str, place: str) -> Iterator[AnyVetter]:
    """Give the vetter of that name, trained on the split or told of it where it needs that."""
    if name == "metadata-only":
        with TemporaryDirectory() as folder:
            yield load_system(fit(name, place, Path(folder) / "model"))
    else:
        yield load_system(f"{name}:{place}" if name == "inverted-weak" else name)


def _answered(name: str, reference: SplitReference, place: SplitPlace) -> tuple[Scored, Mapping[str, Any]]:
    with _ready(name, place.place) as vetter:
        split = place.chosen(reference)
        answers: dict[str, Prediction] = {
            verdict.id: prediction_of(verdict)
            for verdict in verdicts(vetter, [candidate.question for candidate in split.candidates])
        }
        config = dict(vetter.config)
    matched = MatchedPredictions(
        split=split,
        predictions=tuple(answers[candidate.id] for candidate in split.candidates),
        missing=0,
        badly_spelled=0,
        repeated=0,
        outcomes_undeclared=False,
        ignored_columns=(),
    )
    return replace(score_all(matched), seconds=None, cost_usd=None), config
