import csv
import time

import pytest

from specvi_benchmark.cli.main import main
from specvi_benchmark.splits.io import find_split


def demo(out):
    with pytest.raises(SystemExit) as caught:
        main(["demo", "--out", str(out)])
    assert caught.value.code == 0


@pytest.mark.slow
def test_the_demo_scores_three_systems_and_finishes_at_once_when_called_again(tmp_path, capsys):
    out = tmp_path / "demo"
    demo(out)
    said = capsys.readouterr().out
    rows = list(csv.DictReader((out / "site" / "table.csv").read_text().splitlines()))
    macro = {row["system"]: float(row["f1"]) for row in rows if row["task"] == "macro"}
    assert sorted(macro) == ["always-no", "always-yes", "rules"]

    split = find_split("mini").select(part="test")
    prevalence = [
        sum(c.truth == "YES" for c in split.select(task=task).candidates)
        / len(split.select(task=task).candidates)
        for task in split.tasks
    ]
    # Always YES has precision p and recall 1, so F1 = 2p / (1 + p); always NO finds nothing.
    expected = sum(2 * p / (1 + p) for p in prevalence) / len(prevalence)
    assert macro["always-yes"] == pytest.approx(expected)
    assert macro["always-no"] == 0
    assert macro["rules"] > macro["always-yes"]

    assert f"{macro['rules']:.3f}" in said
    assert "SIMULATED" in said
    for command in ("specvi inspect FILE --task cv", "specvi score ", "specvi leaderboard build "):
        assert command in said
    page = (out / "site" / "index.html").read_bytes()
    logs = {path: path.read_bytes() for path in out.glob("runs/*/predictions.jsonl")}
    assert len(logs) == 3

    start = time.monotonic()
    demo(out)
    assert time.monotonic() - start < 20
    assert {path: path.read_bytes() for path in logs} == logs
    assert (out / "site" / "index.html").read_bytes() == page
