"""A file that is being fetched: what has come so far, and whether the rest can be asked for."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from pydantic import ValidationError

from specvi_benchmark.files import StrictModel, durable_replace

_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+)")


class _About(StrictModel):
    """What is kept beside the bytes: of which file they are, and how long it will be."""

    address: str
    validator: str
    total: int


class Partial:
    """The hidden file beside a target, ``.NAME.part``, and what is known of it, ``.NAME.part.json``.

    A kill leaves it at any byte; the next run goes on from there if the server still has the same file.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = target.with_name(f".{target.name}.part")
        self._about_path = target.with_name(f".{target.name}.part.json")
        self._about: _About | None = None

    def size(self) -> int:
        """Return the bytes that are there."""
        return self.path.stat().st_size if self.path.exists() else 0

    def range_headers(self, address: str) -> dict[str, str]:
        """Return the headers that ask for the rest, empty where it has to begin at the start."""
        about = self._read_about()
        size = self.size()
        if about is None or about.address != address or not 0 < size < about.total:
            return {}
        return {"Range": f"bytes={size}-", "If-Range": about.validator}

    def is_whole(self, address: str) -> bool:
        """Return whether all bytes of this address's file have come; only the check was cut short."""
        about = self._read_about()
        return about is not None and about.address == address and self.size() == about.total

    def begin(self, address: str, status: int, headers: Mapping[str, str]) -> tuple[int, int | None]:
        """Make ready for a body; return from which byte it is written, and the length the whole file will have.

        Raises
        ------
        ValueError
            The server sends another part than was asked for.
        """
        if status == 206:  # partial content
            found = _CONTENT_RANGE.fullmatch(headers.get("Content-Range", ""))
            if found is None or int(found[1]) != self.size():
                raise ValueError(f"another part than asked for: {headers.get('Content-Range')!r}")
            return int(found[1]), int(found[2])
        self.drop()
        length = headers.get("Content-Length", "")
        total = int(length) if length.isdigit() else None
        # A weak validator does not promise the same bytes (RFC 9110, 13.1.5).
        strong = headers.get("ETag", "")
        validator = strong if strong.startswith('"') else headers.get("Last-Modified", "")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if total is not None and validator and headers.get("Accept-Ranges", "").lower() == "bytes":
            about = _About(address=address, validator=validator, total=total)
            # Torn by a kill it is no JSON, and the file begins anew: no need of an atomic write for each file.
            self._about_path.write_text(about.model_dump_json(), encoding="utf-8")
        return 0, total

    def stream(self, start: int) -> BinaryIO:
        """Open the file for the bytes from ``start`` on."""
        return self.path.open("ab" if start else "wb")

    def finish(self) -> None:
        """Move the checked bytes to their place, durably."""
        durable_replace(self.path, self.target)
        self._about_path.unlink(missing_ok=True)

    def drop(self) -> None:
        """Forget what has come."""
        self._about_path.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)

    def _read_about(self) -> _About | None:
        try:
            return _About.model_validate(json.loads(self._about_path.read_bytes()))
        except (OSError, ValueError, ValidationError):  # none, or damaged: begin anew
            return None
