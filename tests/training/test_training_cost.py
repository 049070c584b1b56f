"""Costs: weights counted on the real shapes, bytes and seconds by hand."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("trl", reason="trl is not installed")

from specvi_benchmark.errors import UserError  # noqa: E402
from specvi_training.config import load_config  # noqa: E402
from specvi_training.cost import Shapes, Workload, cost, count  # noqa: E402
from specvi_training.sft.config import SftConfig  # noqa: E402


@pytest.mark.parametrize(
    ("name", "total"),
    # Half of `total_size` (bytes, bfloat16) in the released model.safetensors.index.json.
    [("sft_3b", 7_509_245_952 // 2), ("sft_7b", 16_584_333_312 // 2)],
)
def test_the_real_shapes_have_the_released_number_of_weights(name: str, total: int) -> None:
    config = load_config(name, SftConfig)
    shapes = count(config.model)
    assert shapes.weights == total
    # Vision tower and projector are the same but for the last layer of the projector: 5120 → hidden.
    tower = total - shapes.trained
    hidden = {"sft_3b": 2048, "sft_7b": 3584}[name]
    blocks = 32 * (
        2 * 1280 + 3 * 1280 * 1280 + 3 * 1280 + 1280 * 1280 + 1280 + 3 * 1280 * 3420 + 2 * 3420 + 1280
    )
    patches = 3 * 2 * 14 * 14 * 1280
    projector = 1280 + 5120 * 5120 + 5120 + 5120 * hidden + hidden
    assert tower == blocks + patches + projector


def test_adapters_by_hand() -> None:
    """7B: rank 32 on seven layers of 28 blocks."""
    shapes = count(load_config("sft_7b_lora", SftConfig).model)
    hidden, inner, keys = 3584, 18944, 4 * 128
    each = 2 * (hidden + hidden) + 2 * (hidden + keys) + 3 * (hidden + inner)
    assert shapes.adapters == shapes.trained == 28 * 32 * each


def test_bytes_and_seconds_by_hand() -> None:
    config = load_config("sft_7b", SftConfig)  # 4 rows a GPU, checkpointing, bf16
    shapes = Shapes(8_000, 7_000, 7_000, 0, layers=2, hidden=10, intermediate=30)
    found = cost(config, 5, shapes, Workload(gpus=8, zero_stage=3, tokens=100, rows=64, flops=1e6))
    assert found.weights == 2 * 8_000 / 8
    assert found.gradients == 2 * 7_000 / 8
    assert found.optimiser == 12 * 7_000 / 8
    assert found.activations == 2 * (400 * 10 * 2) + 2 * 400 * (100 + 120) * 2
    assert found.steps == 2 * 5
    half = cost(config, 1.25, shapes, Workload(gpus=8, zero_stage=3, tokens=100, rows=64, flops=1e6))
    assert half.steps == 3  # the trainer ends with the step that reaches the end of the epochs
    each = 8 * 7_000 + 12 * 2 * 10 * 50 * 8 / 6
    assert found.seconds_a_step == pytest.approx(each * 100 * 4 / 1e6)
    alone = cost(config, 5, shapes, Workload(gpus=1, zero_stage=0, tokens=100, rows=64, flops=1e6))
    assert alone.weights + alone.gradients + alone.optimiser == 4 * 8_000 + 12 * 7_000


def test_unknown_shapes_are_refused() -> None:
    config = load_config("sft_7b", SftConfig, {"model.base": "somebody/else"})
    with pytest.raises(UserError, match="shapes of this model are not known"):
        count(config.model)
    with pytest.raises(UserError, match="tiny model"):
        count(load_config("sft_mini", SftConfig).model)
