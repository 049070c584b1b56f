"""The site's pages from their templates, and how numbers are written in words."""

from collections.abc import Iterator, Mapping
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined

from specvi_benchmark.scoring.measure import Measure
from specvi_benchmark.splits.families import SELECTOR_FAMILY
from specvi_leaderboard.board import Standing

PAGES = {
    "index": "Leaderboard",
    "system": "System",
    "task": "Tasks",
    "candidate": "Candidate",
    "compare": "Compare",
    "dataset": "Dataset",
    "published": "Published figures",
    "submit": "Submit",
    "method": "Method",
}
"""Pages and their headings; each has a template of its name."""

OF_SPECTRA = ("index", "system", "task", "candidate", "compare", "dataset")
"""Pages that show scores or spectra of the boards, and say so where these are simulated."""

NAVIGATION = ("index", "task", "compare", "dataset", "method", "submit")


def render_pages(title: str, *, simulated: bool) -> Iterator[tuple[str, str]]:
    """Yield name and text of every page. Nothing from runs stands in them: that comes as data, and is set as text."""
    environment = Environment(
        autoescape=True,
        loader=PackageLoader("specvi_leaderboard.site", "templates"),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    for page, heading in PAGES.items():
        text = environment.get_template(f"{page}.html.jinja").render(
            page=page,
            heading=heading,
            title=title,
            navigation={k: PAGES[k] for k in NAVIGATION},
            simulated=simulated and page in OF_SPECTRA,
        )
        yield f"{page}.html", text.strip() + "\n"


def static_files() -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the style and the scripts."""
    folder = files("specvi_leaderboard.site") / "static"
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        if path.name.endswith((".js", ".css")):
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
