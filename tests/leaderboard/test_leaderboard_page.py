import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from importlib.resources import files

import pytest

from specvi_benchmark.scoring import CALLS
from specvi_benchmark.scoring.measure import Measure
from specvi_leaderboard.board import Standing, build_board
from specvi_leaderboard.site.page import amount, number, rank_text, render_page, span
from specvi_leaderboard.systems import read_systems

HOSTILE = """<script>alert(1)</script>"'&<img src=x onerror=alert(2)>{{ 7 * 7 }}</style></title>"""
VOID = {"meta", "link", "img", "br", "hr", "input", "line", "circle"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str | None]
    children: list = field(default_factory=list)

    @property
    def text(self):
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def all(self, *tags):
        for child in self.children:
            if isinstance(child, Element):
                if child.tag in tags or not tags:
                    yield child
                yield from child.all(*tags)


class Reader(HTMLParser):
    """Builds a tree, and fails on a tag that is not closed where it should be."""

    def __init__(self, text):
        super().__init__()
        self.stack = [Element("document", {})]
        self.feed(text)
        self.close()
        assert [element.tag for element in self.stack] == ["document"]

    def handle_starttag(self, tag, attrs):
        element = Element(tag, dict(attrs))
        self.stack[-1].children.append(element)
        if tag not in VOID:
            self.stack.append(element)

    def handle_startendtag(self, tag, attrs):
        self.stack[-1].children.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.stack.pop().tag == tag

    def handle_data(self, data):
        self.stack[-1].children.append(data)


def read(page):
    return Reader(page).stack[0]


def words(element):
    return " ".join(element.text.split())


def tables(page):
    return {words(next(table.all("caption"))): table for table in read(page).all("table")}


def body_rows(table):
    return [[words(cell) for cell in row.all("td", "th")] for row in next(table.all("tbody")).all("tr")]


@pytest.fixture(scope="module")
def board(make_run_once):
    runs = [
        make_run_once(
            "reader:model/7b", 11, 2, other=["abstained", "unparsed"], cost_usd=0.0042, seconds=3.21
        ),
        make_run_once("near", 10, 3),
        make_run_once("broken", 12, 0, other=["error", "error"]),
    ]
    return build_board(read_systems(runs))


def test_the_ranking_shows_the_numbers_of_the_scoring(board):
    page = render_page(board)
    table = next(table for caption, table in tables(page).items() if "systems by macro-F1" in caption)
    rows = {re.split(r" trivial| tied with| not ranked", row[1])[0].strip(): row for row in body_rows(table)}
    assert list(rows) == ["reader:model/7b", "near", "always-yes", "always-no", "rules", "broken"]
    for name, row in rows.items():
        result = board.system(name).results
        f1 = result.macro[0].ranked.f1
        assert row[2] == f"{f1.value:.3f} {f1.low:.3f}–{f1.high:.3f}"
        assert row[4:9] == [f"{score.ranked.f1.value:.3f}" for score in result.tasks]
    assert rows["reader:model/7b"][9:] == ["3.2", "0.0042"]
    assert rows["always-no"][9:] == ["–", "–"]


def test_ties_and_missing_ranks_are_told_in_words(board):
    page = render_page(board)
    table = next(table for caption, table in tables(page).items() if "systems by macro-F1" in caption)
    rows = body_rows(table)
    assert [row[0] for row in rows] == ["1–2", "1–2", "3", "4–5", "4–5", "–not ranked"]
    assert "tied with near" in rows[0][1]
    assert "tied with reader:model/7b" in rows[1][1]
    assert "not ranked: incomplete: `error` in CV 2.8%" in rows[5][1]
    assert "95 % confidence set" in words(read(page))


def test_ledgers_are_complete_for_every_task(board):
    found = {caption: table for caption, table in tables(render_page(board)).items() if "ledger" in caption}
    assert len(found) == 5
    for score in board.system("reader:model/7b").results.tasks:
        table = next(t for caption, t in found.items() if f" {score.task.upper()}:" in caption)
        row = next(row for row in body_rows(table) if row[0] == "reader:model/7b")
        counts = [int(cell) for cell in row[1:]]
        assert counts == [score.ledger[truth][call] for truth in ("YES", "NO") for call in CALLS] + [72]
        assert sum(counts[:-1]) == 72


def test_the_bars_lie_where_the_intervals_do_and_say_so(board):
    bars = [svg for svg in read(render_page(board)).all("svg") if svg.attributes.get("role") == "img"]
    f1 = board.system("reader:model/7b").results.macro[0].ranked.f1
    label = f"macro-F1 {f1.value:.3f}, 95 % interval {f1.low:.3f} to {f1.high:.3f}"
    assert bars[0].attributes["aria-label"] == label
    (whisker,) = (line for line in bars[0].all("line") if line.attributes["class"] == "whisker")
    assert float(whisker.attributes["x1"].rstrip("%")) == pytest.approx(100 * f1.low, abs=0.006)
    assert float(whisker.attributes["x2"].rstrip("%")) == pytest.approx(100 * f1.high, abs=0.006)
    (mark,) = (line for line in bars[0].all("line") if line.attributes["class"] == "beat")
    assert float(mark.attributes["x1"].rstrip("%")) == pytest.approx(100 * 24 / 84, abs=0.006)


def test_the_rule_and_the_full_fingerprint_are_printed(board):
    text = words(read(render_page(board)))
    assert text.count(board.rule) == len(board.tracks)
    assert board.split.fingerprint in text


def test_simulated_is_said_in_title_banner_and_every_caption(board):
    page = render_page(board)
    assert next(read(page).all("title")).text.startswith("SIMULATED")
    assert all(caption.startswith("SIMULATED") for caption in tables(page))
    (banner,) = (e for e in read(page).all("div") if e.attributes.get("role") == "note")
    assert "say nothing about real survey spectra" in words(banner)
    real = board.model_copy(update={"simulated": False})
    assert "SIMULATED" not in render_page(real)


def test_nothing_is_fetched_and_nothing_runs(board):
    page = render_page(board)
    assert not re.search(r"https?:|//[a-z]|url\(|@import|<script|<link|<iframe|<img|srcset| on\w+=", page)
    links = {element.attributes["href"] for element in read(page).all("a")}
    assert {link for link in links if not link.startswith("#")} == {"results.json", "table.csv"}


def test_a_hostile_name_stays_text(make_run):
    folders = [
        make_run(HOSTILE, 9, 4, folder="hostile", config={HOSTILE: HOSTILE}),
        make_run("near", 9, 4),
    ]
    page = render_page(build_board(read_systems(folders)))
    tree = read(page)
    assert not list(tree.all("script", "img"))
    assert not [e for e in tree.all() if any(name.startswith("on") for name in e.attributes)]
    named = [e for e in tree.all("bdi") if e.text == HOSTILE]
    assert len(named) > 5  # ranking, the tie of the other system, two tables a task, the list of systems
    assert "49" not in words(next(tree.all("caption")))


def test_the_same_runs_make_the_same_bytes(make_run):
    folders = [make_run("reader", 9, 4), make_run("near", 8, 4)]
    pages = {render_page(build_board(read_systems(folders))) for _ in range(2)}
    assert len(pages) == 1
    dated = render_page(build_board(read_systems(folders), "2026-03-01"))
    assert "2026-03-01" in dated
    assert "2026-03-01" not in pages.pop()


def test_tables_can_be_read_aloud(board):
    tree = read(render_page(board))
    assert next(tree.all("html")).attributes["lang"] == "en"
    for table in tree.all("table"):
        assert words(next(table.all("caption")))
        assert all(cell.attributes.get("scope") for cell in table.all("th"))
        heads = list(next(table.all("thead")).all("tr"))
        width = sum(int(cell.attributes.get("colspan", "1")) for cell in heads[0].all("th"))
        for row in next(table.all("tbody")).all("tr"):
            cells = list(row.all("td", "th"))
            assert sum(int(cell.attributes.get("colspan", "1")) for cell in cells) == width
            assert sum(cell.attributes.get("scope") == "row" for cell in cells) == 1
    for svg in tree.all("svg"):
        assert svg.attributes.get("aria-label") or svg.attributes.get("aria-hidden") == "true"
    for region in (e for e in tree.all("div") if e.attributes.get("class") == "scroll"):
        assert region.attributes["tabindex"] == "0"
        assert region.attributes["aria-label"]


def test_ids_are_unique_and_every_link_within_the_page_leads_somewhere(board):
    tree = read(render_page(board))
    ids = [e.attributes["id"] for e in tree.all() if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    links = [e.attributes["href"] for e in tree.all("a")]
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)
    assert {e.attributes["aria-labelledby"] for e in tree.all("section")} <= set(ids)


def luminance(colour):
    digits = colour.lstrip("#")
    digits = "".join(c * 2 for c in digits) if len(digits) == 3 else digits
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(
    ("front", "back", "least"),
    [
        ("ink", "paper", 7),
        ("soft", "paper", 4.5),
        ("accent", "paper", 4.5),
        ("beat", "paper", 3),
        ("faint", "paper", 3),
        ("warn-ink", "warn-paper", 7),
    ],
)
def test_colours_have_contrast_in_light_dark_and_print(front, back, least):
    # WCAG 2.1: 4.5 for text, 7 for its enhanced level, 3 for parts of graphics.
    css = (files("specvi_leaderboard.site") / "page.css").read_text()
    schemes = [
        dict(re.findall(r"--([\w-]+): (#\w+)", block)) for block in re.findall(r":root \{([^}]*)\}", css)
    ]
    assert len(schemes) == 3
    for scheme in schemes:
        dark, light = sorted(luminance(scheme[name]) for name in (front, back))
        assert (light + 0.05) / (dark + 0.05) >= least


def test_no_trivial_system_in_the_ranking_leaves_the_line_out(board):
    systems = tuple(s.model_copy(update={"trivial": False}) for s in board.systems)
    page = render_page(board.model_copy(update={"systems": systems}))
    assert "Dashed line" not in page
    assert 'class="beat"' not in page


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "–"), (0.0, "0"), (0.00001, "<0.0001"), (0.00042, "0.00042"), (0.25, "0.25"), (3.249, "3.2"),
     (9.99, "10"), (47.3, "47"), (1234.0, "1234")],
)  # fmt: skip
def test_amounts_have_two_digits(value, shown):
    assert amount(value) == shown


def test_undefined_numbers_are_a_dash():
    assert number(None) == "–"
    assert number(0.0) == "0.000"
    assert span(Measure(value=None, low=None, high=None)) == "–"
    assert span(Measure(value=0.5, low=0.25, high=0.75)) == "0.250–0.750"


@pytest.mark.parametrize(("best", "worst", "shown"), [(1, 1, "1"), (2, 4, "2–4")])
def test_ranks_are_a_number_or_a_range(best, worst, shown):
    assert rank_text(Standing(system="a", rank_best=best, rank_worst=worst, tied_with=())) == shown
