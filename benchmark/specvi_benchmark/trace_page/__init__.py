"""Recorded inspections, to read: found in a run by id, as text, as a page, and checked against the split."""

from specvi_benchmark.trace_page.audit import Audit, audit
from specvi_benchmark.trace_page.page import render_page
from specvi_benchmark.trace_page.recorded import Recorded, RecordedRun, Shown
from specvi_benchmark.trace_page.text import render_text

__all__ = ["Audit", "Recorded", "RecordedRun", "Shown", "audit", "render_page", "render_text"]
