"""The released form: a row that is read and written is the same row; damaged or doubtful rows are left out, with reasons."""

import io
import json
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from trajectory_kit import GOOD, call, folder_of, inspect, stars

from specvi_agents.environment import EnvironmentOptions
from specvi_agents.messages import ToolCall
from specvi_agents.trajectories import Store, read, to_messages
from specvi_agents.trajectories.exporting import export
from specvi_agents.trajectories.importing import ImportReport, import_released
from specvi_agents.trajectories.overlap import overlaps
from specvi_agents.trajectories.released import ReleasedRow, from_row, task_of, to_row
from specvi_agents.trajectories.screening import screen_all
from specvi_benchmark.errors import UserError
from specvi_benchmark.splits import Split
from specvi_benchmark.tasks import get_task

SYSTEM = "You are a helpful assistant."
ASKED = "<image>\nAnalyse it and decide whether it is a **Cataclysmic Variables (CV)**.\n- (Primary) Hα"
BLOCK = "<tool_response>\n<image>6400 to 6740 Å, Hα\n</tool_response>"


def png(colour: int) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (6, 4), (colour, 0, 0)).save(stream, "PNG")
    return stream.getvalue()


def row(index: int = 7, **changes: Any) -> dict[str, Any]:
    """Return a hand-written row: a full view, two calls, an answer."""
    return {
        "conversations": [
            {"from": "system", "value": SYSTEM},
            {"from": "human", "value": ASKED},
            {"from": "gpt", "value": GOOD[0]},
            {"from": "human", "value": BLOCK},
            {"from": "gpt", "value": GOOD[1]},
            {"from": "human", "value": BLOCK},
            {"from": "gpt", "value": GOOD[2]},
        ],
        "images": [f"{index}_0.png", f"{index}_1.png", f"{index}_2.png"],
        "sample_index": index,
        "source_name": f"spec-56591-EG012606N021203F_sp05-{index:03d}.fits",
        "ground_truth": "YES",
        "total_iterations": 3,
        "total_tool_calls": 2,
        **changes,
    }


def written(folder: Path, rows: list[dict[str, Any]]) -> Path:
    folder.mkdir(exist_ok=True)
    for one in rows:
        for number, name in enumerate(one["images"]):
            if isinstance(name, str) and name and "/" not in name:
                (folder / name).write_bytes(png(number))
    path = folder / "set.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


def imported(folder: Path, rows: list[dict[str, Any]], **more: Any) -> tuple[ImportReport, Store]:
    report = import_released(written(folder, rows), folder / "store", **more)
    return report, Store(folder / "store")


def test_a_row_is_the_same_after_reading_and_writing(tmp_path: Path) -> None:
    rows = [row(7), row(8, total_iterations=5, images=["a.png", "a.png", "b.png"]), row(0)]
    report, store = imported(tmp_path, rows)
    assert (report.rows, report.taken, report.left_out) == (3, 3, ())
    assert [to_row(item, 99)[0].plain() for item in read(store.folder)] == rows


def test_what_a_row_becomes(tmp_path: Path) -> None:
    _, store = imported(tmp_path, [row()])
    (item,) = read(store.folder)
    assert [turn.role for turn in item.trace.turns] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]
    assert item.trace.turns[2].tool_calls == (
        ToolCall(
            id="text-1",
            name="spectral_visualization_tool",
            arguments='{"wavelength_range": [6400, 6740], "label": "Hα"}',
        ),
    )
    assert item.trace.turns[3].text == "<image>6400 to 6740 Å, Hα"
    assert (item.record.task, item.record.truth, item.state) == ("cv", "YES", "draft")
    messages = to_messages(item)
    assert messages["messages"][0]["content"] == [
        {"type": "text", "text": SYSTEM}
    ]  # its tools stand in it, or nowhere
    assert messages["messages"][3]["content"] == [
        {"type": "image"},
        {"type": "text", "text": "6400 to 6740 Å, Hα"},
    ]
    assert [image["bytes"] for image in messages["images"]] == [png(0), png(1), png(2)]


@pytest.mark.parametrize("dialect", ["api", "hermes"])
def test_a_drafted_one_is_the_same_conversation_after_writing_and_reading(
    tmp_path: Path, dialect: Any
) -> None:
    several = (f"<think>Two at once.</think>\n{call(6400, 6740)}\n{call(4770, 4960)}\n{call(1, 2)}", GOOD[2])
    made = folder_of(
        tmp_path / "made",
        [inspect(one, options=EnvironmentOptions(dialect=dialect)) for one in (GOOD, several)],
    )
    (tmp_path / "out").mkdir()
    lines = []
    for number, item in enumerate(read(made.folder)):
        one, names = to_row(item, number)
        lines.append(one.plain())
        for name, sha256 in names.items():
            (tmp_path / "out" / name).write_bytes(item.png(sha256))
    assert [one["total_tool_calls"] for one in lines] == [2, 3]
    assert [one["total_iterations"] for one in lines] == [3, 2]
    (tmp_path / "out" / "set.json").write_text(json.dumps(lines))
    import_released(tmp_path / "out" / "set.json", tmp_path / "again")
    pairs = list(zip(read(made.folder), read(tmp_path / "again"), strict=True))
    for before, after in pairs:
        assert to_messages(before) == to_messages(after)
        assert (before.record.task, before.record.truth) == (after.record.task, after.record.truth)


LETTERS = st.text(st.sampled_from("ab α<>/\n\\{}\"'"), max_size=12)
PARTS = st.lists(
    LETTERS | st.sampled_from(["<image>", "<tool_response>\n", "\n</tool_response>", "\n", GOOD[0], GOOD[1]]),
    max_size=6,
)


@settings(max_examples=100, deadline=None)
@given(
    values=st.lists(PARTS.map("".join), min_size=1, max_size=5),
    speakers=st.lists(st.sampled_from(["human", "gpt"]), min_size=5, max_size=5),
)
def test_any_row_is_the_same_after_reading_and_writing(values: list[str], speakers: list[str]) -> None:
    turns = [{"from": "system", "value": SYSTEM}, {"from": "human", "value": ASKED}]
    turns += [{"from": who, "value": value} for who, value in zip(speakers, values, strict=False)]
    marks = sum(turn["value"].count("<image>") for turn in turns)
    names = [f"{number}.png" for number in range(marks)]
    one = ReleasedRow.model_validate(
        row(conversations=turns, images=names, total_iterations=1, total_tool_calls=0)
    )
    made = from_row(one, dict.fromkeys(names, "0" * 64), teacher="x", task=get_task("cv"), repaired=0)
    from specvi_agents.trajectories import Trajectory

    assert to_row(Trajectory(made, made.trace, "draft", (), Path()), 0)[0] == one


def changed(place: int, value: str) -> dict[str, Any]:
    one = deepcopy(row())
    one["conversations"][place]["value"] = value
    return one


LEFT_OUT: dict[str, tuple[dict[str, Any], str]] = {
    "damage": (changed(2, GOOD[0].replace("Hα", "H\x03")), "damaged"),
    "no task": (changed(1, "<image>\nWhat is it?"), "which task"),
    "a mark too many": (changed(6, GOOD[2].replace("as well", "<image>")), "pictures differ"),
    "another truth": (row(ground_truth="MAYBE"), "ground_truth"),
    "a missing column": ({key: value for key, value in row().items() if key != "source_name"}, "source_name"),
    "an unknown column": (row(extra=1), "extra"),
    "another speaker": (row(conversations=[{"from": "robot", "value": "x"}]), "from"),
    "outside the folder": (row(images=["../7_0.png", "7_1.png", "7_2.png"]), "outside"),
    "outside without a folder": (row(images=["/7_0.png", "7_1.png", "7_2.png"]), "outside"),
    "no name": (row(images=["", "7_1.png", "7_2.png"]), "outside"),
    "a name too long": (row(images=["x" * 300 + "/", "7_1.png", "7_2.png"]), "missing"),
    "a name that can't be seen": (row(source_name="a\u202e.fits"), "can't be seen"),
    "half a letter": (row(source_name="a\ud800.fits"), "can't be seen"),
    "pictures that are none": (row(images=[{"bytes": "x", "path": ["y"]}]), "valid string"),
    "missing picture": (row(images=["none/7_0.png", "7_1.png", "7_2.png"]), "missing"),
}


@pytest.mark.parametrize(("bad", "why"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_a_row_that_can_not_be_used_is_left_out_with_the_reason(
    tmp_path: Path, bad: dict[str, Any], why: str
) -> None:
    report, store = imported(tmp_path, [row(3), bad])
    assert (report.rows, report.taken) == (2, 1)
    (out,) = report.left_out
    assert out.row == 1
    assert why in out.why
    assert [item.id for item in read(store.folder)] == ["released-0003"]


def test_damage_is_mended_or_its_row_left_out_and_counted(tmp_path: Path) -> None:
    mended = changed(2, GOOD[0].replace("Hα", "H\x03b1"))
    context = {
        **changed(2, GOOD[0].replace("I look at Hα", "I look at H\x03 near 6563 Å")),
        "sample_index": 8,
    }
    left = {**changed(4, GOOD[1].replace("Hβ", "H\x03") + "\x05"), "sample_index": 9}
    report, store = imported(tmp_path / "a", [mended, context, left])
    assert (report.taken, report.mended_rows, dict(report.mended), report.beyond_repair) == (
        1,
        1,
        {"escape": 2},
        4,
    )
    (item,) = read(store.folder)
    assert item.trace.turns[2].text == GOOD[0]
    assert item.record.imported
    assert item.record.imported.repaired == 2
    report, _ = imported(tmp_path / "b", [mended, context, left], by_context=True)
    assert (report.taken, dict(report.mended)) == (2, {"escape": 2, "context": 1})


def test_a_number_that_stands_there_twice_and_a_broken_picture(tmp_path: Path) -> None:
    path = written(tmp_path, [row(1), row(1), row(2)])
    (tmp_path / "2_1.png").write_bytes(png(1)[:40])
    report = import_released(path, tmp_path / "store")
    assert [(out.row, out.why) for out in report.left_out] == [
        (1, "sample_index 1 stands there twice"),
        (2, "'2_1.png' is no whole PNG"),
    ]


def test_parquet_with_pictures_inside(tmp_path: Path) -> None:
    rows = [row(5), row(6)]
    inside = [
        {**one, "images": [{"bytes": png(n), "path": name} for n, name in enumerate(one["images"])]}
        for one in rows
    ]
    pq.write_table(pa.Table.from_pylist(inside), tmp_path / "set.parquet")
    report = import_released(tmp_path / "set.parquet", tmp_path / "store")
    assert report.taken == 2
    assert [to_row(item, 0)[0].plain() for item in read(tmp_path / "store")] == rows


@pytest.mark.parametrize("name", [None, "image.png"])
def test_pictures_without_names_of_their_own_survive_both_ways(tmp_path: Path, name: str | None) -> None:
    rows = [
        {**row(index), "images": [{"bytes": png(10 * index + n), "path": name} for n in range(3)]}
        for index in (1, 2)
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "set.parquet")
    assert import_released(tmp_path / "set.parquet", tmp_path / "store").taken == 2
    export(Store(tmp_path / "store"), tmp_path / "out", "released", at_least="draft", repo_id="me/set")
    assert import_released(tmp_path / "out" / "trajectories.jsonl", tmp_path / "again").taken == 2
    pictures = [
        [image["bytes"] for image in to_messages(item)["images"]] for item in read(tmp_path / "again")
    ]
    assert pictures == [[png(10 * index + n) for n in range(3)] for index in (1, 2)]


def test_no_picture_is_written_outside_of_an_export(tmp_path: Path) -> None:
    """Neither from pictures inside of a row, nor from a log that somebody wrote in."""
    inside = {**row(1), "images": [{"bytes": png(n), "path": f"../../evil-{n}.png"} for n in range(3)]}
    pq.write_table(pa.Table.from_pylist([inside]), tmp_path / "set.parquet")
    report = import_released(tmp_path / "set.parquet", tmp_path / "store")
    assert "outside" in report.left_out[0].why
    _, store = imported(tmp_path / "b", [row(1)])
    log = store.folder / "trajectories.jsonl"
    log.write_text(log.read_text().replace('"1_0.png"', '"../../evil.png"'))
    with pytest.raises(UserError, match="outside"):
        export(store, tmp_path / "out", "released", at_least="draft", repo_id="me/set")
    assert not list(tmp_path.rglob("evil*"))


def test_a_last_line_without_an_end_is_a_row(tmp_path: Path) -> None:
    path = written(tmp_path, [row(1), row(2)])
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))
    assert import_released(path, tmp_path / "store").taken == 2


def test_counts_that_are_not_those_of_the_conversation_are_told(tmp_path: Path) -> None:
    report, _ = imported(tmp_path, [row(1), row(2, total_iterations=-5), row(3, total_tool_calls=0)])
    assert (report.taken, report.miscounted) == (3, 2)


def conversation(*turns: tuple[str, str]) -> dict[str, Any]:
    values = [{"from": who, "value": text} for who, text in (("system", SYSTEM), *turns)]
    marks = sum(one["value"].count("<image>") for one in values)
    return row(1, conversations=values, images=[f"1_{number}.png" for number in range(marks)])


BROKEN: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a call without an answer": (
        conversation(("human", ASKED), ("gpt", GOOD[0]), ("gpt", GOOD[2])),
        ["format", "windows"],
    ),
    "no picture at all": (conversation(("human", ASKED[8:]), ("gpt", GOOD[2])), ["windows"]),
    "two pictures for one call": (
        conversation(("human", ASKED), ("gpt", GOOD[0]), ("human", BLOCK.replace("<image>", "<image>" * 2)), ("gpt", GOOD[2])),
        ["windows"],
    ),
    "words of a person for a picture": (
        conversation(("human", ASKED), ("gpt", GOOD[0]), ("human", "You are right. Say YES."), ("gpt", GOOD[2])),
        ["windows"],
    ),
    "the question tells the answer": (
        conversation(("human", f"{ASKED}\nThe ground truth is YES."), ("gpt", GOOD[2])),
        ["leak"],
    ),
    "a second question": (conversation(("human", ASKED), ("human", "Well?"), ("gpt", GOOD[2])), ["format"]),
}  # fmt: skip


@pytest.mark.parametrize(("bad", "checks"), BROKEN.values(), ids=BROKEN)
def test_what_is_wrong_with_the_turns_of_a_row_is_found_without_its_spectrum(
    tmp_path: Path, bad: dict[str, Any], checks: list[str]
) -> None:
    _, store = imported(tmp_path, [bad])
    screen_all(store, {})
    (item,) = read(store.folder)
    assert list(item.faults) == checks


def test_another_file_is_not_added_to_an_import_that_was_killed(tmp_path: Path) -> None:
    _, store = imported(tmp_path / "a", [row(1), row(2)])
    (store.folder / "import.json").unlink()
    whole = (store.folder / "trajectories.jsonl").read_bytes()
    other = written(tmp_path / "b", [row(1, source_name="other.fits"), row(2), row(3)])
    with pytest.raises(UserError, match="holds trajectories"):
        import_released(other, store.folder)
    assert (store.folder / "trajectories.jsonl").read_bytes() == whole


def test_an_import_that_was_killed_goes_on_and_a_finished_one_is_not_added_to(tmp_path: Path) -> None:
    path = written(tmp_path, [row(1), row(2)])
    import_released(path, tmp_path / "store")
    log = tmp_path / "store" / "trajectories.jsonl"
    whole = log.read_bytes()
    with pytest.raises(UserError, match="holds trajectories"):
        import_released(path, tmp_path / "store")
    (tmp_path / "store" / "import.json").unlink()
    log.write_bytes(whole[: whole.index(b"\n") + 50])
    import_released(path, tmp_path / "store")
    assert log.read_bytes() == whole


def test_rows_that_show_held_out_candidates_are_left_out_unless_allowed(tmp_path: Path) -> None:
    test, train = stars(2, part="test"), stars(3)
    rows = [row(1, source_name="x/file-000001.fits.gz"), row(2, source_name="file-000009.fits")]
    report, _ = imported(tmp_path / "a", rows, against=[test, train])
    assert report.taken == 1
    assert report.left_out[0].row == 0
    assert "released-0001 has the file of star-1 (stars, test)" in report.left_out[0].why
    report, store = imported(tmp_path / "b", rows, against=[test], allow_overlap=True)
    assert report.taken == 2
    assert report.overlapping == ("released-0001 has the file of star-1 (stars, test)",)
    assert len(store.records()) == 2


def test_the_same_object_under_another_file(tmp_path: Path) -> None:
    made = folder_of(tmp_path / "made", [inspect(GOOD)], object_id="object-1")
    (found,) = overlaps(made.records().values(), [stars(2, part="dev")])
    assert (found.by, found.part) == ("file", "dev")  # file-000000
    other = folder_of(tmp_path / "other", [inspect(GOOD)], object_id="object-1").records()["star-0"]
    other = other.model_copy(update={"source_name": "elsewhere.fits"})
    (found,) = overlaps([other], [stars(2, part="test")])
    assert (found.by, found.candidate) == ("object", "star-1")
    assert overlaps([other], [stars(2, part="train")]) == []


def test_a_file_that_two_splits_know_under_two_objects(tmp_path: Path) -> None:
    """Its object in the first has another file in that one's test part."""
    train, test = stars(1).candidates[0], stars(2, part="test").candidates[1]
    one = Split("one", "1", (replace(train, object_id="same"), replace(test, object_id="same")), {})
    two = Split("two", "1", (replace(train, object_id="other"),), {})
    _, store = imported(tmp_path, [row(1, source_name="file-000000.fits")])
    for splits in ([one, two], [two, one]):
        (found,) = overlaps(store.records().values(), splits)
        assert (found.by, found.candidate) == ("object", "star-1")


def test_an_imported_one_is_screened_with_the_spectrum_of_its_file(tmp_path: Path) -> None:
    _, store = imported(tmp_path, [row(1), row(2)])
    screen_all(store, {"released-0001": stars(1).candidates[0].question})
    one, two = store.trajectories().values()
    assert (one.state, dict(one.changes[0].unchecked)) == ("screened", {})
    assert (two.state, sorted(two.changes[0].unchecked)) == ("screened", ["evidence", "windows"])


def test_the_task_of_a_guideline_prompt(tmp_path: Path) -> None:
    made = folder_of(tmp_path / "made", [inspect(GOOD)])
    (item,) = read(made.folder)
    assert task_of(to_row(item, 0)[0]).key == "cv"
