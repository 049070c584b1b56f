"""Catalogue tables as surveys and papers publish them, and their rows matched with each other."""

from specvi_benchmark.archive.catalogue.catalogue import Catalogue
from specvi_benchmark.archive.catalogue.match import Matches, Unmatched, match
from specvi_benchmark.archive.catalogue.read import read_catalogue
from specvi_benchmark.archive.catalogue.report import Report, remarks_on, report

__all__ = ["Catalogue", "Matches", "Report", "Unmatched", "match", "read_catalogue", "remarks_on", "report"]
