"""Makes files in the published schema, as they lie on the Hub: for tests of the import."""

import uuid
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SUFFIXES = {"cc": "carbon", "cv": "cv", "gm": "gm", "ss": "ss", "wd": "wd"}
# Rows and YES, as the dataset card and the audit of the released data state them (cv's YES alone is published).
COUNTS = {
    "train_cc": (671, 330), "train_cv": (711, 343), "train_gm": (658, 330), "train_ss": (706, 350),
    "train_wd": (618, 328), "test_cc": (1321, 220), "test_cv": (1458, 229), "test_gm": (1321, 220),
    "test_ss": (1442, 240), "test_wd": (1212, 213),
}  # fmt: skip
PNG = b"\x89PNG\r\n\x1a\n not looked at"


def official_row(index, name, data_source, truth, redshift=0.0, pixels=4, seed=0):
    """Return one row as the published files hold it."""
    rng = np.random.default_rng(seed)
    return {
        "images": [{"bytes": PNG + index.encode(), "path": None}],
        "data_source": data_source,
        "prompt": [
            {"content": "You are an assistant.", "role": "system"},
            {"content": f"<image>\nIs it a **{data_source}**?", "role": "user"},
        ],
        "reward_model": {"ground_truth": truth, "type": "rule"},
        "agent_name": "tool_agent",
        "extra_info": {
            "index": index,
            "name": name,
            "tools_kwargs": {
                "spectral_visualization_tool": {
                    "create_kwargs": {
                        "flux": rng.normal(10, 1, pixels).tolist(),
                        "redshift": redshift,
                        "wavelength": (3700 * 10 ** (1e-4 * np.arange(pixels))).tolist(),
                    }
                }
            },
        },
    }


def lamost_name(number, night=57000):
    """Return a LAMOST file name; no two numbers share plan and fibre."""
    return (
        f"spec-{night + number % 900}-HD{number:06d}N30_sp{number % 16 + 1:02d}-{number % 250 + 1:03d}.fits"
    )


def write_official(folder: Path, counts=None, pixels=4, change=None):
    """Write one file a key of ``counts``; 87 redshifts of train_cc are null. ``change(stem, rows)`` edits rows."""
    folder.mkdir(parents=True, exist_ok=True)
    number = 0
    for stem, (rows, yes) in (counts or COUNTS).items():
        made = []
        for row in range(rows):
            number += 1
            index = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{stem} {row}"))
            redshift = None if stem == "train_cc" and row < 87 else row * 1e-6
            truth = "YES" if row < yes else "NO"
            made.append(
                official_row(index, lamost_name(number), SUFFIXES[stem[-2:]], truth, redshift, pixels, number)
            )
        if change:
            change(stem, made)
        pq.write_table(pa.Table.from_pylist(made), folder / f"{stem}.parquet")
    return folder
