"""The tiny Qwen2.5-VL: it is what the real one is, small; and the same every time."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch", reason="torch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

from specvi_agents.models.local.image_only import ImageOnlyProcessor  # noqa: E402
from specvi_agents.tiny import TinyShape, build_tiny_model  # noqa: E402
from specvi_agents.tiny.tokenizer import SPECIAL_TOKENS, TEXT_TOKENS, own_texts, train_tokenizer  # noqa: E402


def test_the_same_seed_gives_the_same_files(tiny_folder: Path, tmp_path: Path) -> None:
    again = build_tiny_model(tmp_path / "again")
    other = build_tiny_model(tmp_path / "other", seed=1)
    names = sorted(path.name for path in tiny_folder.iterdir())
    assert names == sorted(path.name for path in again.iterdir())
    assert all((tiny_folder / name).read_bytes() == (again / name).read_bytes() for name in names)
    assert (other / "model.safetensors").read_bytes() != (again / "model.safetensors").read_bytes()
    assert (other / "tokenizer.json").read_bytes() == (again / "tokenizer.json").read_bytes()


def test_building_leaves_the_global_random_state_alone(tmp_path: Path) -> None:
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    build_tiny_model(tmp_path / "tiny")
    assert torch.equal(torch.rand(1), expected)


def test_the_shape_is_what_was_asked(tmp_path: Path) -> None:
    folder = build_tiny_model(tmp_path / "wide", shape=TinyShape(hidden_size=128, layers=3, heads=8))
    config = json.loads((folder / "config.json").read_text())
    assert config["model_type"] == "qwen2_5_vl"
    assert config["text_config"]["hidden_size"] == 128
    assert config["text_config"]["num_hidden_layers"] == 3
    # Half of a head of 16 is shared among time, height and width.
    assert sum(config["text_config"]["rope_parameters"]["mrope_section"]) == 8


@pytest.mark.parametrize(
    "text", ["Hα at 6564.6 Å is broad", "日本 \x00 ￿ 🔭", "<think>a</think>\n\\boxed{YES}"]
)
def test_every_text_survives_the_tokenizer(text: str) -> None:
    tokenizer = train_tokenizer(own_texts(), 600)
    assert tokenizer.decode(tokenizer(text)["input_ids"], skip_special_tokens=True) == text


def test_special_tokens_vanish_and_call_tags_stay() -> None:
    tokenizer = train_tokenizer(own_texts(), 600)
    ids = tokenizer("".join(SPECIAL_TOKENS) + "".join(TEXT_TOKENS))["input_ids"]
    assert len(ids) == len(SPECIAL_TOKENS) + len(TEXT_TOKENS)
    assert tokenizer.decode(ids, skip_special_tokens=True) == "".join(TEXT_TOKENS)
    assert len(tokenizer) == 600


def test_white_paper_is_zero_and_each_square_of_28_pixels_a_token(tiny_folder: Path) -> None:
    processor = ImageOnlyProcessor.from_pretrained(tiny_folder)
    white = Image.fromarray(np.full((84, 112, 3), 255, np.uint8))
    inputs = processor(text=["<|image_pad|>"], images=[white], return_tensors="pt")
    assert inputs["image_grid_thw"].tolist() == [[1, 6, 8]]
    assert inputs["pixel_values"].abs().max() < 1e-6
    assert inputs["input_ids"].tolist() == [[processor.image_token_id] * (6 * 8 // 4)]
    assert inputs["mm_token_type_ids"].tolist() == [[1] * 12]


def test_pixel_values_are_those_of_the_stock_image_processor(tiny_folder: Path) -> None:
    """The patches, taken apart by hand: (x/255 − mean) / std, two equal frames, 2 × 2 merged patches in a row."""
    processor = ImageOnlyProcessor.from_pretrained(tiny_folder)
    pixels = np.random.default_rng(0).integers(0, 256, (56, 84, 3), dtype=np.uint8)
    values = processor(text=["<|image_pad|>"], images=[Image.fromarray(pixels)], return_tensors="np")[
        "pixel_values"
    ]
    scaled = (pixels / 255 - 1.0) / 0.5
    rows = [
        np.repeat(scaled[y : y + 14, x : x + 14].transpose(2, 0, 1)[:, None], 2, axis=1).ravel()
        for top in range(0, 56, 28)
        for left in range(0, 84, 28)
        for y in (top, top + 14)
        for x in (left, left + 14)
    ]
    assert np.allclose(values, rows, atol=1e-5)


def test_another_programme_finds_the_processor_in_the_folder(tiny_folder: Path) -> None:
    """As ``transformers serve --trust-remote-code`` loads it; without the file it would get the bare tokenizer."""
    processor = transformers.AutoProcessor.from_pretrained(tiny_folder, trust_remote_code=True)
    assert type(processor).__name__ == "ImageOnlyProcessor"
    assert hasattr(processor, "image_processor")
