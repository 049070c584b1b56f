"""Splits known by name, built into the cache on first use; and how a split is found by name or path."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import home, locked
from specvi_benchmark.splits import manifest
from specvi_benchmark.splits.io import read_split, write_split
from specvi_benchmark.splits.split import Split

if TYPE_CHECKING:
    from specvi_benchmark.splits.screening import Report

NAMED = frozenset({"mini", "mini-small"})
"""Names of shipped recipes; a folder of that name is reached as ``./mini``."""


def find_split(name_or_path: str | Path) -> Split:
    """Return the split of that name or path; ``mini`` and ``mini-small`` are built on first use.

    Names come before paths: a folder called ``mini`` is reached as ``./mini``, or as a `Path`.

    Raises
    ------
    UserError
        Neither a known name nor a path.
    """
    if name_or_path in NAMED:
        return read_split(named_folder(str(name_or_path)))
    path = Path(name_or_path).expanduser()
    if not path.exists():
        raise UserError(
            "no such split",
            where=name_or_path,
            expected="`mini`, `mini-small`, a split folder, or official parquet files",
            got="neither name nor path",
            fix="check the spelling; `specvi split import` makes a split of official files",
        )
    return read_split(path)


def named_folder(name: str, *, report: "Report | None" = None, processes: int | None = None) -> Path:
    """Return the folder of a split that is known by name, built if it is missing or made by another recipe.

    Parameters
    ----------
    name
        One of `NAMED`: the name of a shipped recipe.
    report
        Hears how a build goes on; None keeps a line of the terminal up to date.
    processes
        How many build at once; None: one a processor.
    """
    from specvi_benchmark.splits.build import build_split, recorded  # noqa: PLC0415 -- it imports the simulator, which most reads don't need
    from specvi_benchmark.splits.progress import on_one_line  # noqa: PLC0415
    from specvi_benchmark.splits.recipe import load_recipe  # noqa: PLC0415
    from specvi_benchmark.splits.workers import processors  # noqa: PLC0415

    recipe = load_recipe(name)
    folder = home() / "splits" / name
    if _is_made(folder, recorded(recipe)):
        return folder  # no lock: a folder appears whole, and the cache may be read-only
    told = report or on_one_line(f"Building {recipe.name}, once")
    with locked(folder, lambda: told("waiting for another process that builds it,", 0, 1)):
        if not _is_made(folder, recorded(recipe)):
            made = build_split(recipe, processes=processes or processors(), report=told, keep_screening=False)
            write_split(made, folder, replace=True)
            told("done,", 1, 1)
    return folder


def _is_made(folder: Path, recipe: Mapping[str, Any]) -> bool:
    """Tell whether a folder is the split that this recipe makes."""
    described = (folder / manifest.FILE_NAME).exists()
    return described and dict(manifest.read_manifest(folder).recipe) == recipe
