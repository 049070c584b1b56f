"""An archive of spectra on disk: parquet shards, read in order or by id."""

from specvi_benchmark.archive.store.packing import pack, unpack
from specvi_benchmark.archive.store.shard import ROWS, Shard, read_shard, write_shard
from specvi_benchmark.archive.store.store import Store, key_of, only_writer, spectrum_key

__all__ = [
    "ROWS",
    "Shard",
    "Store",
    "key_of",
    "only_writer",
    "pack",
    "read_shard",
    "spectrum_key",
    "unpack",
    "write_shard",
]
