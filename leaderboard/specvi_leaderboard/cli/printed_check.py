"""What `specvi submit` and `specvi validate` print of a submission."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specvi_leaderboard.submissions.validate import Checked


def print_check(checked: "Checked") -> None:
    """Print the scores a submission gets, and the notes for its reviewer."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from specvi_benchmark.runs.evaluate import score_matched
    from specvi_leaderboard.site.page import number, span

    results = score_matched(checked.matched)
    console = Console(highlight=False, markup=False)
    grid = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for head in ("track", "task", "n", "yes", "no answer", "accuracy", "F1", "95 %"):
        grid.add_column(head, no_wrap=True, justify="left" if head in {"track", "task"} else "right")
    for score in results.tasks:
        silent = sum(
            n for calls in score.ledger.values() for call, n in calls.items() if call not in {"YES", "NO"}
        )
        said = sum(calls["YES"] for calls in score.ledger.values())
        counts = (str(score.n), str(said), str(silent))
        f1 = score.ranked.f1
        grid.add_row(
            score.track, score.task, *counts, number(score.ranked.accuracy.value), number(f1.value), span(f1)
        )
    for macro in results.macro:
        f1 = macro.ranked.f1
        grid.add_row(
            macro.track, "mean", "", "", "", number(macro.ranked.accuracy.value), number(f1.value), span(f1)
        )
    console.print(
        Text(f"{checked.submission.name} ({checked.id}), {results.split.name} {results.split.version}")
    )
    console.print(grid)
    console.print(Text(f"Rule: {results.rule}"))
    if not results.rankable:
        console.print(Text(f"Would not be ranked: too many errors in {', '.join(results.incomplete)}"))
    for note in checked.notes:
        console.print(Text(f"Note: {note}"))
    console.print(Text(f"SHA-256 of the answers: {checked.digest}"))
