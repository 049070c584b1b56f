"""What a large site costs: made-up systems on twelve tasks, and the time and size of the site made of them."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from specvi_benchmark.scoring import Group, Results, Rows
from specvi_benchmark.scoring.answers import TaskAnswers
from specvi_benchmark.scoring.beyond import BeyondAccuracy
from specvi_benchmark.scoring.beyond_probability import deferral_section, probabilities, probability_section
from specvi_benchmark.scoring.ledger import NO, YES
from specvi_benchmark.scoring.results import ScoredSplit, score
from specvi_leaderboard.board import build_board
from specvi_leaderboard.collection import Collection
from specvi_leaderboard.entry import About, Entry, System
from specvi_leaderboard.site.page import static_files
from specvi_leaderboard.site.write import DATA_FOLDER, PAGE_FILE, write_site

TASKS = (
    *(Group("main", task) for task in ("cv", "cs", "ss", "mg", "wd")),
    *(Group("cross-survey", task) for task in ("cv", "cs", "mg")),
    *(Group("cross-task", task) for task in ("o", "b", "a")),
    Group("extreme", "qso"),
)
FIRST_PAGE = ("base.js", "charts.js", "ranks.js", "index.js", "style.css", "icon.svg")
"""Of the static files, those that the first page loads."""


@dataclass(frozen=True, slots=True)
class SiteCost:
    """``build_s``: boards from kept scores, and the site from boards. ``first_page_B``: everything the first page loads."""

    systems: int
    tasks: int
    build_s: float
    build_cpu_s: float
    first_page_B: int


def measure_cost(systems: int = 200) -> SiteCost:
    """Build the site of made-up systems twice, and measure the second time, when rankings are kept."""
    entries = tuple(made_up_entries(systems))
    with TemporaryDirectory() as folder:
        write_site(made_up(entries), Path(folder), with_candidates=False)
        start, start_cpu = time.perf_counter(), time.process_time()
        write_site(made_up(entries), Path(folder), with_candidates=False)
        build_s, build_cpu_s = time.perf_counter() - start, time.process_time() - start_cpu
        return SiteCost(systems, len(TASKS), build_s, build_cpu_s, first_page_B(Path(folder)))


def first_page_B(site: Path) -> int:
    """Return how many bytes a browser loads before the main table of a site's first board is there."""
    static = sum(len(content) for name, content in static_files() if name.rpartition("/")[2] in FIRST_PAGE)
    board = next((site / DATA_FOLDER).glob("*/board.js"))
    loaded = (site / PAGE_FILE, site / DATA_FOLDER / "site.js", board)
    return static + sum(path.stat().st_size for path in loaded)


def made_up(entries: tuple[Entry, ...]) -> Collection:
    """Return a leaderboard of one made-up board."""
    return Collection("Made-up systems", (build_board(entries),), (entries,), (), (), {})


def made_up_entries(
    systems: int, candidates: int = 1_200, *, distinct: int | None = None, seed: int = 0
) -> Iterator[Entry]:
    """Yield systems of spread quality with P(YES) on twelve tasks; some look at nothing.

    Only ``distinct`` of them (None: all) answer in ways of their own, the others as one of these.
    """
    rng = np.random.default_rng(seed)
    group = np.arange(candidates) % len(TASKS)
    positive = rng.random(candidates) < 1 / 6
    common = rng.normal(size=candidates)
    made: list[tuple[Rows, Results]] = []
    for number in range(systems if distinct is None else distinct):
        certain = common + rng.normal(size=candidates) + 1 + 1.5 * number / systems
        p_yes = 1 / (1 + np.exp(np.where(positive, -certain, certain)))
        rows = Rows(TASKS, group, positive, np.where(p_yes > 0.5, YES, NO), np.arange(candidates), p_yes)
        made.append((rows, _results(rows, p_yes)))
    for number in range(systems):
        rows, results = made[number % len(made)]
        yield Entry(_system(number, results), rows)


def _results(rows: Rows, p_yes: np.ndarray) -> Results:
    split = ScoredSplit(
        name="made-up",
        version="1",
        fingerprint="0" * 64,
        parts=("test",),
        object_id_sources={"simulated": len(p_yes)},
    )
    answers = [_answers(rows, place, p_yes) for place in range(len(TASKS))]
    found = [probabilities(one, None, trained_at=None, balanced=False) for one in answers]
    beyond = BeyondAccuracy(
        trained_at=None,
        prevalence=None,
        probability=tuple(map(probability_section, answers, found)),
        deferral=tuple(deferral_section(one, made, None) for one, made in zip(answers, found, strict=True)),
        calibration=None,
        promises=(),
        survey=None,
        breakdown=(),
        survey_drops=(),
    )
    return score(rows, split, resamples=40).model_copy(update={"beyond": beyond})


def _answers(rows: Rows, place: int, p_yes: np.ndarray) -> TaskAnswers:
    here = np.flatnonzero(rows.group == place)
    nothing = [""] * len(here)
    return TaskAnswers(
        group=TASKS[place],
        id=[str(row) for row in here],
        positive=rows.positive[here],
        call=rows.call[here],
        p_yes=p_yes[here],
        object_code=rows.object_code[here],
        snr=np.full(len(here), np.nan),
        survey=nothing,
        subtype=nothing,
    )


def _system(number: int, results: Results) -> System:
    trivial = number % 50 == 0
    return System(
        name=f"Made-up system {number:03}",
        about=About(
            id=f"made-up-{number:03}",
            kind="constant" if trivial else ("vlm", "agent", "classical")[number % 3],
            status="re-scored" if number % 2 else "verified",
            how="made up",
            date=f"2026-{number % 12 + 1:02}-01",
            authors=(f"Author {number % 7}",),
        ),
        vetter="made-up",
        trivial=trivial,
        config={},
        seed=None,
        suite=None,
        started=None,
        ended=None,
        seconds=0.01 * (number + 1),
        cost_usd=0.0001 * number,
        results=results,
    )
