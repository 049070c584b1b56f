"""What a score says: macro averages, flags, reproducibility, and the file it is kept in."""

import json

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import f1_score

from specvi_benchmark.errors import UserError
from specvi_benchmark.scoring import CALLS, SCORING_VERSION, Group, Results, Rows, ScoredSplit, score
from specvi_benchmark.scoring.results import read_results, write_results

SPLIT = ScoredSplit(
    name="made", version="1", fingerprint="0" * 64, parts=("test",), object_id_sources={"simulated": 4}
)


def rows(*lines):
    """Rows from (track, task, truth, call, how many)."""
    groups = tuple(dict.fromkeys(Group(track, task) for track, task, *_ in lines))
    spread = [line for line in lines for _ in range(line[4])]
    return Rows(
        groups,
        np.array([groups.index(Group(track, task)) for track, task, *_ in spread]),
        np.array([truth == "YES" for _, _, truth, _, _ in spread]),
        np.array([CALLS.index(call) for _, _, _, call, _ in spread]),
        np.arange(len(spread)),
    )


TWO_TRACKS = rows(
    ("main", "cv", "YES", "YES", 18),
    ("main", "cv", "YES", "abstained", 2),
    ("main", "cv", "NO", "NO", 95),
    ("main", "cv", "NO", "truncated", 5),
    ("main", "wd", "YES", "YES", 5),
    ("main", "wd", "YES", "NO", 15),
    ("main", "wd", "NO", "NO", 90),
    ("main", "wd", "NO", "YES", 10),
    ("extreme", "cv", "YES", "YES", 3),
    ("extreme", "cv", "NO", "NO", 7),
)


def by_task(results, track, task):
    return next(found for found in results.tasks if (found.track, found.task) == (track, task))


def test_counts_and_metrics_of_each_task():
    results = score(TWO_TRACKS, SPLIT, resamples=200)
    assert results.scoring_version == SCORING_VERSION
    cv = by_task(results, "main", "cv")
    assert (cv.n, cv.positives, cv.tp, cv.fp, cv.fn, cv.tn) == (120, 20, 18, 5, 2, 95)
    assert cv.ledger["YES"] == dict.fromkeys(CALLS, 0) | {"YES": 18, "abstained": 2}
    assert cv.ledger["NO"] == dict.fromkeys(CALLS, 0) | {"NO": 95, "truncated": 5}
    truth = [1] * 20 + [0] * 100
    said = [1] * 18 + [0] * 2 + [0] * 95 + [1] * 5
    assert cv.ranked.f1.value == pytest.approx(f1_score(truth, said))
    assert cv.non_answer_is_no.f1 == pytest.approx(f1_score(truth, [1] * 18 + [0] * 102))
    assert cv.best.f1 == 1
    wd = by_task(results, "main", "wd")
    assert wd.ranked.precision.value == pytest.approx(1 / 3)
    assert wd.ranked.recall.value == pytest.approx(1 / 4)
    for found in results.tasks:
        assert sum(sum(calls.values()) for calls in found.ledger.values()) == found.n
        for name in ("accuracy", "precision", "recall", "f1"):
            measure = getattr(found.ranked, name)
            assert 0 <= measure.low <= measure.value <= measure.high <= 1


def test_macro_stays_within_a_track():
    results = score(TWO_TRACKS, SPLIT, resamples=200)
    assert [(found.track, found.tasks) for found in results.macro] == [
        ("main", ("cv", "wd")),
        ("extreme", ("cv",)),
    ]
    parts = [by_task(results, "main", task).ranked.f1.value for task in ("cv", "wd")]
    assert results.macro[0].ranked.f1.value == pytest.approx(np.mean(parts))
    assert results.macro[0].best.f1 == pytest.approx((1 + by_task(results, "main", "wd").best.f1) / 2)


def test_macro_of_one_task_is_that_task():
    results = score(TWO_TRACKS, SPLIT, resamples=200)
    assert results.macro[1].ranked == by_task(results, "extreme", "cv").ranked


def test_macro_interval_of_thin_tasks_centres_on_the_value():
    # One miss in 20 and none in 100, five times over. Every Beta draw leans inwards by more than the
    # macro mean spreads: an interval of the draws as they are would hardly reach above the value.
    tasks = ("cv", "cs", "ss", "mg", "wd")
    lines = [
        ("main", task, *cell)
        for task in tasks
        for cell in (("YES", "YES", 19), ("YES", "NO", 1), ("NO", "NO", 100))
    ]
    f1 = score(rows(*lines), SPLIT, resamples=20_000).macro[0].ranked.f1
    assert f1.value == pytest.approx(38 / 39)
    tpr, fpr = stats.beta(19.5, 1.5), stats.beta(0.5, 100.5)
    # F1 = 2·20·tpr / (20 + 20·tpr + 100·fpr); its spread to first order, over √5 tasks
    top, bottom = 40 * tpr.mean(), 20 + 20 * tpr.mean() + 100 * fpr.mean()
    by_tpr, by_fpr = (40 * bottom - 20 * top) / bottom**2, -100 * top / bottom**2
    spread = np.hypot(by_tpr * tpr.std(), by_fpr * fpr.std()) / np.sqrt(5)
    assert f1.high - f1.low == pytest.approx(2 * 1.96 * spread, rel=0.15)
    assert f1.high > f1.value + spread
    assert f1.low < f1.value - spread


def test_macro_is_undefined_where_a_part_is():
    results = score(
        rows(
            ("main", "cv", "YES", "YES", 3),
            ("main", "wd", "YES", "NO", 3),
            ("main", "wd", "NO", "NO", 3),
            ("main", "ss", "NO", "NO", 3),
        ),
        SPLIT,
        resamples=50,
    )
    wd, ss = by_task(results, "main", "wd"), by_task(results, "main", "ss")
    assert wd.ranked.precision.model_dump() == {"value": None, "low": None, "high": None}
    assert wd.ranked.f1.value == 0
    assert ss.ranked.f1.value is None
    assert ss.ranked.recall.value is None
    macro = results.macro[0].ranked
    assert macro.precision.value is macro.recall.value is macro.f1.value is macro.f1.low is None
    assert macro.accuracy.value == pytest.approx((1 + 0.5 + 1) / 3)


@pytest.mark.parametrize(("errors", "incomplete"), [(1, False), (2, True)])
def test_more_than_half_a_percent_of_errors_in_one_task_is_incomplete(errors, incomplete):
    # 1 of 200 is 0.5 % and passes; 2 of 200 do not. The other task dilutes nothing.
    results = score(
        rows(
            ("main", "cv", "YES", "YES", 100),
            ("main", "cv", "NO", "NO", 100 - errors),
            ("main", "cv", "NO", "error", errors),
            ("main", "wd", "NO", "NO", 5000),
            ("main", "wd", "YES", "YES", 50),
        ),
        SPLIT,
        resamples=20,
    )
    assert results.incomplete == (("main/cv",) if incomplete else ())
    assert results.rankable is not incomplete


def test_a_seed_reproduces_every_digit():
    first, again, other = (score(TWO_TRACKS, SPLIT, resamples=300, seed=seed) for seed in (4, 4, 5))
    assert first == again
    assert first.tasks[1].ranked.f1 != other.tasks[1].ranked.f1
    assert first.tasks[1].ranked.f1.value == other.tasks[1].ranked.f1.value


def test_results_survive_their_file(tmp_path):
    results = score(TWO_TRACKS, SPLIT, resamples=50)
    write_results(tmp_path / "results.json", results)
    assert read_results(tmp_path / "results.json") == results
    content = json.loads((tmp_path / "results.json").read_text())
    assert content["split"]["fingerprint"] == "0" * 64
    assert content["split"]["object_id_sources"] == {"simulated": 4}
    assert "Any non-answer" in content["rule"]
    assert content["partial"] is None


def test_a_claim_in_a_results_file_is_refused(tmp_path):
    content = score(TWO_TRACKS, SPLIT, resamples=20).model_dump(mode="json") | {"verified": True}
    (tmp_path / "results.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match="verified"):
        read_results(tmp_path / "results.json")


def test_results_are_frozen():
    results: Results = score(TWO_TRACKS, SPLIT, resamples=20)
    with pytest.raises(ValueError):
        results.rule = "another"
