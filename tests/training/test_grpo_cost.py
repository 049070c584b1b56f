"""The cost of a GRPO, against a count by hand."""

import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("trl", reason="trl is not installed")

from specvi_training.config import load_config
from specvi_training.cost import Shapes, Workload
from specvi_training.grpo.config import GrpoConfig
from specvi_training.grpo.cost import Generation, grpo_cost


def test_a_round_is_writing_reading_and_its_steps() -> None:
    config = load_config("grpo_3b", GrpoConfig)
    shapes = Shapes(10**9, 10**9, 10**9, 0, 1, 1, 1)  # a billion weights, attention next to nothing
    load = Workload(gpus=8, zero_stage=3, tokens=1000, rows=0, flops=1e14)
    found = grpo_cost(config, 640, shapes, load, Generation(written=200, tokens_a_second=100, gpu_bytes=80e9))
    assert found.whole.steps == 10 * 3 * 2  # 640 questions, 64 a round, 3 epochs, 2 steps a round
    writing = 512 / 8 * 200 / 100  # 64 rollouts on each GPU
    reading = 2 * 2e9 * 1000 * 64 / 1e14  # what vLLM reads, and once more for the old log-probabilities
    steps = 8e9 * 1000 * 64 / 1e14  # 8 FLOP a weight and token, both steps together
    assert found.generating_seconds == pytest.approx(writing + reading)
    assert found.seconds_a_round == pytest.approx(writing + reading + steps, rel=1e-3)
    assert found.generating_bytes == 0.4 * 80e9
