"""Ingesting: any files of spectra become an archive's shards, each file once."""

from specvi_benchmark.archive.ingest.ingest import IngestReport, ingest

__all__ = ["IngestReport", "ingest"]
