import csv
import fcntl
import json
import shlex
from dataclasses import replace

import numpy as np
import pytest

from specvi_benchmark.cli.main import main
from specvi_benchmark.features import choose_shift
from specvi_benchmark.splits.named import find_split
from specvi_benchmark.views import render
from specvi_leaderboard.cli.demo import MARK, _show_one


def demo(out):
    with pytest.raises(SystemExit) as caught:
        main(["demo", "--out", str(out)])
    assert caught.value.code == 0


def refused(out, capsys):
    """Run the demo where it can't go on; return what it says."""
    with pytest.raises(SystemExit) as caught:
        main(["demo", "--out", str(out)])
    assert caught.value.code == 2
    return capsys.readouterr().err


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder, with a blank in its name, in which the demo has run."""
    out = tmp_path_factory.mktemp("demo") / "my demo"
    demo(out)
    return out


def make_old(folder):
    """Make a run look as if an earlier version of `rules` had made it."""
    path = folder / "run.json"
    record = json.loads(path.read_text())
    record["config"]["rules_version"] = 0
    path.write_text(json.dumps(record))


@pytest.mark.slow
@pytest.mark.parametrize("spoil", ["version", "record"])
def test_a_run_of_another_version_is_made_afresh_and_said(made, capsys, spoil):
    folder = made / "runs" / "rules"
    before = json.loads((folder / "run.json").read_text())
    if spoil == "version":
        make_old(folder)
    else:
        (folder / "run.json").write_text("{}")
    other = (made / "runs" / "always-no" / "run.json").read_bytes()
    capsys.readouterr()
    demo(made)
    assert "rules: run afresh, the earlier run is of another version" in capsys.readouterr().out
    after = json.loads((folder / "run.json").read_text())
    assert after["config"] == before["config"]
    assert after["counts"] == before["counts"]
    assert (made / "runs" / "always-no" / "run.json").read_bytes() == other
    demo(made)
    assert "run afresh" not in capsys.readouterr().out


@pytest.mark.slow
def test_a_run_that_is_not_the_demos_or_is_in_use_is_never_replaced(made, capsys):
    folder = made / "runs" / "rules"
    log = (folder / "predictions.jsonl").read_bytes()
    with (folder / ".lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "another process" in refused(made, capsys)
    record = (folder / "run.json").read_bytes()
    make_old(folder)
    (folder / MARK).unlink()
    try:
        assert "another run" in refused(made, capsys)
        assert (folder / "predictions.jsonl").read_bytes() == log
        assert not (folder / MARK).exists()
    finally:
        (folder / MARK).touch()
        (folder / "run.json").write_bytes(record)


@pytest.mark.slow
def test_what_to_do_next_can_be_pasted_into_a_shell(made, capsys):
    capsys.readouterr()
    demo(made)
    lines = [shlex.split(line) for line in capsys.readouterr().out.split("Next:")[1].splitlines()]
    assert ["score", str(made / "runs" / "rules")] in [words[1:] for words in lines]
    assert [
        *("leaderboard", "build", f"{made / 'runs'}/*"),
        *("--out", str(made / "site")),
    ] in [words[1:] for words in lines]


@pytest.mark.slow
def test_the_picture_is_in_the_frame_of_the_evidence(made, tmp_path, capsys):
    split = find_split("mini-small").select(part="test")
    candidate, shift = next(
        (c, shift)
        for c in split.candidates
        if c.truth == "YES" and (shift := choose_shift(c.redshift, c.task.frame)).redshift != 0
    )
    _show_one(replace(split, candidates=(candidate,)), made / "runs" / "rules", tmp_path / "one.png")
    picture = (tmp_path / "one.png").read_bytes()
    assert picture == render(candidate.spectrum, redshift=shift.redshift).png
    assert picture != render(candidate.spectrum).png
    assert candidate.task.question in capsys.readouterr().out


@pytest.mark.slow
def test_the_demo_scores_every_system_on_every_track_and_is_quick_when_called_again(made, capsys):
    capsys.readouterr()
    demo(made)
    said = capsys.readouterr().out
    rows = list(csv.DictReader((made / "site" / "table.csv").read_text().splitlines()))
    macro = {(row["track"], row["system"]): float(row["f1"]) for row in rows if row["task"] == "macro"}
    split = find_split("mini-small").select(part="test")
    systems = {"always-yes", "always-no", "metadata-only", "inverted-weak", "rules", "scripted"}
    assert set(macro) == {(track, system) for track in split.tracks for system in systems}

    for track in split.tracks:
        chosen = split.select(track=track)
        shares = [
            np.mean([c.truth == "YES" for c in chosen.select(task=task).candidates]) for task in chosen.tasks
        ]
        # Always YES has precision p and recall 1, so F1 = 2p / (1 + p); always NO finds nothing. Every candidate
        # passed the weak classifier, so its inversion finds nothing either.
        expected = np.mean([2 * p / (1 + p) for p in shares])
        assert macro[track, "always-yes"] == pytest.approx(expected)
        assert macro[track, "always-no"] == macro[track, "inverted-weak"] == 0
    assert macro["main", "rules"] > macro["main", "always-yes"]

    assert "SIMULATED" in said
    for command in ("inspect FILE --task cv", "trace ", "score ", "leaderboard build "):
        assert f"specvi {command}" in said
    probe = json.loads((made / "runs" / "rules" / "probes" / "probe.json").read_text())
    masked = next(
        m for m in probe["moves"] if (m["probe"], m["against"], m["task"]) == ("masked", "plain", "all")
    )
    assert masked["candidates"] == sum(c.truth == "YES" for c in split.candidates)
    assert masked["yes_after"] < masked["yes_before"] / 4  # rules needs the lines it names
    page = next((made / "site" / "data").glob("*/system/rules-*.js")).read_text()
    assert '"sentences":["Of ' in page
    trace = (made / "trace.html").read_text()
    assert "data:image/png;base64," in trace
    assert "SIMULATED" in trace
    page = (made / "site" / "index.html").read_bytes()
    logs = {path: path.read_bytes() for path in made.glob("runs/*/predictions.jsonl")}
    assert len(logs) == 6
    demo(made)
    assert {path: path.read_bytes() for path in logs} == logs
    assert (made / "site" / "index.html").read_bytes() == page
