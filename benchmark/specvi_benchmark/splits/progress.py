"""How a long build shows where it is when nobody asked."""

import sys
from typing import TextIO

from specvi_benchmark.splits.screening import Report


def on_one_line(title: str, stream: TextIO | None = None) -> Report:
    """Return a report that keeps one line of a terminal up to date; it is silent where none is there."""
    target = sys.stderr if stream is None else stream
    if not target.isatty():
        return lambda *_: None

    def report(step: str, done: int, total: int) -> None:
        target.write(f"\r\x1b[2K{title}: {step} {done}/{total}")
        target.flush()

    return report
