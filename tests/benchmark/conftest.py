"""What tests of survey readers share: the descriptions of the real spectra."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Described:
    """One line of SOURCES.md: what its collector measured with other tools."""

    path: Path
    label: str
    variant: str
    range_AA: tuple[int, int] | None
    pixels: int | None
    spectra: int
    snr: str
    median_snr: tuple[float, ...]


@pytest.fixture(scope="session")
def described(shared_data: Path) -> dict[str, Described]:
    """Return the described files of ../shared/data/real by their path there."""
    folder = shared_data / "real"
    found = {}
    for line in (folder / "SOURCES.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) < 8 or not (folder / cells[0]).is_file():
            continue
        ends = re.fullmatch(r"(\d+)-(\d+)", cells[4])
        pixels = re.fullmatch(r"(\d+)(?: x (\d+))?", cells[5])
        medians = re.search(r"med=([\d./nan-]+)", cells[6])
        found[cells[0]] = Described(
            path=folder / cells[0],
            label=cells[1],
            variant=cells[3],
            range_AA=(int(ends[1]), int(ends[2])) if ends else None,
            pixels=int(pixels[1]) if pixels else None,
            spectra=int(pixels[2] or 1) if pixels else 1,
            snr=cells[6],
            median_snr=tuple(
                float(word) for word in (medians[1] if medians else "").split("/") if word not in {"", "-"}
            ),
        )
    return found
