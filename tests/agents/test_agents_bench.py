"""The agents' benchmark runs, and measures what it says."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from specvi_agents.bench.compare import Comparison, Round
from specvi_agents.bench.questions import Questions, renderer
from specvi_agents.cli.bench_agent import app
from specvi_benchmark.views import render


def test_questions_differ_and_are_made_when_asked_for():
    questions = Questions(1000)
    first, thirteenth = questions[0], questions[12]  # the same simulated spectrum, made another
    assert len(questions) == 1000
    assert (first.spectrum.flux != thirteenth.spectrum.flux).any()
    assert [question.id for question in list(questions)[:2]] == ["q-0", "q-1"]


def test_ratios_are_of_conversations_a_second_and_of_cpu():
    own = {"conversations": 100, "seconds": 2.0, "cpu_seconds": 1.0}
    other = {"conversations": 25, "seconds": 5.0, "cpu_seconds": 2.5}
    one = Round("both", own, other)
    assert one.ratio == pytest.approx(10.0)  # 50 a second against 5
    assert one.cpu_ratio == pytest.approx(10.0)  # 10 ms against 100
    undrawn = Round("neither", own, {**other, "seconds": 10.0})
    found = Comparison((one, undrawn, Round("both", own, None)), {})
    assert found.median(lambda round_: round_.ratio) == pytest.approx(10.0)
    assert found.median(lambda round_: round_.ratio, "neither") == pytest.approx(20.0)
    assert Comparison((Round("both", own, None),), {}).median(lambda round_: round_.ratio) is None


def test_pictures_drawn_beforehand_are_those_that_would_be_drawn_and_each_is_shown_once():
    questions = Questions(2)
    handed_out = renderer("neither", questions)
    views = [handed_out() for _ in range(6)]
    drawn = render(questions[1].spectrum, (4000, 4300))
    assert (views[4].png, views[4].record) == (drawn.png, drawn.record)
    assert len({view.pixel_sha256 for view in views}) == 6
    with pytest.raises(StopIteration):
        handed_out()
    assert renderer("both", questions) is render


@pytest.mark.slow
def test_the_command_measures_the_own_side(tmp_path):
    result = CliRunner().invoke(app, ["--rounds", "1", "--conversations", "20", "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert [one["drawing"] for one in found["rounds"]] == ["both", "neither"]
    for one in found["rounds"]:
        assert one["inspect"] is None
        assert one["own"]["conversations"] == 20
        assert len(one["own"]["resident_MB"]) == 10
        assert one["own"]["bytes_written"] > 20 * 3 * 5_000  # three pictures each, and the traces
    assert set(found["stages_ms"]) == {"drawing", "encoding", "client", "storage"}
    assert all(value > 0 for value in found["stages_ms"].values())


def test_a_python_without_inspect_ai_is_told():
    if (
        subprocess.run(
            [sys.executable, "-c", "import inspect_ai"], capture_output=True, check=False
        ).returncode
        == 0
    ):
        pytest.skip("inspect_ai is installed here")
    result = CliRunner().invoke(app, ["--inspect-python", sys.executable, "--rounds", "1"])
    assert "no inspect_ai" in str(result.exception)
