"""What is lost from one survey to another, averaged over tasks."""

import json
import math
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from specvi_benchmark.cli import bench_drops
from specvi_benchmark.errors import UserError
from specvi_benchmark.runs.drops import macro_drops
from specvi_benchmark.runs.record import choose_split
from specvi_benchmark.runs.runner import run
from specvi_benchmark.splits import Split
from specvi_benchmark.splits.io import write_split
from specvi_benchmark.vetting import answered

SHARED = 30


class Sees:
    """Right on every spectrum of LAMOST; calls the first members NO elsewhere, so many of each task."""

    def __init__(self, truths, missed):
        self.truths, self.missed, self.config = truths, missed, {"missed": missed}

    def vet(self, questions):
        for question in questions:
            name, _, number = question.id.rpartition("-")
            lost = name.startswith("twin") and int(number) < self.missed[question.task.key]
            yield answered(question, "NO" if lost else self.truths[question.id])


@pytest.fixture
def made(make_split, tmp_path):
    """Return a split of two tasks, both surveys, and a maker of runs over it."""
    candidates = []
    for task in ("cv", "cs"):
        for one in make_split(n=SHARED, task=task).candidates:
            seen = replace(one, track="cross-survey", object_id=f"{task}-{one.object_id}")
            lamost = replace(seen, spectrum=replace(one.spectrum, survey="lamost"))
            desi = replace(seen, id=f"twin-{one.id}", spectrum=replace(one.spectrum, survey="desi"))
            candidates += [lamost, desi]
    split = Split("two", "1", tuple(candidates), {"made": "by a test"})
    write_split(split, tmp_path / "split")
    truths = {one.id: one.truth for one in candidates}

    def maker(name, **missed):
        chosen, reference = choose_split(str(tmp_path / "split"), "test", None, "all")
        run(Sees(truths, missed), name, chosen, reference, tmp_path / name)
        return tmp_path / name

    return maker


def test_the_macro_drop_is_the_mean_over_tasks(made):
    # Ten members a task (every third); six numbers below 6 hold two of them, twelve hold four.
    folder = made("loses", cv=6, cs=12)
    (found,) = macro_drops([folder])
    lost = [1 - 2 * 8 / (2 * 8 + 2), 1 - 2 * 6 / (2 * 6 + 4)]
    assert (found.reference, found.reference_survey, found.other_survey) == (1.0, "lamost", "desi")
    assert found.tasks == ("cv", "cs")
    assert found.objects == 2 * SHARED
    assert found.drop == pytest.approx(sum(lost) / 2)
    assert found.low < found.drop < found.high
    # Two equal tasks together are known better than one by the root of two.
    (both,) = macro_drops([made("same", cv=6, cs=6)])
    one = both.high - both.drop
    assert both.drop == pytest.approx(lost[0])
    assert found.high - found.drop == pytest.approx(one, rel=0.5)
    assert both.drop - both.low > 0
    assert math.isfinite(one)


def test_the_command_prints_a_line_a_system_and_survey(made, make_split, tmp_path):
    done = CliRunner().invoke(
        bench_drops.app, [str(made("none", cv=0, cs=0)), str(made("all", cv=99, cs=99)), "--json"]
    )
    assert done.exit_code == 0, done.output
    rows = {row["system"]: row for row in json.loads(done.output)}
    assert (rows["none"]["drop"], rows["all"]["drop"]) == (0.0, 1.0)
    assert "drop" in CliRunner().invoke(bench_drops.app, [str(tmp_path / "all")]).output
    alone = make_split(n=6)
    write_split(alone, tmp_path / "alone")
    chosen, reference = choose_split(str(tmp_path / "alone"), "test")
    run(Sees({c.id: "NO" for c in chosen.candidates}, {"cv": 0}), "x", chosen, reference, tmp_path / "x")
    assert isinstance(CliRunner().invoke(bench_drops.app, [str(tmp_path / "x")]).exception, UserError)


def test_of_surveys_with_equally_many_rows_lamost_is_the_reference(made):
    (found,) = macro_drops([made("loses", cv=6, cs=6)])
    assert found.reference_survey == "lamost"
