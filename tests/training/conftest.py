"""What the tests of training share: the tiny model, and trajectories of a few made-up spectra."""

from collections.abc import Callable
from pathlib import Path

import pytest

from specvi_benchmark.runs.record import SplitReference
from specvi_benchmark.splits import Split


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a tiny, untrained Qwen2.5-VL."""
    torch = pytest.importorskip("torch", reason="torch is not installed (pip install 'specvi-bench[train]')")
    pytest.importorskip("trl", reason="trl is not installed")
    from specvi_agents.tiny import build_tiny_model

    torch.set_num_threads(1)
    return build_tiny_model(tmp_path_factory.mktemp("tiny") / "tiny-qwen")


@pytest.fixture(scope="session")
def draft_lessons(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a drafter of trajectories: ``draft_lessons(split, name="lessons", teacher=…)``, the brief inspector's."""
    from specvi_agents.trajectories.drafting import draft
    from specvi_benchmark.vetting import load_vetter

    def make(split: Split, name: str = "lessons", teacher: str = "brief", **options: str) -> Path:
        folder = tmp_path_factory.mktemp("drafted") / name
        reference = SplitReference(
            name=split.name, version="1", path="/x", part="train", task=None, fingerprint=split.fingerprint
        )
        draft(load_vetter(teacher, options), teacher, split.candidates, reference, folder)
        return folder

    return make
