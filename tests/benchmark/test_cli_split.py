import json
import shlex
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from specvi_benchmark.cli.main import main
from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.splits import Candidate, Split, build
from specvi_benchmark.splits.archive import Key
from specvi_benchmark.splits.choosing import Chosen
from specvi_benchmark.splits.io import read_split, write_split
from specvi_benchmark.splits.named import find_split
from specvi_benchmark.splits.recipe import load_recipe
from specvi_benchmark.splits.simulated import SimulatedArchive
from specvi_benchmark.tasks import get_task


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """Keep the cache out of the user's, and SpecVI-Mini to twelve simulated candidates of two tasks."""
    monkeypatch.setenv("SPECVI_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(build, "build_split", twelve)


PAIRS = [("cv", "YES"), ("cv", "NO"), ("cs", "YES"), ("cs", "NO")]
KINDS = ("cv-polar", "be-star", "carbon-n", "k-giant")


def twelve(recipe, **_):
    """Return a split of twelve simulated candidates in place of the recipe's own."""
    source = recipe.source.model_copy(
        update={
            "size": 150,
            "second_visit": 0.0,
            "field": {"k-giant": 1.0},
            "rare": dict.fromkeys(KINDS, 1.0),
        }
    )
    records = list(SimulatedArchive(source).read_shard(0))
    members = []
    for kind, (task, truth) in zip(KINDS, PAIRS, strict=True):
        chosen = Chosen(task, "main", "test", truth, 0, Key(0, 0), 0, 10.0, 0.9)
        found = [record for record in records if kind in record.known_as]
        number = 1 if truth == "YES" else 5
        members += [build._candidate(chosen, record, "simulated") for record in found[:number]]
    return Split(recipe.name, recipe.version, tuple(members), build.recorded(recipe))


def specvi(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    output = capsys.readouterr()
    return ended.value.code or 0, output.out, output.err


def candidate(number, part):
    return Candidate(
        id=f"{part}-{number}", task=get_task("wd"), track="main", part=part,
        spectrum=Spectrum([4000.0, 4001.0], [1.0, 2.0], [1.0, 1.0], [False, False], name=f"n{number}"),
        redshift=None, truth="YES" if number % 2 else "NO", object_id=f"o{number}", object_id_source="file-name",
        label_source="hand",
    )  # fmt: skip


def test_build_says_simulated_what_it_wrote_and_what_is_next(capsys, tmp_path):
    code, out, _ = specvi(capsys, "split", "build", "mini", "--out", tmp_path / "m")
    assert code == 0
    assert "simulated" in out
    assert f"Wrote {tmp_path / 'm'}" in out
    assert out.rstrip().splitlines()[-1] == f"Next: specvi run --vetter rules --split {tmp_path / 'm'}"
    split = read_split(tmp_path / "m")
    assert split.fingerprint in out
    assert len(split.candidates) == 12


def test_build_without_out_goes_where_the_name_finds_it(capsys, tmp_path):
    code, out, _ = specvi(capsys, "split", "build", "mini")
    assert code == 0
    assert str(tmp_path / "home" / "splits" / "mini") in out.replace("\n", "")
    assert (tmp_path / "home" / "splits" / "mini" / "split.json").exists()


@pytest.mark.parametrize(
    ("folder", "argument"), [("mini", "./mini"), ("my split", "'my split'"), ("./mini", "./mini")]
)
def test_the_next_line_names_what_was_written(capsys, tmp_path, monkeypatch, folder, argument):
    monkeypatch.chdir(tmp_path)
    code, out, _ = specvi(capsys, "split", "build", "mini", "--out", folder)
    assert code == 0
    assert out.rstrip().endswith(f"Next: specvi run --vetter rules --split {argument}")
    (named,) = shlex.split(argument)
    code, out, _ = specvi(capsys, "split", "verify", named)
    assert code == 0
    assert out.rstrip().endswith(f"Next: specvi split show {argument}")
    assert not (tmp_path / "home").exists()  # the folder was read, not SpecVI-Mini of the cache
    code, out, _ = specvi(capsys, "split", "export", named, "--out", f"{folder} 2")
    assert code == 0
    assert shlex.split(out.rstrip().splitlines()[-1])[-1] == str(Path(f"{folder} 2"))


def test_building_into_a_full_folder_or_something_unknown_is_refused(capsys, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("x")
    code, _, err = specvi(capsys, "split", "build", "mini", "--out", tmp_path / "full")
    assert code == 2
    assert "not empty" in err
    code, _, err = specvi(capsys, "split", "build", "maxi")
    assert code == 2
    assert "no such recipe" in err
    assert "Traceback" not in err


def test_show_counts(capsys):
    code, out, _ = specvi(capsys, "split", "show", "mini")
    assert code == 0
    rows = [
        [cell.strip() for cell in line.strip("│ ").split("│")] for line in out.splitlines() if "│" in line
    ]
    assert rows == [["test", "cv", "1", "5", "6", "17%"], ["test", "cs", "1", "5", "6", "17%"]]
    code, out, _ = specvi(capsys, "split", "show", "mini", "--json")
    shown = json.loads(out)
    assert shown["counts"] == {"test": {"cv": {"YES": 1, "NO": 5}, "cs": {"YES": 1, "NO": 5}}}
    assert shown["recipe"] == build.recorded(load_recipe("mini"))


def test_verify_names_every_check(capsys):
    code, out, _ = specvi(capsys, "split", "verify", "mini")
    assert code == 0
    assert "as split.json says" in out
    assert "parts share no object: 12 objects" in out
    assert "FAILS" not in out


def test_verify_finds_a_leak_and_exits_with_2(capsys, tmp_path):
    members = [candidate(n, part) for part in ("train", "test") for n in range(2)]
    write_split(Split("leaky", "1", tuple(members), {}), tmp_path / "leaky")
    code, out, err = specvi(capsys, "split", "verify", tmp_path / "leaky")
    assert code == 2
    assert "FAILS  parts share no object" in out
    assert "2 objects in more than one part" in err
    code, out, _ = specvi(capsys, "split", "verify", tmp_path / "leaky", "--json")
    assert code == 2
    failing = [
        check["name"] for check in json.loads(out)["checks"] if not check["holds"] and not check["warns"]
    ]
    assert failing == ["parts share no object"]


def test_verify_refuses_a_changed_file(capsys, tmp_path):
    specvi(capsys, "split", "build", "mini", "--out", tmp_path / "m")
    described = json.loads((tmp_path / "m" / "split.json").read_text())
    described["fingerprint"] = "0" * 64
    (tmp_path / "m" / "split.json").write_text(json.dumps(described))
    code, _, err = specvi(capsys, "split", "verify", tmp_path / "m")
    assert code == 2
    assert "expected: " + "0" * 64 in err


def test_export_with_pictures_and_official_names(capsys, tmp_path):
    code, out, _ = specvi(
        capsys, "split", "export", "mini", "--out", tmp_path / "e", "--pictures", "--official-names"
    )
    assert code == 0
    assert out.rstrip().endswith(f"Next: specvi split verify {tmp_path / 'e'}")
    assert sorted(path.name for path in (tmp_path / "e").iterdir()) == [
        "README.md", "croissant.json", "previews", "split.json", "test_cc.parquet", "test_cv.parquet",
    ]  # fmt: skip
    for row in pq.read_table(tmp_path / "e" / "test_cc.parquet").to_pylist():
        (picture,) = row["images"]
        path = tmp_path / "view.png"
        path.write_bytes(picture["bytes"])
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("L"))
        assert pixels.std() > 5  # a drawing, not a blank page
        assert row["prompt"][1]["content"].startswith("<image>\n")
    code, _, _ = specvi(capsys, "split", "verify", tmp_path / "e")
    assert code == 0


def test_import_makes_a_split_folder_of_official_files(capsys, tmp_path):
    specvi(capsys, "split", "export", "mini", "--out", tmp_path / "e", "--no-pictures", "--official-names")
    official = tmp_path / "official"
    official.mkdir()
    for path in (tmp_path / "e").glob("*.parquet"):
        pq.write_table(pq.read_table(path).drop_columns(["specvi"]), official / path.name)
    command = [
        "split",
        "import",
        official,
        "--out",
        tmp_path / "i",
        "--name",
        "bench",
        "--version",
        "0e003e0",
    ]
    code, out, _ = specvi(capsys, *command)
    assert code == 0
    assert f"Wrote {tmp_path / 'i'}" in out
    split = read_split(tmp_path / "i")
    assert (split.name, split.version) == ("bench", "0e003e0")
    assert sorted(split.recipe["sha256"]) == ["test_cc.parquet", "test_cv.parquet"]
    original = {c.id: c for c in find_split("mini").candidates}
    for found in split.candidates:
        known = original[found.id]
        assert (found.truth, found.task.key, found.redshift) == (known.truth, known.task.key, known.redshift)
        assert np.array_equal(found.spectrum.flux, known.spectrum.flux)
        assert found.object_id_source == "file-name"
        assert not found.spectrum.has_errors


def test_columns_that_import_leaves_out_are_named(capsys, tmp_path):
    specvi(capsys, "split", "export", "mini", "--out", tmp_path / "e", "--no-pictures")
    table = pq.read_table(tmp_path / "e" / "test_cv.parquet").drop_columns(["specvi"])
    pq.write_table(table.append_column("ability", table.column("data_source")), tmp_path / "test_cv.parquet")
    _, out, _ = specvi(capsys, "split", "import", tmp_path / "test_cv.parquet", "--out", tmp_path / "i")
    assert "Left out, not in the schema: ability" in out
