"""Finding a checkpoint: what is said of each thing that is none. No torch is needed here."""

import hashlib
import json
from pathlib import Path

import huggingface_hub
import pytest

from specvi_agents.models.checkpoint import find_checkpoint, folder_sha256
from specvi_benchmark.errors import UserError

VISION = {"model_type": "qwen2_5_vl", "vision_config": {}}


def write_model(folder: Path, config: object = VISION) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


def test_a_folder_is_known_by_its_name_and_what_is_in_it(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "a" / "mine")
    found = find_checkpoint(str(folder), "transformers")
    assert (found.name, found.folder, found.config) == (str(folder), folder, VISION)
    assert found.identity["folder"] == "mine"
    by_hand = hashlib.sha256()
    for name in ("config.json", "model.safetensors"):
        inner = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        by_hand.update(f"{name}\0{inner}\n".encode())
    assert found.identity["sha256"] == by_hand.hexdigest()


def test_only_what_is_loaded_counts_for_the_hash(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m")
    before = folder_sha256(folder)
    (folder / "trainer.log").write_text("x")
    (folder / "checkpoint-10").mkdir()
    assert folder_sha256(folder) == before
    (folder / "chat_template.jinja").write_text("x")
    assert folder_sha256(folder) != before


def test_copies_are_the_same_checkpoint(tmp_path: Path) -> None:
    here, there = write_model(tmp_path / "a" / "m"), write_model(tmp_path / "b" / "m")
    assert find_checkpoint(str(here), "vllm").identity == find_checkpoint(str(there), "vllm").identity


@pytest.mark.parametrize("argument", [None, ""])
def test_nothing_named(argument: str | None) -> None:
    with pytest.raises(UserError, match="no model is named") as caught:
        find_checkpoint(argument, "vllm")
    assert "vllm:FOLDER" in str(caught.value)


@pytest.mark.parametrize("argument", ["/no/such/folder", "./nothing", "~/nothing-here/at/all", "word"])
def test_no_such_folder(argument: str) -> None:
    with pytest.raises(UserError, match="no such model folder"):
        find_checkpoint(argument, "transformers")


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(UserError, match="a file"):
        find_checkpoint(str(tmp_path / "model.safetensors"), "transformers")


def test_a_folder_without_a_model_says_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(UserError, match="holds no model") as caught:
        find_checkpoint(str(tmp_path), "transformers")
    assert "notes.txt" in str(caught.value)


def test_an_adapter_alone_is_told_how_to_become_a_model(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(UserError, match="merge the adapter"):
        find_checkpoint(str(tmp_path), "transformers")


@pytest.mark.parametrize(
    ("config", "got"), [({"model_type": "qwen2"}, "qwen2"), ({}, "no model type"), ([], "no object")]
)
def test_a_model_without_pictures(tmp_path: Path, config: object, got: str) -> None:
    folder = write_model(tmp_path / "m", config)
    with pytest.raises(UserError, match="takes no pictures") as caught:
        find_checkpoint(str(folder), "transformers")
    assert got in str(caught.value)


def test_a_configuration_that_is_no_json(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m")
    (folder / "config.json").write_text("{")
    with pytest.raises(UserError, match="not JSON"):
        find_checkpoint(str(folder), "transformers")


def test_a_folder_has_no_revision(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no revision"):
        find_checkpoint(str(write_model(tmp_path / "m")), "transformers", revision="main")


def test_a_hub_repository_is_known_by_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = write_model(tmp_path / "snapshots" / "0123abc")
    asked: list[tuple[str, str | None]] = []

    def download(hub_id: str, *, revision: str | None, allow_patterns: list[str]) -> str:
        asked.append((hub_id, revision))
        assert "*.safetensors" in allow_patterns
        return str(snapshot)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    found = find_checkpoint("Maxwell-Jia/spec-o3-7b", "vllm", revision="v1")
    assert asked == [("Maxwell-Jia/spec-o3-7b", "v1")]
    assert found.identity == {"hub_id": "Maxwell-Jia/spec-o3-7b", "commit": "0123abc"}
    assert found.folder == snapshot


def test_a_repository_out_of_reach_is_a_users_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(UserError, match="can't be had from the Hub") as caught:
        find_checkpoint("no-such-owner/no-such-model", "transformers")
    assert "HF_TOKEN" in str(caught.value)
