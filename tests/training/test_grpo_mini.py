"""The quick miniature from end to end, by its command: killed in the middle, typed again, and its table worked out anew."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("trl", reason="trl is not installed")

from sklearn.metrics import f1_score

from specvi_benchmark.files import read_lines
from specvi_benchmark.splits.named import find_split
from specvi_benchmark.trace_page import RecordedRun

TYPED = [sys.executable, "-m", "specvi_benchmark.cli.main", "train", "mini", "--quick", "--out"]
KILLED = "tool/seed-0/sft-rl"


@pytest.mark.slow
def test_the_quick_miniature_goes_on_after_a_kill_and_tells_what_its_runs_say(tmp_path: Path) -> None:
    out = tmp_path / "mini"
    log = tmp_path / "log"
    rollouts = out / "trainings" / KILLED / "rollouts" / "groups.jsonl"
    with log.open("w") as stream:
        first = subprocess.Popen([*TYPED, str(out)], stdout=stream, stderr=stream, start_new_session=True)
    try:
        while not rollouts.exists():
            assert first.poll() is None, log.read_text()
            time.sleep(0.05)
    finally:
        os.killpg(first.pid, signal.SIGKILL)  # the commands at work too: there are rollouts, and no model
        first.wait()
    done = {path: path.read_bytes() for path in (out / "done").rglob("*.json")}
    logs = {path: path.stat().st_size for path in (out / "logs").rglob("*.log")}
    assert out / "done" / "lessons/tool/cv.json" in done
    assert out / "done" / f"{KILLED}.json" not in done
    assert not (out / "table.md").exists()

    again = subprocess.run([*TYPED, str(out)], capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert f"{len(done)} of 6 are done already" in again.stdout
    assert again.stdout.count(" begins\n") == 6 - len(done)
    for path, content in done.items():
        assert path.read_bytes() == content
        name = path.relative_to(out / "done").with_suffix(".log")
        assert (out / "logs" / name).stat().st_size == logs[out / "logs" / name]

    groups = [line for _, line in read_lines(rollouts)]
    steps = [line["step"] for line in groups]
    assert steps == sorted(steps)
    assert {steps.count(step) for step in steps} == {2}  # every round once, whole
    assert (
        len(RecordedRun(rollouts.parent).find(groups[-2]["id"]).samples) == 2
    )  # the first of a round is kept whole

    results = json.loads((out / "results.json").read_text())
    table = (out / "table.md").read_text()
    assert [arm["arm"] for arm in results["arms"]] == ["base", "sft", "sft+rl"]
    truth = {c.id: c.truth for c in find_split("mini").select(part="dev", task="cv").candidates}
    for arm in results["arms"]:
        run = out / "runs" / "tool" / "seed-0" / arm["arm"].replace("+", "-") / "cv"
        said = {line["id"]: line.get("answer") for _, line in read_lines(run / "predictions.jsonl")}
        assert said.keys() == truth.keys()
        wrong = {"YES": "NO", "NO": "YES"}
        called = [said[name] or wrong[truth[name]] for name in truth]
        expected = f1_score(list(truth.values()), called, pos_label="YES", zero_division=0)
        assert arm["f1"] == pytest.approx(expected)
        assert arm["low"] <= arm["f1"] <= arm["high"]
        assert f"| {arm['arm']} | {expected:.3f} [" in table
    assert results["note"] in table
