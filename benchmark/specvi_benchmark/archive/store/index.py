"""Finds a spectrum by its id: one sorted array of hashes, mapped from disk, 16 bytes a spectrum."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from specvi_benchmark.files import atomic_path

_ENTRY = np.dtype([("hash", "<u8"), ("shard", "<u4"), ("row", "<u4")])


def hash_of(text: str) -> int:
    """Return 64 bits that stand for a text; the same on every machine."""
    return int.from_bytes(
        hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=8).digest(), "big"
    )


def hashes_of(texts: Iterable[str]) -> NDArray[np.uint64]:
    """Return `hash_of` of every text."""
    return np.fromiter((hash_of(text) for text in texts), dtype=np.uint64)


def write_index(path: Path, ids_by_shard: Iterable[Iterable[str]]) -> None:
    """Write the index of all ids; the number of a shard is its place among them."""
    parts = []
    for shard, ids in enumerate(ids_by_shard):
        hashes = hashes_of(ids)
        part = np.empty(len(hashes), dtype=_ENTRY)
        part["hash"], part["shard"], part["row"] = hashes, shard, np.arange(len(hashes))
        parts.append(part)
    entries = np.concatenate(parts) if parts else np.empty(0, dtype=_ENTRY)
    entries.sort(order=["hash", "shard", "row"])
    with atomic_path(path) as temporary, temporary.open("wb") as stream:
        np.save(stream, entries)


def find(path: Path, id_: str) -> list[tuple[int, int]]:
    """Return (shard, row) of every spectrum whose id has this hash: one or none, but for a chance in 10¹²."""
    entries = np.load(path, mmap_mode="r")
    wanted = np.uint64(hash_of(id_))
    first, last = (int(np.searchsorted(entries["hash"], wanted, side=side)) for side in ("left", "right"))
    return [(int(entry["shard"]), int(entry["row"])) for entry in entries[first:last]]
