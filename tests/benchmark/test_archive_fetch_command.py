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

from specvi_benchmark.archive.labelling import read_known
from specvi_benchmark.cli.main import main
from specvi_benchmark.surveys import read_spectra
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


def test_an_interruption_says_how_to_go_on(monkeypatch, tmp_path, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("specvi_benchmark.archive.fetch.fetch", interrupted)
    assert run("fetch", "lamost", "353301001", "--out", tmp_path) == 130
    assert "the same command again" in capsys.readouterr().err


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


def test_pairs_become_labels_only_with_ids_of_an_archive(tmp_path, capsys):
    paper, survey, out = tmp_path / "paper.csv", tmp_path / "survey.csv", tmp_path / "pairs.csv"
    paper.write_text("id,ra,dec\nV1,10.0,5.0\n")
    survey.write_text("obsid,ra,dec\n353301001,10.0,5.0\n")
    assert run("match", paper, survey, "--known-as", "cv", "--out", out) == 2
    assert "archive list" in capsys.readouterr().err
    survey.write_text("id,obsid,ra,dec\nlamost:DR10:353301001,353301001,10.0,5.0\n")
    assert run("match", paper, survey, "--known-as", "cv") == 2
    assert run("match", paper, survey, "--known-as", "cv;cv-polar", "--out", out) == 0
    (known,) = read_known(out).items()
    assert known[0] == "lamost:DR10:353301001"
    assert known[1].known_as == {"cv", "cv-polar"}
    assert known[1].evidence == {
        "catalogue": "paper.csv",
        "row": 0,
        "matched_by": "position",
        "separation_arcsec": 0.0,
    }


@pytest.mark.slow
def test_real_files_go_from_a_server_that_misbehaves_into_an_archive(server, shared_data, tmp_path, capsys):
    """What is ingested in the end is what the real files hold, survey by survey."""
    real = shared_data / "real"
    lamost = sorted((real / "lamost").glob("dr10/spec-*.gz")) + sorted((real / "lamost").glob("dr9/*.gz"))
    ids = [str(fits.getheader(path)["OBSID"]) for path in lamost]
    ids, lamost = zip(*dict(zip(ids, lamost, strict=True)).items(), strict=True)
    sdss = [path.name.split("-")[1:] for path in sorted((real / "sdss/spec_lite").glob("spec-*.fits"))]
    sdss = ["-".join(str(int(word.removesuffix(".fits"))) for word in words) for words in sdss]
    server.files |= {
        f"/openapi/dr10/v2.0/lrs/spectrum/fits?obsid={obsid}": path.read_bytes()
        for obsid, path in zip(ids, lamost, strict=True)
    }
    for path in (real / "sdss/spec_lite").glob("spec-*.fits"):
        plate = path.name.split("-")[1]
        server.files[f"/sas/dr17/sdss/spectro/redux/26/spectra/lite/{plate}/{path.name}"] = path.read_bytes()
    coadd = "/public/dr1/spectro/redux/iron/healpix/special/dark/272/27247/coadd-special-dark-27247.fits"
    server.files[coadd] = (real / "desi/coadd/coadd-special-dark-27247.fits").read_bytes()
    for number, address in enumerate(list(server.files)[::3]):
        server.faults[address] = [["flip"] if address.endswith(ids) else ["cut"], ["503 0"], ["login"]][
            number % 3
        ]
    base = ("--server", server.address, "--rate", 1000, "--out", tmp_path / "fetched")
    assert run("fetch", "lamost", *ids, *base) == 0
    assert run("fetch", "sdss", *sdss, *base) == 0
    assert run("fetch", "desi", "special-dark-27247", *base) == 0
    folders = [folder / "spectra" for folder in sorted((tmp_path / "fetched").glob("*/*"))]
    assert len(folders) == 3
    capsys.readouterr()
    assert run("ingest", *folders, "--into", tmp_path / "archive", "--processes", 1, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    targets = len(read_spectra(real / "desi/coadd/coadd-special-dark-27247.fits").spectra)
    assert told["refused"] == {}
    assert told["in_archive"] == len(ids) + len(sdss) + targets


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
