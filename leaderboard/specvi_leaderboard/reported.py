"""Published figures beside the leaderboard: never ranked, each cell held against the counts that could have made it."""

from functools import cache
from typing import Literal

from specvi_benchmark.files import StrictModel
from specvi_benchmark.scoring.check_table import check_table
from specvi_benchmark.scoring.printed import read_positives, read_printed
from specvi_benchmark.scoring.reported import (
    Figure,
    TestSet,
    reported_generalisation,
    reported_table,
)
from specvi_leaderboard.entry import slug
from specvi_leaderboard.scored import kept_text

STATUS_NOTE = "published numbers; nothing was re-scored, and what became of non-answers is not known"
IMPOSSIBLE = "no whole numbers of candidates give both figures (specvi check-table reported)"


class ReportedCell(StrictModel):
    """Accuracy and F1 in per cent as printed. ``possible``: whether one 2×2 table can give both."""

    task: str
    accuracy: str
    f1: str
    possible: bool


class ReportedSystem(StrictModel):
    """One row of a published table; ``mean`` is accuracy/F1 as printed."""

    id: str
    name: str
    kind: str
    cells: tuple[ReportedCell, ...]
    mean: str


class Reported(StrictModel):
    """A published table and published single figures, with their sources."""

    status: Literal["reported"] = "reported"
    note: str = STATUS_NOTE
    impossible: str = IMPOSSIBLE
    title: str
    paper: str
    source: str
    how_read: str
    licence: str
    sets: dict[str, TestSet]
    systems: tuple[ReportedSystem, ...]
    further_title: str
    further_source: str
    further_how_read: str
    further: tuple[Figure, ...]


def reported_names() -> tuple[str, ...]:
    """Return the names of systems with published figures."""
    return tuple(row.system for row in reported_table().rows)


def reported_id(name: str) -> str:
    """Return the id of a system with published figures."""
    return f"reported-{slug(name)}"


@cache
def reported() -> Reported:
    """Return the published figures, each cell of the table with the verdict of `check_table`."""
    table = reported_table()
    return Reported.model_validate_json(kept_text({"reported": table.model_dump(mode="json")}, _made))


def _made() -> str:
    table, further = reported_table(), reported_generalisation()
    cells: dict[str, list[ReportedCell]] = {}
    for cell in table.cells():
        cells.setdefault(cell.system, []).append(
            ReportedCell(
                task=cell.task,
                accuracy=cell.accuracy,
                f1=cell.f1,
                possible=_possible(table.sets[cell.task], cell.accuracy, cell.f1),
            )
        )
    return Reported(
        **table.model_dump(include={"title", "paper", "source", "how_read", "licence", "sets"}),
        systems=tuple(
            ReportedSystem(
                id=reported_id(row.system),
                name=row.system,
                kind=row.kind,
                cells=tuple(cells[row.system]),
                mean=row.mean,
            )
            for row in table.rows
        ),
        further_title=further.title,
        further_source=further.source,
        further_how_read=further.how_read,
        further=further.figures,
    ).model_dump_json()


def _possible(candidates: TestSet, accuracy: str, f1: str) -> bool:
    """Tell whether one table over all candidates gives both figures, read as rounded."""
    positives = (number for run in read_positives(candidates.positives) for number in run)
    one_table, *_ = check_table(
        candidates.n, positives, read_printed(accuracy, "rounded"), read_printed(f1, "rounded")
    )
    return one_table.possible
