"""`specvi archive fetch` and `match` as commands, and killed at random moments."""

import gzip
import importlib.util
import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from astropy.io import fits

from specvi_benchmark.cli.main import main
from specvi_benchmark.surveys.sample_files import lamost_coadd

SERVER = Path(__file__).resolve().parents[1] / "servers" / "survey_server.py"


@pytest.fixture
def server():
    spec = importlib.util.spec_from_file_location("specvi_survey_server_for_commands", SERVER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with module.SurveyServer() as running:
        yield running


@pytest.fixture(scope="module")
def one_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("made") / "made.fits"
    lamost_coadd(path)
    return path


def serve(server, one_file, ids):
    for obsid in ids:
        fits.setval(one_file, "OBSID", value=int(obsid))
        server.files[f"/openapi/dr10/v2.0/lrs/spectrum/fits?obsid={obsid}"] = gzip.compress(
            one_file.read_bytes(), 1, mtime=0
        )


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(["archive", *map(str, arguments)])
    return ended.value.code or 0


def test_fetch_says_what_it_did_and_what_comes_next(server, one_file, tmp_path, capsys):
    serve(server, one_file, ["353301001"])
    arguments = ("fetch", "lamost", "353301001", "353301002", "--server", server.address, "--rate", 1000)
    assert run(*arguments, "--out", tmp_path / "archive", "--dry-run") == 0
    told = capsys.readouterr().out
    assert "2 files to fetch" in told
    assert "at 1000 requests and 5.0 MB a second" in told
    assert run(*arguments, "--out", tmp_path / "archive") == 0
    told = capsys.readouterr().out
    assert "1 files fetched" in told
    assert "not on the server: 353301002" in told
    assert "specvi archive ingest" in told
    assert run(*arguments, "--out", tmp_path / "archive", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["done"], told["already"], told["absent"], told["failed"]) == (0, 1, 1, 0)


def test_failures_give_exit_code_1_and_mistakes_2(server, tmp_path, capsys):
    server.always = "403"
    base = ("--server", server.address, "--rate", 1000, "--out", tmp_path)
    assert run("fetch", "lamost", "353301001", *base) == 1
    assert "refused: 403" in capsys.readouterr().out
    for wrong in (
        ("fetch", "lamost", *base),
        ("fetch", "kepler", "1", *base),
        ("fetch", "lamost", "1", "--cone", "1,2", *base),
        ("fetch", "lamost", "1", "--against", tmp_path / "x", *base),
    ):
        assert run(*wrong) == 2


def test_rows_of_a_papers_table_are_looked_up_in_the_surveys(server, one_file, tmp_path, capsys):
    serve(server, one_file, ["353301001", "353301003"])
    paper = tmp_path / "paper.tsv"
    paper.write_text("Name\tRAJ2000\tDEJ2000\nA\t10.00000\t5.00000\nB\t20.0\t5.0\nC\t30.00020\t5.0\n")
    survey = tmp_path / "survey.csv"
    survey.write_text("obsid|ra|dec\n353301001|10.0001|5.0\n353301002|21.0|5.0\n353301003|30.0|5.0\n")
    base = ("--server", server.address, "--rate", 1000, "--out", tmp_path / "archive")
    assert run("fetch", "lamost", "--table", paper, "--against", survey, *base) == 0
    told = capsys.readouterr().out
    assert "2 of 3 rows matched (2 by position)" in told
    assert "1 rows did not match" in told
    assert {path.name for path in (tmp_path / "archive").rglob("*.fits.gz")} == {
        "353301001.fits.gz",
        "353301003.fits.gz",
    }
    assert run("match", paper, survey, "--out", tmp_path / "pairs.csv") == 0
    told = capsys.readouterr().out
    assert "row 1: not found by position 20.00000 +5.00000" in told
    lines = (tmp_path / "pairs.csv").read_text().replace('"', "").splitlines()
    assert lines[0] == "row,known_row,matched_by,separation_arcsec,obsid,ra,dec"
    assert [line.split(",")[:3] for line in lines[1:]] == [["0", "0", "position"], ["2", "2", "position"]]
    assert run("match", paper, survey, "--json") == 0
    assert json.loads(capsys.readouterr().out)["unmatched_rows"][0]["row"] == 1


@pytest.mark.slow
def test_kills_at_random_moments_lose_and_repeat_nothing(server, one_file, tmp_path):
    ids = [str(353301001 + number) for number in range(60)]
    serve(server, one_file, ids)
    server.delay_s = 0.05
    listed = tmp_path / "ids.txt"
    listed.write_text("\n".join(ids))
    archive = tmp_path / "archive"
    command = [
        *(sys.executable, "-m", "specvi_benchmark.cli.main", "archive", "fetch", "lamost"),
        *("--ids", str(listed), "--server", server.address, "--out", str(archive)),
        *("--rate", "100", "--parallel", "3"),
    ]
    rng = random.Random(9)
    kills = 0
    folder = archive / "lamost/dr10_v2.0/spectra"
    for _ in range(40):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        asked = len(server.requests)
        while len(server.requests) == asked and process.poll() is None:
            time.sleep(0.005)  # Python is still starting
        try:
            process.wait(rng.uniform(0.0, 0.4) if kills < 6 else None)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
        # Whatever has its name is whole, at every moment.
        for path in folder.rglob("[0-9]*.fits.gz"):
            address = f"/openapi/dr10/v2.0/lrs/spectrum/fits?obsid={path.name.split('.')[0]}"
            assert path.read_bytes() == server.files[address]
        if process.returncode == 0:
            break
    assert kills >= 4
    assert {path.name.split(".")[0] for path in folder.rglob("*.fits.gz")} == set(ids)
    assert list(folder.rglob(".*.part*")) == []
    # Only what was under way at a kill was asked for again.
    assert len(server.requests) <= len(ids) + kills * 3
    lines = [json.loads(line) for line in (folder.parent / "fetch.jsonl").read_text().splitlines()]
    assert {line["key"] for line in lines if line["state"] == "done"} == set(ids)
