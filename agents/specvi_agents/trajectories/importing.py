"""Import of files in the released form: every row is taken, mended or left out, and the report says which and why."""

import hashlib
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from PIL import Image, UnidentifiedImageError
from pydantic import ValidationError

from specvi_agents.trajectories.overlap import overlaps
from specvi_agents.trajectories.records import Record
from specvi_agents.trajectories.released import ReleasedRow, from_row, task_of
from specvi_agents.trajectories.repair import repair
from specvi_agents.trajectories.store import Store
from specvi_benchmark.errors import UserError
from specvi_benchmark.files import (
    StrictModel,
    parse_json,
    read_bytes,
    read_lines,
    read_text,
    write_json,
)
from specvi_benchmark.runs.record import RUN_FILE
from specvi_benchmark.splits import Split
from specvi_benchmark.tasks import Task

REPORT_FILE = "import.json"


class LeftOut(StrictModel):
    """A row that was not taken, and why."""

    row: int
    why: str


class ImportReport(StrictModel):
    """What became of a file's rows.

    Attributes
    ----------
    mended
        Damaged characters by how they were mended; ``mended_rows``: in how many of the rows taken.
    beyond_repair
        Damaged characters that nobody can tell, in the rows left out for them.
    overlapping
        Rows that share a file or object with a candidate outside of train; left out unless that was allowed.
    """

    source: str
    rows: int
    taken: int
    mended_rows: int
    mended: Mapping[str, int]
    beyond_repair: int
    overlapping: tuple[str, ...]
    overlap_allowed: bool
    left_out: tuple[LeftOut, ...]


class _Unusable(Exception):  # noqa: N818  # a state of a row
    """A row can't be taken; the message says why."""


def import_released(
    path: Path,
    folder: Path,
    *,
    pictures: Path | None = None,
    against: Sequence[Split] = (),
    allow_overlap: bool = False,
    by_context: bool = False,
    task: Task | None = None,
) -> ImportReport:
    """Read a file in the released form into a new trajectory folder.

    Parameters
    ----------
    path
        JSON, JSON lines or parquet.
    folder
        Trajectory folder; must not hold any yet.
    pictures
        Folder of the pictures. None: where the file lies, or ``images`` beside it.
    against
        Splits whose dev, cal and test parts no row may show.
    allow_overlap
        Take rows that do.
    by_context
        Mend what only the words around determine, see `repair.repair`.
    task
        What every row asks. None: as each says.

    Raises
    ------
    UserError
        The file can't be read, has other columns, or the folder is not new.
    """
    store = Store.make(folder)
    before = store.records()
    if before and ((folder / REPORT_FILE).exists() or (folder / RUN_FILE).exists()):
        raise UserError(
            "the folder holds trajectories", where=folder, expected="a new folder", fix="name another --out"
        )
    reading = _Reading(pictures or path.parent, by_context, task, path.name)
    rows, read, left_out = list(_rows(path)), list[_Row](), list[LeftOut]()
    for number, value in enumerate(rows):
        try:
            read.append(reading.row(number, value))
        except (_Unusable, UserError) as reason:
            left_out.append(LeftOut(row=number, why=" ".join(str(reason).split())))
    shared = {item.id: item for item in overlaps((row.record for row in read), against)}
    taken = [row for row in read if allow_overlap or row.record.id not in shared]
    for row in taken:
        if row.record.id not in before:  # a kill may have left an import half done
            store.add(row.record, row.pictures)
    left_out += [
        LeftOut(row=row.number, why=f"overlap: {shared[row.record.id]}") for row in read if row not in taken
    ]
    report = ImportReport(
        source=path.name,
        rows=len(rows),
        taken=len(taken),
        mended_rows=sum(bool(row.mended) for row in taken),
        mended=dict(sum((Counter(row.mended) for row in taken), Counter())),
        beyond_repair=reading.beyond_repair,
        overlapping=tuple(map(str, shared.values())),
        overlap_allowed=allow_overlap,
        left_out=tuple(sorted(left_out, key=lambda one: one.row)),
    )
    write_json(folder / REPORT_FILE, report.model_dump(mode="json"))
    return report


@dataclass(frozen=True, slots=True, eq=False)
class _Row:
    """A row that can be taken, its pictures by SHA-256, and what was mended by kind."""

    number: int
    record: Record
    pictures: Mapping[str, bytes]
    mended: Mapping[str, int]


class _Reading:
    """Reads rows one by one, and counts what was mended."""

    def __init__(self, pictures: Path, by_context: bool, task: Task | None, source: str) -> None:
        self._pictures, self._by_context, self._task, self._source = pictures, by_context, task, source
        self._known: set[str] = set()
        self.beyond_repair = 0

    def row(self, number: int, value: Any) -> _Row:
        """Return a row as a record, with its pictures."""
        embedded = _embedded(value)
        try:
            row = ReleasedRow.model_validate(value)
        except ValidationError as error:
            first = error.errors()[0]
            raise _Unusable(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
        row, mended = self._mended(row)
        pngs = {name: embedded.get(name) or self._picture(name) for name in row.images}
        names = {name: hashlib.sha256(png).hexdigest() for name, png in pngs.items()}
        task = self._task or task_of(row)
        record = from_row(row, names, teacher=f"imported:{self._source}", task=task, repaired=mended.total())
        if record.id in self._known:
            raise _Unusable(f"sample_index {row.sample_index} stands there twice")
        self._known.add(record.id)
        return _Row(number, record, {names[name]: png for name, png in pngs.items()}, mended)

    def _mended(self, row: ReleasedRow) -> tuple[ReleasedRow, Counter[str]]:
        found = [repair(turn.value, by_context=self._by_context) for turn in row.conversations]
        if left := sum(one.left for one in found):
            self.beyond_repair += left
            raise _Unusable(f"{left} damaged characters that nobody can tell")
        turns = tuple(
            turn.model_copy(update={"value": one.text})
            for turn, one in zip(row.conversations, found, strict=True)
        )
        mended: Counter[str] = sum((Counter(one.mended) for one in found), Counter())
        return row.model_copy(update={"conversations": turns}), mended

    def _picture(self, name: str) -> bytes:
        inside = PurePosixPath(name)
        if inside.is_absolute() or ".." in inside.parts:
            raise _Unusable(f"a picture outside of the folder: {name!r}")
        for place in (self._pictures / name, self._pictures / "images" / name):
            if place.is_file():
                return _checked(read_bytes(place), name)
        raise _Unusable(f"the picture {name!r} is missing")


def _checked(content: bytes, name: str) -> bytes:
    try:
        with Image.open(io.BytesIO(content), formats=["PNG"]) as picture:
            picture.verify()
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, SyntaxError, ValueError):
        raise _Unusable(f"{name!r} is no whole PNG") from None
    return content


def _embedded(value: Any) -> dict[str, bytes]:
    """Take pictures out of a row that holds them as ``{bytes, path}``, leaving their names."""
    found: dict[str, bytes] = {}
    images = value.get("images") if isinstance(value, dict) else None
    if isinstance(images, list) and all(isinstance(image, dict) and image.get("bytes") for image in images):
        for number, image in enumerate(images):
            image["path"] = image.get("path") or f"{number}.png"
            found[image["path"]] = _checked(image["bytes"], image["path"])
        value["images"] = [image["path"] for image in images]
    return found


def _rows(path: Path) -> Iterator[Any]:
    """Yield the rows of a JSON, JSON-lines or parquet file."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq  # noqa: PLC0415 -- slow to import
        from pyarrow import ArrowInvalid  # noqa: PLC0415

        try:
            yield from pq.read_table(path).to_pylist()
        except (ArrowInvalid, OSError) as error:
            raise UserError("the file can't be read", where=path, got=error) from None
    elif path.suffix == ".jsonl":
        yield from (value for _, value in read_lines(path))
    else:
        content = parse_json(read_text(path), path)
        if not isinstance(content, list):
            raise UserError("not a list of rows", where=path, expected="JSON, JSON lines or parquet")
        yield from content
