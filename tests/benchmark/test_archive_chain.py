"""The whole way, by the commands of the docs: real files from a server to a split."""

import csv
import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from astropy.io import fits

from specvi_benchmark.cli.main import main
from specvi_benchmark.splits.io import read_split
from specvi_benchmark.surveys import read_spectra

SERVER = Path(__file__).resolve().parents[1] / "servers" / "survey_server.py"
RECIPE = {
    "schema_version": 1,
    "name": "warm-stars",
    "version": "1",
    "seed": 3,
    "source": {"archive": "stored", "survey": "lamost", "labels": "classes"},
    "quality": {},
    "weak_classifier": {
        "acceptance": 0.01,
        "folds": 20,
        "positives": 100,
        "others_per_positive": 1,
        "trees": 5,
        "leaves": 4,
        "learning_rate": 0.1,
    },
    "classes": {"a": {"positives": ["warm"]}},
    "sets": [
        {
            "track": "cross-task",
            "tasks": ["a"],
            "positives_filter": "none",
            "counts": {"train": [4, 4], "test": [2, 10]},
        }
    ],
}


@pytest.fixture
def server():
    spec = importlib.util.spec_from_file_location("specvi_survey_server_for_the_chain", SERVER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with module.SurveyServer() as running:
        yield running


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in arguments])
    assert (ended.value.code or 0) == 0


def real_files(folder):
    """Return a file for each real LAMOST spectrum, with its header as astropy reads it."""
    found = {}
    for path in sorted(folder.glob("dr[0-9]*/*.fits*")):
        header = fits.getheader(path)
        place = (round(header["RA"], 3), round(header["DEC"], 3))
        found.setdefault(place, (path, header))
    return list(found.values())


def test_real_files_go_from_a_server_to_a_split(server, shared_data, tmp_path, capsys):
    """A to K3 stars of the pipeline are the class. What the split says of each spectrum, its file says too."""
    files = real_files(shared_data / "real/lamost")
    assert len(files) > 40
    # The first releases state no usable id; these get one that no file contradicts.
    ids = [
        str(h["OBSID"]) if h.get("OBSID", 0) > 0 else str(900_000_001 + n) for n, (_, h) in enumerate(files)
    ]
    for obsid, (path, _) in zip(ids, files, strict=True):
        server.files[f"/openapi/dr10/v2.0/lrs/spectrum/fits?obsid={obsid}"] = path.read_bytes()
    listed = tmp_path / "wanted ids.txt"
    listed.write_bytes("\r\n".join(["# from a catalogue", *ids, "", *ids[:3], ""]).encode())
    warm = {
        place for place, (_, header) in enumerate(files) if re.match("[AFG]|K3", header["SUBCLASS"].strip())
    }
    known = tmp_path / "warm.csv"
    rows = [f"{files[n][1]['RA']}|{files[n][1]['DEC']}|{files[n][1]['SUBCLASS']}" for n in sorted(warm)]
    known.write_text("\n".join(["ra|dec|subclass", *rows]) + "\n")

    base = ("--server", server.address, "--rate", 1000, "--out", tmp_path / "my fetched")
    run("archive", "fetch", "lamost", "--ids", listed, *base)
    archive, table, pairs = tmp_path / "archive", tmp_path / "list.parquet", tmp_path / "pairs.csv"
    spectra = tmp_path / "my fetched/lamost/dr10_v2.0/spectra"
    assert {path.name.split(".")[0] for path in spectra.rglob("*.gz")} == set(ids)
    capsys.readouterr()
    run("archive", "ingest", spectra, "--into", archive, "--processes", 1, "--json")
    told = json.loads(capsys.readouterr().out)
    assert (told["in_archive"], told["refused"], told["renamed"]) == (len(files), {}, 0)
    run("archive", "list", archive, "--out", table)
    run("archive", "match", known, table, "--known-as", "warm", "--out", pairs)
    with pairs.open(newline="") as stream:
        assert sorted(int(row["row"]) for row in csv.DictReader(stream)) == list(range(len(warm)))
    run("archive", "label", archive, pairs, "--name", "classes", "--source", "subclasses of the headers")
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(yaml.safe_dump(RECIPE))
    screened, split = tmp_path / "screened", tmp_path / "split"
    capsys.readouterr()
    run("archive", "screen", archive, "--recipe", recipe, "--out", screened, "--processes", 1, "--json")
    told = json.loads(capsys.readouterr().out)
    assert (told["spectra"], told["new"]) == (len(files), len(files))
    run("split", "build", recipe, "--archive", archive, "--out", split, "--processes", 1)
    run("split", "verify", split)

    built = read_split(split)
    assert len(built.candidates) == 4 + 4 + 2 + 10
    by_name = {f"{obsid}.fits.gz": place for place, obsid in enumerate(ids)}
    for candidate in built.candidates:
        place = by_name[candidate.spectrum.name]
        assert (candidate.truth == "YES") == (place in warm)
        (real,) = read_spectra(files[place][0]).spectra
        np.testing.assert_array_equal(candidate.spectrum.flux, real.flux)
        np.testing.assert_array_equal(candidate.spectrum.ivar, real.ivar)
        if candidate.truth == "YES":
            assert candidate.label_evidence["catalogue"] == "warm.csv"
            assert candidate.label_evidence["matched_by"] == "position"
