"""Official parquet files made into a split, and what is told about them on the way."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.files import parse_json, read_text, sha256_file
from specvi_benchmark.splits import official
from specvi_benchmark.splits.duplicates import Shared, find_duplicates, find_in_cold_start
from specvi_benchmark.splits.io import read_split
from specvi_benchmark.splits.manifest import FILE_NAME, Manifest, read_manifest
from specvi_benchmark.splits.split import Split
from specvi_benchmark.tasks import get_task


@dataclass(frozen=True, slots=True)
class Imported:
    """A split made of files, and what they hold.

    Attributes
    ----------
    split
        Its recipe names the files with their SHA-256, where they come from, and what was found.
    files
        The official ones among the files.
    missing
        Published files that are not there; empty where none is official.
    duplicates, cold_start
        What stands in several places, within the split and with the released trajectories.
    columns_left_out
        Columns that are not in the schema.
    """

    split: Split
    files: tuple[official.FileReport, ...]
    missing: tuple[str, ...]
    duplicates: tuple[Shared, ...]
    cold_start: tuple[Shared, ...]
    columns_left_out: tuple[str, ...]

    @property
    def differing(self) -> tuple[official.Published, ...]:
        """Return the published figures that are not met."""
        return tuple(check for file in self.files for check in file.checks if not check.holds)


def import_files(
    files: Sequence[Path],
    *,
    name: str | None,
    version: str | None,
    origin: Mapping[str, Any],
    cold_start: Sequence[str] | None = None,
) -> Imported:
    """Read official parquet files, of whatever folder, as one split, and look at them.

    Parameters
    ----------
    name, version
        Of the split. None: as ``split.json`` beside the files says, else ``imported`` and ``0``.
    origin
        JSON values that say where the files come from, for the recipe.
    cold_start
        Names of the spectra of the released trajectories; None: not compared.

    Raises
    ------
    UserError
        A file is damaged or in another schema, or ids are not unique.
    """
    folder = split_folder(files)
    if folder is not None:
        read = [read_split(folder)]  # checked against its split.json
        known: Mapping[str, Any] = read[0].recipe
        name, version = name or read[0].name, version or read[0].version
    else:
        read, known = [read_split(file) for file in files], {}
    left_out = sorted({column for part in read for column in part.recipe.get("columns_left_out", ())})
    candidates = tuple(candidate for part in read for candidate in part.candidates)
    bare = Split(name or "imported", version or "0", candidates, {})
    described = tuple(official.describe_file(file) for file in files if official.is_official(file))
    duplicates = find_duplicates(bare)
    trained_on = find_in_cold_start(bare, cold_start) if cold_start is not None else ()
    recipe = {
        **known,
        **origin,
        "files": [file.name for file in files],
        "columns_left_out": left_out,
        "sha256": {file.name: sha256_file(file) for file in files},
        "rows": {item.name: item.rows for item in described},
        "null_redshifts": {item.name: item.null_redshifts for item in described},
        "duplicates": [item.model_dump(mode="json") for item in duplicates],
        "cold_start": None if cold_start is None else [item.model_dump(mode="json") for item in trained_on],
    }
    names = [item.name for item in described]
    return Imported(
        split=Split(bare.name, bare.version, candidates, recipe, read[0].report if known else {}),
        files=described,
        missing=tuple(official.missing_files(names)) if described else (),
        duplicates=duplicates,
        cold_start=trained_on,
        columns_left_out=tuple(left_out),
    )


def split_folder(files: Sequence[Path]) -> Path | None:
    """Return the split folder of which these are all the files, None where they are of none, or not all."""
    folders = {file.parent for file in files}
    if len(folders) != 1:
        return None
    folder = folders.pop()
    if not (folder / FILE_NAME).exists():
        return None
    return folder if {file.name for file in files} == set(read_manifest(folder).files) else None


def require_published(imported: Imported) -> None:
    """Raise unless all ten files are there with every published figure."""
    if imported.missing:
        raise UserError(
            "published files are missing",
            expected=f"{len(official.ROWS)} files",
            got=f"without {examples(imported.missing, limit=10)}",
            fix="get the dataset again, or leave --strict out",
        )
    if imported.differing:
        raise UserError(
            "the files are not as published",
            got=examples(
                (f"{item.what} {item.found}, published {item.published}" for item in imported.differing),
                limit=10,
            ),
            fix="get the dataset again at the pinned revision, or leave --strict out",
        )


def check_lossless(files: Iterable[Path], folder: Path, written: Manifest) -> tuple[list[str], list[str]]:
    """Compare every file with the one it became, value by value, as it lies on the disk.

    Returns
    -------
    compared, mixed
        Names of the files that were compared and lost nothing; and of those that can't be: they did not
        become one file of their own (several tasks in one, or one task in several), or are files of the
        suite, whose pictures and prompts are made anew (their fingerprint is compared instead).

    Raises
    ------
    UserError
        A value differs.
    """
    targets = {file: _target(file) for file in files}
    shared = Counter(targets.values())
    compared, mixed = [], []
    for file, target in targets.items():
        ours = "specvi" in pq.read_schema(file).names
        if ours or target is None or shared[target] > 1 or target not in written.files:
            mixed.append(file.name)
            continue
        if lost := official.losses(file, folder / target):
            raise UserError(
                "the import is not lossless; this is a fault of the suite",
                where=folder / target,
                expected=f"the values of {file}",
                got=f"other values in {', '.join(lost)}",
                fix="report it, with the file",
            )
        compared.append(file.name)
    return compared, mixed


def cold_start_names(paths: Iterable[Path]) -> list[str]:
    """Return the column ``source_name`` of the released trajectories: parquet, JSON or JSON-lines files.

    Raises
    ------
    UserError
        No file has the column.
    """
    listed = list(paths)
    names = [name for path in listed for name in _source_names(path)]
    if not names:
        raise UserError(
            "no trajectories in it",
            where=examples(listed),
            expected="a column source_name (parquet, JSON or JSON lines)",
            got="none",
        )
    return names


def _source_names(path: Path) -> list[str]:
    if path.suffix == ".parquet":
        try:
            if "source_name" not in pq.read_schema(path).names:
                return []
            column = pq.read_table(path, columns=["source_name"]).column(0)
        except (pa.ArrowException, OSError) as error:
            raise UserError(
                "not a readable parquet file", where=path, got=str(error).splitlines()[0]
            ) from None
        return [name for name in column.to_pylist() if name]
    text = read_text(path)
    rows: Any
    if path.suffix == ".jsonl":
        rows = [
            parse_json(line, f"{path}, line {number}")
            for number, line in enumerate(text.splitlines(), start=1)
            if line.strip()
        ]
    else:
        rows = parse_json(text, path)
    if not isinstance(rows, list):
        return []
    return [str(row["source_name"]) for row in rows if isinstance(row, dict) and row.get("source_name")]


def _target(file: Path) -> str | None:
    """Return the name that `io.write_split` gives the rows of an official file; None where it parts them."""
    part = file.name.split("_", 1)[0].split(".", 1)[0]
    found = _groups(file)
    return f"{part}_{found.pop()}.parquet" if len(found) == 1 else None


def _groups(file: Path) -> set[str]:
    spelled = pq.read_table(file, columns=["data_source"]).column(0).unique().to_pylist()
    return {get_task(value).key for value in spelled}
