"""``leaderboard.json``: everything a site or a reader needs, with stable ids; each system's full results lie beside it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from specvi_benchmark.files import StrictModel, write_json, write_text
from specvi_benchmark.probes.moves import Move
from specvi_benchmark.probes.report import Asked, NotAsked, ProbeReport, sentences
from specvi_benchmark.scoring import Results
from specvi_benchmark.scoring.measure import Measure
from specvi_benchmark.scoring.results import Measures, ScoredSplit, TaskScore
from specvi_benchmark.tasks.task import Track
from specvi_leaderboard.board import Board, OtherMetric, OtherRanking, TrackTable
from specvi_leaderboard.entry import About, System, slug
from specvi_leaderboard.probed import Probes
from specvi_leaderboard.reported import Reported, reported

PUBLISHED_FILE = "leaderboard.json"
SCHEMA_FILE = "leaderboard.schema.json"
RESULTS_FOLDER = "results"
SCHEMA_VERSION: Literal[1] = 1


class Withdrawn(StrictModel):
    """A system that was taken out of the table, since when and why."""

    id: str
    name: str
    date: str
    reason: str


class Cell(StrictModel):
    """One system on one task: counts by the ranked rule, the ledger, and the metrics with 95 % intervals.

    ``brier`` is of the system's own P(YES), ``decisive`` the share of right YES answers with a decisive claim that is
    in the flux; None where there is no P(YES), or no text.
    """

    task: str
    n: int
    positives: int
    tp: int
    fp: int
    fn: int
    tn: int
    ledger: Mapping[str, Mapping[str, int]]
    accuracy: Measure
    precision: Measure
    recall: Measure
    f1: Measure
    brier: Measure | None
    decisive: Measure | None


class Line(StrictModel):
    """One system in the table of a track.

    ``rank_best`` to ``rank_worst`` is its 95 % confidence set of ranks, None where it is not ranked; ``unranked``
    says why. ``tied_with`` are ids.
    """

    id: str
    rank_best: int | None
    rank_worst: int | None
    tied_with: tuple[str, ...]
    unranked: str | None
    macro: Measures
    tasks: tuple[Cell, ...]


class Place(StrictModel):
    """One system in a ranking by another metric than macro-F1; fields as in `Line`."""

    id: str
    rank_best: int | None
    rank_worst: int | None
    tied_with: tuple[str, ...]
    unranked: str | None


class OtherTable(StrictModel):
    """The track ranked by mean accuracy, or by mean Brier score with the lowest first. ``errors`` as in the ranking."""

    metric: OtherMetric
    errors: tuple[float, ...]
    places: tuple[Place, ...]


class Table(StrictModel):
    """One track by macro-F1, its ranked systems first and highest first; ``others`` rank it by other metrics.

    ``resamples``, of every ranking, and ``errors`` as in the ranking.
    """

    track: Track
    tasks: tuple[str, ...]
    resamples: int
    errors: tuple[float, ...]
    lines: tuple[Line, ...]
    others: tuple[OtherTable, ...]


class PublishedProbes(StrictModel):
    """What probes found of a system, as ``probe.json`` has it; they move no score and no rank.

    ``part``, ``track`` and ``task`` say which candidates were asked about, None: all. ``sentences`` say it in words.
    """

    probe_version: int
    seed: int
    part: str | None
    track: str | None
    task: str | None
    candidates: int
    asked: tuple[Asked, ...]
    not_asked: tuple[NotAsked, ...]
    moves: tuple[Move, ...]
    sentences: tuple[str, ...]


class Listed(About):
    """A system of a board. ``results`` is the path of everything its score says, beside ``leaderboard.json``.

    ``probes`` is None where nobody probed it.
    """

    name: str
    vetter: str
    trivial: bool
    seconds: float | None
    usd_per_1000: float | None
    results: str
    probes: PublishedProbes | None


class PublishedBoard(StrictModel):
    """All systems over one split. ``id`` is made of its name and fingerprint."""

    id: str
    split: ScoredSplit
    simulated: bool
    scoring_version: int
    rule: str
    lacking: tuple[str, ...]
    systems: tuple[Listed, ...]
    tables: tuple[Table, ...]


class Leaderboard(StrictModel):
    """The content of ``leaderboard.json``. Boards are never ranked against each other.

    ``reported`` are published figures, never ranked, and about the published real spectra only.
    """

    schema_version: Literal[1]
    title: str
    suite: str
    date: str | None
    boards: tuple[PublishedBoard, ...]
    withdrawn: tuple[Withdrawn, ...]
    reported: Reported


def publish(
    boards: Sequence[Board],
    title: str,
    withdrawn: Sequence[Withdrawn] = (),
    probes: Sequence[Probes] = (),
) -> Leaderboard:
    """Return the content of ``leaderboard.json``; the same boards give the same content.

    ``probes`` are those of each board, or empty.
    """
    return Leaderboard(
        schema_version=SCHEMA_VERSION,
        title=title,
        suite=version("specvi-bench"),
        date=boards[0].date if boards else None,
        boards=tuple(
            _board(board, found) for board, found in zip(boards, probes or [{} for _ in boards], strict=True)
        ),
        withdrawn=tuple(withdrawn),
        reported=reported(),
    )


def board_id(board: Board) -> str:
    """Return the id of a board: its split's name, and the start of its fingerprint."""
    return f"{slug(board.split.name)}-{board.split.fingerprint[:8]}"


def write_published(content: Leaderboard, boards: Sequence[Board], folder: Path) -> Path:
    """Write ``leaderboard.json``, its schema, and the full results of every system; return the first's path."""
    for board in boards:
        for system in board.systems:
            path = folder / _results_path(board, system)
            write_text(path, _compact(system.results.model_dump(mode="json")))
    write_json(folder / SCHEMA_FILE, json_schema())
    write_text(folder / PUBLISHED_FILE, _compact(content.model_dump(mode="json")))
    return folder / PUBLISHED_FILE


def json_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of ``leaderboard.json``."""
    schema = Leaderboard.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def _results_path(board: Board, system: System) -> str:
    return f"{RESULTS_FOLDER}/{board_id(board)}/{system.about.id}.json"


def _board(board: Board, probes: Probes) -> PublishedBoard:
    return PublishedBoard(
        id=board_id(board),
        split=board.split,
        simulated=board.simulated,
        scoring_version=board.scoring_version,
        rule=board.rule,
        lacking=board.lacking,
        systems=tuple(_listed(board, system, probes.get(system.about.id)) for system in board.systems),
        tables=tuple(_table(board, table) for table in board.tracks),
    )


def _listed(board: Board, system: System, probes: ProbeReport | None) -> Listed:
    return Listed(
        **dict(system.about),
        name=system.name,
        vetter=system.vetter.partition(":")[0],
        trivial=system.trivial,
        seconds=system.seconds,
        usd_per_1000=None if system.cost_usd is None else 1000 * system.cost_usd,
        results=_results_path(board, system),
        probes=_probes(probes) if probes else None,
    )


def _probes(report: ProbeReport) -> PublishedProbes:
    return PublishedProbes(
        probe_version=report.probe_version,
        seed=report.seed,
        part=report.split.part,
        track=report.split.track,
        task=report.split.task,
        candidates=report.candidates,
        asked=report.asked,
        not_asked=report.not_asked,
        moves=report.moves,
        sentences=tuple(sentences(report)),
    )


def _table(board: Board, table: TrackTable) -> Table:
    ids = {system.name: system.about.id for system in board.systems}
    lines = []
    for place, name in zip(_places(table, ids), table.order, strict=True):
        results = board.system(name).results
        lines.append(
            Line(
                **dict(place),
                macro=board.macro(table.track, name).ranked,
                tasks=tuple(_cell(results, board.task(table.track, key, name)) for key in table.tasks),
            )
        )
    return Table(
        track=table.track,
        tasks=table.tasks,
        resamples=table.resamples,
        errors=table.errors,
        lines=tuple(lines),
        others=tuple(
            OtherTable(metric=one.metric, errors=one.errors, places=tuple(_places(one, ids)))
            for one in table.others
        ),
    )


def _places(ranking: TrackTable | OtherRanking, ids: Mapping[str, str]) -> Iterator[Place]:
    for row in ranking.ranked:
        yield Place(
            id=ids[row.system],
            rank_best=row.rank_best,
            rank_worst=row.rank_worst,
            tied_with=tuple(ids[other] for other in row.tied_with),
            unranked=None,
        )
    for left in ranking.unranked:
        yield Place(id=ids[left.system], rank_best=None, rank_worst=None, tied_with=(), unranked=left.reason)


def _cell(results: Results, score: TaskScore) -> Cell:
    return Cell(
        **score.model_dump(include={"task", "n", "positives", "tp", "fp", "fn", "tn", "ledger"}),
        **dict(score.ranked),
        brier=_brier(results, score),
        decisive=_decisive(results, score),
    )


def _brier(results: Results, score: TaskScore) -> Measure | None:
    for section in results.beyond.probability if results.beyond else ():
        if (section.track, section.task) == (score.track, score.task):
            return next((made.brier for made in section.versions if made.version == "raw"), None)
    return None


def _decisive(results: Results, score: TaskScore) -> Measure | None:
    for section in results.evidence.tasks if results.evidence else ():
        if (section.track, section.task) == (score.track, score.task):
            return section.decisive.share if section.decisive.n else None
    return None
