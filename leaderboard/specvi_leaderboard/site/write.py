"""Writes a leaderboard: ``index.html``, ``results.json`` with every number, ``table.csv`` with every score."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import write_json, write_text
from specvi_benchmark.runs.record import RUN_FILE
from specvi_benchmark.scoring import CALLS
from specvi_benchmark.scoring.results import MacroScore, TaskScore
from specvi_leaderboard.board import Board, TrackTable
from specvi_leaderboard.site.page import METRICS, render_page
from specvi_leaderboard.tables.csv_text import harmless

PAGE_FILE = "index.html"
RESULTS_FILE = "results.json"
TABLE_FILE = "table.csv"

COLUMNS = (
    *("split", "fingerprint", "simulated", "track", "task", "system", "trivial", "rank_best", "rank_worst"),
    *(f"{metric}{end}" for metric in METRICS for end in ("", "_low", "_high")),
    *("n", "positives", "tp", "fp", "fn", "tn"),
    *(f"{truth.lower()}_{call.lower()}" for truth in ("YES", "NO") for call in CALLS),
    *("seconds", "cost_usd"),
)


def write_site(board: Board, folder: Path) -> Path:
    """Write the three files, each atomically, and return the path of the page.

    Raises
    ------
    UserError
        The folder holds a run, whose own ``results.json`` would be lost.
    """
    if (folder / RUN_FILE).exists():
        raise UserError(
            "a run folder can't hold a leaderboard", where=folder, got=RUN_FILE, fix="name another with --out"
        )
    results, table, page = board.model_dump(mode="json"), table_csv(board), render_page(board)
    write_json(folder / RESULTS_FILE, results)
    write_text(folder / TABLE_FILE, table)
    write_text(folder / PAGE_FILE, page)
    return folder / PAGE_FILE


def table_csv(board: Board) -> str:
    """Return one line a system and task, and one a system and macro average (task ``macro``).

    An empty cell is undefined, not measured or, for a rank, not ranked. Ranks are those of the track.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for table in board.tracks:
        for entry in board.systems:
            whole: list[MacroScore | TaskScore] = [board.macro(table.track, entry.name)]
            whole += [board.task(table.track, key, entry.name) for key in table.tasks]
            shared = dict(_about(board, table, entry.name))
            writer.writerows(shared | dict(_numbers(score)) for score in whole)
    return text.getvalue()


def _about(board: Board, table: TrackTable, name: str) -> Iterator[tuple[str, object]]:
    entry = board.system(name)
    yield from (("split", board.split.name), ("fingerprint", board.split.fingerprint))
    yield from (("simulated", board.simulated), ("track", table.track))
    yield from (("system", harmless(name)), ("trivial", entry.trivial))
    for standing in table.ranked:
        if standing.system == name:
            yield from (("rank_best", standing.rank_best), ("rank_worst", standing.rank_worst))
    yield from (("seconds", entry.seconds), ("cost_usd", entry.cost_usd))


def _numbers(score: MacroScore | TaskScore) -> Iterator[tuple[str, object]]:
    yield "task", score.task if isinstance(score, TaskScore) else "macro"
    for metric in METRICS:
        measure = getattr(score.ranked, metric)
        yield from ((metric, measure.value), (f"{metric}_low", measure.low), (f"{metric}_high", measure.high))
    if isinstance(score, TaskScore):
        yield from ((name, getattr(score, name)) for name in ("n", "positives", "tp", "fp", "fn", "tn"))
        for truth, calls in score.ledger.items():
            yield from ((f"{truth.lower()}_{call.lower()}", count) for call, count in calls.items())
