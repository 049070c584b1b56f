"""The miniature in three minutes: SpecVI-Mini, a script's inspections, SFT, and the normal harness."""

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("trl", reason="trl is not installed")

from specvi_benchmark.cli.main import main  # noqa: E402
from specvi_benchmark.runs.record import load_split, read_run_record  # noqa: E402


def specvi(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code or 0


def answers(model: Path, run: Path, task: str) -> list[tuple[str, str | None, int]]:
    """Have the candidates of dev inspected; return truth, answer and calls of each. No training has seen them."""
    options = ("prompt=official", "max_tokens=120", "batch_size=20", "device=cpu")
    given = [part for option in options for part in ("--option", option)]
    command = ("run", "--vetter", f"transformers:{model}", "--split", "mini", "--part", "dev", "--task", task)
    assert specvi(*command, *given, "--out", run) == 0
    truth = {candidate.id: candidate.truth for candidate in load_split(read_run_record(run).split).candidates}
    lines = [json.loads(line) for line in (run / "predictions.jsonl").read_text().splitlines()]
    return [(truth[line["id"]], line["answer"], line["tool_calls"]) for line in lines]


@pytest.mark.slow
def test_the_miniature_learns_to_inspect_and_to_tell_stars_apart(tmp_path: Path, monkeypatch) -> None:
    """`sft_mini` as it is shipped, by its three commands: from no answer at all to right ones on what it never saw.

    By chance alone, 30 YES and 30 NO of a task come to a balanced accuracy of 0.65 once in about a hundred times.
    """
    torch.set_num_threads(1)
    monkeypatch.chdir(tmp_path)
    draft = ("trajectories", "draft", "--teacher", "brief", "--option", "prompt=official", "--split", "mini")
    for task in ("cv", "mg"):
        assert specvi(*draft, "--task", task, "--out", f"lessons-{task}") == 0
    assert specvi("train", "sft", "sft_mini", "--out", "sft") == 0
    assert "A test of the code" in Path("sft/model/README.md").read_text()
    assert {answer for _, answer, _ in answers(Path("sft/base"), Path("before"), "cv")} == {None}
    for task in ("cv", "mg"):
        found = answers(Path("sft/model"), Path("after") / task, task)
        assert len(found) == 60
        assert sum(calls == 1 for *_, calls in found) >= 54  # one zoom, as the teacher's
        right = {
            truth: [answer == truth for is_true, answer, _ in found if is_true == truth]
            for truth in ("YES", "NO")
        }
        assert sum(sum(each) / len(each) for each in right.values()) / 2 > 0.65
