"""The miniature in three minutes: SpecVI-Mini, a script's inspections, SFT, and the normal harness."""

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("trl", reason="trl is not installed")

from specvi_benchmark.cli.main import main  # noqa: E402


def specvi(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code or 0


def answers(model: Path, run: Path) -> list[str | None]:
    """Have the candidates of dev inspected by a model; nothing of the training has seen them."""
    options = ("prompt=official", "max_tokens=120", "batch_size=20", "device=cpu")
    given = [part for option in options for part in ("--option", option)]
    command = ("run", "--vetter", f"transformers:{model}", "--split", "mini", "--part", "dev", "--task", "cv")
    assert specvi(*command, *given, "--out", run) == 0
    return [json.loads(line)["answer"] for line in (run / "predictions.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_commands_of_the_miniature_teach_the_form_of_an_inspection(tmp_path: Path, monkeypatch) -> None:
    """A hundred steps on 64 inspections of cv: from no answer at all to an answer for every candidate of dev."""
    torch.set_num_threads(1)
    monkeypatch.chdir(tmp_path)
    drafted = (
        "trajectories",
        "draft",
        "--teacher",
        "brief",
        "--option",
        "prompt=official",
        "--split",
        "mini",
    )
    assert specvi(*drafted, "--task", "cv", "--per-task", 80, "--out", "lessons-cv") == 0
    settings = (
        "data.trajectories=[lessons-cv]",
        "epochs=13",
        "optimiser.learning_rate=2e-3",
        "kept.every=50",
    )
    given = [part for setting in settings for part in ("--set", setting)]
    assert specvi("train", "sft", "sft_mini", *given, "--out", "sft") == 0
    record = json.loads(Path("sft/train.json").read_text())
    assert record["outcome"]["steps"] >= 90
    assert "A test of the code" in Path("sft/model/README.md").read_text()
    untrained, trained = answers(Path("sft/base"), Path("before")), answers(Path("sft/model"), Path("after"))
    assert untrained == [None] * 60
    assert sum(answer is not None for answer in trained) >= 48
    calls = [
        json.loads(line)["tool_calls"] for line in Path("after/predictions.jsonl").read_text().splitlines()
    ]
    assert sum(count == 1 for count in calls) >= 48  # one zoom, as the teacher's
