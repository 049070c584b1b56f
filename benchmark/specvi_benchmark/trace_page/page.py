"""A recorded inspection as one HTML page: no script, nothing fetched, everything recorded escaped."""

import base64
import json
import re
from collections.abc import Iterator
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from specvi_benchmark.trace_page.recorded import Recorded, Shown
from specvi_benchmark.trace_page.text import question_of, view_words, visible

_MARKED = re.compile(r"(?P<thought><think>.*?</think>)|(?P<answer><answer>.*?</answer>)", re.DOTALL)


def render_page(recorded: Recorded) -> str:
    """Return the page. The same inspection gives the same text; pictures stand in it as data."""
    environment = Environment(
        autoescape=True,
        loader=PackageLoader("specvi_benchmark", "trace_page"),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"visible": visible, "pieces": pieces, "source": source, "words": view_words}
    css = (files("specvi_benchmark.trace_page") / "page.css").read_text(encoding="utf-8")
    text = environment.get_template("page.html.jinja").render(
        config=json.dumps(dict(recorded.run.config), indent=2, ensure_ascii=False, sort_keys=True),
        css=Markup(css),  # noqa: S704  # our own file
        question=question_of(recorded.task),
        recorded=recorded,
        simulated="simulated" in recorded.run.split.name,
    )
    return text.strip() + "\n"


def pieces(text: str) -> Iterator[tuple[str, str]]:
    """Yield the text in pieces, tags included, each with how it is set: ``thought``, ``answer`` or ``plain``."""
    place = 0
    for found in _MARKED.finditer(text):
        if found.start() > place:
            yield "plain", visible(text[place : found.start()])
        yield found.lastgroup or "plain", visible(found[0])
        place = found.end()
    if place < len(text):
        yield "plain", visible(text[place:])


def source(shown: Shown) -> str:
    """Return the picture as a data address."""
    return f"data:image/png;base64,{base64.b64encode(shown.png).decode('ascii')}"
