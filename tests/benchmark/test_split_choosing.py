"""Selection on made-up scores: every number here is counted by hand."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from specvi_benchmark.errors import UserError
from specvi_benchmark.splits.archive import Key
from specvi_benchmark.splits.choosing import choose, label
from specvi_benchmark.splits.recipe import load_recipe
from specvi_benchmark.splits.screening import Screened


def no_views(key, surveys):
    raise AssertionError("no set of these has further surveys")


def screened(rows):
    """Make a Screened of (object, class, S/N, decidable) rows."""
    names, classes, snr, decidable = zip(*rows, strict=True)
    n = len(rows)
    return Screened(
        files=(),
        keys=tuple(Key(0, row) for row in range(n)),
        object_id=tuple(names),
        known_as=tuple(frozenset({name}) for name in classes),
        snr=np.array(snr, float),
        bad_fraction=np.zeros(n),
        decidable=np.array(decidable),
        random=np.arange(n) % 2 == 0,
    )


def recipe(counts, positives_filter="same_threshold", tasks=("cv",), **more):
    base = load_recipe("mini")
    item = base.sets[0].model_dump() | {
        "tasks": tasks, "counts": counts, "positives_filter": positives_filter,
    }  # fmt: skip
    return type(base).model_validate(base.model_dump(mode="json") | {"sets": [item]} | more)


def run(rows, scores, asked):
    sky = screened(rows)
    labels = {task: label(sky, asked, task) for task in asked.tasks}
    return choose(sky, asked, labels, {task: np.array(scores, float) for task in asked.tasks}, no_views)


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

    labels = {"cv": label(sky, asked, "cv")}
    chosen, _ = choose(sky, asked, labels, {"cv": np.array(SCORES)}, views)
    assert {c.row for c in chosen} <= seen
    assert all(c.views == ("view",) for c in chosen)
    assert replace(chosen[0], views=()) != chosen[0]
