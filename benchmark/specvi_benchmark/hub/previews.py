"""One picture of either truth for each task: what a visitor sees before downloading anything."""

from collections.abc import Mapping
from pathlib import Path

from specvi_benchmark.files import write_bytes
from specvi_benchmark.splits.pictures import full_view
from specvi_benchmark.splits.split import Candidate, Split
from specvi_benchmark.splits.weak import draw
from specvi_benchmark.vetting import ANSWERS

FOLDER = "previews"


def write_previews(split: Split, folder: Path) -> dict[str, Mapping[str, str]]:
    """Write ``previews/<group>_<truth>.png``; return the paths by group and truth.

    A hash of the id draws the candidate, from ``train`` where there is one, so that no test row stands out.
    Published pictures are shown as published.
    """
    found: dict[str, Mapping[str, str]] = {}
    for group in dict.fromkeys(candidate.group for candidate in split.candidates):
        paths: dict[str, str] = {}
        for truth in ANSWERS:
            rows = [c for c in split.candidates if c.group == group and c.truth == truth]
            if rows:
                name = f"{FOLDER}/{group}_{truth}.png"
                write_bytes(folder / name, _picture(min(rows, key=_order)))
                paths[truth] = name
        if len(paths) == len(ANSWERS):
            found[group] = paths
    return found


def _order(candidate: Candidate) -> tuple[bool, int]:
    return candidate.part != "train", draw(f"preview {candidate.id}")


def _picture(candidate: Candidate) -> bytes:
    return candidate.images[0] if candidate.images else full_view(candidate)
