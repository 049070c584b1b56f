"""The log of an archive's fetches: a line for each file that came, was not there, or could not be had.

The files themselves say what is done; the log says from where they came and what was checked, and which ones a server
does not have.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from specvi_benchmark.files import StrictModel, append_line, mend_log, parse_json, validate

NAME = "fetch.jsonl"
SCHEMA_VERSION = 1


class LogLine(StrictModel):
    """One event. Addresses are without tokens."""

    schema_version: int = SCHEMA_VERSION
    key: str
    state: Literal["done", "absent", "failed"]
    path: str | None = None
    address: str | None = None
    bytes: int | None = None
    sha256: str | None = None
    checked: tuple[str, ...] = ()
    note: str | None = None
    reason: str | None = None
    time: str | None = None


class FetchLog:
    """The append-only log in one folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / NAME
        mend_log(self._path)

    def write(self, line: LogLine) -> None:
        """Append one event, with the time."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        record = line.model_dump(exclude_none=True, mode="json")
        append_line(self._path, {**record, "time": now})

    def absent(self) -> set[str]:
        """Return the addresses at which a server had no file, when last asked.

        Not the keys: a mirror's gap, or a wrong run of a plate, says nothing about the other places of a file.
        """
        addresses: set[str] = set()
        if not self._path.exists():
            return addresses
        with self._path.open("rb") as stream:
            for number, text in enumerate(stream, start=1):
                if b'"state": "absent"' in text:  # a log of millions of files is not parsed for a handful
                    where = f"{self._path}, line {number}"
                    line = validate(LogLine, parse_json(text.decode("utf-8", "replace"), where), where)
                    addresses.add(line.address or "")
        return addresses
