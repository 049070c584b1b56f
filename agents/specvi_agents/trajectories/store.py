"""The folder of trajectories: two logs that only ever grow, and the pictures.

``trajectories.jsonl`` has each inspection as it came, ``changes.jsonl`` every change, ``views/<sha256>.png`` the
pictures. How a trajectory stands is worked out from the two logs, so that nothing can be lost by a kill, and
nothing said without a name and a reason.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from specvi_agents.trajectories.records import STATES, Change, Record, State, Trajectory, applied
from specvi_benchmark.errors import UserError
from specvi_benchmark.files import append_line, locked, mend_log, read_lines, validate, write_once
from specvi_benchmark.runs.record import VIEWS_FOLDER

RECORDS_FILE = "trajectories.jsonl"
CHANGES_FILE = "changes.jsonl"


def read(folder: Path, *, at_least: State = "draft") -> Iterator[Trajectory]:
    """Yield the trajectories of a folder as they stand now, in the order they came.

    Parameters
    ----------
    at_least
        Only those that have come so far; ``draft`` yields all, rejected ones too.

    Raises
    ------
    UserError
        It is no trajectory folder, or its logs contradict each other.
    """
    reached = STATES if at_least == "draft" else STATES[STATES.index(at_least) : STATES.index("rejected")]
    yield from (item for item in Store(folder).trajectories().values() if item.state in reached)


class Store:
    """A trajectory folder that exists."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not (folder / RECORDS_FILE).is_file():
            raise UserError(
                "not a trajectory folder",
                where=folder,
                expected=RECORDS_FILE,
                fix="name a folder that `specvi trajectories draft` or `import` wrote",
            )

    @classmethod
    def make(cls, folder: Path) -> "Store":
        """Open a folder to add to, made if it does not exist; an inspection that a kill left unfinished is cut off."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / RECORDS_FILE).touch()
        mend_log(folder / RECORDS_FILE)
        return cls(folder)

    @property
    def views(self) -> Path:
        """Return the folder of the pictures."""
        return self.folder / VIEWS_FOLDER

    def records(self) -> dict[str, Record]:
        """Return each inspection as it came, by id."""
        path = self.folder / RECORDS_FILE
        found: dict[str, Record] = {}
        for number, value in read_lines(path):
            where = f"{path}, line {number}"
            record = validate(Record, value, where)
            if record.id in found:
                raise UserError("a trajectory stands there twice", where=where, got=record.id)
            found[record.id] = record
        return found

    def changes(self) -> dict[str, list[Change]]:
        """Return the changes of each trajectory, in order."""
        path = self.folder / CHANGES_FILE
        found: dict[str, list[Change]] = {}
        for number, value in read_lines(path) if path.exists() else ():
            change = validate(Change, value, f"{path}, line {number}")
            found.setdefault(change.id, []).append(change)
        return found

    def trajectories(self) -> dict[str, Trajectory]:
        """Return every trajectory as it stands now, by id."""
        records, changes = self.records(), self.changes()
        if strangers := sorted(changes.keys() - records.keys()):
            raise UserError(
                "a change of a trajectory that is not there",
                where=self.folder / CHANGES_FILE,
                got=strangers[0],
                fix="restore the two logs from one copy",
            )
        return {key: self._standing(record, changes.get(key, ())) for key, record in records.items()}

    def find(self, wanted: str) -> Trajectory:
        """Return the one trajectory whose id is, or begins with, ``wanted``."""
        known = self.trajectories()
        if wanted in known:
            return known[wanted]
        begun = [key for key in known if key.startswith(wanted)] if wanted else []
        if len(begun) != 1:
            raise UserError(
                "several trajectories begin so" if begun else "no such trajectory",
                where=self.folder,
                expected="an id, or as much of its beginning as names one",
                got=wanted,
                fix="`specvi trajectories review FOLDER` lists them",
            )
        return known[begun[0]]

    def add(self, record: Record, pictures: Mapping[str, bytes]) -> None:
        """Add an inspection: pictures first, then its line, so that what stands in the log is whole."""
        for sha256, png in pictures.items():
            write_once(self.views / f"{sha256}.png", png)
        append_line(self.folder / RECORDS_FILE, record.model_dump(mode="json"))

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Hold the folder's lock: what is read within stands until it is changed within."""
        with locked(self.folder):
            mend_log(self.folder / CHANGES_FILE)
            yield

    def change(self, change: Change) -> None:
        """Put a change on record."""
        append_line(self.folder / CHANGES_FILE, change.model_dump(mode="json"))

    def _standing(self, record: Record, changes: "list[Change] | tuple[()]") -> Trajectory:
        state: State = "draft"
        trace = record.trace
        for change in changes:
            if change.before != state:
                raise UserError(
                    "a change does not follow from the one before",
                    where=f"{self.folder / CHANGES_FILE}, trajectory {record.id}",
                    expected=f"before: {state}",
                    got=f"before: {change.before}",
                    fix="restore the log from a copy; it is only ever appended to",
                )
            state = change.after
            trace = applied(trace, change.edits)
        return Trajectory(record, trace, state, tuple(changes), self.views)
