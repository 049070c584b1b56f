"""Fetch spectra and catalogues from LAMOST, SDSS, DESI and SPARCL: politely, resumably, checked before they count."""

from specvi_benchmark.archive.fetch.asked import Asked, Cone
from specvi_benchmark.archive.fetch.client import Politeness
from specvi_benchmark.archive.fetch.dry_run import Estimate, estimate
from specvi_benchmark.archive.fetch.item import Item, Lookup, Scheme
from specvi_benchmark.archive.fetch.run import Summary, fetch
from specvi_benchmark.archive.fetch.schemes import SURVEYS, get_scheme

__all__ = [
    "SURVEYS",
    "Asked",
    "Cone",
    "Estimate",
    "Item",
    "Lookup",
    "Politeness",
    "Scheme",
    "Summary",
    "estimate",
    "fetch",
    "get_scheme",
]
