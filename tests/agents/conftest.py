"""What the tests of agents share: the tiny model, and a real server that serves it."""

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a tiny, untrained Qwen2.5-VL."""
    pytest.importorskip("torch", reason="torch is not installed (pip install 'specvi-bench[train]')")
    pytest.importorskip("transformers", reason="transformers is not installed")
    from specvi_agents.tiny import build_tiny_model

    return build_tiny_model(tmp_path_factory.mktemp("tiny") / "tiny-qwen")


@pytest.fixture(scope="session")
def acting_folder(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a tiny model that thinks, then calls the tool, or answers YES or NO, by chance."""
    from acting_model import make_acting_model

    return make_acting_model(tiny_folder, tmp_path_factory.mktemp("acting") / "acting-qwen")


@pytest.fixture(scope="session")
def transformers_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the base URL of ``transformers serve``; a model is named by its folder."""
    from transformers_serve import serving

    with serving(tmp_path_factory.mktemp("serve") / "server.log") as base_url:
        yield base_url
