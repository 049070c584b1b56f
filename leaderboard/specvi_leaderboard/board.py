"""The leaderboard as data: what the page shows and ``results.json`` holds."""

from collections.abc import Mapping, Sequence
from typing import Literal

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import StrictModel
from specvi_benchmark.scoring import Results, Rows, ScoredSplit
from specvi_benchmark.scoring.compare import rank
from specvi_benchmark.scoring.compared_metric import BRIER, DEFAULT
from specvi_benchmark.scoring.intervals import RESAMPLES
from specvi_benchmark.scoring.results import MacroScore, TaskScore
from specvi_benchmark.tasks.task import Track
from specvi_leaderboard.entry import Entry, System
from specvi_leaderboard.scored import kept_text, rows_digest
from specvi_leaderboard.systems import refuse_mixed

MANY = 50
"""Systems above which a ranking takes fewer resamples."""


class Standing(StrictModel):
    """A ranked system: its 95 % confidence set of ranks, and the systems it is not shown to differ from."""

    system: str
    rank_best: int
    rank_worst: int
    tied_with: tuple[str, ...]


class Unranked(StrictModel):
    """A system that is shown without a rank, and why."""

    system: str
    reason: str


OtherMetric = Literal["accuracy", "brier"]
COMPARED_AS: Mapping[OtherMetric, str] = {"accuracy": "mean-accuracy", "brier": BRIER}
"""What else a track is ranked by, beside macro-F1: means over its tasks; and what a comparison calls it."""


class OtherRanking(StrictModel):
    """The same systems ranked by another metric, best first: by mean accuracy, or from the lowest mean Brier score.

    ``errors`` as in `TrackTable`, in the order of this ranking.
    """

    metric: OtherMetric
    ranked: tuple[Standing, ...]
    unranked: tuple[Unranked, ...]
    errors: tuple[float, ...]


class TrackTable(StrictModel):
    """The ranking of one track, by macro-F1 over its tasks; highest first. ``others`` rank it by other metrics.

    ``errors`` are standard errors of the differences between ranked systems, to five digits: of the first with each
    below it, then of the second, and so on. With them another pool of the same systems can be ranked; docs/leaderboard.md.
    """

    track: Track
    tasks: tuple[str, ...]
    ranked: tuple[Standing, ...]
    unranked: tuple[Unranked, ...]
    resamples: int
    errors: tuple[float, ...]
    others: tuple[OtherRanking, ...] = ()

    @property
    def order(self) -> tuple[str, ...]:
        """Return the names of all systems, the ranked ones first."""
        return (*(row.system for row in self.ranked), *(row.system for row in self.unranked))


class Board(StrictModel):
    """Systems over one split, scored by one version, ranked within each track.

    ``simulated`` is True where the spectra are: such scores say nothing about real ones. ``date`` is
    there only when it was given, so that the same runs make the same page. ``lacking`` are systems that
    every table should show and this one can't, each with the reason.
    """

    schema_version: Literal[1] = 1
    split: ScoredSplit
    simulated: bool
    scoring_version: int
    rule: str
    date: str | None
    tracks: tuple[TrackTable, ...]
    systems: tuple[System, ...]
    lacking: tuple[str, ...] = ()

    def system(self, name: str) -> System:
        """Return the system of that name."""
        return next(system for system in self.systems if system.name == name)

    def macro(self, track: str, name: str) -> MacroScore:
        """Return a system's macro score in a track."""
        return next(score for score in self.system(name).results.macro if score.track == track)

    def task(self, track: str, task: str, name: str) -> TaskScore:
        """Return a system's score in a task of a track."""
        scores = self.system(name).results.tasks
        return next(score for score in scores if (score.track, score.task) == (track, task))


def build_board(entries: Sequence[Entry], date: str | None = None, *, lacking: tuple[str, ...] = ()) -> Board:
    """Rank systems that were scored on the same candidates by the same version.

    Raises
    ------
    UserError
        More than one fingerprint or scoring version, or a split that mixes simulated and real spectra.
    """
    results = {entry.system.name: entry.system.results for entry in entries}
    refuse_mixed("split fingerprint", {name: result.split.fingerprint for name, result in results.items()})
    refuse_mixed("scoring version", {name: result.scoring_version for name, result in results.items()})
    first = entries[0].system.results
    return Board(
        split=first.split,
        simulated=_is_simulated(first.split),
        scoring_version=first.scoring_version,
        rule=first.rule,
        date=date,
        tracks=tuple(_track_table(macro, entries) for macro in first.macro),
        systems=tuple(entry.system for entry in entries),
        lacking=lacking,
    )


def _is_simulated(split: ScoredSplit) -> bool:
    """Tell by what the object ids rest on; refuse simulated spectra beside real ones."""
    sources = {source for source, number in split.object_id_sources.items() if number}
    if "simulated" in sources and len(sources) > 1:
        raise UserError(
            "simulated and real spectra can't stand in one table",
            where=f"split {split.name}",
            expected="candidates that are all simulated, or all real",
            got=", ".join(f"{number} {source}" for source, number in sorted(split.object_id_sources.items())),
            fix="make one split of each",
        )
    return sources == {"simulated"}


def _track_table(macro: MacroScore, entries: Sequence[Entry]) -> TrackTable:
    results = {entry.system.name: entry.system.results for entry in entries}
    replaced = {entry.system.name: entry.system.about.superseded_by for entry in entries}
    current = {entry.system.name: entry.rows for entry in entries if not replaced[entry.system.name]}
    found = _ranking(current, macro.track)

    def unranked(made: _Ranking) -> tuple[Unranked, ...]:
        return (
            *(
                row.model_copy(update={"reason": _incomplete(results[row.system], macro.track) or row.reason})
                for row in made.unranked
            ),
            *(
                Unranked(system=name, reason=f"superseded by {newer}")
                for name, newer in replaced.items()
                if newer
            ),
        )

    by_others = {metric: _ranking(current, macro.track, name) for metric, name in COMPARED_AS.items()}
    return TrackTable(
        track=macro.track,
        tasks=macro.tasks,
        ranked=found.ranked,
        unranked=unranked(found),
        resamples=found.resamples,
        errors=found.errors,
        others=tuple(
            OtherRanking(metric=metric, ranked=made.ranked, unranked=unranked(made), errors=made.errors)
            for metric, made in by_others.items()
        ),
    )


class _Ranking(StrictModel):
    """What is kept of a ranking: the same systems with the same answers are not compared again."""

    ranked: tuple[Standing, ...]
    unranked: tuple[Unranked, ...]
    resamples: int
    errors: tuple[float, ...]


def _ranking(systems: Mapping[str, Rows], track: Track, metric: str = DEFAULT) -> _Ranking:
    names = sorted(systems)
    resamples = resamples_for(len(names))

    def made() -> str:
        found = rank(systems, metric, track=track, resamples=resamples)
        return _Ranking(
            ranked=tuple(Standing(**row._asdict()) for row in found.sets),
            unranked=tuple(Unranked(**row.model_dump()) for row in found.left_out),
            resamples=resamples,
            errors=tuple(float(f"{error:.5g}") for error in found.errors),
        ).model_dump_json()

    what = {
        "ranking": names,
        "answers": rows_digest(systems[name] for name in names),
        "track": track,
        "metric": metric,
        "resamples": resamples,
    }
    return _Ranking.model_validate_json(kept_text(what, made))


def resamples_for(systems: int) -> int:
    """Return how many resamples rank so many systems: 10,000 up to fifty, fewer above, since pairs grow as the square.

    At least 1,000: an adjusted p of 0.05 is then known to 0.007 (binomial standard error).
    """
    return RESAMPLES if systems <= MANY else max(1_000, RESAMPLES * MANY**2 // systems**2)


def _incomplete(results: Results, track: Track) -> str | None:
    """Say which tasks of a track have too many errors, and how many candidates have no verdict at all.

    None where no task of the track has.
    """
    shares = {
        score.task.upper(): sum(calls["error"] for calls in score.ledger.values()) / score.n
        for score in results.tasks
        if score.track == track and f"{track}/{score.task}" in results.incomplete
    }
    if not shares:
        return None
    where = ", ".join(f"{task} {share:.1%}" for task, share in shares.items())
    missing = results.partial.missing if results.partial else 0
    unfinished = f"; {missing:,} candidates without a verdict, the run is not finished" if missing else ""
    return f"incomplete: `error` in {where}{unfinished}"
