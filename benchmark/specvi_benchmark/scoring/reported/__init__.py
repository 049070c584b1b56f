"""Figures that others have published, each with its source and how it was read."""

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from specvi_benchmark.files import Model, StrictModel, parse_yaml, validate
from specvi_benchmark.tasks.task import Track

Pair = Annotated[str, Field(pattern=r"^\d+\.\d/\d+\.\d$")]
"""Accuracy and F1 in per cent as printed, ``93.1/81.0``: text, since the decimals count."""

Printed = Annotated[str, Field(pattern=r"^\d+\.\d$")]


class TestSet(StrictModel):
    """A test set: rows, the numbers of positives it may have (``229``, ``190-256``), and how these are known."""

    n: int
    positives: str
    positives_source: str


class Row(StrictModel):
    """One system of the table."""

    system: str
    kind: Literal["deep-learning", "vlm", "agent"]
    cv: Pair
    cs: Pair
    ss: Pair
    mg: Pair
    wd: Pair
    mean: Pair


class Cell(NamedTuple):
    """One system on one task."""

    system: str
    kind: str
    task: str
    accuracy: str
    f1: str


class ReportedTable(StrictModel):
    """A published table of accuracy and F1, with where it is from."""

    title: str
    paper: str
    source: str
    how_read: str
    licence: str
    sets: dict[str, TestSet]
    rows: tuple[Row, ...]

    def cells(self) -> Iterator[Cell]:
        """Yield every cell, row by row; the column of means is left out."""
        for row in self.rows:
            for task in self.sets:
                accuracy, f1 = getattr(row, task).split("/")
                yield Cell(row.system, row.kind, task, accuracy, f1)


class Figure(StrictModel):
    """One published figure in per cent; with ``up_to``, a range over several systems."""

    system: str
    track: Track
    set: str
    measure: str
    value: Printed
    up_to: Printed | None = None


class ReportedFigures(StrictModel):
    """Published single figures, with where they are from."""

    title: str
    paper: str
    source: str
    how_read: str
    licence: str
    figures: tuple[Figure, ...]


@cache
def reported_table() -> ReportedTable:
    """Return Table 1 of the benchmark's paper: eleven systems, five tasks."""
    return _read("table1.yaml", ReportedTable)


@cache
def reported_generalisation() -> ReportedFigures:
    """Return the published figures on other surveys, unseen classes and extreme cases."""
    return _read("generalisation.yaml", ReportedFigures)


def _read(name: str, model: type[Model]) -> Model:
    source = files(__name__) / name
    return validate(model, parse_yaml(source.read_text(encoding="utf-8"), source), source)
