import dataclasses
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specvi_benchmark.errors import UserError
from specvi_benchmark.spectrum import Claims, Spectrum
from specvi_benchmark.splits import Candidate, Message, Split
from specvi_benchmark.splits.io import read_split, write_split
from specvi_benchmark.splits.named import find_split
from specvi_benchmark.splits.prompt import task_prompt
from specvi_benchmark.splits.rows import to_candidates, to_table
from specvi_benchmark.tasks import get_task

PNG = b"\x89PNG\r\n\x1a\n rest of a picture"


def official_row(number, **changes):
    flux = [1.5 + number, -2.0, 1e-17, 3e7]
    row = {
        "images": [{"bytes": PNG + bytes([number]), "path": f"{number}.png"}],
        "data_source": "carbon",
        "prompt": [
            {"content": "You are helpful.", "role": "system"},
            {"content": "<image>\nIs it a **Carbon Star (C-type)**?\n- (Primary) C₂", "role": "user"},
        ],
        "reward_model": {"ground_truth": "YES" if number % 2 else "NO", "type": "rule"},
        "agent_name": "tool_agent",
        "extra_info": {
            "index": f"00000000-0000-0000-0000-{number:012d}",
            "name": f"spec-56309-GAC088N20V1_sp08-{number:03d}.fits",
            "tools_kwargs": {
                "spectral_visualization_tool": {
                    "create_kwargs": {
                        "flux": flux,
                        "wavelength": [3700.0, 3700.8521, 3701.7043, 3702.5568],
                        "redshift": None if number % 3 == 0 else 1e-4 * number,
                    }
                }
            },
        },
    }
    return row | changes


def write_rows(path, rows, **more):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path, **more)
    return path


def candidate(number=0, **changes):
    rng = np.random.default_rng(number)
    mask = rng.random(9) < 0.3
    values = {
        "id": f"id-{number}",
        "task": get_task("cv"),
        "track": "main",
        "part": "test",
        "spectrum": Spectrum(
            4000 + np.arange(9.0), rng.normal(size=9), np.where(mask, 0, rng.random(9)), mask,
            survey="lamost", release="DR10", survey_id=f"{number}", name=f"spec-{number}.fits", format="lamost",
            ra_deg=10.5, dec_deg=-3.25, gaia_id=4_611_686_018_427_387_905, mjd=56309,
            header_snr={"g": 11.5, "i": 30.25}, claims=Claims("STAR", "dM3", -1e-4, 4),
        ),
        "redshift": -1e-4,
        "truth": "YES" if number % 2 else "NO",
        "object_id": f"gaia-{number}",
        "object_id_source": "gaia",
        "label_source": "by hand",
        "label_evidence": {"who": ["a", "β"], "score": 0.1, "nested": {"none": None}},
    }  # fmt: skip
    return Candidate(**(values | changes))


def assert_same(one, other):
    for field in dataclasses.fields(Candidate):
        if field.name != "spectrum":
            assert getattr(one, field.name) == getattr(other, field.name), field.name
    for field in dataclasses.fields(Spectrum):
        left, right = getattr(one.spectrum, field.name), getattr(other.spectrum, field.name)
        if isinstance(left, np.ndarray):
            assert left.dtype == right.dtype
            assert left.tobytes() == right.tobytes(), field.name
        else:
            assert left == right, field.name


# --- official files -------------------------------------------------------------------------------


def test_an_official_file_comes_back_with_equal_values(tmp_path):
    rows = [official_row(number) for number in range(7)]
    source = write_rows(tmp_path / "in" / "test_cc.parquet", rows)
    write_split(read_split(source), tmp_path / "out", official_names=True)
    written = pq.read_table(tmp_path / "out" / "test_cc.parquet")
    assert written.drop_columns(["specvi"]).to_pylist() == rows


def test_what_an_official_row_means(tmp_path):
    source = write_rows(tmp_path / "train_cc.parquet", [official_row(0), official_row(1)])
    first, second = read_split(source).candidates
    assert (first.task.key, first.track, first.part, first.truth) == ("cs", "main", "train", "NO")
    assert (first.redshift, second.redshift) == (None, 1e-4)
    assert second.object_id == second.spectrum.name == "spec-56309-GAC088N20V1_sp08-001.fits"
    assert second.object_id_source == "file-name"
    assert (second.spectrum.survey, second.spectrum.mjd) == ("lamost", 56309)
    assert not second.spectrum.has_errors
    assert not second.spectrum.mask.any()
    assert second.spectrum.wavelength_AA.tolist() == [3700.0, 3700.8521, 3701.7043, 3702.5568]
    assert second.prompt[0] == Message("system", "You are helpful.")
    assert second.images == (PNG + b"\x01",)
    assert second.image_paths == ("1.png",)


def test_flux_that_is_not_finite_is_masked_and_kept(tmp_path):
    row = official_row(1)
    tool = row["extra_info"]["tools_kwargs"]["spectral_visualization_tool"]["create_kwargs"]
    tool["flux"] = [1.0, math.nan, math.inf, 2.0]
    (found,) = read_split(write_rows(tmp_path / "test_cc.parquet", [row])).candidates
    assert found.spectrum.mask.tolist() == [False, True, True, False]
    assert found.spectrum.ivar.tolist() == [0, 0, 0, 0]
    written = to_table([found]).to_pylist()[0]["extra_info"]["tools_kwargs"]["spectral_visualization_tool"]
    assert str(written["create_kwargs"]["flux"]) == str(tool["flux"])


def test_columns_in_float32_and_another_order_of_fields_are_read(tmp_path):
    table = pa.Table.from_pylist([official_row(4)])
    numbers = pa.struct([("redshift", pa.float32()), ("wavelength", pa.large_list(pa.float32())),
                         ("flux", pa.list_(pa.float32()))])  # fmt: skip
    values = official_row(4)["extra_info"]["tools_kwargs"]["spectral_visualization_tool"]["create_kwargs"]
    tool = pa.array([values], type=numbers)
    nested = tool
    for name in ("create_kwargs", "spectral_visualization_tool"):
        nested = pa.StructArray.from_arrays([nested], [name])
    extra = pa.StructArray.from_arrays(
        [nested, pa.array(["n"]), pa.array(["i"])], ["tools_kwargs", "name", "index"]
    )
    table = table.set_column(table.schema.get_field_index("extra_info"), "extra_info", extra)
    pq.write_table(table.select(table.column_names[::-1]), tmp_path / "test_cc.parquet")
    (found,) = read_split(tmp_path / "test_cc.parquet").candidates
    assert found.spectrum.flux.tolist() == np.array(values["flux"], dtype="f4").astype("f8").tolist()
    assert found.redshift == float(np.float32(4e-4))


def test_a_folder_of_official_files_without_split_json(tmp_path):
    write_rows(tmp_path / "set" / "train_cc.parquet", [official_row(0)])
    write_rows(tmp_path / "set" / "test_cv.parquet", [official_row(1, data_source="cv")])
    split = read_split(tmp_path / "set")
    assert split.name == "set"
    assert {(c.part, c.task.key) for c in split.candidates} == {("train", "cs"), ("test", "cv")}
    assert split.recipe["files"] == ["test_cv.parquet", "train_cc.parquet"]


def test_surplus_columns_are_left_out_and_named(tmp_path):
    rows = [official_row(0) | {"ability": "x", "__index_level_0__": 3}]
    rows[0]["extra_info"]["split"] = "test"
    split = read_split(write_rows(tmp_path / "test_cc.parquet", rows))
    assert split.recipe["columns_left_out"] == ["ability", "extra_info.split"]


@pytest.mark.parametrize(
    ("name", "row", "message"),
    [
        ("cc.parquet", official_row(0), "the part is not known"),
        ("testing_cc.parquet", official_row(0), "the part is not known"),
        ("test_x.parquet", official_row(0, data_source="ufo"), "no such task"),
        ("test_x.parquet", official_row(0, agent_name="other"), "agent_name"),
        (
            "test_x.parquet",
            official_row(0, reward_model={"ground_truth": "MAYBE", "type": "rule"}),
            "YES or NO",
        ),
        ("test_x.parquet", official_row(0, reward_model={"ground_truth": "YES", "type": "model"}), "rule"),
        ("test_x.parquet", official_row(0, images=[{"bytes": None, "path": "a.png"}]), "not contained"),
    ],
    ids=["part", "part-word", "task", "agent", "truth", "type", "picture"],
)
def test_a_wrong_value_names_file_and_row(tmp_path, name, row, message):
    path = write_rows(tmp_path / name, [official_row(1), row])
    with pytest.raises(UserError, match=message) as caught:
        read_split(path)
    assert name in str(caught.value)
    if "part" not in message:
        assert "row 1" in str(caught.value)


def test_unsorted_wavelengths_name_file_and_row(tmp_path):
    row = official_row(1)
    row["extra_info"]["tools_kwargs"]["spectral_visualization_tool"]["create_kwargs"]["wavelength"] = [
        4,
        3,
        2,
        1,
    ]
    with pytest.raises(UserError, match="not increasing") as caught:
        read_split(write_rows(tmp_path / "test_cc.parquet", [row]))
    assert "test_cc.parquet, row 0" in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"PAR1 not really", b"id,task\n"])
def test_a_file_that_is_not_parquet_is_refused(tmp_path, content):
    path = tmp_path / "test_cv.parquet"
    path.write_bytes(content)
    with pytest.raises(UserError, match="not a readable parquet file"):
        read_split(path)


def test_a_foreign_parquet_file_is_refused(tmp_path):
    path = write_rows(tmp_path / "test_cv.parquet", [{"id": 1, "flux": [1.0]}])
    with pytest.raises(UserError, match="not in the official schema") as caught:
        read_split(path)
    assert "agent_name" in str(caught.value)


def test_a_column_of_the_wrong_type_is_refused(tmp_path):
    row = official_row(0)
    row["extra_info"]["tools_kwargs"]["spectral_visualization_tool"]["create_kwargs"]["flux"] = [
        "a",
        "b",
        "c",
        "d",
    ]
    with pytest.raises(UserError, match=r"create_kwargs\.flux is list<\w+: string>"):
        read_split(write_rows(tmp_path / "test_cc.parquet", [row]))


def set_tool(row, **values):
    row["extra_info"]["tools_kwargs"]["spectral_visualization_tool"]["create_kwargs"].update(values)
    return row


def set_index(row, index):
    row["extra_info"]["index"] = index
    return row


def test_numbers_written_as_text_are_refused(tmp_path):
    row = set_tool(official_row(0), flux=["1.5", "2", "3", "4"])
    with pytest.raises(UserError, match="type that is not in the schema"):
        read_split(write_rows(tmp_path / "test_cc.parquet", [row]))


def test_ids_that_are_numbers_are_refused(tmp_path):
    path = write_rows(tmp_path / "test_cc.parquet", [set_index(official_row(0), 7)])
    with pytest.raises(UserError, match=r"extra_info\.index is int64, not string"):
        read_split(path)


def test_whole_numbers_mean_what_the_same_floats_mean(tmp_path):
    values = {"flux": [1, 2, 3, 4], "wavelength": [4000, 4001, 4002, 4003], "redshift": 0}
    floats = {
        key: [float(v) for v in value] if isinstance(value, list) else 0.0 for key, value in values.items()
    }
    whole = write_rows(tmp_path / "a" / "test_cc.parquet", [set_tool(official_row(0), **values)])
    broken = write_rows(tmp_path / "b" / "test_cc.parquet", [set_tool(official_row(0), **floats)])
    assert read_split(whole).fingerprint == read_split(broken).fingerprint


@pytest.mark.parametrize("index", ["", " ", " a", "a\n"])
def test_an_id_that_is_empty_or_has_outer_blanks_is_refused(tmp_path, index):
    path = write_rows(tmp_path / "test_cc.parquet", [official_row(1), set_index(official_row(0), index)])
    with pytest.raises(UserError, match=r"id is empty or has blanks[\s\S]*test_cc\.parquet, row 1"):
        read_split(path)
    with pytest.raises(UserError, match="ids are empty or have blanks"):
        Split("s", "1", (candidate(0, id=index),), {})


@pytest.mark.parametrize("message", [None, {"role": None, "content": "x"}, {"role": "user", "content": None}])
def test_a_prompt_with_a_null_is_refused(tmp_path, message):
    rows = [official_row(1), official_row(0, prompt=[*official_row(0)["prompt"], message])]
    with pytest.raises(UserError, match=r"message of the prompt[\s\S]*row 1"):
        read_split(write_rows(tmp_path / "test_cc.parquet", rows))


def test_images_that_are_empty_in_every_row_are_read(tmp_path):
    path = write_rows(tmp_path / "test_cc.parquet", [official_row(n, images=[]) for n in range(3)])
    assert pq.read_schema(path).field("images").type == pa.list_(pa.field("element", pa.null()))
    split = read_split(path)
    assert [c.images for c in split.candidates] == [()] * 3
    assert split.recipe["columns_left_out"] == []


def test_spectra_without_a_good_pixel_are_refused_all_in_one_message(tmp_path):
    dark = [math.nan, math.inf, math.nan, math.nan]
    rows = [set_tool(official_row(n), flux=dark) if n in {1, 130} else official_row(n) for n in range(140)]
    for row in rows:
        row["images"] = []
    with pytest.raises(UserError, match="no good pixel") as caught:
        read_split(write_rows(tmp_path / "test_cc.parquet", rows))
    assert caught.value.where == str(tmp_path / "test_cc.parquet")
    assert caught.value.got == (
        "2 without: row 1 (spec-56309-GAC088N20V1_sp08-001.fits), row 130 (spec-56309-GAC088N20V1_sp08-130.fits)"
    )


def test_a_spectrum_without_a_good_pixel_is_not_written(tmp_path):
    dark = Spectrum([4000.0, 4001.0], [1.0, 2.0], [0.0, 0.0], [True, True], name="n")
    with pytest.raises(UserError, match=r"no good pixel[\s\S]*1 without: id-0"):
        write_split(Split("s", "1", (candidate(0, spectrum=dark), candidate(1)), {}), tmp_path / "s")
    assert list(tmp_path.iterdir()) == []


def test_a_file_damaged_in_the_middle_is_refused(tmp_path):
    path = tmp_path / "test_cc.parquet"
    row = official_row(0)
    rng = np.random.default_rng(0)
    tool = row["extra_info"]["tools_kwargs"]["spectral_visualization_tool"]["create_kwargs"]
    tool["flux"], tool["wavelength"] = rng.random(4000).tolist(), np.arange(1.0, 4001).tolist()
    write_rows(path, [row], compression="zstd", write_page_checksum=True)
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 200] = bytes(200)
    path.write_bytes(content)
    with pytest.raises(UserError):
        read_split(path)


# --- our files ------------------------------------------------------------------------------------

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | FINITE | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def spectra(draw):
    size = draw(st.integers(2, 12))
    steps = draw(st.lists(st.floats(1e-3, 1e3), min_size=size, max_size=size))
    mask = np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    numbers = st.lists(st.floats(-1e30, 1e30), min_size=size, max_size=size)
    flux = np.array(draw(numbers))
    if draw(st.booleans()):
        flux[mask] = np.nan
    return Spectrum(
        1000 + np.cumsum(steps),
        flux,
        np.where(mask, 0, np.abs(draw(numbers))),
        mask,
        survey=draw(TEXT),
        release=draw(st.none() | TEXT),
        survey_id=draw(TEXT),
        name=draw(TEXT),
        format=draw(TEXT),
        ra_deg=draw(st.none() | st.floats(0, 360)),
        dec_deg=draw(st.none() | st.floats(-90, 90)),
        gaia_id=draw(st.none() | st.integers(0, 2**63 - 1)),
        mjd=draw(st.none() | st.integers(0, 99999)),
        header_snr=draw(st.dictionaries(TEXT, FINITE, max_size=3)),
        claims=Claims(
            draw(st.none() | TEXT),
            draw(st.none() | TEXT),
            draw(st.none() | FINITE),
            draw(st.none() | st.integers(0, 99)),
        ),
    )


@st.composite
def candidates(draw, number):
    images = tuple(draw(st.lists(st.binary(min_size=1, max_size=9), max_size=2)))
    paths = tuple(draw(st.none() | TEXT) for _ in images)
    return Candidate(
        id=f"{number}{draw(TEXT)}.",
        task=get_task(draw(st.sampled_from(["cv", "cs", "ss", "mg", "wd", "o", "qso"]))),
        track=draw(st.sampled_from(["main", "cross-survey", "cross-task", "extreme"])),
        part=draw(st.sampled_from(["train", "dev", "cal", "test"])),
        spectrum=draw(spectra()),
        redshift=draw(st.none() | FINITE),
        truth=draw(st.sampled_from(["YES", "NO"])),
        object_id=draw(TEXT),
        object_id_source=draw(st.sampled_from(["gaia", "position", "file-name", "simulated"])),
        label_source=draw(TEXT),
        label_evidence=draw(st.dictionaries(TEXT, JSON, max_size=3)),
        decidable=draw(st.booleans()),
        prompt=tuple(draw(st.lists(st.builds(Message, TEXT, TEXT), max_size=2))),
        images=images,
        image_paths=paths,
    )


@settings(max_examples=150)
@given(st.data())
def test_any_candidates_come_back_as_they_were(data):
    before = [data.draw(candidates(number)) for number in range(data.draw(st.integers(1, 3)))]
    after = to_candidates(to_table(before), "table", None)
    for one, other in zip(before, after, strict=True):
        assert_same(one, other)
    assert Split("s", "1", tuple(after), {}).fingerprint == Split("s", "1", tuple(before), {}).fingerprint


def test_a_split_comes_back_from_its_folder(tmp_path):
    members = [candidate(n) for n in range(250)]  # more than a row group
    members += [candidate(300, task=get_task("wd"), part="train"), candidate(301, id="ü/∅")]
    split = Split("näme", "2.1", tuple(members), {"seed": 3, "why": ["a", None]})
    write_split(split, tmp_path / "s")
    again = read_split(tmp_path / "s")
    assert (again.name, again.version, again.recipe) == (split.name, split.version, split.recipe)
    assert again.fingerprint == split.fingerprint
    by_id = {c.id: c for c in split.candidates}
    assert len(again.candidates) == len(by_id)
    for found in again.candidates:
        assert_same(found, by_id[found.id])


def test_split_json_holds_what_the_design_says(tmp_path):
    members = (candidate(0), candidate(1), candidate(2, task=get_task("mg"), part="train"))
    split = Split("s", "1", members, {"seed": 3})
    write_split(split, tmp_path / "s")
    assert json.loads((tmp_path / "s" / "split.json").read_text()) == {
        "schema_version": 1,
        "name": "s",
        "version": "1",
        "fingerprint": split.fingerprint,
        "counts": {"test": {"cv": {"YES": 1, "NO": 1}}, "train": {"mg": {"YES": 0, "NO": 1}}},
        "files": ["test_cv.parquet", "train_mg.parquet"],
        "recipe": {"seed": 3},
        "report": {},
    }


def test_rows_of_ours_are_whole_official_rows(tmp_path):
    write_split(Split("s", "1", (candidate(3),), {}), tmp_path / "s", picture=lambda c: PNG + c.id.encode())
    (row,) = pq.read_table(tmp_path / "s" / "test_cv.parquet").to_pylist()
    assert row["data_source"] == "cv"
    assert row["agent_name"] == "tool_agent"
    assert row["reward_model"] == {"ground_truth": "YES", "type": "rule"}
    assert [(m["role"], m["content"]) for m in row["prompt"]] == [
        (m.role, m.content) for m in task_prompt(get_task("cv"))
    ]
    assert row["images"] == [{"bytes": PNG + b"id-3", "path": None}]
    assert row["extra_info"]["index"] == "id-3"
    assert row["extra_info"]["name"] == "spec-3.fits"
    # Prompt and picture were made by the suite, so it makes them anew and does not read them back.
    (found,) = read_split(tmp_path / "s").candidates
    assert (found.prompt, found.images) == ((), ())


def test_flux_has_no_dictionary_and_zstd(tmp_path):
    write_split(Split("s", "1", (candidate(3),), {}), tmp_path / "s")
    group = pq.ParquetFile(tmp_path / "s" / "test_cv.parquet").metadata.row_group(0)
    columns = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
    flux = columns["extra_info.tools_kwargs.spectral_visualization_tool.create_kwargs.flux.list.element"]
    assert flux.compression == "ZSTD"
    assert not any("DICTIONARY" in encoding for encoding in flux.encodings)
    assert any("DICTIONARY" in encoding for encoding in columns["agent_name"].encodings)


@pytest.mark.slow
def test_both_kinds_of_file_load_through_datasets(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    import datasets

    official = write_rows(tmp_path / "test_cc.parquet", [official_row(n) for n in range(3)])
    write_split(Split("s", "1", (candidate(1), candidate(2)), {}), tmp_path / "s", picture=lambda _: PNG)
    ours = tmp_path / "s" / "test_cv.parquet"

    def load(path):
        cache = str(tmp_path / "cache")
        return datasets.load_dataset("parquet", data_files=str(path), cache_dir=cache, split="train")

    assert load(official).to_list() == [official_row(n) for n in range(3)]
    loaded = load(ours)
    tool = loaded[0]["extra_info"]["tools_kwargs"]["spectral_visualization_tool"]["create_kwargs"]
    assert tool["flux"] == candidate(1).spectrum.flux.tolist()
    assert loaded[0]["specvi"]["mask"] == candidate(1).spectrum.mask.tolist()
    assert loaded[0]["images"][0]["bytes"] == PNG
    # And what datasets writes, we read, fingerprint and all.
    loaded.to_parquet(tmp_path / "test_back.parquet")
    assert read_split(tmp_path / "test_back.parquet").fingerprint == read_split(ours).fingerprint


# --- changed, foreign, newer ----------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    write_split(Split("s", "1", tuple(candidate(n) for n in range(4)), {}), tmp_path / "s")
    return tmp_path / "s"


def rewrite(path, change):
    rows = pq.read_table(path).to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema=pq.read_schema(path)), path)


def flip_truth(rows):
    rows[0]["reward_model"]["ground_truth"] = "YES"
    rows[1]["reward_model"]["ground_truth"] = "NO"


def nudge_flux(rows):
    flux = rows[2]["extra_info"]["tools_kwargs"]["spectral_visualization_tool"]["create_kwargs"]["flux"]
    flux[0] = math.nextafter(flux[0], math.inf)


def unmask(rows):
    rows[0]["specvi"]["ivar"][0] += 1.0


@pytest.mark.parametrize("change", [flip_truth, nudge_flux, unmask, lambda rows: rows.pop()])
def test_a_changed_file_is_refused_with_both_fingerprints(folder, change):
    expected = json.loads((folder / "split.json").read_text())["fingerprint"]
    rewrite(folder / "test_cv.parquet", change)
    with pytest.raises(UserError, match=r"fingerprint is not what split\.json says") as caught:
        read_split(folder)
    actual = read_split(folder / "test_cv.parquet").fingerprint
    assert caught.value.expected == expected
    assert caught.value.got == actual


def test_changed_counts_in_split_json_are_refused(folder):
    described = json.loads((folder / "split.json").read_text())
    described["counts"]["test"]["cv"]["YES"] = 3
    (folder / "split.json").write_text(json.dumps(described))
    with pytest.raises(UserError, match=r"count is not what split\.json says"):
        read_split(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema_version": 2}, "newer version"),
        ({"schema_version": 0}, "fault"),
        ({"macro_f1": 0.9}, "fault"),
        ({"files": ["../test_cv.parquet"]}, "files"),
        ({"files": ["/tmp/test_cv.parquet"]}, "files"),
        ({"files": ["a\\test_cv.parquet"]}, "files"),
        ({"files": ["split.json"]}, "files"),
    ],
)
def test_another_split_json_is_refused(folder, change, message):
    described = json.loads((folder / "split.json").read_text()) | change
    (folder / "split.json").write_text(json.dumps(described))
    with pytest.raises(UserError, match=message):
        read_split(folder)


def test_a_missing_and_a_surplus_file_are_refused(folder):
    shutil.copy(folder / "test_cv.parquet", folder / "train_cv.parquet")
    with pytest.raises(UserError, match="does not belong"):
        read_split(folder)
    (folder / "train_cv.parquet").unlink()
    (folder / "test_cv.parquet").unlink()
    with pytest.raises(UserError, match="no such file"):
        read_split(folder)


def test_a_specvi_column_of_another_version_is_refused(folder):
    table = pq.read_table(folder / "test_cv.parquet")
    column = table.column("specvi").combine_chunks()
    fields = [*column.type, pa.field("colour", pa.string())]
    wider = pa.StructArray.from_arrays([*column.flatten(), pa.nulls(4, pa.string())], fields=fields)
    pq.write_table(table.set_column(table.num_columns - 1, "specvi", wider), folder / "test_cv.parquet")
    with pytest.raises(UserError, match=r"does not know[\s\S]*specvi.colour"):
        read_split(folder)


def test_an_unknown_part_in_specvi_is_refused(folder):
    rewrite(folder / "test_cv.parquet", lambda rows: rows[0]["specvi"].update(part="validation"))
    with pytest.raises(UserError, match=r"row 0[\s\S]*part"):
        read_split(folder)


# --- writing --------------------------------------------------------------------------------------


def test_nothing_is_overwritten_unless_it_is_a_split_and_asked_for(folder):
    other = Split("s", "2", (candidate(9),), {})
    with pytest.raises(UserError, match="not empty"):
        write_split(other, folder)
    write_split(other, folder, replace=True)
    assert read_split(folder).fingerprint == other.fingerprint
    assert sorted(path.name for path in folder.parent.iterdir()) == ["s"]
    (folder / "split.json").unlink()
    with pytest.raises(UserError, match="not empty"):
        write_split(other, folder, replace=True)


def test_what_comes_during_the_build_is_never_removed(tmp_path):
    def picture(candidate):
        if candidate.id == "id-2":
            (tmp_path / "s").mkdir()
            (tmp_path / "s" / "thesis.tex").write_text("x")
        return PNG

    members = tuple(candidate(n) for n in range(4))
    for replace in (False, True):
        with pytest.raises(UserError, match="not empty"):
            write_split(Split("s", "1", members, {}), tmp_path / "s", picture=picture, replace=replace)
        assert [path.name for path in tmp_path.iterdir()] == ["s"]
        assert [path.name for path in (tmp_path / "s").iterdir()] == ["thesis.tex"]
        shutil.rmtree(tmp_path / "s")


def test_a_split_that_gets_another_file_during_the_build_is_not_replaced(folder):
    before = read_split(folder).fingerprint

    def picture(_):
        (folder / "thesis.tex").write_text("x")
        return PNG

    other = Split("s", "2", (candidate(9),), {})
    for _ in range(2):  # the second time it is there from the start
        with pytest.raises(UserError, match="not empty"):
            write_split(other, folder, picture=picture, replace=True)
        assert read_split(folder).fingerprint == before
        assert (folder / "thesis.tex").read_text() == "x"
        assert [path.name for path in folder.parent.iterdir()] == ["s"]


def test_a_split_with_a_parquet_file_of_its_owner_is_not_replaced(folder):
    shutil.copy(folder / "test_cv.parquet", folder / "mine.parquet")
    with pytest.raises(UserError, match="not empty"):
        write_split(Split("s", "2", (candidate(9),), {}), folder, replace=True)
    assert (folder / "mine.parquet").exists()


def test_of_two_builds_of_one_folder_the_first_to_finish_stays(tmp_path):
    first, second = (Split("s", version, (candidate(1),), {}) for version in "12")

    def picture(_):
        write_split(first, tmp_path / "s")
        return PNG

    with pytest.raises(UserError, match="not empty"):
        write_split(second, tmp_path / "s", picture=picture)
    assert read_split(tmp_path / "s").version == "1"


def test_a_file_that_comes_in_place_of_the_folder_stays(tmp_path):
    def picture(_):
        (tmp_path / "s").write_text("x")
        return PNG

    with pytest.raises(UserError, match="not empty"):
        write_split(Split("s", "1", (candidate(1),), {}), tmp_path / "s", picture=picture)
    assert (tmp_path / "s").read_text() == "x"


def test_an_empty_folder_and_a_link_to_one_are_written_into(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    write_split(Split("s", "1", (candidate(1),), {}), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert read_split(tmp_path / "real").version == "1"


def test_a_changed_byte_in_a_page_is_found_by_its_checksum(folder):
    path = folder / "test_cv.parquet"
    column = pq.ParquetFile(path).metadata.row_group(0).column(0)  # images: empty, its page is a few bytes
    content = bytearray(path.read_bytes())
    content[column.data_page_offset + column.total_compressed_size - 1] ^= 1
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"not a readable parquet file[\s\S]*(?i:crc|checksum)"):
        read_split(path)


def test_an_empty_split_is_not_written(tmp_path):
    with pytest.raises(UserError, match="empty split"):
        write_split(Split("s", "1", (), {}), tmp_path / "s")


def test_a_write_that_fails_leaves_nothing(tmp_path):
    def broken(candidate):
        if candidate.id == "id-3":
            raise RuntimeError("no picture")
        return PNG

    members = [candidate(0, task=get_task("wd")), *(candidate(n) for n in range(1, 5))]
    with pytest.raises(RuntimeError):
        write_split(Split("s", "1", tuple(members), {}), tmp_path / "s", picture=broken)
    assert list(tmp_path.iterdir()) == []


DYING = """
import os, sys
from pathlib import Path
from specvi_benchmark.splits import Split
from specvi_benchmark.splits.io import read_split, write_split

split = read_split(Path(sys.argv[1]))
made = []

def picture(candidate):
    made.append(candidate)
    if len(made) == 3:
        os._exit(9)
    return b"png"

write_split(Split("s", "2", split.candidates, {}), Path(sys.argv[1]), picture=picture, replace=True)
"""


def test_a_kill_while_replacing_leaves_the_old_split(folder):
    before = read_split(folder)
    finished = subprocess.run([sys.executable, "-c", DYING, str(folder)], check=False)
    assert finished.returncode == 9
    after = read_split(folder)
    assert (after.fingerprint, after.version) == (before.fingerprint, "1")
    # What the dead process left goes with the next build; what a living one is building stays.
    (leftover,) = (path for path in folder.parent.iterdir() if path.name != folder.name)
    assert leftover.name.startswith(".s.")
    living = folder.parent / leftover.name.replace(f".{leftover.name.split('.')[-3]}.", f".{os.getpid()}.")
    living.mkdir()
    write_split(Split("s", "3", before.candidates, {}), folder, replace=True)
    assert sorted(path.name for path in folder.parent.iterdir()) == sorted([living.name, "s"])


def test_what_is_neither_a_name_nor_a_path_is_told(tmp_path):
    with pytest.raises(UserError, match="no such split"):
        find_split("minni")
    with pytest.raises(UserError, match="no such split"):
        read_split(tmp_path / "nowhere")
    with pytest.raises(UserError, match="no parquet file"):
        read_split(tmp_path)


def test_a_path_is_found_as_text(folder):
    assert find_split(str(folder)).fingerprint == read_split(Path(folder)).fingerprint
