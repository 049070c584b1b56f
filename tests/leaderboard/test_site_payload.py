"""What the pages are told: the numbers of the scoring, spectra that come back, scripts that nothing can break out of."""

import base64
import json
import re
from importlib.resources import files

import numpy as np
import pytest

from specvi_benchmark.scoring import CALLS
from specvi_benchmark.scoring.compare import compare
from specvi_benchmark.scoring.measure import Measure
from specvi_benchmark.spectrum import Spectrum
from specvi_leaderboard.board import Standing
from specvi_leaderboard.gather import gather
from specvi_leaderboard.site import candidates, payload
from specvi_leaderboard.site.page import (
    OF_SPECTRA,
    PAGES,
    number,
    rank_text,
    render_pages,
    span,
    static_files,
)


@pytest.fixture(scope="module")
def found(make_run_once):
    return gather(
        [
            make_run_once("reader", 11, 2, other=["abstained", "unparsed"], cost_usd=0.0042, seconds=3.21),
            make_run_once("near", 10, 3),
            make_run_once("broken", 12, 0, other=["error", "error"]),
        ]
    )


@pytest.fixture(scope="module")
def board(found):
    return found.boards[0]


def given(text):
    """Return name and value of a data file, read as JSON."""
    name, value = re.fullmatch(r'SpecVI\.put\("([^"]*)",(.*)\);\n', text, re.DOTALL).groups()
    return name, json.loads(value)


def test_a_script_gives_back_what_it_was_made_of_and_holds_no_markup():
    hostile = {"</script><!--": "<img src=x onerror=alert(1)> & \u2028\u2029 \\ \" ' `${7*7}`"}
    text = payload.script("a", hostile)
    assert given(text) == ("a", hostile)
    assert not re.search("[<>&\u2028\u2029]", text)


def test_the_main_table_has_the_numbers_of_the_scoring(board):
    made = payload.board_data(board, (), None)
    (track,) = made["tracks"]
    by_name = {made["systems"][line["s"]]["name"]: line for line in track["lines"]}
    assert [made["systems"][line["s"]]["name"] for line in track["lines"]] == list(board.tracks[0].order)
    for name, line in by_name.items():
        results = board.system(name).results
        f1 = results.macro[0].ranked.f1
        assert line["f1"] == [round(10_000 * value) for value in (f1.value, f1.low, f1.high)]
        for cell, score in zip(line["cells"], results.tasks, strict=True):
            assert cell[0] == round(10_000 * score.ranked.f1.value)
            assert cell[3] == round(10_000 * score.ranked.accuracy.value)
            assert cell[6:8] == [score.ledger["YES"]["YES"], score.ledger["NO"]["YES"]]
    assert (track["n"], track["positives"]) == ([72] * 5, [12] * 5)
    assert by_name["broken"]["rank"] is None
    assert by_name["broken"]["why"].startswith("incomplete")
    reader = next(system for system in made["systems"] if system["name"] == "reader")
    assert reader["usd"] == pytest.approx(4.2)
    assert reader["seconds"] == pytest.approx(3.21)


def test_ties_are_a_bit_for_each_pair(board):
    ranked = board.tracks[0].ranked
    (track,) = payload.board_data(board, (), None)["tracks"]
    bits = np.unpackbits(np.frombuffer(base64.b64decode(track["ties"]), np.uint8))
    pairs = [(i, j) for i in range(len(ranked)) for j in range(i + 1, len(ranked))]
    tied = {pairs[k] for k in np.flatnonzero(bits)}
    assert tied == {(i, j) for i, j in pairs if ranked[j].system in ranked[i].tied_with}
    assert 0 < len(tied) < len(pairs)
    errors = payload.errors_data(board)["main"]
    assert errors == [round(1e5 * error) for error in board.tracks[0].errors]
    assert len(errors) == len(pairs)


def test_a_ranking_by_accuracy_is_that_of_the_comparison(found, board):
    made = payload.ranking_data(board, "accuracy")["main"]
    rows = {entry.system.name: entry.rows for entry in found.entries[0]}
    compared = compare({n: r for n, r in rows.items() if n != "broken"}, "mean-accuracy")
    names = [board.systems[place].name for place in made["s"]]
    assert names == [row.system for row in compared.systems]
    assert made["ranks"] == [[row.rank_best, row.rank_worst] for row in compared.systems]
    errors = {frozenset((pair.higher, pair.lower)): pair.error for pair in compared.pairs}
    pairs = [frozenset((a, b)) for i, a in enumerate(names) for b in names[i + 1 :]]
    assert made["errors"] == [round(100_000 * errors[pair]) for pair in pairs]
    bits = np.unpackbits(np.frombuffer(base64.b64decode(made["ties"]), np.uint8))
    tied = {row.system: row.tied_with for row in compared.systems}
    assert [bool(bit) for bit in bits[: len(pairs)]] == [max(p) in tied[min(p)] for p in pairs]
    broken = [system.name for system in board.systems].index("broken")
    assert made["why"][broken].startswith("incomplete: `error` in CV")


def test_a_systems_page_has_every_count_of_its_ledger(board):
    made = payload.system_data(board.system("reader"))
    for shown, score in zip(made["tasks"], board.system("reader").results.tasks, strict=True):
        assert shown["ledger"] == {truth: dict(calls) for truth, calls in score.ledger.items()}
        assert sum(sum(calls.values()) for calls in shown["ledger"].values()) == 72


def test_answers_of_candidates_count_up_to_the_ledger(found, board):
    split = found.splits[0][1].chosen(found.splits[0][0])
    groups = candidates.groups_of(split)
    assert [group.name for group in groups] == [f"main-{task}" for task in ("cv", "cs", "ss", "mg", "wd")]
    for group in groups:
        made = candidates.group_data(group, split, found.entries[0], set())
        for entry in found.entries[0]:
            score = board.task(group.track, group.task, entry.system.name)
            pairs = list(zip(made["truth"], made["calls"][entry.system.about.id], strict=True))
            for truth in ("YES", "NO"):
                for place, call in enumerate(CALLS):
                    assert pairs.count((truth[0], str(place))) == score.ledger[truth][call]
        assert len(set(made["id"])) == 72


def spectrum_of(wavelength_AA, flux, mask):
    return Spectrum(wavelength_AA, flux, np.ones(len(flux)), mask)


@pytest.mark.parametrize("kind", ["log", "linear", "values"])
def test_a_spectrum_comes_back(found, kind):
    rng = np.random.default_rng(4)
    wave = {
        "log": np.exp(np.linspace(np.log(3700), np.log(9100), 3000)),
        "linear": np.linspace(3600, 9800, 2000),
        "values": np.sort(rng.uniform(3700, 9100, 500)),
    }[kind]
    flux = 100 + 30 * rng.normal(size=len(wave))
    mask = rng.random(len(wave)) < 0.05
    split = found.splits[0][1].chosen(found.splits[0][0])
    from dataclasses import replace

    made = candidates.spectrum_data(
        replace(split.candidates[0], spectrum=spectrum_of(wave, flux, mask), redshift=None)
    )
    levels = np.frombuffer(base64.b64decode(made["flux"]), "<i2").astype(float)
    assert np.array_equal(levels == candidates.GAP, mask)
    back = made["low"] + levels * made["step"]
    spread = flux[~mask].max() - flux[~mask].min()
    np.testing.assert_allclose(back[~mask], flux[~mask], atol=spread / candidates.LEVELS)
    grid = made["wave"]
    assert grid["kind"] == kind
    if kind == "values":
        waves = np.frombuffer(base64.b64decode(grid["values"]), "<f4")
    else:
        waves = grid["start"] + grid["step"] * np.arange(grid["n"])
        waves = np.exp(waves) if kind == "log" else waves
    np.testing.assert_allclose(waves, wave, atol=0.01)


def test_the_traces_shown_hold_members_and_mistakes(found):
    split = found.splits[0][1].chosen(found.splits[0][0])
    groups = candidates.groups_of(split)
    entry = next(one for one in found.entries[0] if one.system.name == "near")
    everything = set(range(len(split.candidates)))
    chosen = list(candidates.choose_traces(entry, groups, everything))
    assert len(chosen) == len(set(chosen)) == 5 * candidates.TRACES
    # `near` finds 10 of 12 members and calls 3 others YES: five of each fill the places of a task.
    for group in groups:
        here = [row for row in chosen if row in set(group.rows)]
        wrong = [row for row in here if (entry.rows.call[row] == 0) != bool(entry.rows.positive[row])]
        members = [row for row in here if entry.rows.positive[row] and row not in wrong]
        assert (len(wrong), len(members)) == (5, 5)
    assert list(candidates.choose_traces(entry, groups, {7})) == [7]


@pytest.mark.parametrize("name", PAGES)
def test_pages_fetch_nothing_and_lead_somewhere(board, name):
    pages = dict(render_pages("A & B <i>", [board]))
    text = pages[f"{name}.html"]
    assert "A &amp; B &lt;i&gt;" in text
    assert ("<title>SIMULATED" in text) == (name in OF_SPECTRA)
    assert ('role="note" hidden' in text) == (name not in OF_SPECTRA)
    assert not re.search(r"https?:|//[a-z]|<iframe|<img|srcset| on\w+=| style=|<style|<script>", text)
    assert "default-src 'none'" in text
    for target in re.findall(r'href="([\w.-]+\.html)"', text):
        assert target in pages
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:aria-labelledby|for)="([^"]+)"', text)) <= set(ids)


def test_scripts_set_text_and_never_markup():
    for name, content in static_files():
        if name.endswith(".js"):
            assert not re.search(
                r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|fetch\(|https?://(?!www\.w3\.org/2000/svg)",
                content.decode().replace("/^https:\\/\\//", ""),
            ), name


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
        ("soft", "wash", 4.5),
        ("accent", "paper", 4.5),
        ("accent", "wash", 4.5),
        ("good", "paper", 4.5),
        ("bad", "paper", 4.5),
        ("faint", "paper", 3),
        ("warn-ink", "warn-paper", 7),
    ],
)
def test_colours_have_contrast_in_light_dark_and_print(front, back, least):
    # WCAG 2.1: 4.5 for text, 7 for its enhanced level, 3 for parts of graphics.
    css = (files("specvi_leaderboard.site") / "static" / "style.css").read_text()
    schemes = [
        dict(re.findall(r"--([\w-]+): (#\w+)", block)) for block in re.findall(r":root \{([^}]*)\}", css)
    ]
    assert len(schemes) == 3
    for scheme in schemes:
        dark, light = sorted(luminance(scheme[name]) for name in (front, back))
        assert (light + 0.05) / (dark + 0.05) >= least


def test_undefined_numbers_are_a_dash():
    assert number(None) == "–"
    assert number(0.0) == "0.000"
    assert span(Measure(value=None, low=None, high=None)) == "–"
    assert span(Measure(value=0.5, low=0.25, high=0.75)) == "0.250–0.750"


@pytest.mark.parametrize(("best", "worst", "shown"), [(1, 1, "1"), (2, 4, "2–4")])
def test_ranks_are_a_number_or_a_range(best, worst, shown):
    assert rank_text(Standing(system="a", rank_best=best, rank_worst=worst, tied_with=())) == shown
