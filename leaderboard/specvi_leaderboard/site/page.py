"""The site's pages from their templates, and how numbers are written in words."""

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from specvi_benchmark.scoring.measure import Measure
from specvi_benchmark.splits.families import SELECTOR_FAMILY
from specvi_leaderboard.board import Board, Standing, TrackTable
from specvi_leaderboard.entry import System
from specvi_leaderboard.published import Withdrawn

PAGES = {
    "index": "Leaderboard",
    "system": "System",
    "task": "Tasks",
    "candidate": "Candidate",
    "compare": "Compare",
    "dataset": "Dataset",
    "plain": "Every table",
    "published": "Published figures",
    "submit": "Submit",
    "method": "Method",
}
"""Pages and their headings; each has a template of its name."""

OF_SPECTRA = ("index", "system", "task", "candidate", "compare", "dataset", "plain")
"""Pages that show scores or spectra of the boards, and say so where these are simulated."""

SCRIPTED = ("index", "system", "task", "candidate", "compare", "dataset", "published")
"""Pages that scripts fill."""

NAVIGATION = ("index", "task", "compare", "dataset", "method", "submit")


def render_pages(
    title: str, boards: Sequence[Board] = (), withdrawn: Sequence[Withdrawn] = ()
) -> Iterator[tuple[str, str]]:
    """Yield name and text of every page. What scripts show comes as data; the plain tables are written into the pages."""
    simulated = bool(boards) and all(board.simulated for board in boards)
    environment = Environment(
        autoescape=True,
        loader=PackageLoader("specvi_leaderboard.site", "templates"),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    environment.globals |= {"rows_of": _rows, "number": number, "span": span, "scripted": SCRIPTED}
    for page, heading in PAGES.items():
        text = environment.get_template(f"{page}.html.jinja").render(
            page=page,
            heading=heading,
            title=title,
            navigation={k: PAGES[k] for k in NAVIGATION},
            simulated=simulated and page in OF_SPECTRA,
            boards=boards,
            withdrawn=withdrawn,
        )
        yield f"{page}.html", text.strip() + "\n"


class _Row(NamedTuple):
    """A system in a plain table: macro-F1 first, then F1 by task."""

    system: System
    rank: str
    why: str | None
    measures: tuple[Measure, ...]


def _rows(board: Board, table: TrackTable) -> Iterator[_Row]:
    ranks = {row.system: rank_text(row) for row in table.ranked}
    reasons = {row.system: row.reason for row in table.unranked}
    for name in table.order:
        by_task = (board.task(table.track, key, name).ranked.f1 for key in table.tasks)
        measures = (board.macro(table.track, name).ranked.f1, *by_task)
        yield _Row(board.system(name), ranks.get(name, "–"), reasons.get(name), measures)


def static_files() -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the styles, the scripts and the icon."""
    folder = files("specvi_leaderboard.site") / "static"
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        if path.name.endswith((".js", ".css", ".svg")):
            yield f"static/{path.name}", path.read_bytes()


def of_selector_family(config: Mapping[str, object]) -> bool:
    """Return whether a system of that config is of the family that chose the negatives of its training split."""
    return config.get(SELECTOR_FAMILY) is True


def number(value: float | None) -> str:
    """Write a metric with three decimals; a dash where it is undefined."""
    return "–" if value is None else f"{value:.3f}"


def span(measure: Measure) -> str:
    """Write an interval as ``0.681–0.742``; a dash where there is none."""
    return "–" if measure.low is None else f"{number(measure.low)}–{number(measure.high)}"


def rank_text(standing: Standing) -> str:
    """Write the places a system may have: ``1``, or ``2–4``."""
    best, worst = standing.rank_best, standing.rank_worst
    return str(best) if best == worst else f"{best}–{worst}"
