"""Exports load with `datasets`, carry a card that says what they are, and hold nothing that models are measured on."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from datasets import load_dataset
from trajectory_kit import GOOD, folder_of, inspect, star, stars

from specvi_agents.scripted import Scripted
from specvi_agents.trajectories import Store, read, to_messages
from specvi_agents.trajectories.drafting import choose, draft
from specvi_agents.trajectories.exporting import export
from specvi_agents.trajectories.importing import import_released
from specvi_agents.trajectories.screening import screen_all
from specvi_benchmark.cli.main import main
from specvi_benchmark.errors import UserError
from specvi_benchmark.runs.record import choose_split
from specvi_benchmark.splits import Split
from specvi_benchmark.splits.io import write_split


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return a folder of three, of which two passed the screening."""
    wrong = (GOOD[0], GOOD[1], GOOD[2].replace("YES", "NO"))
    made = folder_of(tmp_path / "made", [inspect(one) for one in (GOOD, wrong, GOOD)])
    screen_all(made, dict.fromkeys(("star-0", "star-1", "star-2"), star().question))
    return made


def test_messages_load_with_datasets_and_are_the_same(store: Store, tmp_path: Path) -> None:
    assert export(store, tmp_path / "out", "messages", at_least="screened", repo_id="me/set") == 2
    rows = load_dataset(str(tmp_path / "out"), split="train")
    kept = list(read(store.folder, at_least="screened"))
    assert [row["id"] for row in rows] == ["star-0", "star-2"]
    for row, item in zip(rows, kept, strict=True):
        wanted = to_messages(item)
        parts = [
            [{k: v for k, v in part.items() if v is not None} for part in m["content"]]
            for m in row["messages"]
        ]
        assert parts == [message["content"] for message in wanted["messages"]]
        assert [m["role"] for m in row["messages"]] == [m["role"] for m in wanted["messages"]]
        assert [image.size for image in row["images"]] == [(896, 448)] * 3
        assert (row["task"], row["truth"], row["state"]) == ("cv", "YES", "screened")


def test_the_released_form_loads_and_comes_back(store: Store, tmp_path: Path) -> None:
    assert export(store, tmp_path / "out", "released", at_least="screened", repo_id="me/set") == 2
    rows = load_dataset(str(tmp_path / "out"), split="train")
    assert rows.column_names == ["conversations", "images", "sample_index", "source_name", "ground_truth", "total_iterations", "total_tool_calls"]  # fmt: skip
    assert import_released(tmp_path / "out" / "trajectories.jsonl", tmp_path / "again").taken == 2
    again = [to_messages(item) for item in read(tmp_path / "again")]
    assert again == [to_messages(item) for item in read(store.folder, at_least="screened")]


def test_the_card_says_what_it_is(store: Store, tmp_path: Path) -> None:
    export(store, tmp_path / "out", "messages", at_least="screened", repo_id="me/set")
    card = (tmp_path / "out" / "README.md").read_text()
    for words in (
        "# set",
        "2 inspections",
        "Spectra in it are simulated",
        "Not all of them were accepted by people** (2 screened)",
        "| cv | 2 | 0 |",
        "| cv | 3 | 2 | 2 | 2 | 2 | 2 | 2 | 67 %",
        "Nobody looked whether",
        "path: train.parquet",
        "license: apache-2.0",
    ):
        assert words in card


def test_nothing_is_written_where_something_is_or_where_there_is_nothing(
    store: Store, tmp_path: Path
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("x")
    with pytest.raises(UserError, match="not empty"):
        export(store, tmp_path / "full", "messages", at_least="screened", repo_id="me/set")
    with pytest.raises(UserError, match="no trajectory is accepted"):
        export(store, tmp_path / "out", "messages", repo_id="me/set")
    with pytest.raises(UserError, match="not a state to export"):
        export(store, tmp_path / "out", "messages", at_least="rejected", repo_id="me/set")
    assert not (tmp_path / "out").exists()
    assert sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith(".made")) == [
        "full",
        "made",
    ]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return a function that runs a command and returns what it printed: standard error, where a mistake is told."""

    def run(*arguments: object, code: int = 0) -> str:
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        assert (stopped.value.code or 0) == code, printed
        return printed.err if code else printed.out

    return run


def test_what_an_earlier_and_larger_draft_left_is_screened_with_its_spectrum(
    said: Callable[..., str], tmp_path: Path
) -> None:
    """A draft of two was killed before the screening; then one is asked for."""
    write_split(stars(2), tmp_path / "stars")
    chosen, reference = choose_split(str(tmp_path / "stars"), "train", None, None)
    draft(Scripted(), "scripted", choose(chosen, None), reference, tmp_path / "made")
    one = ["--teacher", "scripted", "--split", tmp_path / "stars", "--per-task", "1"]
    said("trajectories", "draft", *one, "--out", tmp_path / "made")
    unchecked = [item.changes[0].unchecked for item in read(tmp_path / "made")]
    assert unchecked == [{}, {}]


@pytest.mark.slow
def test_the_commands_from_draft_to_export(said: Callable[..., str], tmp_path: Path) -> None:
    train, test = stars(4), stars(6, part="test")
    mixed = Split("stars", "1", (*train.candidates, *test.candidates[4:]), {"made": "by a test"})
    write_split(mixed, tmp_path / "stars")
    made = tmp_path / "made"
    draft: list[Any] = [
        "trajectories",
        "draft",
        "--teacher",
        "scripted",
        "--split",
        tmp_path / "stars",
        "--out",
        made,
    ]
    printed = said(*draft, "--json")
    found = json.loads(printed[printed.index("[") :])
    assert [(one["task"], one["drafted"]) for one in found] == [("cv", 4), ("all", 4)]
    assert json.loads((made / "funnel.json").read_text()) == found
    passed = found[-1]["passed"]
    assert passed > 0
    assert "4 inspected" not in said(*draft)  # it is done
    rows = json.loads(said("trajectories", "review", made, "--state", "screened", "--json"))
    assert len(rows) == passed
    key = rows[0]["id"]
    assert "what happened to it" in said("trajectories", "review", made, key)
    assert "can't be audited" in said(
        "trajectories", "review", made, key, "--audit", "--reviewer", "Ben", "--why", "x", code=2
    )
    said("trajectories", "review", made, key, "--revise", "--reviewer", "Ann", "--why", "read")
    for name in ("Ben", "Cleo"):
        said("trajectories", "review", made, key, "--audit", "--reviewer", name, "--why", "sound")
    for name in ("Ann", "Ben", "Cleo"):
        said("trajectories", "review", made, key, "--vote", "for", "--reviewer", name, "--why", "good")
    page = tmp_path / "page.html"
    said("trajectories", "review", made, key, "--html", page)
    assert "data:image/png;base64" in page.read_text()
    assert said("trajectories", "export", made, "--out", tmp_path / "out").startswith("1 trajectories")
    assert "accepted by people**" not in (tmp_path / "out" / "README.md").read_text()
    write_split(Split("same", "1", stars(4, part="test").candidates, {}), tmp_path / "same")
    everything = ["trajectories", "export", made, "--at-least", "screened", "--against", tmp_path / "same"]
    assert "show what models are measured on" in said(*everything, "--out", tmp_path / "no", code=2)
    said(*everything, "--out", tmp_path / "yes", "--allow-overlap")
    assert f"{passed} of them show files or objects" in (tmp_path / "yes" / "README.md").read_text()
    released = [
        "trajectories",
        "export",
        made,
        "--at-least",
        "screened",
        "--form",
        "released",
        "--out",
        tmp_path / "form",
    ]
    said(*released)
    again: list[Any] = [
        "trajectories",
        "import",
        tmp_path / "form" / "trajectories.jsonl",
        "--out",
        tmp_path / "again",
    ]
    assert "which candidates are models measured on" in said(*again, code=2)
    assert f"{passed} of {passed} rows taken" in said(*again, "--against", tmp_path / "stars")
    assert "100%" in said("trajectories", "screen", tmp_path / "again", "--split", tmp_path / "stars")
