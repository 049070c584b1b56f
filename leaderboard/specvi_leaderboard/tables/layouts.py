"""What stands in a table: the ranking in full, and the layout of the benchmark's paper."""

from collections.abc import Iterable, Iterator
from typing import Literal

from specvi_benchmark.errors import UserError
from specvi_benchmark.tasks import get_task
from specvi_leaderboard.board import Board, TrackTable
from specvi_leaderboard.reported import Reported, ReportedSystem
from specvi_leaderboard.site.page import rank_text
from specvi_leaderboard.submissions.schema import Kind
from specvi_leaderboard.tables.grid import Cell, Grid, Number, Section, number_of

Layout = Literal["full", "paper"]
REPORTED_MARK, IMPOSSIBLE_MARK = "†", "‡"
HEADINGS: dict[Kind | None, str] = {
    "constant": "Constant answers",
    "rules": "Rules",
    "classical": "Classical learners",
    "deep-learning": "Deep learning",
    "ensemble": "Ensembles",
    "vlm": "Vision-language models",
    "agent": "Agents",
    "people": "People",
    None: "Other",
}


def grids(board: Board, layout: Layout, reported: Reported | None = None) -> tuple[Grid, ...]:
    """Return one table a track.

    Parameters
    ----------
    reported
        Published figures to stand below, in the paper's layout, marked as what they are.

    Raises
    ------
    UserError
        Published figures of real spectra beside other candidates.
    """
    if layout == "full":
        return tuple(_full(board, table) for table in board.tracks)
    return tuple(_paper(board, table, reported if table.track == "main" else None) for table in board.tracks)


def _full(board: Board, table: TrackTable) -> Grid:
    standings = {row.system: row for row in table.ranked}
    rows: list[tuple[Cell, ...]] = []
    for name in table.order:
        system, standing = board.system(name), standings.get(name)
        macro = board.macro(table.track, name).ranked.f1
        rows.append(
            (
                rank_text(standing) if standing else "–",
                name,
                system.about.kind or "–",
                system.about.status,
                number_of(macro, strong=standing is not None and standing.rank_best == 1),
                *(number_of(board.task(table.track, key, name).ranked.f1) for key in table.tasks),
            )
        )
    return Grid(
        label=f"ranking-{table.track}",
        caption=_caption(
            board, table, "Macro-F1 and F1 by task, with 95\N{NO-BREAK SPACE}% intervals over objects."
        ),
        groups=(),
        head=("Rank", "System", "Kind", "Status", "Macro-F1", *(_short(key) for key in table.tasks)),
        keys=("rank", "system", "kind", "status", "macro_f1", *(f"{key}_f1" for key in table.tasks)),
        text_columns=frozenset({0, 1, 2, 3}),
        sections=(Section(None, tuple(rows)),),
        marks={},
        facts=_facts(board, table),
    )


def _paper(board: Board, table: TrackTable, published: Reported | None) -> Grid:
    if published is not None:
        _refuse_other_candidates(board, table, published)
    columns = (*table.tasks, "mean")
    kinds = {name: board.system(name).about.kind for name in table.order}
    first = {row.system for row in table.ranked if row.rank_best == 1}
    sections = [
        Section(
            heading,
            tuple(
                _row(board, table, name, strong=name in first) for name in table.order if kinds[name] == kind
            ),
        )
        for kind, heading in HEADINGS.items()
        if kind in kinds.values()
    ]
    marks = {}
    if published is not None:
        heading = f"Reported, not re-scored ({published.paper}, {published.title})"
        sections.append(Section(heading, tuple(_reported_row(system, table) for system in published.systems)))
        marks = {
            REPORTED_MARK: "published figures; what became of non-answers is not known",
            IMPOSSIBLE_MARK: "no whole numbers of candidates give both figures",
        }
    told = f"Accuracy and F1 in per cent. {_widest(board, table)}"
    return Grid(
        label=f"paper-{table.track}",
        caption=_caption(board, table, told),
        groups=(("", 1), *((_short(key) if key != "mean" else "Mean", 2) for key in columns)),
        head=("System", *("Acc.", "F1") * len(columns)),
        keys=("system", *(f"{key}_{metric}" for key in columns for metric in ("accuracy", "f1"))),
        text_columns=frozenset({0}),
        sections=tuple(sections),
        marks=marks,
        facts=_facts(board, table),
    )


def _row(board: Board, table: TrackTable, name: str, *, strong: bool) -> tuple[Cell, ...]:
    scores = [board.task(table.track, key, name).ranked for key in table.tasks]
    macro = board.macro(table.track, name).ranked
    cells = [
        number_of(measure, interval=False, scale=100, decimals=1)
        for score in scores
        for measure in (score.accuracy, score.f1)
    ]
    return (
        name,
        *cells,
        number_of(macro.accuracy, interval=False, scale=100, decimals=1),
        number_of(macro.f1, interval=False, scale=100, decimals=1, strong=strong),
    )


def _reported_row(system: ReportedSystem, table: TrackTable) -> tuple[Cell, ...]:
    by_task = {cell.task: cell for cell in system.cells}
    accuracy, f1 = system.mean.split("/")
    cells: list[Cell] = []
    for key in table.tasks:
        cell = by_task[key]
        cells += [_printed(cell.accuracy), _printed(cell.f1, "" if cell.possible else IMPOSSIBLE_MARK)]
    return (f"{system.name} {REPORTED_MARK}", *cells, _printed(accuracy), _printed(f1))


def _printed(per_cent: str, mark: str = "") -> Number:
    """Return a figure printed in per cent as the share it is, as the figures above it are."""
    return Number(float(per_cent) / 100, scale=100, decimals=1, mark=mark)


def _refuse_other_candidates(board: Board, table: TrackTable, published: Reported) -> None:
    """Raise unless the published figures are about as many candidates in the same tasks, and none is simulated."""
    mine = {key: board.task(table.track, key, board.systems[0].name).n for key in table.tasks}
    theirs = {key: candidates.n for key, candidates in published.sets.items()}
    if board.simulated or mine != theirs:
        raise UserError(
            "the published figures are about other candidates",
            where=f"split {board.split.name}",
            expected="the published test set: " + ", ".join(f"{key} {n}" for key, n in theirs.items()),
            got=("simulated: " if board.simulated else "")
            + ", ".join(f"{key} {n}" for key, n in mine.items()),
            fix="leave --reported out",
        )


def _facts(board: Board, table: TrackTable) -> dict[str, str]:
    """Return what a row of a CSV file says of itself: which candidates, and that they are simulated."""
    return {
        "split": f"{board.split.name} {board.split.version}",
        "fingerprint": board.split.fingerprint,
        "simulated": str(board.simulated),
        "track": table.track,
    }


def _caption(board: Board, table: TrackTable, told: str) -> str:
    kind = "SIMULATED spectra; says nothing about real ones. " if board.simulated else ""
    example = board.systems[0].results
    candidates = sum(score.n for score in example.tasks if score.track == table.track)
    lines = [
        f"{board.split.name} {board.split.version}, {table.track} track, {candidates} candidates. {kind}{told}",
        (
            "Ranks are 95\N{NO-BREAK SPACE}% confidence sets from paired comparisons of the systems shown; systems whose "
            "sets overlap may be tied, and bold are all that may be first."
        ),
        f"{board.rule.rstrip('.')}.",
        *_left_out(table),
    ]
    return " ".join(lines)


def _left_out(table: TrackTable) -> Iterator[str]:
    if table.unranked:
        yield "Not ranked: " + "; ".join(f"{row.system} ({row.reason})" for row in table.unranked) + "."


def _widest(board: Board, table: TrackTable) -> str:
    """Say how wide the intervals are that the layout has no room for."""
    tasks = [board.task(table.track, key, name).ranked.f1 for name in table.order for key in table.tasks]
    macros = [board.macro(table.track, name).ranked.f1 for name in table.order]
    return f"Half-widths of 95\N{NO-BREAK SPACE}% intervals: up to {_half(tasks)} in F1 of a task, up to {_half(macros)} in mean F1."


def _half(measures: Iterable[object]) -> str:
    widths = [
        (high - low) / 2
        for measure in measures
        if (low := getattr(measure, "low", None)) is not None
        and (high := getattr(measure, "high", None)) is not None
    ]
    return f"{100 * max(widths):.1f}" if widths else "–"


def _short(key: str) -> str:
    """Return what a task's column is called: its key in capitals, as in the paper."""
    return get_task(key).key.upper()
