"""Measure what comparing many systems costs, and how often intervals and rank sets hold the truth."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from specvi_benchmark.scoring.cost import Cost
    from specvi_benchmark.scoring.simulation import ComparisonCoverage, Design, IntervalCoverage

POSITIVES = (20, 50, 200)
RATES = ((0.05, 0.01), (0.6, 0.15), (0.9, 0.03), (0.98, 0.004))  # F1 near 0 to near 1

app = typer.Typer(add_completion=False)


@app.command()
def bench_scoring(
    quick: Annotated[
        bool, typer.Option("--quick", help="Smaller and coarser: seconds, not minutes.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of the simulations.")] = 0,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Time 10,000 resamples of 6,754 candidates for 50 systems, then simulate coverage with known truth."""
    import json
    from dataclasses import asdict

    from rich.console import Console

    from specvi_benchmark.scoring.cost import measure_cost
    from specvi_benchmark.scoring.simulation import Design, comparison_coverage, interval_coverage

    cost = measure_cost(*((10, 2000, 1000) if quick else (50, 6754, 10_000)))
    repeats, resamples = (100, 400) if quick else (1000, 1000)
    intervals = [
        interval_coverage(Design(positives, tasks), *rates, repeats=repeats, resamples=resamples, seed=seed)
        for tasks in (1, 5)
        for positives in POSITIVES
        for rates in RATES
    ]
    few = 20 if quick else 100
    comparisons = [
        comparison_coverage(Design(positives, 5), ladder, repeats=few, resamples=2000, seed=seed)
        for positives in POSITIVES[:2]
        for ladder in (_ladder(0.0), _ladder(0.2))
    ]
    if json_:
        found = {
            "cost": asdict(cost),
            "repeats": repeats,
            "intervals": [asdict(row) for row in intervals],
            "comparison_repeats": few,
            "comparisons": [asdict(row) for row in comparisons],
        }
        typer.echo(json.dumps(found, indent=2))
        return
    console = Console(highlight=False)
    console.print(_cost_line(cost))
    console.print(_interval_table(intervals, repeats))
    console.print(_comparison_table(comparisons, few))


def _ladder(drop: float) -> list[tuple[float, float]]:
    """Return the rates of eight systems, from 0.95 and 0.03 down by ``drop`` in the true-positive rate."""
    steps = [step / 7 for step in range(8)]
    return [(0.95 - drop * step, 0.03 + drop * step / 3) for step in steps]


def _cost_line(cost: "Cost") -> str:
    return (
        f"{cost.systems} systems × {cost.candidates:,} candidates × {cost.resamples:,} resamples: "
        f"{cost.bootstrap_s:.1f} s ({cost.bootstrap_cpu_s:.1f} s of processor time) for all "
        f"{cost.systems * (cost.systems - 1) // 2:,} pairs, "
        f"{cost.everything_s:.1f} s with every system's own interval, {cost.memory_MB:.0f} MB."
    )


def _interval_table(rows: "list[IntervalCoverage]", repeats: int) -> "Table":
    table = _table(f"95 % intervals of (macro-)F1 that hold the truth, of {repeats:,} simulated test sets")
    for column in ("tasks", "positives", "TPR", "FPR", "true F1", "ours", "plain bootstrap"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(
            *_shape(row.design),
            f"{row.tpr:g}",
            f"{row.fpr:g}",
            f"{row.f1:.3f}",
            f"{row.ours:.3f}",
            f"{row.plain:.3f}",
        )
    return table


def _comparison_table(rows: "list[ComparisonCoverage]", repeats: int) -> "Table":
    table = _table(f"Comparisons that hold the truth, of {repeats:,} simulated test sets")
    for column in (
        "tasks",
        "positives",
        "systems",
        "pair intervals",
        "all rank sets",
        "found apart",
        "by Holm",
    ):
        table.add_column(column, justify="right")
    for row in rows:
        found = ("–", "–") if row.found is None else (f"{row.found:.3f}", f"{row.found_holm:.3f}")
        table.add_row(*_shape(row.design), str(row.systems), f"{row.pairs:.3f}", f"{row.ranks:.3f}", *found)
    return table


def _shape(design: "Design") -> tuple[str, str]:
    return str(design.tasks), str(design.positives)


def _table(title: str) -> "Table":
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left")
