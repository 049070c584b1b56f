"""One self-contained HTML page of a leaderboard: no script, and nothing that is fetched."""

from collections.abc import Mapping
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from specvi_benchmark.files import canonical_json
from specvi_benchmark.scoring import CALLS
from specvi_benchmark.scoring.measure import Measure
from specvi_benchmark.splits.families import SELECTOR_FAMILY
from specvi_benchmark.tasks import all_tasks
from specvi_leaderboard.board import Board, Standing, TrackTable

METRICS = ("accuracy", "precision", "recall", "f1")


def render_page(board: Board) -> str:
    """Return the page. Everything that comes from runs is escaped; the same board gives the same text."""
    environment = Environment(
        autoescape=True,
        loader=PackageLoader("specvi_leaderboard", "site"),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "number": number,
        "span": span,
        "percent": percent,
        "amount": amount,
        "rank": rank_text,
        "json": json_text,
        "of_selector_family": of_selector_family,
    }
    css = (files("specvi_leaderboard.site") / "page.css").read_text(encoding="utf-8")
    text = environment.get_template("page.html.jinja").render(
        board=board,
        calls=CALLS,
        class_names={task.key: task.class_name for task in all_tasks()},
        css=Markup(css),  # noqa: S704  # our own file
        metrics=METRICS,
        to_beat={table.track: best_trivial(board, table) for table in board.tracks},
    )
    return text.strip() + "\n"


def best_trivial(board: Board, table: TrackTable) -> Standing | None:
    """Return the highest trivial system of a track's ranking: a score that took no look at a spectrum."""
    return next((standing for standing in table.ranked if board.system(standing.system).trivial), None)


def of_selector_family(config: Mapping[str, object]) -> bool:
    """Return whether a system of that config is of the family that chose the negatives of its training split."""
    return config.get(SELECTOR_FAMILY) is True


def number(value: float | None) -> str:
    """Write a metric with three decimals; a dash where it is undefined."""
    return "–" if value is None else f"{value:.3f}"


def span(measure: Measure) -> str:
    """Write an interval as ``0.681–0.742``; a dash where there is none."""
    return "–" if measure.low is None else f"{number(measure.low)}–{number(measure.high)}"


def percent(value: float) -> str:
    """Write a share of an axis from 0 to 1 as the percentage SVG takes for a place."""
    return f"{100 * value:.2f}%"


def amount(value: float | None) -> str:
    """Write seconds or dollars with two significant digits; a dash where nobody measured them."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    if value < 0.0001:
        return "<0.0001"
    return f"{value:.0f}" if value >= 10 else f"{float(f'{value:.2g}'):.6f}".rstrip("0").rstrip(".")


def rank_text(standing: Standing) -> str:
    """Write the places a system may have: ``1``, or ``2–4``."""
    best, worst = standing.rank_best, standing.rank_worst
    return str(best) if best == worst else f"{best}–{worst}"


def json_text(value: Mapping[str, object]) -> str:
    """Write a configuration in its one canonical form, with spaces for the eye."""
    return canonical_json(value).decode().replace('","', '", "').replace(',"', ', "').replace('":', '": ')
