"""Writes the card of a trained model, and the record of its training beside the weights."""

from pathlib import Path

from specvi_benchmark.files import write_json, write_text
from specvi_benchmark.hub.model_card import model_card
from specvi_training.folder import RECORD_FILE, TrainRecord


def write_card(folder: Path, record: TrainRecord) -> None:
    """Write ``README.md`` and ``train.json`` into a model folder."""
    content = record.model_dump(mode="json")
    write_text(folder / "README.md", str(model_card(content)))
    write_json(folder / RECORD_FILE, content)
