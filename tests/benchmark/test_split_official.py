"""Importing the published set: its figures, losslessness, duplicates, and the way from the Hub."""

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from specvi_benchmark.cli.main import main
from specvi_benchmark.splits import Split, official
from specvi_benchmark.splits.duplicates import fibre_of, find_duplicates, find_in_cold_start, position_of
from specvi_benchmark.splits.io import read_split

HERE = Path(__file__).parent


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


files = load(HERE / "official_files.py")
hub_server = load(HERE.parent / "servers" / "hub_server.py")

SMALL = {"train_cv": (6, 3), "test_cv": (6, 1), "test_cc": (6, 1)}


def specvi(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    output = capsys.readouterr()
    return ended.value.code or 0, output.out, output.err


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """All ten files with the published numbers of rows; spectra are four pixels long."""
    return files.write_official(tmp_path_factory.mktemp("official") / "bench")


def test_the_published_totals_are_those_of_the_card():
    train = {stem: rows for stem, rows in official.ROWS.items() if stem.startswith("train")}
    assert sum(train.values()) == 3364
    assert sum(official.ROWS.values()) - 3364 == 6754
    assert sum(yes for stem, (_, yes) in files.COUNTS.items() if stem.startswith("train")) == 1681
    assert sum(yes for stem, (_, yes) in files.COUNTS.items() if stem.startswith("test")) == 1122


def test_a_whole_copy_holds_every_published_figure_and_loses_nothing(capsys, tmp_path, whole):
    code, out, _ = specvi(capsys, "split", "import", whole, "--out", tmp_path / "i", "--strict")
    assert code == 0
    assert "holds  every published figure" in out
    assert "Lossless: 10 files compared" in out
    assert "0 in two parts, or twice in one task" in out
    recipe = read_split(tmp_path / "i").recipe
    assert recipe["rows"]["test_cv.parquet"] == 1458
    assert recipe["null_redshifts"]["train_cc.parquet"] == 87
    # Independent of the suite's comparison: rows as Python values, the suite's file read by plain pyarrow.
    for stem, written in (("train_cc", "train_cs"), ("test_gm", "test_mg"), ("test_wd", "test_wd")):
        before = pq.read_table(whole / f"{stem}.parquet").to_pylist()
        after = pq.read_table(tmp_path / "i" / f"{written}.parquet").drop_columns(["specvi"]).to_pylist()
        assert after == before


def test_an_export_of_the_import_has_the_original_columns(capsys, tmp_path):
    source = files.write_official(tmp_path / "bench", SMALL, pixels=60)
    specvi(capsys, "split", "import", source, "--out", tmp_path / "i")
    code, _, _ = specvi(
        capsys, "split", "export", tmp_path / "i", "--out", tmp_path / "e", "--official-names"
    )
    assert code == 0
    for stem in SMALL:
        before = pq.read_table(source / f"{stem}.parquet").to_pylist()
        exported = pq.read_table(tmp_path / "e" / f"{stem}.parquet").drop_columns(["specvi"]).to_pylist()
        assert exported == before


@pytest.mark.parametrize(
    ("stem", "edit", "told"),
    [
        ("test_wd", lambda rows: rows.pop(), "test_wd.parquet: rows 1211, published 1212"),
        (
            "train_ss",
            lambda rows: rows[3].update(data_source="gm"),
            "train_ss.parquet: data_source gm, ss, published ss",
        ),
        (
            "train_cv",
            lambda rows: rows[0]["reward_model"].update(ground_truth="NO"),
            "train_cv.parquet: YES 342, published 343",
        ),
    ],
)
def test_what_differs_from_the_published_set_is_told_or_refused(tmp_path, whole, stem, edit, told, capsys):
    folder = tmp_path / "bench"
    folder.mkdir()
    for path in whole.iterdir():
        (folder / path.name).symlink_to(path)
    (folder / f"{stem}.parquet").unlink()
    files.write_official(folder, {stem: files.COUNTS[stem]}, change=lambda _, rows: edit(rows))
    code, _, err = specvi(capsys, "split", "import", folder, "--out", tmp_path / "i", "--strict")
    assert code == 2
    assert told in err
    assert not (tmp_path / "i").exists()
    found = official.describe_file(folder / f"{stem}.parquet")
    assert [f"{c.what} {c.found}, published {c.published}" for c in found.checks if not c.holds] == [told]


def test_missing_files_are_named(capsys, tmp_path):
    source = files.write_official(tmp_path / "bench", SMALL)
    code, out, _ = specvi(capsys, "split", "import", source, "--out", tmp_path / "i")
    assert code == 0
    assert "missing  train_cc.parquet" in out
    code, _, err = specvi(capsys, "split", "import", source, "--out", tmp_path / "j", "--strict")
    assert code == 2
    assert "published files are missing" in err


def test_several_files_are_imported_together(capsys, tmp_path):
    source = files.write_official(tmp_path / "bench", SMALL)
    named = [source / "test_cv.parquet", source / "train_cv.parquet"]
    code, _, err = specvi(capsys, "split", "import", *named, "--out", tmp_path / "i")
    assert code == 0, err
    assert read_split(tmp_path / "i").name == "bench"
    assert len(read_split(tmp_path / "i").candidates) == 12
    code, _, err = specvi(capsys, "split", "import", named[0], "hf:a/b", "--out", tmp_path / "j")
    assert code == 2
    assert "by itself" in err
    code, _, err = specvi(capsys, "split", "import", tmp_path / "nowhere", "--out", tmp_path / "j")
    assert code == 2
    assert "no such file" in err


def test_a_lost_value_is_found(tmp_path):
    source = files.write_official(tmp_path / "a", {"test_cv": (5, 1)})

    def edit(_, rows):
        rows[2]["extra_info"]["tools_kwargs"]["spectral_visualization_tool"]["create_kwargs"]["flux"][1] += (
            1e-12
        )

    other = files.write_official(tmp_path / "b", {"test_cv": (5, 1)}, change=edit)
    assert official.losses(source / "test_cv.parquet", source / "test_cv.parquet") == []
    assert official.losses(source / "test_cv.parquet", other / "test_cv.parquet") == ["extra_info"]
    repainted = files.write_official(
        tmp_path / "c", {"test_cv": (5, 1)}, change=lambda _, rows: rows[0]["images"][0].update(bytes=b"x")
    )
    assert official.losses(source / "test_cv.parquet", repainted / "test_cv.parquet") == ["images"]


def test_nan_equals_nan_and_precision_is_free(tmp_path):
    def edit(_, rows):
        rows[0]["extra_info"]["tools_kwargs"]["spectral_visualization_tool"]["create_kwargs"]["flux"][0] = (
            float("nan")
        )

    source = files.write_official(tmp_path / "a", {"test_cv": (3, 1)}, change=edit)
    assert official.losses(source / "test_cv.parquet", source / "test_cv.parquet") == []


def test_names_tell_fibre_and_position():
    assert fibre_of("spec-56591-GAC061N46V2_sp09-012.fits.gz") == "GAC061N46V2_sp09-012"
    assert fibre_of("a/b/spec-56999-GAC061N46V2_sp09-012.fits") == "GAC061N46V2_sp09-012"
    assert fibre_of("spec-0266-51602-0001.fits") is None
    assert position_of("LAMOST J052020.14+254621.8.fits") == "052020.14+254621.8"
    assert position_of("spec-56591-GAC061N46V2_sp09-012.fits") is None


def test_duplicates_are_found_across_parts_by_file_fibre_and_pixels(tmp_path):
    def edit(stem, rows):
        info = [row["extra_info"] for row in rows]
        if stem == "train_cv":
            info[0]["name"] = "spec-57001-PLANA_sp01-001.fits"
            info[1]["name"] = "spec-57001-PLANB_sp01-001.fits"
        if stem == "test_cv":
            info[0]["name"] = "spec-57001-PLANA_sp01-001.fits.gz"  # the same file
            info[1]["name"] = "spec-57388-PLANB_sp01-001.fits"  # the same target on another night
            info[3]["tools_kwargs"] = info[2]["tools_kwargs"]  # the same light under two names

    source = files.write_official(tmp_path / "bench", SMALL, change=edit)
    split = read_split(source)
    found = {item.by: item for item in find_duplicates(split)}
    assert set(found) == {"file", "fibre", "pixels"}
    assert found["file"].places == ("test cv YES", "train cv YES")
    assert found["fibre"].what == "PLANB_sp01-001"
    assert found["fibre"].parts == {"train", "test"}
    assert found["pixels"].places == ("test cv NO", "test cv NO")
    assert len(find_duplicates(split)) == 3  # the pair of one file is not told again as one fibre


def test_one_spectrum_for_two_tasks_of_one_part_is_no_duplicate(tmp_path):
    def edit(stem, rows):
        if stem.startswith("test"):
            rows[0]["extra_info"]["name"] = "spec-57001-PLANA_sp01-001.fits"

    split = read_split(files.write_official(tmp_path / "bench", SMALL, change=edit))
    assert find_duplicates(split) == ()


@pytest.mark.parametrize("form", ["parquet", "jsonl", "json"])
def test_sources_of_trajectories_that_are_tested_on_are_reported(capsys, tmp_path, form):
    source = files.write_official(tmp_path / "bench", SMALL)
    split = read_split(source)
    tested, trained = (
        split.select(part="test", task="cv").candidates[2],
        split.select(part="train").candidates[1],
    )
    later = trained.spectrum.name.replace(trained.spectrum.name[:10], "spec-59999", 1)
    rows = [
        {"source_name": name, "ground_truth": "YES"} for name in (tested.spectrum.name, later, "spec-1-none")
    ]
    cold = tmp_path / f"cold.{form}"
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), cold)
    else:
        cold.write_text(json.dumps(rows) if form == "json" else "\n".join(map(json.dumps, rows)))
    code, out, _ = specvi(capsys, "split", "import", source, "--out", tmp_path / "i", "--cold-start", cold)
    assert code == 0
    assert "2 shared with the cold-start set" in out
    found = read_split(tmp_path / "i").recipe["cold_start"]
    assert sorted(item["by"] for item in found) == ["fibre", "file"]
    assert find_in_cold_start(split, [tested.spectrum.name])[0].parts == {"cold-start", "test"}


def hub_import(url, home, *arguments):
    """Run the command in a process of its own: the Hub's address is read once, when its client is imported."""
    surroundings = {**os.environ, "HF_ENDPOINT": url, "HF_HOME": str(home), "HF_HUB_DISABLE_TELEMETRY": "1"}
    surroundings.pop("HF_TOKEN", None)
    return subprocess.run(
        [sys.executable, "-m", "specvi_benchmark.cli.main", "split", "import", *map(str, arguments)],
        env=surroundings, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_the_hub_is_asked_for_the_pinned_commit(tmp_path, whole):
    hub = hub_server.Hub()
    content = {f"data/{path.name}": path.read_bytes() for path in whole.iterdir()} | {"README.md": b"# card"}
    hub.add(official.HUB_ID, content, commit=official.REVISION, branch="older")
    hub.add(official.HUB_ID, {"test_cv.parquet": content["data/test_wd.parquet"]})  # main went on
    hub.add(official.COLD_START_ID, {"train.jsonl": b'{"source_name": "spec-57001-X_sp01-001.fits"}\n'},
            commit=official.COLD_START_REVISION)  # fmt: skip
    with hub_server.serve_hub(hub) as url:
        done = hub_import(
            url, tmp_path / "hf", f"hf:{official.HUB_ID}", "--out", tmp_path / "i",
            "--cold-start", f"hf:{official.COLD_START_ID}",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "holds  every published figure" in done.stdout
        assert "0 shared with the cold-start set" in done.stdout
        split = read_split(tmp_path / "i")
        assert split.version == official.REVISION
        assert split.recipe["hub"] == official.HUB_ID
        assert len(split.candidates) == 10118
        # main is not the published set: its rows are those of another task
        done = hub_import(url, tmp_path / "hf", f"hf:{official.HUB_ID}", "--revision", "main", "--strict",
                          "--out", tmp_path / "j")  # fmt: skip
        assert done.returncode == 2
        assert "published files are missing" in done.stderr
        for name, told in (
            ("hf:no/such", "no such dataset"),
            (f"hf:{official.HUB_ID}@nowhere", "no such revision"),
        ):
            done = hub_import(url, tmp_path / "hf", name, "--out", tmp_path / "k")
            assert done.returncode == 2
            assert told in done.stderr
            assert "Traceback" not in done.stderr
    done = hub_import(url, tmp_path / "hf2", "hf:no/such", "--out", tmp_path / "k")  # the server is gone
    assert done.returncode == 2
    assert "can't be fetched" in done.stderr


def test_one_object_seen_by_two_surveys_is_no_duplicate_and_two_visits_of_one_survey_are(make_split):
    """A cross-survey set shows every object once as each survey saw it: that is what it is for."""
    split = make_split()
    first, second = (
        replace(c, object_id="gaia-7", object_id_source="gaia", truth="YES") for c in split.candidates[:2]
    )
    paired = replace(second, spectrum=replace(second.spectrum, survey="sdss"))
    one, two = (Split("s", "1", (first, other), {}) for other in (paired, second))
    assert find_duplicates(one) == ()
    assert [item.by for item in find_duplicates(two)] == ["object"]
    elsewhere = replace(paired, part="train")
    assert [item.by for item in find_duplicates(Split("s", "1", (first, elsewhere), {}))] == ["object"]


def test_an_infinite_redshift_is_the_fault_of_the_file(capsys, tmp_path):
    """No candidate can have one; NaN, which the tool takes as none too, becomes null."""
    for value, code in ((float("inf"), 2), (float("nan"), 0)):

        def change(_, rows, value=value):
            where = rows[0]["extra_info"]["tools_kwargs"]["spectral_visualization_tool"]["create_kwargs"]
            where["redshift"] = value

        source = files.write_official(tmp_path / f"{value}", {"test_cv": (6, 1)}, pixels=60, change=change)
        found, _, err = specvi(capsys, "split", "import", source, "--out", tmp_path / f"out-{value}")
        assert found == code
        assert ("a redshift is infinite" in err) == bool(code)
        assert "fault of the suite" not in err


def test_an_import_that_lost_something_leaves_nothing(capsys, tmp_path, monkeypatch):
    source = files.write_official(tmp_path / "bench", {"test_cv": (6, 1)}, pixels=60)
    monkeypatch.setattr(official, "losses", lambda *_: ["images"])
    code, _, err = specvi(capsys, "split", "import", source, "--out", tmp_path / "i")
    assert code == 2
    assert "not lossless" in err
    assert [path.name for path in tmp_path.iterdir()] == ["bench"]
