import json
import os
import re
import signal
import subprocess
import sys
from urllib.request import urlopen

import pytest

from specvi_benchmark.cli.main import main
from specvi_benchmark.splits.io import read_split, write_split


def call(capsys, *arguments):
    """Return exit code, standard output and standard error of one command line."""
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return caught.value.code, out, err


def test_build_prints_the_table_what_it_wrote_and_what_to_do_next(make_run, tmp_path, capsys):
    site = tmp_path / "site"
    code, out, _ = call(capsys, "leaderboard", "build", make_run("reader", 9, 4), "--out", site)
    assert code == 0
    assert "SIMULATED" in out
    assert "0.720" in out  # 9 found, 3 missed, 4 false alarms: 18 / 25
    assert "95 % confidence sets from paired comparisons" in " ".join(out.split())
    assert str(site / "index.html") in out.replace("\n", "")
    assert "Next" in out
    assert (site / "index.html").exists()


def test_build_writes_into_site_by_default(make_run, tmp_path, capsys, monkeypatch):
    run = make_run("reader", 9, 4)
    monkeypatch.chdir(tmp_path)
    assert call(capsys, "leaderboard", "build", run)[0] == 0
    assert (tmp_path / "site" / "index.html").exists()


def test_build_gives_json_to_scripts(make_run, tmp_path, capsys):
    run = make_run("reader", 9, 4)
    _, out, _ = call(capsys, "leaderboard", "build", run, "--out", tmp_path / "site", "--json")
    assert json.loads(out) == json.loads((tmp_path / "site" / "results.json").read_text())


def test_a_name_is_never_read_as_markup(make_run, tmp_path, capsys):
    run = make_run("[red]x[/]", 9, 4, folder="x", other=["error"])
    _, out, _ = call(capsys, "leaderboard", "build", run, "--out", tmp_path / "site")
    assert "Not ranked: [red]x[/]" in out


def test_build_refuses_runs_over_different_splits(make_run, toy, tmp_path, capsys):
    write_split(read_split(toy).select(task="cv"), tmp_path / "half")
    runs = [make_run("a", 9, 4), make_run("b", 9, 4, at=tmp_path / "half")]
    code, _, err = call(capsys, "leaderboard", "build", *runs, "--out", tmp_path / "site")
    assert code == 2
    assert "more than one split fingerprint" in err
    assert not (tmp_path / "site").exists()


def test_build_dates_the_page_only_when_told(make_run, tmp_path, capsys):
    run, site = make_run("reader", 9, 4), tmp_path / "site"
    call(capsys, "leaderboard", "build", run, "--out", site, "--date", "2026-03-01")
    (data,) = (site / "data").glob("*/board.js")
    assert '"date":"2026-03-01"' in data.read_text()
    for wrong in ("1st of March", "20260301", "2026-W09-7", "2026-3-1", "2026-02-30"):
        code, _, err = call(capsys, "leaderboard", "build", run, "--out", site, "--date", wrong)
        assert code == 2
        assert "YYYY-MM-DD" in err


@pytest.mark.parametrize("columns", ["40", "60", "100"])
def test_a_narrow_terminal_keeps_every_name_and_whole_numbers(
    make_run, tmp_path, capsys, monkeypatch, columns
):
    monkeypatch.setenv("COLUMNS", columns)
    run = make_run("a-reader-of-spectra", 9, 4)
    _, out, _ = call(capsys, "leaderboard", "build", run, "--out", tmp_path / "site")
    table = out.split("Rule:")[0]
    assert "…" not in table
    assert "0.720" in table
    assert "always-yes" in table.replace("\n", "")
    # A folded name stands in pieces below one another, in a column that starts where `system` does.
    lines = table.splitlines()
    start = next(line.index("system") for line in lines if "system" in line)
    folded = "".join(line[start:].split("  ")[0].split(" ")[0] for line in lines)
    assert "a-reader-of-spectra" in folded
    by_task = " CV " in table
    assert by_task != ("table.csv holds them" in " ".join(table.split()))
    assert by_task == (int(columns) > 60)


def test_serve_gives_the_site_to_this_machine(make_run, tmp_path, capsys):
    site = tmp_path / "site"
    call(capsys, "leaderboard", "build", make_run("reader", 9, 4), "--out", site)
    command = [sys.executable, "-c", "from specvi_benchmark.cli.main import main; main()"]
    process = subprocess.Popen(
        [*command, "leaderboard", "serve", str(site), "--port", "0", "--no-open"],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    try:
        address = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())[0]
        with urlopen(address) as page:
            assert page.read() == (site / "index.html").read_bytes()
    finally:
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    assert "Ended" in said
    assert process.returncode == 0


def test_serve_refuses_what_is_no_site(tmp_path, capsys):
    code, _, err = call(capsys, "leaderboard", "serve", tmp_path)
    assert code == 2
    assert "not a leaderboard's site" in err
    assert "specvi leaderboard build" in err
