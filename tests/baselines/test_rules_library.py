"""The vetter `rules` on labelled library spectra: the counts that docs/rules.md states.

``pytest -s tests/baselines/test_rules_library.py`` prints the table anew.
"""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from specvi_baselines.rules.spikes import without_spikes
from specvi_baselines.rules.vetter import RULES
from specvi_benchmark.features import prepare
from specvi_benchmark.tasks import TASK_KEYS

PAGE = Path(__file__).resolve().parents[2] / "docs/rules.md"
MEMBERS = {"cs": "CS", "ss": "SS", "mg": "MG", "wd": "WD", "o": "O", "b": "B", "a": "A"}
UNDECIDABLE = None


def label(row: dict[str, str], task: str) -> bool | None:
    """Return the label of a library star for a task, by the border cases in the task's file."""
    kind, subtype = row["class_key"], row["subtype"]
    if task == "qso":
        return kind == "QSO" and "type 1" in subtype
    if task == "mg" and (kind in ("MSG", "SS") or "VV Cep" in subtype):
        return UNDECIDABLE
    if task in "ab" and (kind == "BHB" or "VV Cep" in subtype or re.match(r"B[89]|A[01](?!\d)", subtype)):
        return UNDECIDABLE
    if kind == "BE":
        return task == "b"
    if kind == "EM" and task in "oba":
        return task == subtype[0].lower()
    return kind == MEMBERS.get(task)


def count(spectra) -> dict[str, Counter]:
    counts = {task: Counter() for task in TASK_KEYS}
    for row, spectrum in spectra:
        prepared, _ = without_spikes(prepare(spectrum))
        for task in TASK_KEYS:
            truth = label(row, task)
            if truth is not UNDECIDABLE:
                said = RULES[task](prepared, None).answer == "YES"
                counts[task][("TP" if said else "FN") if truth else ("FP" if said else "TN")] += 1
    return counts


def stated(setting: str) -> dict[str, list[int]]:
    section = PAGE.read_text(encoding="utf-8").split(f"**{setting}**", 1)[1].split("**", 1)[0]
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|", section, re.MULTILINE)
    return {task: [int(number) for number in numbers] for task, *numbers in rows}


def check(setting: str, counts: dict[str, Counter]) -> None:
    found = {task: [counts[task][cell] for cell in ("TP", "FN", "FP", "TN")] for task in TASK_KEYS}
    rows = [f"| `{task}` | {' | '.join(map(str, cells))} |" for task, cells in found.items()]
    print("", f"**{setting}**", *rows, sep="\n")  # noqa: T201  # the table for the page, shown with -s
    assert found == stated(setting)


@pytest.mark.slow
def test_as_stored(library):
    check("As stored", count(library))


@pytest.mark.slow
@pytest.mark.parametrize("snr", [20, 10, 5])
def test_on_the_lamost_grid_with_noise(library, as_lamost, snr):
    rng = np.random.default_rng(0)
    noisy = [
        (row, as_lamost(spectrum, snr, rng, velocity_kms=60 * rng.normal())) for row, spectrum in library
    ]
    check(f"S/N {snr}", count(noisy))
