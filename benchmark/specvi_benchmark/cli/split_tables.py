"""Tables and sentences about splits: what a build found out, and what differs between two."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from rich import box
from rich.table import Table

from specvi_benchmark.errors import examples
from specvi_benchmark.files import validate
from specvi_benchmark.splits.difference import Difference
from specvi_benchmark.splits.report import BuildReport

SHOWN = 20
"""Changes that are listed one by one; `--json` holds all."""


def report_tables(report: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the funnel and the weak classifier of a build; nothing for a split that no recipe built."""
    if report:
        told = validate(BuildReport, report, "split.json, report")
        yield _funnel(told)
        yield _weak(told)


def difference_lines(found: Difference) -> Iterator[str]:
    """Yield a difference in sentences."""
    yield f"{found.before} → {found.after}"
    if found.same_fingerprint:
        yield "same fingerprint: the same questions, truths and pixels"
    yield f"{len(found.added)} added, {len(found.removed)} removed, {found.unchanged} unchanged"
    for word, entries in (("added", found.added), ("removed", found.removed)):
        tally = Counter((entry.part, entry.group, entry.truth) for entry in entries)
        for (part, group, truth), number in sorted(tally.items()):
            names = examples(
                entry.name or entry.id
                for entry in entries
                if (entry.part, entry.group, entry.truth) == (part, group, truth)
            )
            yield f"  {word} {part} {group} {truth}: {number} ({names})"
    kinds = Counter(change.what for change in found.changed)
    yield "changed: " + (", ".join(f"{what} {number}" for what, number in kinds.items()) or "nothing")
    for change in found.changed[:SHOWN]:
        yield f"  {change.group} {change.id}: {change.what} {change.before} → {change.after}"
    if len(found.changed) > SHOWN:
        yield f"  and {len(found.changed) - SHOWN} more, see --json"
    for item in found.recipe:
        yield f"recipe {item.key}: {item.before} → {item.after}"


def _funnel(told: BuildReport) -> Table:
    table = Table(
        "track", "task", "truth", title="Selection: spectra left after each step", box=box.SIMPLE_HEAD
    )
    for name in ("labelled", "usable", "decidable", "accepted", "chosen", "accepted share"):
        table.add_column(name, justify="right")
    for item in told.sets:
        for truth, funnel in item.funnel.items():
            steps = (funnel.labelled, funnel.usable, funnel.decidable, funnel.accepted, funnel.chosen)
            table.add_row(item.track, item.task, truth, *map(str, steps), _share(funnel.acceptance))
    table.caption = "Accepted share of NO: the acceptance rate. Of YES: what the positives filter keeps, if the recipe filters them."
    return table


def _weak(told: BuildReport) -> Table:
    table = Table("task", title="Weak classifier: accepted members, and accepted others", box=box.SIMPLE_HEAD)
    for item in told.weak[0].by_snr:
        low, high = item.snr
        table.add_column(f"S/N {low:.0f}–{high:.0f}" if high < 1e6 else f"S/N ≥ {low:.0f}", justify="right")
    table.add_column("accepted others are")
    for weak in told.weak:
        cells = [f"{bin_.members_accepted}/{bin_.members}, {bin_.others_accepted}" for bin_ in weak.by_snr]
        table.add_row(weak.task, *cells, examples(f"{name} {n}" for name, n in weak.accepted_as.items()))
    return table


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.2%}"
