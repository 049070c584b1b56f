"""Selection on made-up scores: every number here is counted by hand."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from specvi_benchmark.errors import UserError
from specvi_benchmark.splits.archive import Key
from specvi_benchmark.splits.choosing import Pools, choose, label
from specvi_benchmark.splits.recipe import load_recipe
from specvi_benchmark.splits.screening import Screened


def no_views(key, surveys):
    raise AssertionError("no set of these has further surveys")


def screened(rows):
    """Make a Screened of (object, class, S/N, decidable) rows."""
    names, classes, snr, decidable = zip(*rows, strict=True)
    n = len(rows)
    return Screened(
        rows=np.arange(n),
        keys=tuple(Key(0, row) for row in range(n)),
        object_id=tuple(names),
        known_as=tuple(frozenset({name}) for name in classes),
        snr=np.array(snr, float),
        bad_fraction=np.zeros(n),
        decidable=np.array(decidable),
        random=np.arange(n) % 2 == 0,
    )


def recipe(counts, positives_filter="same_threshold", tasks=("cv",), match="none", **more):
    base = load_recipe("mini")
    item = base.sets[0].model_dump() | {
        "tasks": tasks, "counts": counts, "positives_filter": positives_filter, "match": match,
    }  # fmt: skip
    return type(base).model_validate(base.model_dump(mode="json") | {"sets": [item]} | more)


def run(rows, scores, asked):
    sky = screened(rows)
    return choose(gathered(sky, asked, scores), no_views)


def gathered(sky, asked, scores):
    pools = Pools(asked)
    labels = {task: label(sky, asked, task) for task in asked.tasks}
    pools.add(sky, labels, {task: np.array(scores, float) for task in asked.tasks})
    return pools


# Ten members, four of them rejected by the classifier; thirty others, twenty of them accepted.
ROWS = [(f"m{n}", "cv-polar", 20, True) for n in range(10)] + [
    (f"x{n}", "be-star", 20, True) for n in range(30)
]
SCORES = [0.9] * 6 + [0.5] * 4 + [0.9] * 20 + [0.8] * 10  # 0.8 itself is not above 0.8


@pytest.mark.parametrize(
    ("positives_filter", "most", "lost"), [("same_threshold", 6, 0.4), ("none", 10, 0.0)]
)
def test_the_positives_filter_costs_the_recall_it_reports(positives_filter, most, lost):
    counts = {"train": [most // 2, most // 2], "dev": [most // 2, most // 2]}
    chosen, (report,) = run(ROWS, SCORES, recipe(counts, positives_filter))
    assert Counter(c.truth for c in chosen) == {"YES": most // 2 * 2, "NO": most // 2 * 2}
    assert report.recall_lost == pytest.approx(lost)
    assert report.funnel["YES"].model_dump() == {
        "archive": 40, "labelled": 10, "usable": 10, "decidable": 10, "accepted": 6, "chosen": most // 2 * 2,
    }  # fmt: skip
    rows = {c.row for c in chosen if c.truth == "YES"}
    assert (max(rows) < 6) is (positives_filter == "same_threshold")
    counts = {"train": [most + 1, most + 1]}
    with pytest.raises(UserError, match="does not fill a set") as caught:
        run(ROWS, SCORES, recipe(counts, positives_filter))
    assert f"{most} of {most} that pass" in str(caught.value)
    cuts = "Of 40 spectra 10 have this truth, 10 of these pass the quality cuts, 10 can be decided, 6 score above"
    assert cuts in str(caught.value)


def test_negatives_are_what_the_classifier_takes_for_the_class():
    chosen, (report,) = run(ROWS, SCORES, recipe({"test": [4, 20]}))
    negatives = [c for c in chosen if c.truth == "NO"]
    assert {c.row for c in negatives} == set(range(10, 30))
    assert all(c.weak_score == 0.9 for c in negatives)
    # Among rows of even number, those of the survey itself: 15 others, 10 accepted.
    assert report.acceptance_rate == pytest.approx(10 / 15)
    with pytest.raises(UserError, match="does not fill a set"):
        run(ROWS, SCORES, recipe({"test": [5, 25]}))


def test_each_step_of_the_funnel_takes_away_what_it_says():
    rows = [
        *ROWS,
        ("faint", "be-star", 4.9, True),
        ("doubtful", "be-star", 20, False),
        ("unmeasured", "be-star", np.nan, True),
    ]
    _, (report,) = run(rows, [*SCORES, 0.99, 0.99, 0.99], recipe({"test": [3, 15]}))
    funnel = report.funnel["NO"]
    assert (funnel.labelled, funnel.usable, funnel.decidable, funnel.accepted) == (33, 31, 30, 20)


def test_the_exclusion_list_keeps_border_cases_out_of_both_truths():
    rows = [*ROWS, *((f"w{n}", "wd-plus-m", 20, True) for n in range(50))]
    asked = recipe({"test": [3, 15]}, tasks=("wd",))
    sky = screened(rows)
    found = label(sky, asked, "wd")
    assert not found.of("YES")[40:].any()
    assert not found.of("NO")[40:].any()
    assert found.of("NO")[:40].all()


def test_an_object_is_in_one_part_whatever_the_task_and_its_visits():
    rows = [(f"m{n // 2}", "cv-polar", 20, True) for n in range(120)]
    rows += [(f"x{n // 2}", "wd-da", 20, True) for n in range(200)]
    counts = {"train": [10, 10], "dev": [5, 5], "cal": [5, 25], "test": [5, 25]}
    chosen, _ = run(rows, [0.9] * 320, recipe(counts, tasks=("cv", "wd")))
    parts = {}
    for c in chosen:
        parts.setdefault(rows[c.row][0], set()).add(c.part)
    assert all(len(found) == 1 for found in parts.values())
    tally = Counter((c.task, c.part, c.truth) for c in chosen)
    assert tally == {
        (task, part, truth): number
        for task in ("cv", "wd")
        for part, pair in counts.items()
        for truth, number in zip(("YES", "NO"), pair, strict=True)
    }


def test_the_choice_does_not_depend_on_the_order_of_the_archive():
    counts = {"test": [3, 15]}
    names = {ROWS[c.row][0] for c in run(ROWS, SCORES, recipe(counts))[0]}
    back = run(ROWS[::-1], SCORES[::-1], recipe(counts))[0]
    assert {ROWS[::-1][c.row][0] for c in back} == names
    other = run(ROWS, SCORES, recipe(counts, seed=5))[0]
    assert {ROWS[c.row][0] for c in other} != names


def test_a_cross_survey_set_takes_only_objects_with_every_spectrum():
    asked = recipe({"test": [3, 15]})
    item = asked.sets[0].model_copy(update={"surveys": ("sdss",), "reference": "lamost"})
    asked = asked.model_copy(update={"sets": (item,)})
    sky = screened(ROWS)
    seen = {row for row in range(40) if row % 4 != 3}

    def views(key, surveys):
        assert surveys == ("sdss",)
        return ("view",) if key.row in seen else None

    chosen, _ = choose(gathered(sky, asked, SCORES), views)
    assert {c.row for c in chosen} <= seen
    assert all(c.views == ("view",) for c in chosen)
    assert replace(chosen[0], views=()) != chosen[0]


def snr_of(chosen, rows, truth, part):
    return np.sort([rows[c.row][2] for c in chosen if (c.truth, c.part) == (truth, part)])


@pytest.mark.parametrize("scarce", ["YES", "NO"])
def test_the_plentiful_truth_is_drawn_to_the_signal_to_noise_of_the_scarce_one(scarce):
    # The scarce truth lies at S/N 10 to 15, the plentiful one at 6 to 60; unmatched, their medians differ.
    rng = np.random.default_rng(4)
    yes, no = (40, 2000) if scarce == "YES" else (2000, 200)
    low = {truth: (10, 15) if truth == scarce else (6, 60) for truth in ("YES", "NO")}
    rows = [(f"m{n}", "cv-polar", rng.uniform(*low["YES"]), True) for n in range(yes)]
    rows += [(f"x{n}", "be-star", rng.uniform(*low["NO"]), True) for n in range(no)]
    counts = {"train": [16, 16], "test": [20, 100]}
    scores = [0.9] * len(rows)
    loose, _ = run(rows, scores, recipe(counts))
    chosen, (report,) = run(rows, scores, recipe(counts, match="snr"))
    assert {truth: report.funnel[truth].chosen for truth in ("YES", "NO")} == {"YES": 36, "NO": 116}
    for part, (wanted_yes, wanted_no) in counts.items():
        found = {truth: snr_of(chosen, rows, truth, part) for truth in ("YES", "NO")}
        assert (found["YES"].size, found["NO"].size) == (wanted_yes, wanted_no)
        for level in (0.1, 0.5, 0.9):
            ends = [float(np.quantile(found[truth], level)) for truth in ("YES", "NO")]
            assert ends[0] == pytest.approx(ends[1], rel=0.06)
        # The scarce truth is drawn as without a match.
        assert (found[scarce] == snr_of(loose, rows, scarce, part)).all()
    assert np.median(snr_of(loose, rows, "NO" if scarce == "YES" else "YES", "test")) > 20


def test_a_match_that_is_not_to_be_had_is_refused_and_one_without_snr_is_no_match():
    rows = [(f"m{n}", "cv-polar", 10.0, True) for n in range(6)]
    rows += [(f"x{n}", "be-star", 10 * 10**0.11, True) for n in range(60)]  # 0.1 dex is the limit
    asked = recipe({"test": [3, 15]}, match="snr")
    with pytest.raises(UserError, match="does not fill a set") as caught:
        run(rows, [0.9] * len(rows), asked)
    assert "0 of 60 that pass" in str(caught.value)
    assert "more than 0.1 dex in S/N" in str(caught.value)
    near = [(name, kind, 10 * 10**0.09 if kind == "be-star" else snr, True) for name, kind, snr, _ in rows]
    assert len(run(near, [0.9] * len(near), asked)[0]) == 18
    dark = [*near[:6], *((f"x{n}", "be-star", np.nan, True) for n in range(60))]
    free = asked.model_copy(update={"quality": asked.quality.model_copy(update={"snr": (None, None)})})
    with pytest.raises(UserError, match="0 of 0 that pass"):
        run(dark, [0.9] * len(dark), free)


def test_a_matched_choice_does_not_depend_on_the_order_of_the_archive():
    rng = np.random.default_rng(3)
    rows = [(f"m{n}", "cv-polar", rng.uniform(6, 40), True) for n in range(30)]
    rows += [(f"x{n}", "be-star", rng.uniform(6, 40), True) for n in range(400)]
    asked = recipe({"test": [8, 40]}, match="snr")
    names = [{some[c.row][0] for c in run(some, [0.9] * 430, asked)[0]} for some in (rows, rows[::-1])]
    assert names[0] == names[1]


@pytest.mark.parametrize("size", [1, 7, 33])
def test_shard_by_shard_the_choice_is_that_of_the_whole(size):
    rng = np.random.default_rng(size)
    kinds = rng.choice(["cv-polar", "be-star", "wd-da", "wd-plus-m"], 300, p=[0.3, 0.4, 0.2, 0.1])
    snr = np.where(rng.random(300) < 0.1, np.nan, rng.uniform(3, 40, 300))
    rows = [
        (f"o{n // 2}", str(kind), float(one), bool(rng.random() < 0.9))
        for n, (kind, one) in enumerate(zip(kinds, snr, strict=True))
    ]
    scores = rng.random(300) ** 0.2
    asked = recipe({"train": [8, 8], "test": [4, 20]}, tasks=("cv", "wd"), match="snr")
    sky, pools = screened(rows), Pools(asked)
    for first in range(0, 300, size):
        inside = (np.arange(300) >= first) & (np.arange(300) < first + size)
        part = sky.at(inside)
        labels = {task: label(part, asked, task) for task in asked.tasks}
        pools.add(part, labels, dict.fromkeys(asked.tasks, scores[inside]))
    assert choose(pools, no_views) == choose(gathered(sky, asked, scores), no_views)


def test_what_cannot_be_chosen_is_not_kept():
    rows = [*ROWS, *((f"y{n}", "be-star", 20, True) for n in range(5000))]
    pools = gathered(screened(rows), recipe({"test": [3, 15]}), [*SCORES, *[0.1] * 5000])
    kept = [len(pools.pool(0, "cv", truth).in_order()) for truth in ("YES", "NO")]
    assert kept == [6, 20]  # those above the threshold
