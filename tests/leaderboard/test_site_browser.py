"""The site in a real Chromium, opened from disk: what a reader does with mouse, keyboard and address."""

import csv
import hashlib
import io
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import numpy as np
import pytest

from specvi_benchmark.runs.record import choose_split
from specvi_benchmark.runs.runner import run
from specvi_benchmark.scoring.prevalence import Rates, purity_at
from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.splits import Split
from specvi_benchmark.splits.io import write_split
from specvi_benchmark.traces import ToolCall, Trace, Turn, ViewRecord
from specvi_benchmark.vetting import answered
from specvi_leaderboard import board
from specvi_leaderboard.collection import Collection
from specvi_leaderboard.gather import gather
from specvi_leaderboard.published import Withdrawn
from specvi_leaderboard.site.cost import first_page_B, made_up, made_up_entries
from specvi_leaderboard.site.page import rank_text
from specvi_leaderboard.site.write import write_site

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium (apt-get install chromium)")

HOSTILE = (
    """<script>alert(1)</script>"'&<img src=x onerror=alert(2)>{{ 7 * 7 }}</style></title></noscript>"""
    f" مرحبا \u202eabc 🌟 {'W' * 300}"
)
PNG = b"\x89PNG stands for a picture"


@dataclass(frozen=True)
class Looker:
    """Says what it looked at: one zoom, Hα claimed and there, He II claimed and not there."""

    config: Mapping[str, Any] = field(default_factory=dict)

    def vet(self, questions):
        name = hashlib.sha256(PNG).hexdigest()
        for question in questions:
            yes = question.spectrum.flux.max() > 2
            view = {
                "png_sha256": name,
                "pixel_sha256": name,
                "frame": "rest",
                "style": "clean",
                "size_px": (8, 4),
            }
            turns = (
                Turn(role="user", text="<image>\nLook.", views=(ViewRecord(window_AA=(4000, 9000), **view),)),
                Turn(
                    role="assistant",
                    text="<think>I zoom to Hα. <b>not bold</b></think>",
                    tool_calls=(
                        ToolCall(
                            id="1",
                            name="spectral_visualization_tool",
                            arguments='{"wavelength_range": [6400, 6740]}',
                        ),
                    ),
                ),
                Turn(
                    role="tool",
                    text="Hα",
                    tool_call_id="1",
                    views=(ViewRecord(window_AA=(6400, 6740), **view),),
                ),
                Turn(
                    role="assistant",
                    text=f"Hα is in broad emission. He II 4687 is in emission.\n<answer>{'YES' if yes else 'NO'}</answer>",
                ),
            )
            trace = Trace(turns, {"redshift": 0.0}, pictures={name: PNG})
            yield answered(question, "YES" if yes else "NO", traces=(trace,), cost_usd=0.002, seconds=1.5)


def with_lines(split):
    """Give every spectrum 2,000 pixels of noise, and members a broad Hα in emission."""
    from dataclasses import replace

    rng = np.random.default_rng(1)
    wave = np.exp(np.linspace(np.log(4000), np.log(9000), 2000))
    made = []
    for candidate in split.candidates:
        line = 6 * np.exp(-0.5 * ((wave - 6564.6) / 12) ** 2) if candidate.truth == "YES" else 0.0
        flux = 1 + line + 0.05 * rng.normal(size=len(wave))
        spectrum = Spectrum(wave, flux, np.full(len(wave), 400.0), np.zeros(len(wave), bool))
        made.append(replace(candidate, spectrum=spectrum))
    return Split(split.name, split.version, tuple(made), split.recipe)


@pytest.fixture(scope="module")
def found(make_split, make_run_once, make_probe, tmp_path_factory):
    root = tmp_path_factory.mktemp("looked")
    write_split(with_lines(make_split(tasks=("cv", "o"))), root / "toy")
    split, reference = choose_split(str(root / "toy"), track="all")
    run(Looker(), "looker", split, reference, root / "looker")
    runs = [
        make_run_once("near", 10, 3, at=root / "toy"),
        make_run_once("far", 4, 20, at=root / "toy"),
        make_run_once(HOSTILE, 8, 6, at=root / "toy", folder="hostile", config={HOSTILE: HOSTILE}),
        make_run_once("=broken", 12, 0, at=root / "toy", folder="broken", other=["error", "error"]),
    ]
    vetter = json.loads((root / "looker" / "run.json").read_text())["vetter"]
    make_probe(split, reference, vetter, root / "looker" / "probes")
    return gather([root / "looker", *runs])


@pytest.fixture(scope="module")
def site(found, tmp_path_factory):
    return write_site(found, tmp_path_factory.mktemp("site")).parent


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    folder = tmp_path_factory.mktemp("large")
    entries = tuple(made_up_entries(200, distinct=8))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            board, "resamples_for", lambda _: 100
        )  # 19,900 pairs; how they come out is not asked here
        write_site(made_up(entries), folder, with_candidates=False)
    return folder


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


class Reader:
    """A page, and everything it complained about or asked for."""

    def __init__(self, browser, site, at=None, **context):
        self.at = at or site.as_uri()
        self.context = browser.new_context(
            viewport={"width": 1280, "height": 900}, accept_downloads=True, **context
        )
        self.page = self.context.new_page()
        self.faults: list[str] = []
        self.page.on(
            "console",
            lambda said: self.faults.append(said.text) if said.type in {"error", "warning"} else None,
        )
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("dialog", lambda dialog: self.faults.append(dialog.message))
        self.page.on("request", self._asked)

    def _asked(self, request):
        if not request.url.startswith((f"{self.at}/", "blob:")):
            self.faults.append(f"asked for {request.url}")

    def open(self, address):
        self.page.goto("about:blank")
        self.page.goto(f"{self.at}/{address}")
        self.page.wait_for_selector("html[data-ready]", state="attached")
        return self.page

    def texts(self, selector):
        return [" ".join(text.split()) for text in self.page.locator(selector).all_inner_texts()]

    def names(self):
        return self.texts("#rows th.name a")

    def row(self, name):
        return self.page.locator(f'#rows tr:has(th.name > a > bdi:text-is("{name}"))')

    def settled(self, act):
        """Do something, and wait until the table was painted after it."""
        before = self.page.evaluate("document.documentElement.dataset.painted")
        act()
        self.page.wait_for_function("(n) => document.documentElement.dataset.painted !== n", arg=before)


@pytest.fixture
def reader(browser, site) -> Iterator[Reader]:
    """Return a reader of the site; in the end nothing may have gone wrong and nothing been asked for elsewhere."""
    one = Reader(browser, site)
    yield one
    assert one.faults == []
    one.context.close()


def test_the_table_shows_the_ranking_and_sorts_by_any_column(reader, found):
    page = reader.open("index.html")
    table = found.boards[0].tracks[0]
    shown = [name if name != " ".join(HOSTILE.split()) else HOSTILE for name in reader.names()]
    assert shown == list(table.order)
    f1 = found.boards[0].macro("main", "near").ranked.f1
    row = reader.row("near")
    assert (
        " ".join(row.locator(".macro").inner_text().split()) == f"{f1.value:.3f} {f1.low:.3f}–{f1.high:.3f}"
    )
    assert row.locator("svg").get_attribute("aria-label").endswith(f"interval {f1.low:.3f} to {f1.high:.3f}")
    reader.settled(lambda: page.click("[data-sort=name]"))
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"
    assert reader.names() == sorted(reader.names(), key=str.lower)
    reader.settled(lambda: page.click("[data-sort=name]"))
    assert reader.names() == sorted(reader.names(), key=str.lower, reverse=True)
    reader.settled(lambda: page.click("[data-sort=cost]"))
    assert reader.names()[-1] in {"always-no", "always-yes", "rules", "inverted-weak"}  # no cost stands last


def test_filters_keep_the_trivial_and_rank_anew_among_those_shown(reader, found):
    page = reader.open("index.html")
    order = found.boards[0].tracks[0].order
    trivial = {name for name in order if found.boards[0].system(name).trivial}
    reader.settled(lambda: page.fill("#search", "far"))
    assert set(reader.names()) == {"far", *trivial}
    page.wait_for_function("() => document.getElementById('pool').textContent.includes('recomputed')")
    page.wait_for_function(
        "() => [...document.querySelectorAll('#rows .rank')].every((cell) => !cell.textContent.includes('–n'))"
    )
    ranks = dict(zip(reader.names(), reader.texts("#rows .rank"), strict=True))
    # One system and the trivial ones: no rank can lie beyond their number.
    assert all(int(end) <= len(ranks) for text in ranks.values() for end in re.findall(r"\d+", text))
    reader.settled(lambda: page.click("#reset"))
    assert len(reader.names()) == len(order)
    reader.settled(lambda: page.click("[data-kind=rules]"))
    assert set(reader.names()) == {"rules", *trivial}
    assert page.locator("[data-kind=rules]").get_attribute("aria-pressed") == "true"


def test_ranks_of_a_pool_follow_holm(reader):
    page = reader.open("index.html")
    made = page.evaluate(
        """() => {
          const value = (s) => [0.9, 0.8, 0.795, 0.1][s], errors = Array(6).fill(0.03);
          const among = (shown) => SpecVI.ranks.among({ s: [0, 1, 2, 3] }, value, errors, new Set(shown));
          const found = among([0, 1, 2, 3]), few = among([1, 2]);
          return [[...found.values()].map((one) => one.rank), [...few.values()].map((one) => one.rank),
            [0.5, 1, 1.96, 3, 3.5, 6].map(SpecVI.ranks.two_sided)];
        }"""
    )
    # z of the pairs: 3.33, 3.5, 26.7, 0.17, 23.3, 23.2; Holm: all apart but the second and the third.
    assert made[0] == [[1, 1], [2, 3], [2, 3], [4, 4]]
    assert made[1] == [[1, 2], [1, 2]]
    from scipy.stats import norm

    np.testing.assert_allclose(made[2], 2 * norm.sf([0.5, 1, 1.96, 3, 3.5, 6]), rtol=1e-6)


def test_purity_follows_bayes_as_the_slider_moves(reader, found):
    page = reader.open("index.html#metric=purity&prevalence=0.02")
    score = found.boards[0].task("main", "cv", "near")

    def expected(prevalence):
        rates = Rates(np.array(score.ledger["YES"]["YES"] / 12), np.array(score.ledger["NO"]["YES"] / 60))
        return f"{float(purity_at(rates, prevalence)):.3f}"

    near = reader.row("near")
    assert near.locator("td.task").first.inner_text() == expected(0.02)
    assert "1 in 50" in page.inner_text("#prevalence-said")
    page.focus("#prevalence")
    reader.settled(lambda: page.keyboard.press("Home"))
    assert near.locator("td.task").first.inner_text() == expected(1e-4)
    page.wait_for_function("() => location.hash.includes('prevalence=0.0001')")


def test_the_address_holds_the_whole_view_and_gives_it_back(reader, browser, site):
    page = reader.open("index.html")
    reader.settled(lambda: page.click("[data-track=cross-task]"))
    reader.settled(lambda: page.select_option("#metric", "accuracy"))
    reader.settled(lambda: page.click("[data-kind=constant]"))
    page.click("summary:has-text('Columns')")
    reader.settled(lambda: page.uncheck("[data-column=date]"))
    reader.settled(lambda: page.check("#spans"))
    page.keyboard.press("Escape")  # else the box of columns lies over the table
    reader.settled(lambda: page.click("[data-sort=o]"))
    page.wait_for_function("() => location.hash.includes('sort')")
    address = page.evaluate("location.hash")
    assert set(re.findall(r"(\w+)=", address)) == {"track", "metric", "kind", "columns", "spans", "sort"}
    again = Reader(browser, site)
    again.open(f"index.html{address}")
    assert again.page.inner_html("#heads") == page.inner_html("#heads")
    assert again.page.inner_html("#rows") == page.inner_html("#rows")
    assert again.faults == []
    again.context.close()
    page.evaluate("location.hash = ''")
    page.wait_for_selector("[data-track=main][aria-pressed=true]")


def test_the_csv_holds_what_is_shown(reader):
    page = reader.open("index.html")
    with page.expect_download() as waiting:
        page.click("#csv")
    rows = list(csv.DictReader(io.StringIO(Path(waiting.value.path()).read_text(encoding="utf-8"))))
    assert [" ".join(row["system"].split()) for row in rows] == [
        name if name != "=broken" else "'=broken" for name in reader.names()
    ]
    near = next(row for row in rows if row["system"] == "near")
    assert f"{float(near['cv']):.3f}" in " ".join(reader.texts("#rows td.task"))
    assert near["rank_best"].isdigit()
    assert next(row for row in rows if row["system"] == "'=broken")["rank_best"] == ""
    assert near["simulated"] == "true"


def test_a_hostile_name_is_text_on_every_page(reader, found):
    page = reader.open("index.html")
    assert " ".join(HOSTILE.split()) in reader.names()
    page.locator("#rows th.name a", has_text="alert(1)").click()
    page.wait_for_function("() => document.querySelector('h1')?.textContent.includes('alert(1)')")
    page.wait_for_selector("html[data-ready]", state="attached")
    page.locator("summary", has_text="Configuration").click()
    assert HOSTILE[:20] in page.inner_text("#config")
    reader.open("compare.html#a=" + next(s.about.id for s in found.boards[0].systems if s.name == HOSTILE))
    assert "alert(1)" in page.inner_text("h1")
    for frame in page.frames:
        assert frame.evaluate("document.querySelectorAll('img, iframe, body script').length") == 0


def test_an_inspection_is_replayed_step_by_step_with_its_claims(reader):
    page = reader.open("index.html")
    page.click("text=Replay the inspection")
    page.wait_for_selector("#step-said")
    assert page.inner_text("#step-said") == "Step 1 of 4"
    assert "answered YES" in page.inner_text("#choose")
    assert reader.texts("#claims .stand") == ["…", "…"]
    assert (
        page.locator("#claims .stand:is(.yes, .no)").count() == 0
    )  # no colour gives away what is not said yet
    short = page.inner_text("#short")
    assert "✓ found in the flux: Hα emission" in short
    assert "✗ not found: He II 4687 emission" in short
    page.click("#forth")
    assert "<b>not bold</b>" in page.inner_text("#said")
    page.click("#forth")
    assert page.inner_text("#step-said") == "Step 3 of 4"
    low, high = map(float, re.findall(r"\d+", page.inner_text("#range")))
    assert low < 6400
    assert 6740 < high < 7000
    page.focus("#forth")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#step-said") == "Step 4 of 4"
    stands = dict(
        zip(
            [text.split(",")[0] for text in reader.texts("#claims li > span:last-child")],
            reader.texts("#claims .stand"),
            strict=True,
        )
    )
    assert stands == {"Hα emission": "✓ found", "He II 4687 emission": "✗ not found"}
    assert {"✓ Hα", "✗ He II 4687"} <= set(page.locator("#scope text").all_text_contents())
    assert "step=4" in page.evaluate("location.hash")
    page.reload()
    page.wait_for_selector("#step-said")
    assert page.inner_text("#step-said") == "Step 4 of 4"
    page.click("#back")
    page.click("#end")
    assert page.inner_text("#step-said") == "Step 4 of 4"
    page.keyboard.press("Tab")
    assert reader.texts("#answers tbody tr")  # everybody's answer stands below
    right = [row for row in reader.texts("#answers tbody tr") if "looker" in row]
    assert "YES" in right[0]
    assert "✓ right" in right[0]


def test_a_spectrum_is_zoomed_and_moved_by_keys_and_by_mouse(reader):
    page = reader.open("candidate.html")

    def ends():
        return tuple(map(float, re.findall(r"\d+", page.inner_text("#range"))))

    page.click("button:has-text('Whole spectrum')")
    whole = ends()
    page.focus("#scope svg")
    page.keyboard.press("+")
    near = ends()
    assert whole[0] < near[0] < near[1] < whole[1]
    page.keyboard.press("ArrowRight")
    assert ends()[0] > near[0]
    page.keyboard.press("0")
    assert ends() == whole
    box = page.locator("#scope svg").bounding_box()
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 120, steps=4)
    page.mouse.up()
    zoomed = ends()
    assert whole[0] < zoomed[0] < zoomed[1] < whole[1]
    page.dblclick("#scope svg")
    assert ends() == whole
    page.select_option("#lines", "none")
    assert page.locator("#scope .decisive").count() == 0
    page.click("#tools summary")
    page.wait_for_selector("#tools tbody tr")
    assert page.locator("#tools tbody tr").count() > 20


def test_the_whole_table_can_be_worked_by_keyboard(reader):
    page = reader.open("index.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    seen = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.add(
            page.evaluate(
                "(document.activeElement.dataset.sort && 'sort') || document.activeElement.id || document.activeElement.dataset.track || document.activeElement.tagName"
            )
        )
    assert {"main", "metric", "search", "status", "csv", "sort"} <= seen
    page.focus("[data-sort=cv]")
    reader.settled(lambda: page.keyboard.press("Enter"))
    assert page.evaluate("document.activeElement.dataset.sort") == "cv"  # the focus stays where it was
    assert page.locator("th[aria-sort]").inner_text().startswith("CV")


PAGES = (
    "index.html",
    "plain.html",
    "index.html#metric=purity",
    "index.html#metric=brier",
    "system.html",
    "task.html",
    "candidate.html",
    "compare.html",
    "dataset.html",
    "published.html",
    "submit.html",
    "method.html",
)


@pytest.mark.parametrize(("scheme", "rules"), [("light", None), ("dark", {"runOnly": ["color-contrast"]})])
def test_no_page_has_a_serious_fault_for_assistive_technology(browser, site, scheme, rules):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="needs axe-playwright-python"
    ).Axe()
    reader = Reader(browser, site, color_scheme=scheme, bypass_csp=True)
    for address in PAGES:
        page = reader.open(address)
        found = axe.run(page, options=rules).response["violations"]
        serious = [
            (one["id"], one["nodes"][0]["html"][:200])
            for one in found
            if one["impact"] in {"serious", "critical"}
        ]
        assert serious == [], address
    reader.context.close()


@pytest.mark.parametrize("width", [375, 768, 1440])
def test_no_page_is_wider_than_the_screen(browser, site, width):
    reader = Reader(browser, site)
    reader.page.set_viewport_size({"width": width, "height": 800})
    for address in PAGES:
        page = reader.open(address)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address
    assert reader.faults == []
    reader.context.close()


def test_on_a_phone_the_tracks_stand_in_a_row_and_intervals_are_not_cut(browser, rated, site):
    made, folder = rated
    reader = Reader(browser, folder)
    reader.page.set_viewport_size({"width": 375, "height": 800})
    page = reader.open("index.html")
    tops = page.evaluate("[...document.querySelectorAll('#tracks button')].map((one) => one.offsetTop)")
    assert (len(tops), len(set(tops))) == (len(made.tracks), 1)
    page = reader.open("task.html")
    assert page.evaluate("(() => { const box = document.querySelector('#systems .scroll'); return box.scrollWidth - box.clientWidth; })()") <= 0  # fmt: skip
    reader.context.close()


def test_a_stranger_is_told_what_tracks_tasks_and_scores_are(reader, found):
    page = reader.open("index.html")
    assert "(1 is every rare star found and no false alarm)" in page.inner_text("#answers")
    assert page.inner_text("#about-metric").startswith("Main track. Rare kinds of star")
    assert reader.texts(".legend > span") == ["CV Cataclysmic Variables"]
    reader.settled(lambda: page.click("[data-track=cross-task]"))
    assert page.inner_text("#about-metric").startswith("Cross-task track. Kinds of star that the main track")
    assert reader.texts(".legend > span") == ["O O-type Star"]
    page.goto("about:blank")
    reader.open("candidate.html")
    order = [name for name in found.boards[0].tracks[0].order if "alert" not in name]
    shown = [name for name in reader.texts("#answers tbody a bdi") if "alert" not in name]
    assert shown == order  # by rank, as in the table


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("system.html#id=nobody", "no such system"),
        ("system.html#id=__proto__", "no such system"),
        ("candidate.html#group=main-cv&id=nobody", "no such candidate"),
        ("candidate.html#group=main-nothing", "no such task"),
        ("candidate.html#group=../../../evil", "no such task"),
        ("candidate.html#group=main-cv/../../../../evil", "no such task"),
    ],
)
def test_what_is_not_there_is_said_and_nothing_else_is_loaded(reader, site, address, said):
    (site.parent / "evil.js").write_text("window.evil = true;")
    page = reader.open(address)
    assert said in page.inner_text("#trouble")
    assert page.evaluate("window.evil") is None
    assert page.locator("main > section:visible").count() == 0  # nothing of an earlier view stands below


@pytest.mark.parametrize("page_name", ["index", "system", "task", "candidate", "compare", "dataset"])
def test_a_garbled_address_shows_something(reader, page_name):
    for garbage in (
        "metric=constructor&sort=-toString&track=__proto__&columns=valueOf&kind=a,,&status=x&spans=%00",
        "metric=deferral&deferred=NaN&prevalence=-Infinity&q=%E0%A4%A&sort=-",
        "metric=purity&prevalence=1e999&board=../x&task=constructor&id=&a=%00&b=../y&step=-3&system=__proto__",
        "&&==&#&?%%%",
    ):
        page = reader.open(f"{page_name}.html#{garbage}")
        assert page.inner_text("h1")
        assert not page.is_visible("#trouble")
        assert "undefined" not in page.inner_text("body")
        assert "NaN" not in page.inner_text("body")


def test_a_step_that_is_no_number_is_the_first(reader):
    page = reader.open("index.html")
    page.click("text=Replay the inspection")
    page.wait_for_selector("#step-said")
    for step, said in (("NaN", 1), ("-4", 1), ("1e3", 1), ("999", 4)):
        page.evaluate(
            "(step) => { location.hash = location.hash.replace(/&step=[^&]*/, '') + `&step=${step}` }", step
        )
        page.wait_for_function(
            "(text) => document.getElementById('step-said').textContent === text", arg=f"Step {said} of 4"
        )


def test_back_and_forward_go_through_what_was_looked_at(reader):
    page = reader.open("index.html#metric=accuracy")
    reader.row("near").locator("a").click()
    page.wait_for_function("() => document.querySelector('h1')?.textContent === 'near'")
    page.go_back()
    page.wait_for_function("() => document.getElementById('metric')?.value === 'accuracy'")
    page.go_forward()
    page.wait_for_function("() => document.querySelector('h1')?.textContent === 'near'")
    reader.open("candidate.html")
    for act, place in ((lambda: page.click("[rel=next]"), 2), (page.go_back, 1), (page.go_forward, 2)):
        act()
        page.wait_for_function(
            "(text) => document.getElementById('head').textContent.includes(text)",
            arg=f"candidate {place} of",
        )


@pytest.fixture(scope="module")
def rated(tmp_path_factory):
    """Return a board of systems that all give P(YES), and its site."""
    folder = tmp_path_factory.mktemp("rated")
    collection = made_up(tuple(made_up_entries(12, 480)))
    write_site(collection, folder, with_candidates=False)
    return collection.boards[0], folder


@pytest.mark.parametrize("metric", ["accuracy", "brier"])
def test_a_metric_with_a_ranking_of_its_own_is_ranked_by_it(browser, rated, metric):
    made, folder = rated
    table = made.tracks[0]
    ranking = next(one for one in table.others if one.metric == metric)
    standings = {row.system: row for row in ranking.ranked}
    assert any(row.rank_best > 1 for row in ranking.ranked)  # something is found
    assert [row.system for row in ranking.ranked] != [row.system for row in table.ranked]
    reader = Reader(browser, folder)
    page = reader.open(f"index.html#metric={metric}")
    page.wait_for_function("() => /\\d/.test(document.querySelector('#rows .rank').textContent)")
    assert page.inner_text("[data-sort=rank]") == "Rank"
    assert "by macro-F1" in page.inner_text("#about-metric")  # of the board as a whole
    shown = dict(zip(reader.names(), reader.texts("#rows .rank"), strict=True))
    assert shown == {name: rank_text(row) for name, row in standings.items()}
    assert reader.names() == sorted(table.order, key=lambda name: -other_value(made, metric, name))
    if metric == "brier":  # as if the tasks were drawn apart from each other
        parts = made.system(reader.names()[0]).results.beyond.probability
        brier = [one.versions[0].brier for one in parts if one.track == table.track]
        half = np.sqrt(sum((one.high - one.low) ** 2 / 4 for one in brier)) / len(brier)
        value, low, high = map(float, re.findall(r"[\d.]+", reader.texts("#rows .macro")[0]))
        np.testing.assert_allclose([low, high], [value - half, value + half], atol=2e-3)
    page.hover("#rows tr:first-child th")
    assert page.locator("#rows tr.with").count() == len(standings[reader.names()[0]].tied_with)

    # Of some of them, by Holm's method on the same differences and errors.
    reader.settled(lambda: page.fill("#search", "system 00"))
    kept = [
        row.system for row in ranking.ranked if made.system(row.system).trivial or "system 00" in row.system
    ]
    assert set(reader.names()) == set(kept)
    assert len(kept) < len(ranking.ranked)
    assert dict(zip(reader.names(), reader.texts("#rows .rank"), strict=True)) == holm_ranks(
        made, ranking, kept
    )
    with page.expect_download() as waiting:
        page.click("#csv")
    rows = list(csv.DictReader(io.StringIO(Path(waiting.value.path()).read_text(encoding="utf-8"))))
    assert {row["ranked_by"] for row in rows} == {metric}
    ends = {row["system"]: list(dict.fromkeys([row["rank_best"], row["rank_worst"]])) for row in rows}
    assert {name: "–".join(two) for name, two in ends.items()} == holm_ranks(made, ranking, kept)
    assert reader.faults == []
    reader.context.close()


def other_value(made, metric, name):
    """Return mean accuracy, or the mean Brier score with its sign changed: higher is better."""
    track = made.tracks[0].track
    if metric == "accuracy":
        return made.macro(track, name).ranked.accuracy.value
    parts = made.system(name).results.beyond.probability
    return -np.mean([one.versions[0].brier.value for one in parts if one.track == track])


def holm_ranks(made, ranking, kept):
    """Rank some systems of a ranking by Holm's method, with SciPy and numbers from the board."""
    from scipy.stats import norm

    names = [row.system for row in ranking.ranked]
    value = partial(other_value, made, ranking.metric)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    p = {
        (a, b): 2 * norm.sf(abs(value(a) - value(b)) / error)
        for (a, b), error in zip(pairs, ranking.errors, strict=True)
        if a in kept and b in kept
    }
    ranks = {name: [1, len(kept)] for name in kept}
    for left, (better, worse) in enumerate(sorted(p, key=p.get)):
        if p[better, worse] * (len(p) - left) > 0.05:
            break
        ranks[worse][0] += 1
        ranks[better][1] -= 1
    return {name: str(a) if a == b else f"{a}–{b}" for name, (a, b) in ranks.items()}


def test_a_system_without_probabilities_has_no_rank_by_the_brier_score(reader):
    page = reader.open("index.html#metric=brier")
    page.wait_for_selector("#rows .note")
    assert set(reader.texts("#rows .rank")) == {"– not ranked"}
    assert "not ranked: the system gives no probability" in reader.row("near").inner_text()
    assert "incomplete" in reader.row("=broken").inner_text()


@pytest.mark.parametrize("metric", ["purity", "deferral"])
def test_where_a_metric_has_no_ranks_it_is_said_why_and_whose_are_shown(reader, found, metric):
    page = reader.open(f"index.html#metric={metric}")
    assert page.inner_text("[data-sort=rank]") == "Rank by macro-F1"
    assert "No ranks by it: " in page.inner_text("#about-metric")
    standings = {row.system: rank_text(row) for row in found.boards[0].tracks[0].ranked}
    assert reader.row("near").locator(".rank").inner_text() == standings["near"]


def changed_data(site, to, name, change):
    """Copy a site, with one of its files of data changed; ``name`` is a pattern below ``data``."""
    shutil.copytree(site, to)
    path = next((to / "data").glob(name))
    head, _, rest = path.read_text(encoding="utf-8").partition(",")
    value = json.loads(rest.removesuffix(");\n"))
    change(value)
    path.write_text(f"{head},{json.dumps(value)});\n", encoding="utf-8")
    return to


def test_an_inspection_without_a_step_is_said_to_have_none(browser, site, tmp_path):
    def empty(candidate):
        for trace in candidate["traces"].values():
            trace["turns"] = [one for one in trace["turns"] if one["role"] == "system"]

    there = changed_data(site, tmp_path / "site", "*/candidate/main-cv-0.js", empty)
    reader = Reader(browser, there)
    page = reader.open("candidate.html#group=main-cv")
    assert "ended before it looked at anything" in page.inner_text("#said")
    assert page.locator("#steps button").count() == 0
    assert reader.texts("#claims li")
    assert reader.faults == []
    reader.context.close()


def test_a_replay_that_plays_ends_when_another_candidate_is_shown(browser, site):
    reader = Reader(browser, site)
    reader.page.clock.install()
    page = reader.open("candidate.html#group=main-cv")
    page.click("#play")
    assert page.inner_text("#step-said") == "Step 2 of 4"
    page.click("[rel=next]")
    page.wait_for_function("() => document.getElementById('head').textContent.includes('candidate 2 of')")
    page.wait_for_selector("#play")
    assert page.inner_text("#step-said") == "Step 1 of 4"
    page.clock.run_for(10_000)
    assert page.inner_text("#step-said") == "Step 1 of 4"
    page.click("#play")
    page.clock.run_for(5_000)
    assert page.inner_text("#step-said") == "Step 4 of 4"
    assert reader.faults == []
    reader.context.close()


def test_a_negative_signal_to_noise_is_counted_with_the_lowest(browser, site, tmp_path):
    def faint(group):
        group["snr"][0] = -0.3

    there = changed_data(site, tmp_path / "site", "*/group/main-cv.js", faint)
    reader = Reader(browser, there)
    page = reader.open("system.html")
    assert page.locator("#snr tbody th", has_text="below 5").count() >= 1
    reader.open("dataset.html")
    row = page.locator("#snr tbody tr").first.locator("th, td").all_inner_texts()
    assert row[2] == "1"
    assert sum(map(int, row[2:])) == 72
    assert reader.faults == []
    reader.context.close()


def test_what_is_missing_is_sorted_last_both_ways(reader):
    page = reader.open("index.html")
    for key in ("kind", "cost", "evidence"):
        for _ in range(2):
            reader.settled(lambda key=key: page.click(f"[data-sort={key}]"))
            place = {"kind": 0, "evidence": 3, "cost": 4}[key]
            cells = [row.split("|")[place] for row in page.evaluate("""() => [...document.querySelectorAll('#rows tr')]
                .map((row) => [...row.children].slice(-5).map((cell) => cell.textContent).join('|'))""")]  # fmt: skip
            assert cells == sorted(cells, key=lambda text: text == "–"), key
            assert "–" in cells
            assert cells[0] != "–"


def test_an_order_by_no_column_is_the_usual_one(reader):
    page = reader.open("index.html#sort=o")  # a task of another track
    assert page.locator("th[aria-sort]").inner_text().startswith("Macro-F1")
    usual = reader.names()
    reader.open("index.html")
    assert reader.names() == usual


def test_a_part_that_is_missing_is_said(browser, site, tmp_path):
    shutil.copytree(site, tmp_path / "site")
    next((tmp_path / "site" / "data").glob("*/ranking-brier.js")).unlink()
    reader = Reader(browser, tmp_path / "site")
    page = reader.open("index.html#metric=brier")
    page.wait_for_function("() => document.getElementById('pool').textContent.includes('missing')")
    assert len(reader.names()) > 4  # the table stands all the same
    reader.context.close()


@pytest.mark.parametrize("when", ["before", "after"])
def test_on_paper_the_spectrum_keeps_its_height(reader, when):
    page = reader.page
    if when == "before":
        page.emulate_media(media="print")
    reader.open("candidate.html")
    page.emulate_media(media="print")
    page.wait_for_timeout(300)
    box = page.locator("#scope svg").bounding_box()
    flux = page.locator("#scope .flux").bounding_box()
    assert box["height"] > 200
    assert flux["height"] > 0.4 * box["height"]
    assert flux["width"] > 0.8 * box["width"]


def test_the_columns_box_closes_by_escape_and_by_a_click_elsewhere(reader):
    page = reader.open("index.html")
    for close in (lambda: page.keyboard.press("Escape"), lambda: page.click("#headline")):
        page.click("summary:has-text('Columns')")
        assert page.is_visible("[data-column=date]")
        close()
        assert not page.is_visible("[data-column=date]")


def test_a_probe_stands_on_the_page_of_its_system_and_on_no_other(reader, found):
    ids = {system.name: system.about.id for system in found.boards[0].systems}
    name = next(name for name in ids if "looker" in name)
    page = reader.open(f"system.html#id={ids[name]}")
    rows = reader.texts("#probes tbody tr")
    # 12 members of each of two tasks are called YES before, the first of each after.
    masked = next(row for row in rows if row.startswith("continuum and noise in place of the features"))
    assert " 24 2 −92 " in masked
    assert " 24 24 0 " in next(row for row in rows if row.startswith("continuum and noise over as much"))
    assert "2 stay YES without the features that decide the task" in page.inner_text("#probes")
    page.click("#probes summary:has-text('task by task')")
    assert "12 → 1 12 → 1" in " ".join(reader.texts("#probes tbody tr"))
    reader.open(f"system.html#id={ids['near']}")
    assert not page.is_visible("#probes")


def test_tables_can_be_read_without_scripts(browser, site, found):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site.as_uri()}/index.html")
    f1 = found.boards[0].macro("main", "near").ranked.f1
    row = " ".join(page.locator("tr:has(bdi:text-is('near'))").inner_text().split())
    assert f"{f1.value:.3f} {f1.low:.3f}–{f1.high:.3f}" in row
    assert not page.is_visible("#controls")
    page.click("noscript a[href='plain.html']")
    assert page.locator("table").count() == len(found.boards[0].tracks)
    assert page.locator("tr:has(bdi:text-is('near'))").count() == len(found.boards[0].tracks)
    assert "alert(1)" in page.inner_text("main")
    assert page.locator("img, main script").count() == 0
    for other in ("system", "task", "candidate", "compare", "dataset", "published"):
        page.goto(f"{site.as_uri()}/{other}.html")
        assert page.is_visible("noscript a[href='plain.html']")
    context.close()


def test_any_server_will_do_under_any_path(browser, site):
    class Handler(SimpleHTTPRequestHandler):
        missing: ClassVar[list[str]] = []

        def log_message(self, *_):
            pass

        def send_error(self, code, *more):
            self.missing.append(self.path)
            super().send_error(code, *more)

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(site.parent))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            at = f"http://127.0.0.1:{server.server_address[1]}/{site.name}"
            reader = Reader(browser, site, at=at)
            page = reader.open("index.html")
            page.click("text=Replay the inspection")
            page.wait_for_selector("#step-said")
            page.click("nav >> text=Tasks")
            page.wait_for_selector("#systems tbody tr")
        finally:
            server.shutdown()
            thread.join()
    assert (reader.faults, Handler.missing) == ([], [])
    reader.context.close()


def test_a_large_board_is_small_to_load_and_quick_to_work(browser, large):
    assert first_page_B(large) < 500_000
    reader = Reader(browser, large)
    page = reader.open("index.html")
    assert page.locator("#rows tr").count() == 200
    asked = page.evaluate("performance.getEntriesByType('resource').length")
    assert asked < 12
    assert page.locator("#heads th.task").count() == 5
    reader.settled(lambda: page.fill("#search", "system 03"))
    page.wait_for_function("() => document.getElementById('pool').textContent.includes('recomputed')")
    assert page.locator("#rows tr").count() == 12 + 4  # 003, 030 to 039, 103, and four trivial ones
    reader.settled(lambda: page.select_option("#metric", "deferral"))
    page.wait_for_function("() => !document.querySelector('#rows td.task').textContent.includes('–')")
    assert reader.faults == []
    reader.context.close()


def test_several_boards_share_a_site_and_the_address_chooses(browser, tmp_path):
    entries = tuple(made_up_entries(6, 120))
    one = made_up(entries).boards[0]
    split = one.split.model_copy(update={"name": "other-sky", "fingerprint": "1" * 64})
    two = one.model_copy(update={"split": split, "simulated": False})
    write_site(Collection("Two", (one, two), (entries, entries), (), (), {}), tmp_path, with_candidates=False)
    reader = Reader(browser, tmp_path)
    page = reader.open("index.html")
    assert page.is_visible("#simulated")
    reader.settled(lambda: page.select_option("#board", label="other-sky 1"))
    assert "other-sky" in page.inner_text("#caption")
    assert not page.is_visible("#simulated")
    page.click("#rows tr:first-child th.name a")
    page.wait_for_selector("#tasks table")
    assert "board=other-sky-11111111" in page.evaluate("location.hash")
    assert page.input_value("#board") == "other-sky-11111111"
    for name, there in (("Tasks", "#systems table"), ("Method", "h1"), ("Leaderboard", "#rows tr")):
        page.click(f"nav >> text={name}")
        page.wait_for_selector(there)
        assert "board=other-sky-11111111" in page.evaluate("location.hash")
    assert "other-sky" in page.inner_text("#caption")
    assert reader.faults == []
    reader.context.close()


def test_a_board_without_systems_says_who_was_withdrawn(browser, tmp_path):
    gone = Withdrawn(id="copied", name="Copied", date="2026-03-05", reason="trained on <b>test</b> objects")
    write_site(Collection("Empty", (), (), (gone,), (), {}), tmp_path)
    reader = Reader(browser, tmp_path)
    for name in PAGES:
        page = reader.open(name)
        assert page.inner_text("main")
    page = reader.open("index.html")
    assert "this leaderboard has no system yet" in page.inner_text("#trouble")
    assert reader.texts("#gone li") == ["Copied (copied), since 2026-03-05: trained on <b>test</b> objects"]
    assert reader.faults == []
    reader.context.close()
