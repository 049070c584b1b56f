"""Writes a leaderboard's site: pages, style and scripts, the data they show, and the same numbers as JSON and CSV."""

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import write_json
from specvi_benchmark.runs.record import RUN_FILE
from specvi_benchmark.scoring import CALLS
from specvi_benchmark.scoring.ledger import YES
from specvi_benchmark.scoring.results import MacroScore, TaskScore
from specvi_benchmark.splits import Split
from specvi_leaderboard.board import COMPARED_AS, Board, TrackTable
from specvi_leaderboard.collection import Collection
from specvi_leaderboard.entry import Entry
from specvi_leaderboard.published import board_id, publish, write_published
from specvi_leaderboard.reported import reported
from specvi_leaderboard.site import candidates, payload
from specvi_leaderboard.site.candidates import decisive_found
from specvi_leaderboard.site.folder import renewed
from specvi_leaderboard.site.page import render_pages, static_files
from specvi_leaderboard.site.probe import probe_data
from specvi_leaderboard.tables.csv_text import harmless

PAGE_FILE = "index.html"
RESULTS_FILE = "results.json"
TABLE_FILE = "table.csv"
DATA_FOLDER = "data"
METRICS = ("accuracy", "precision", "recall", "f1")

COLUMNS = (
    *("split", "fingerprint", "simulated", "track", "task", "system", "trivial", "rank_best", "rank_worst"),
    *(f"{metric}{end}" for metric in METRICS for end in ("", "_low", "_high")),
    *("n", "positives", "tp", "fp", "fn", "tn"),
    *(f"{truth.lower()}_{call.lower()}" for truth in ("YES", "NO") for call in CALLS),
    *("seconds", "cost_usd"),
)


def write_site(found: Collection, folder: Path, *, with_candidates: bool = True) -> Path:
    """Write the site and return the path of its first page.

    It is built aside, then put in place: whatever fails before that leaves an earlier site as it is.

    Parameters
    ----------
    found
        The boards with their systems, and where splits and runs lie.
    folder
        Where to. What an earlier build wrote there and this one has not is removed, nothing else.
    with_candidates
        Whether truths, answers and spectra of single candidates go into it.

    Raises
    ------
    UserError
        The folder holds a run, or files that would be lost and that no build wrote; or another process builds there.
    """
    if (folder / RUN_FILE).exists():
        raise UserError(
            "a run folder can't hold a leaderboard", where=folder, got=RUN_FILE, fix="name another with --out"
        )
    with renewed(folder, PAGE_FILE) as place:
        for name, text in render_pages(found.title, found.boards, found.withdrawn):
            _write(place / name, text.encode())
        for name, content in static_files():
            _write(place / name, content)
        for name, value in _data(found, with_candidates=with_candidates):
            _write(place / DATA_FOLDER / f"{name}.js", payload.script(name, value).encode())
        write_published(
            publish(found.boards, found.title, found.withdrawn, found.probes), found.boards, place
        )
        if len(found.boards) == 1:
            write_json(place / RESULTS_FILE, found.boards[0].model_dump(mode="json"))
        _write(place / TABLE_FILE, "".join(_tables(found.boards)).encode())
    return folder / PAGE_FILE


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _data(found: Collection, *, with_candidates: bool) -> Iterator[tuple[str, Any]]:
    """Yield name and content of every file of data."""
    gone = [row.model_dump(mode="json") for row in found.withdrawn]
    yield "site", payload.site_data(found.title, found.boards, gone) | {"candidates": with_candidates}
    yield "tasks", payload.tasks_data()
    yield "published", reported().model_dump(mode="json")
    for place, board in enumerate(found.boards):
        name = board_id(board)
        shown = _Shown({}, None)
        if with_candidates:
            entries, (reference, where) = found.entries[place], found.splits[place]
            split = where.chosen(reference)
            groups = candidates.groups_of(split)
            traced = {
                one: candidates.traces_of(entry, found.runs[one], split, groups)
                for entry in entries
                if (one := entry.system.about.id) in found.runs
            }
            yield from (
                (f"{name}/{part}", value) for part, value in _candidate_data(split, groups, entries, traced)
            )
            shown = _Shown(
                {
                    one: tuple(split.candidates[row].id for row in rows)
                    for one, rows in traced.items()
                    if rows
                },
                _example(entries, traced, split, board),
            )
        yield f"{name}/board", payload.board_data(board, shown.traces, shown.example)
        yield f"{name}/errors", payload.errors_data(board)
        for metric in COMPARED_AS:
            yield f"{name}/ranking-{metric}", payload.ranking_data(board, metric)
        yield f"{name}/deferral", payload.deferral_data(board)
        for system in board.systems:
            one = system.about.id
            report = found.probes[place].get(one) if found.probes else None
            yield (
                f"{name}/system/{one}",
                payload.system_data(system)
                | {
                    "traces": shown.traces.get(one, ()),
                    "probes": probe_data(report) if report else None,
                },
            )


class _Shown(NamedTuple):
    """System → ids of candidates whose inspections are in the site; and the one to look at first."""

    traces: Mapping[str, tuple[str, ...]]
    example: dict[str, Any] | None


def _candidate_data(
    split: Split,
    groups: tuple[candidates.Group, ...],
    entries: tuple[Entry, ...],
    traced: Mapping[str, Mapping[int, dict[str, Any]]],
) -> Iterator[tuple[str, Any]]:
    drawn = candidates.drawn_rows(groups, entries, {row for rows in traced.values() for row in rows})
    for group in groups:
        yield f"group/{group.name}", candidates.group_data(group, split, entries, drawn)
        for place, row in enumerate(group.rows):
            if row in drawn:
                shown = {one: rows[row] for one, rows in traced.items() if row in rows}
                yield (
                    f"candidate/{group.name}-{place}",
                    candidates.spectrum_data(split.candidates[row]) | {"traces": shown},
                )


def _example(
    entries: tuple[Entry, ...],
    traced: Mapping[str, Mapping[int, dict[str, Any]]],
    split: Split,
    board: Board,
) -> dict[str, Any] | None:
    """Return the inspection to look at first: of the highest system with zooms, a member it found by decisive claims."""
    by_name = {entry.system.name: entry for entry in entries}
    for name in board.tracks[0].order:
        entry = by_name[name]
        shown = traced.get(entry.system.about.id, {})
        found = [
            (-len(decisive_found(shown[row])), row)
            for row in shown
            if split.candidates[row].truth == "YES"
            and entry.rows.call[row] == YES
            and sum(len(turn["views"]) for turn in shown[row]["turns"]) > 1
            and decisive_found(shown[row])
        ]
        if found:
            row = min(found)[1]
            candidate = split.candidates[row]
            return {
                "system": entry.system.about.id,
                "group": f"{candidate.track}-{candidate.task.key}",
                "id": candidate.id,
                "question": candidate.task.question,
                "found": decisive_found(shown[row]),
            }
    return None


def _tables(boards: tuple[Board, ...]) -> Iterator[str]:
    for number, board in enumerate(boards):
        text = table_csv(board)
        yield text if number == 0 else text.partition("\n")[2]


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
