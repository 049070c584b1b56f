"""Replies that were paid for are not paid for twice: one file a reply, named by everything that can change it."""

import hashlib
import json
from pathlib import Path
from typing import Any

from specvi_benchmark.files import canonical_json, home, write_once

CACHE_VERSION = 1


class ReplyCache:
    """Answers of servers by request. A kill leaves whole files only; a file that is spoilt counts as absent."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or home() / "replies"

    def key(self, url: str, outline: bytes, sample: int) -> str:
        """Return the name of a reply.

        Parameters
        ----------
        url
            Where the request goes.
        outline
            Its body: model, messages with picture hashes, tools, sampling and everything else.
        sample
            Number of the independent sample.
        """
        what = canonical_json({"version": CACHE_VERSION, "url": url, "sample": sample})
        return hashlib.sha256(what + b"\n" + outline).hexdigest()

    def get(self, key: str) -> Any | None:
        """Return the parsed answer, or None."""
        try:
            return json.loads(self._path(key).read_bytes())
        except (OSError, ValueError, RecursionError):
            return None

    def put(self, key: str, answer: bytes) -> None:
        """Keep an answer, as the server gave it."""
        write_once(self._path(key), answer)

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"
