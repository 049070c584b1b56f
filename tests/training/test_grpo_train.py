"""A GRPO from configuration to model folder: resume to the last bit, what moves, what it keeps, dev, refusals."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("trl", reason="trl is not installed")

import grpo_kit as kit  # noqa: E402
from safetensors.torch import load_file  # noqa: E402

from specvi_agents.models.transformers import create  # noqa: E402
from specvi_benchmark.errors import UserError  # noqa: E402
from specvi_benchmark.runs.ask import ask  # noqa: E402
from specvi_benchmark.trace_page import RecordedRun  # noqa: E402
from specvi_training.folder import TrainFolder, read_train_record  # noqa: E402
from specvi_training.grpo.questions import read_questions  # noqa: E402
from specvi_training.grpo.train import train  # noqa: E402
from specvi_training.grpo.trainer import InspectingTrainer  # noqa: E402

ANSWERS = (
    "<think>Broad.</think>\n<answer>\n\\boxed{YES}\nIt is one.\n</answer>",
    "<answer>\\boxed{NO}</answer>",
    "<think>Flat.</think>\n<answer>\n\\boxed{NO}\nNothing is there.\n</answer>",
)
ZOOM = '<think>I look.</think>\n<tool_call>\n{"name": "spectral_visualization_tool", "arguments": {"wavelength_range": [4000, 4600]}}\n</tool_call>'


class Killed(BaseException):
    """Ends a training where it stands, as a kill would."""


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    torch.set_num_threads(1)
    return kit.write_asked(tmp_path / "asked")


@pytest.fixture
def _drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every rollout zoom once and then answer by lot, of torch's own numbers; rewards differ, so weights move."""

    def told(self: Any, prompt_ids: list[list[int]], *_: Any, **__: Any) -> tuple[list[list[int]], None]:
        end = self.turns.chat.tokenizer.convert_tokens_to_ids("<|im_end|>")
        first = kit.turn_is_first(self)
        words = [ZOOM if first else ANSWERS[int(torch.randint(3, ()))] for _ in prompt_ids]
        return [[*kit.tokens(self, word), end] for word in words], None

    monkeypatch.setattr(InspectingTrainer, "_generate_single_turn", told)


def weights(folder: Path) -> dict[str, Any]:
    return load_file(folder / "model.safetensors")


def moved(before: Path, after: Path) -> dict[str, bool]:
    old, new = weights(before), weights(after)
    assert old.keys() == new.keys()
    return {name: not torch.equal(old[name], new[name]) for name in old}


@pytest.mark.usefixtures("_drawing")
@pytest.mark.slow
def test_a_killed_training_ends_in_the_same_weights(asked: Path, tmp_path: Path) -> None:
    """Two steps a round, killed after step 5, with a half-written checkpoint: on from step 4, same bits, same log."""
    dev = kit.write_asked(tmp_path / "dev-split", 4, "dev")
    told = kit.small_config(
        asked,
        rollouts={"prompts": 2, "group": 2, "updates": 2, "completion_tokens": 4000},
        kept={"every": 2, "log_every": 1, "checkpoints": 2},
        dev={"split": str(dev), "max_tokens": 8, "patience": 99, "limit": 1},
    )
    train(told, tmp_path / "whole")

    def kill(line: Any) -> None:
        if line["step"] == 5:
            raise Killed

    with pytest.raises(Killed):
        train(told, tmp_path / "killed", kill)
    folder = TrainFolder(tmp_path / "killed")
    assert read_train_record(folder.path).ended is None
    shutil.copytree(folder.checkpoints / "checkpoint-4", folder.checkpoints / "checkpoint-6")
    (folder.checkpoints / "checkpoint-6" / "trainer_state.json").write_text('{"global_st')
    train(told, folder.path)
    whole = TrainFolder(tmp_path / "whole")
    assert any(moved(whole.base, whole.model).values())
    assert not any(moved(whole.model, folder.model).values())
    clocks = {"rollout/drawing_share"}
    logs = [
        [{name: value for name, value in line.items() if name not in clocks} for line in one.lines()]
        for one in (folder, whole)
    ]
    assert logs[0] == logs[1]
    assert [line["step"] for line in folder.lines() if "dev" in line] == [2, 4, 6, 8]
    rounds = [(one.path / "rollouts" / "groups.jsonl").read_text() for one in (folder, whole)]
    assert rounds[0] == rounds[1]
    assert [json.loads(line)["step"] for line in rounds[0].splitlines()] == [0, 0, 2, 2, 4, 4, 6, 6]


@pytest.mark.usefixtures("_drawing")
def test_language_alone_is_trained_where_the_paper_says_so_and_all_is_kept(
    asked: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    lines: list[Any] = []
    record = train(kit.small_config(asked, model={"trained": "language"}), out, lines.append)
    changed = moved(out / "base", out / "model")
    visual = {name for name in changed if "visual" in name}
    assert visual
    assert not any(changed[name] for name in visual)
    assert any(moving for name, moving in changed.items() if name not in visual)
    assert record.outcome is not None
    assert record.outcome["steps"] == 4  # 4 NO and the YES as often: 8 questions, 2 a round
    first = lines[0]
    group = [json.loads(line) for line in (out / "rollouts" / "groups.jsonl").read_text().splitlines()[:2]]
    every = [value for one in group for value in one["reward"]]
    assert first["reward"] == pytest.approx(sum(every) / 4)
    assert first["rollout/calls"] == 1
    assert first["rollout/turns"] == 2
    assert 0 < first["rollout/drawing_share"] < 1
    run = RecordedRun(out / "rollouts")
    found = run.find(group[0]["id"])
    assert [sample.sample for sample in found.samples] == [0, 1]
    assert all(not shown.fault for shown in found.pictures.values())
    assert found.samples[0].turns[-3].tool_calls[0].arguments == '{"wavelength_range": [4000, 4600]}'
    assert train(kit.small_config(asked, model={"trained": "language"}), out).ended == record.ended


def test_a_real_rollout_trains_and_its_model_is_asked_as_any_other(asked: Path, tmp_path: Path) -> None:
    """Nothing is told: the tiny model speaks for itself. Adapters are merged in."""
    out = tmp_path / "out"
    told = kit.small_config(
        asked,
        model={"trained": "language", "lora": {"rank": 2, "alpha": 4}},
        rollouts={"prompts": 4, "group": 2, "completion_tokens": 12},
        optimiser={"batch_per_device": 4},
    )
    train(told, out)
    assert not (out / "model" / "adapter_config.json").exists()
    vetter = create(str(out / "model"), {"prompt": "official", "max_tokens": "5", "device": "cpu"})
    entries: list[Any] = []
    questions = [candidate.question for candidate in read_questions(told.questions).candidates[:1]]
    assert ask(vetter, questions, entries.append) == 0
    assert len(entries) == 1
    assert "grpo" in (out / "model" / "README.md").read_text().lower()


@pytest.mark.usefixtures("_drawing")
def test_it_ends_early_when_dev_gets_no_better(asked: Path, tmp_path: Path) -> None:
    dev = kit.write_asked(tmp_path / "dev-split", 3, "dev")
    told = kit.small_config(
        asked, epochs=3, dev={"split": str(dev), "max_tokens": 4, "patience": 2, "limit": 1}
    )
    record = train(told, tmp_path / "out")
    assert record.outcome is not None
    assert (
        record.outcome["steps"] == 3
    )  # of 12: the first score, and two no better (a random model answers nothing)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"rollouts": {"prompts": 60}}, "do not fill one round"),
        ({"rollouts": {"prompts": 3, "updates": 2}}, "no multiple of updates"),
        ({"kept": {"every": 3}, "rollouts": {"updates": 2}}, "lies between two rounds"),
        ({"optimiser": {"accumulation": 2}}, "leave optimiser.accumulation out"),
        ({"optimiser": {"batch_per_device": 3}}, "shared evenly among the passes"),
        (
            {"inspection": {"profile": "released-code"}, "rollouts": {"completion_tokens": 40_000}},
            "go on in training",
        ),
    ],
)
def test_what_can_t_be_is_refused_before_anything_is_loaded(
    asked: Path, tmp_path: Path, parts: dict[str, Any], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        train(kit.small_config(asked, **parts), tmp_path / "out")


def test_objects_that_are_watched_on_are_not_trained_on(asked: Path, tmp_path: Path) -> None:
    told = kit.small_config(asked, dev={"split": str(asked), "part": "train"})
    with pytest.raises(UserError, match="both trained and watched on"):
        train(told, tmp_path / "out")
