"""Configurations: the shipped ones hold the paper's values; a mistake is one message; launch files are accelerate's."""

from pathlib import Path

import pytest

pytest.importorskip("trl", reason="trl is not installed")

import yaml

from specvi_benchmark.cli.main import main
from specvi_benchmark.errors import UserError
from specvi_training.config import config_names, find_config, load_config, read_overrides
from specvi_training.sft.config import SftConfig

SFT = [name for name in config_names() if name.startswith("sft_")]
LAUNCH = Path(__file__).resolve().parents[2] / "training" / "specvi_training" / "launch"


def specvi(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code or 0


@pytest.mark.parametrize("name", SFT)
def test_shipped_configurations_are_whole(name: str) -> None:
    config = load_config(name, SftConfig)
    config.agent_options()
    assert find_config(name).read_text(encoding="utf-8").startswith("# ")


@pytest.mark.parametrize(("name", "base"), [("sft_3b", "3B"), ("sft_7b", "7B")])
def test_the_papers_values(name: str, base: str) -> None:
    """Table of the released settings: lr 2e-5, cosine, warm-up 5 %, 5 epochs, 4 a device, 32,768 tokens, bf16."""
    config = load_config(name, SftConfig)
    assert config.model.base == f"Qwen/Qwen2.5-VL-{base}-Instruct"
    assert config.model.trained == "language"
    assert config.model.lora is None
    optimiser = config.optimiser
    assert (optimiser.learning_rate, optimiser.schedule, optimiser.warmup) == (2e-5, "cosine", 0.05)
    assert (optimiser.batch_per_device, optimiser.accumulation, optimiser.precision) == (4, 1, "bf16")
    assert (config.epochs, config.data.max_tokens) == (5, 32768)
    environment = config.agent_options().environment
    assert (environment.view.style, environment.prompt, environment.profile) == (
        "spec-o3",
        "official",
        "released-code",
    )


def test_the_increment_is_of_96_trajectories_on_a_trained_model() -> None:
    config = load_config("sft_incremental", SftConfig)
    assert (config.data.limit, config.data.tasks) == (96, ("qso",))
    assert config.model.base == "Maxwell-Jia/spec-o3-3b"


@pytest.mark.parametrize(("file", "processes", "stage"), [("gpu1", 1, None), ("gpu4", 4, 3), ("gpu8", 8, 3), ("gpu1_offload", 1, 2)])  # fmt: skip
def test_accelerate_reads_the_launch_files(file: str, processes: int, stage: int | None) -> None:
    from accelerate.commands.config.config_args import load_config_from_file

    read = load_config_from_file(str(LAUNCH / f"{file}.yaml"))
    assert read.num_processes == processes
    assert read.mixed_precision == "bf16"
    assert read.deepspeed_config.get("zero_stage") == stage if stage else not read.deepspeed_config
    assert str(read.distributed_type).endswith("DEEPSPEED" if stage else "NO")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"epochs": 0}, "epochs"),
        ({"epochz": 1}, "epochz"),
        ({"model": {"base": "a/b", "tiny": {}}}, "either base or tiny"),
        ({"model": {"tiny": {}, "trained": "all", "lora": {}}}, "trained is language"),
        ({"optimiser": {"learning_rate": -1}}, "optimiser.learning_rate"),
        ({"data": {"trajectories": []}}, "data.trajectories"),
    ],
)
def test_a_mistake_is_one_message_that_names_the_key(tmp_path: Path, change: dict, told: str) -> None:
    content = yaml.safe_load(find_config("sft_mini").read_text(encoding="utf-8")) | change
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(UserError, match=told) as error:
        load_config(str(path), SftConfig)
    assert str(path) in str(error.value)


def test_an_option_of_the_inspection_that_does_not_exist_is_refused() -> None:
    config = load_config("sft_mini", SftConfig, {"inspection": {"promt": "official"}})
    with pytest.raises(UserError, match="promt"):
        config.agent_options()


def test_settings_of_the_command_line_go_in_by_their_dotted_names() -> None:
    overrides = read_overrides(["seed=3", "optimiser.learning_rate=1e-4", "data.tasks=[cv]", "data.limit=7"])
    config = load_config("sft_mini", SftConfig, overrides)
    assert (config.seed, config.data.tasks) == (3, ("cv",))
    assert config.optimiser.learning_rate == pytest.approx(1e-4)
    assert config.data.limit == 7
    with pytest.raises(UserError, match="KEY=VALUE"):
        read_overrides(["seed"])


def test_an_unknown_name_lists_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert specvi("train", "sft", "sft_70b", "--out", "nowhere") == 2
    told = capsys.readouterr().err
    assert "sft_7b" in told
    assert "no such configuration" in told


def test_copies_to_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert specvi("train", "configs", "--copy", tmp_path / "mine") == 0
    assert {f"{name}.yaml" for name in SFT} <= {path.name for path in (tmp_path / "mine").iterdir()}
    assert load_config(str(tmp_path / "mine" / "sft_7b.yaml"), SftConfig) == load_config("sft_7b", SftConfig)
    assert (tmp_path / "mine" / "launch" / "gpu8.yaml").is_file()
    assert specvi("train", "configs", "--copy", tmp_path / "mine") == 2
    assert specvi("train", "configs", "sft_3b") == 0
    assert "Qwen2.5-VL-3B" in capsys.readouterr().out
