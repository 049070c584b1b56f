"""The list that says what labelled real spectra are: one row a spectrum, CSV or YAML."""

import csv
import hashlib
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field

from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.files import StrictModel, parse_yaml, read_text, validate
from specvi_benchmark.surveys.source import Medium

Origin = Literal["survey", "library"]
Half = Literal["open", "held-out"]

FILE_NAME = "labels.csv"
COLUMNS = ("path", "class", "object", "origin", "source")
FURTHER_COLUMNS = ("medium", "resolution_AA", "redshift", "row")


@dataclass(frozen=True, slots=True)
class Label:
    """What one spectrum is, who says so, and how to read it.

    Attributes
    ----------
    path
        The file, found.
    classes
        What it may be called; more than one where the label leaves it open (``k-dwarf|gk-giant``).
    object
        Name of the object; spectra of one object count as one.
    origin
        ``survey``: taken as it is. ``library``: a template, to be degraded to what a survey would see.
    source
        Where the label comes from.
    medium
        ``air`` or ``vacuum`` for files that don't say, else None.
    resolution_AA
        FWHM of the line spread, None where it is that of the survey, or much sharper than LAMOST.
    redshift
        For a template in the rest frame: where to put it.
    row
        Row of a file with several spectra.
    """

    path: Path
    classes: frozenset[str]
    object: str
    origin: Origin
    source: str
    medium: Medium | None
    resolution_AA: float | None
    redshift: float
    row: int | None

    @property
    def class_name(self) -> str:
        """Return the classes as they are written in a list."""
        return "|".join(sorted(self.classes))


class _Row(StrictModel):
    model_config = ConfigDict(extra="forbid", strict=False, populate_by_name=False)

    path: str = Field(min_length=1)
    class_: str = Field(alias="class", min_length=1)
    object: str = Field(min_length=1)
    origin: Origin
    source: str = Field(min_length=1)
    medium: Medium | None = None
    resolution_AA: float | None = Field(default=None, gt=0)  # a unit
    redshift: float = Field(default=0.0, ge=0)
    row: int | None = Field(default=None, ge=0)


class _List(StrictModel):
    model_config = ConfigDict(extra="forbid", strict=False)

    spectra: list[_Row]


def read_labels(data: Sequence[Path], lists: Sequence[Path]) -> tuple[Label, ...]:
    """Read label lists and find the spectra they name.

    Parameters
    ----------
    data
        Folders with spectra.
    lists
        Label lists; none: ``labels.csv`` in each folder. Paths in a list are relative to a folder of
        ``data``. CSV has a header line; YAML has ``spectra:`` with one mapping a row.

    Raises
    ------
    UserError
        A folder or list is missing, a row is faulty, a file is not found or in two folders, or an
        object has two classes.
    """
    for folder in data:
        if not folder.is_dir():
            raise UserError("no such folder", where=folder, expected="a folder with labelled spectra")
    labels = []
    for file in lists or [folder / FILE_NAME for folder in data]:
        labels += [_label(row, data, file) for row in _rows(file)]
    if not labels:
        raise UserError("no labelled spectrum", where=", ".join(map(str, lists or data)))
    _check(labels)
    return tuple(labels)


def halves(labels: Sequence[Label]) -> dict[str, Half]:
    """Return which half each object belongs to: the open one, or the one held out of all development.

    Within each origin and class, objects in the order of the SHA-256 of their names go to one and the
    other half in turn: no hand chooses, and a new list of other objects moves few. An object in both
    origins is held out where either says so.
    """
    groups: dict[tuple[str, str], set[str]] = {}
    for label in labels:
        groups.setdefault((label.origin, label.class_name), set()).add(label.object)
    found: dict[str, Half] = {}
    for names in groups.values():
        ordered = sorted(names, key=lambda name: hashlib.sha256(name.encode()).hexdigest())
        for number, name in enumerate(ordered):
            if found.get(name) != "held-out":
                found[name] = "open" if number % 2 else "held-out"
    return found


def _rows(file: Path) -> list[_Row]:
    text = read_text(file)
    if file.suffix.lower() in {".yaml", ".yml"}:
        return validate(_List, parse_yaml(text, file), file).spectra
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))
    names = reader.fieldnames or []
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise UserError(
            "not a list of labels",
            where=file,
            expected=f"columns {', '.join(COLUMNS)} (and, as needed, {', '.join(FURTHER_COLUMNS)})",
            got=f"no column {', '.join(missing)}",
            fix="write a list as docs/realism.md says and give it with --labels",
        )
    rows: list[dict[str, Any]] = []
    for row in reader:
        if None in row:
            raise UserError("too many fields", where=f"{file}, line {reader.line_num}", expected=len(names))
        rows.append({name: value for name, value in row.items() if value})
    return validate(_List, {"spectra": rows}, file).spectra


def _label(row: _Row, data: Sequence[Path], file: Path) -> Label:
    found = [folder / row.path for folder in data if (folder / row.path).is_file()]
    if len(found) != 1:
        raise UserError(
            "a labelled file is in two folders" if found else "a labelled file is not there",
            where=file,
            expected=f"{row.path} in one of {', '.join(map(str, data))}",
            got=", ".join(map(str, found)) or "in none",
            fix="give the folder that the paths of the list start from",
        )
    return Label(
        path=found[0],
        classes=frozenset(name.strip() for name in row.class_.split("|")),
        object=row.object,
        origin=row.origin,
        source=row.source,
        medium=row.medium,
        resolution_AA=row.resolution_AA,
        redshift=row.redshift,
        row=row.row,
    )


def _check(labels: Sequence[Label]) -> None:
    classes: dict[tuple[str, str], set[str]] = {}
    for label in labels:
        classes.setdefault((label.origin, label.object), set()).add(label.class_name)
    torn = [f"{name} ({', '.join(sorted(given))})" for (_, name), given in classes.items() if len(given) > 1]
    if torn:
        raise UserError("an object has two classes", got=examples(torn), fix="correct the list of labels")
    rows = Counter((label.path, label.row) for label in labels)
    twice = sorted({str(path) for (path, _), count in rows.items() if count > 1})
    if twice:
        raise UserError("a spectrum is labelled twice", got=examples(twice), fix="remove the second row")
