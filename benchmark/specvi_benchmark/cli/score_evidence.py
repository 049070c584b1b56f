"""The part of `specvi score` on evidence: decisive claims, all claims, where the system looked, examples."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from specvi_benchmark.scoring.evidence import Evidence, TaskEvidence
    from specvi_benchmark.scoring.measure import Measure

MEANING = (
    "Found: at its place the flux stands out with p < 0.01 from the noise and from 200 places without a known feature. "
    "Not found does not mean absent: at low S/N a weak feature can't be told from noise. docs/evidence.md explains "
    "every number."
)
_SENTENCE = 110


def evidence_section(found: "Evidence | None") -> Iterator[Table | str]:
    """Yield the tables and sentences; nothing where a run has no text."""
    if found is None:
        return
    yield _decisive_table(found)
    yield _claim_table(found)
    if any(task.looked.calls is not None for task in found.tasks):
        yield _look_table(found)
    yield MEANING
    yield from _examples(found)


def _decisive_table(found: "Evidence") -> Table:
    columns = ("right YES", "found", "not found", "not shown", "not testable", "none made", "share found")
    table = _table(*columns, title="Evidence: is the decisive claim of a right YES in the flux?")
    for task in found.tasks:
        row = task.decisive
        counts = (row.n, row.found, row.not_found, row.not_shown, row.not_testable, row.none)
        table.add_row(_label(task), *map(str, counts), _measure(row.share))
    return table


def _claim_table(found: "Evidence") -> Table:
    columns = (
        "text",
        "present",
        "absent",
        "uncertain",
        "untested",
        "unsupported",
        "contradicted",
        "wrong λ",
        "widths off",
    )
    table = _table(*columns, title="All claims")
    for task in found.tasks:
        row = task.claims
        widths = f"{row.widths_wrong} of {row.widths}" if row.widths else "–"
        counts = (task.n, row.present, row.absent, row.uncertain, row.not_shown + row.not_testable)
        table.add_row(
            _label(task),
            *map(str, counts),
            _measure(row.unsupported),
            _measure(row.contradicted),
            str(row.wrong_wavelength),
            widths,
        )
    return table


def _look_table(found: "Evidence") -> Table:
    columns = ("calls", "windows shown", "wasted calls", "decisive place zoomed", "usual order")
    table = _table(*columns, title="Where it looked")
    table.columns[-1].justify = "left"
    for task in found.tasks:
        row = task.looked
        if row.calls is None:
            continue
        table.add_row(
            _label(task),
            f"{row.calls:.1f}",
            *map(_share, (row.windows_shown, row.wasted, row.decisive_zoomed)),
            escape(" → ".join(label.split(",")[0] for label in row.usual_order)),
        )
    return table


def _examples(found: "Evidence") -> Iterator[str]:
    """Yield one example of each sort a task; results.json has up to three."""
    for task in found.tasks:
        shown: set[str] = set()
        for example in task.examples:
            if example.of in shown:
                continue
            shown.add(example.of)
            sentence = (
                example.sentence if len(example.sentence) <= _SENTENCE else example.sentence[:_SENTENCE] + "…"
            )
            yield escape(
                f"{_label(task)}, {example.of}: “{sentence}” ({example.claim}); flux: {example.flux}; id {example.id}"
            )


def _table(*columns: str, title: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left")
    table.add_column("task", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def _label(task: "TaskEvidence") -> str:
    return f"{task.track} {task.task}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


def _measure(measure: "Measure") -> str:
    if measure.value is None:
        return "–"
    return f"{measure.value:.3f} \\[{measure.low:.3f}–{measure.high:.3f}]"
