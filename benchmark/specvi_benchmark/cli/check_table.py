"""Check whether a printed accuracy and F1 can come from one 2×2 table, and which."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from specvi_benchmark.cli.printing import print_whole
from specvi_benchmark.errors import UserError

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from specvi_benchmark.scoring.check_table import Finding
    from specvi_benchmark.scoring.printed import Reading
    from specvi_benchmark.scoring.reported import Cell, TestSet

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]

MEANING = {
    "one-table": "one table over all n; any non-answers wrong, or NO, in both",
    "wrong-no": "non-answers wrong in accuracy, NO in F1",
    "wrong-dropped": "non-answers wrong in accuracy, left out of F1",
    "dropped": "non-answers left out of both",
    "macro-f1": "one table, F1 averaged over YES and NO",
}

REPORTED_LEGEND = (
    "gain: F1 above that of always-YES. TP / FP: of one table over all candidates, figures rounded; no: none "
    "fits, P: the numbers of positives it would need. cut: whether one fits if the figures were cut off. "
    "silent: fewest non-answers if they are wrong in accuracy and NO in F1. mean: whether one table fits if F1 "
    "is the mean over YES and NO."
)

app = typer.Typer()


@app.callback(invoke_without_command=True)
def check(
    context: typer.Context,
    n: Annotated[int | None, typer.Option(min=1, help="Number of candidates.")] = None,
    accuracy: Annotated[str | None, typer.Option(help="Accuracy in per cent, as printed: 93.1")] = None,
    f1: Annotated[str | None, typer.Option(help="F1 in per cent, as printed: 81.0")] = None,
    positives: Annotated[
        str | None, typer.Option(help="229, 190-256 or 220,223. Default: any number.")
    ] = None,
    truncated: Annotated[
        bool, typer.Option("--truncated", help="The figures were cut off, not rounded.")
    ] = False,
    show: Annotated[int, typer.Option(min=0, help="How many tables to list for each way.")] = 5,
    json_: JsonOption = False,
) -> None:
    """Say which 2×2 tables can give the printed figures, for each way to treat non-answers."""
    if context.invoked_subcommand:
        return
    if n is None or accuracy is None or f1 is None:
        raise UserError(
            "a check needs the number of candidates and both figures",
            expected="for example: specvi check-table --n 1458 --positives 229 --accuracy 93.1 --f1 81.0",
            got=", ".join(
                name
                for name, value in (("--n", n), ("--accuracy", accuracy), ("--f1", f1))
                if value is not None
            )
            or "none of them",
            fix="add what is missing, or type `specvi check-table reported` for the published table",
        )
    reading: Reading = "truncated" if truncated else "rounded"
    _refuse_fraction(accuracy, reading)
    findings = _findings(n, positives, accuracy, f1, reading)
    if json_:
        _print_json(
            {
                "n": n,
                "positives": positives,
                "accuracy": accuracy,
                "f1": f1,
                "reading": reading,
                "findings": [_finding_json(finding, show) for finding in findings],
            }
        )
        return
    console = _console()
    asked = f"positives {positives}" if positives else "any number of positives"
    console.print(f"accuracy {accuracy} %, F1 {f1} %, {reading}; n = {n}, {asked}\n")
    print_whole(console, _ways_table(findings))
    _print_needed(console, findings[0], n, positives, accuracy, f1, reading)
    for line in _tables(findings, show):
        console.print(line)
    console.print("\nWays to treat candidates without an answer:")
    for way, meaning in MEANING.items():
        console.print(f"  {way}: {meaning}")
    console.print("silent: the fewest candidates without an answer; with more of them, more tables fit.")


@app.command()
def reported(json_: JsonOption = False) -> None:
    """Check every cell of the benchmark's published Table 1."""
    from specvi_benchmark.scoring.printed import READINGS
    from specvi_benchmark.scoring.reported import reported_table

    published = reported_table()
    cells = [
        (
            cell,
            {
                reading: _findings(
                    published.sets[cell.task].n,
                    published.sets[cell.task].positives,
                    cell.accuracy,
                    cell.f1,
                    reading,
                )
                for reading in READINGS
            },
        )
        for cell in published.cells()
    ]
    if json_:
        _print_json(
            {
                **published.model_dump(mode="json", exclude={"rows"}),
                "cells": [
                    {
                        **cell._asdict(),
                        **{
                            reading: [_finding_json(finding, 1) for finding in findings]
                            for reading, findings in by_reading.items()
                        },
                    }
                    for cell, by_reading in cells
                ],
            }
        )
        return
    console = _console()
    console.print(f"{published.title}. {published.paper}. {published.source}. {published.how_read}\n")
    table = _rich_table("system", "task", "acc/F1", "gain", "TP / FP", "cut", "silent", "mean")
    for cell, by_reading in cells:
        table.add_row(*_reported_row(cell, published.sets[cell.task], by_reading))
    print_whole(console, table)
    console.print(REPORTED_LEGEND)
    for task, test_set in published.sets.items():
        console.print(
            f"{task}: n = {test_set.n}, positives {test_set.positives} ({test_set.positives_source})"
        )
    for reading in READINGS:
        lost = sum(not by_reading[reading][0].possible for _, by_reading in cells)
        console.print(
            f"Read as {reading}, {lost} of {len(cells)} cells are not one 2×2 table over all candidates."
        )
    console.print(published.licence)


def _refuse_fraction(accuracy: str, reading: "Reading") -> None:
    from specvi_benchmark.scoring.printed import read_printed

    if 0 < read_printed(accuracy, reading, "--accuracy").low < 0.01:
        raise UserError(
            "accuracy looks like a fraction",
            where="--accuracy",
            expected="per cent, as 93.1",
            got=accuracy,
            fix="multiply accuracy and F1 by 100, and keep the decimals that were printed",
        )


def _reported_row(
    cell: "Cell", test_set: "TestSet", by_reading: "dict[Reading, tuple[Finding, ...]]"
) -> list[str]:
    from specvi_benchmark.scoring.check_table import Convention
    from specvi_benchmark.scoring.printed import read_positives

    rounded = {finding.convention: finding for finding in by_reading["rounded"]}
    runs = read_positives(test_set.positives)
    middle = (runs[0].start + runs[-1].stop - 1) / 2
    level = 200 * middle / (middle + test_set.n)  # F1 of always-YES in per cent: 2P / (P + n)
    one_table, cut_off = rounded[Convention.ONE_TABLE], by_reading["truncated"][0]
    if one_table.span:
        verdict = f"{_range(one_table.span.tp)} / {_range(one_table.span.fp)}"
    else:
        needed = _findings(test_set.n, None, cell.accuracy, cell.f1, "rounded")[0].span
        verdict = f"no: P {_range(needed.positives)}" if needed else "no"
    silent = rounded[Convention.WRONG_NO].unanswered
    return [
        cell.system,
        cell.task,
        f"{cell.accuracy}/{cell.f1}",
        f"{float(cell.f1) - level:+.1f}",
        verdict,
        "yes" if cut_off.possible else "no",
        "no" if silent is None else f"≥ {silent}",
        "yes" if rounded[Convention.MACRO_F1].possible else "no",
    ]


def _print_needed(
    console: Any,
    one_table: "Finding",
    n: int,
    positives: str | None,
    accuracy: str,
    f1: str,
    reading: "Reading",
) -> None:
    """Say what number of positives, or which other reading, would make one table possible."""
    if one_table.possible:
        return
    needed = _findings(n, None, accuracy, f1, reading)[0].span
    if needed and positives:
        console.print(f"One table would need {_range(needed.positives)} positives.")
    elif not needed:
        console.print("One table is impossible for any number of positives.")
    other: Reading = "rounded" if reading == "truncated" else "truncated"
    if _findings(n, positives, accuracy, f1, other)[0].possible:
        console.print(f"If the figures were {other}, one table would be possible.")


def _findings(
    n: int, positives: str | None, accuracy: str, f1: str, reading: "Reading"
) -> "tuple[Finding, ...]":
    from specvi_benchmark.scoring.check_table import check_table
    from specvi_benchmark.scoring.printed import read_positives, read_printed

    numbers = (
        None
        if positives is None
        else (number for run in read_positives(positives, "--positives") for number in run)
    )
    return check_table(
        n, numbers, read_printed(accuracy, reading, "--accuracy"), read_printed(f1, reading, "--f1")
    )


def _ways_table(findings: "Iterable[Finding]") -> "RichTable":
    table = _rich_table("way", "silent", "tables", "positives", "TP", "FP", "FN", "TN")
    for finding in findings:
        if finding.span is None:
            table.add_row(finding.convention, "impossible")
        else:
            counts = str(finding.unanswered), f"{finding.count:,}"
            table.add_row(finding.convention, *counts, *map(_range, finding.span))
    return table


def _tables(findings: "Iterable[Finding]", show: int) -> "Iterator[str]":
    """Yield the tables of the first way that has any, up to ``show``."""
    finding = next((finding for finding in findings if finding.possible), None)
    if finding is None or not show:
        return
    yield f"Tables, {finding.convention}:"
    for found in islice(finding.tables(), show):
        yield (
            f"  TP {found.tp}, FP {_range(found.fp)}, FN {_range(found.fn)}, TN {found.tn} "
            f"({found.positives} positives, {found.unanswered} without an answer)"
        )
    if finding.count > show:
        yield f"  and {finding.count - show:,} more (--show)"


def _range(ends: tuple[int, int]) -> str:
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]}–{ends[1]}"


def _finding_json(finding: "Finding", show: int) -> dict[str, Any]:
    return {
        "convention": finding.convention.value,
        "meaning": MEANING[finding.convention],
        "possible": finding.possible,
        "fewest_unanswered": finding.unanswered,
        "tables": finding.count,
        "span": finding.span._asdict() if finding.span else None,
        "examples": [table._asdict() for table in islice(finding.tables(), show)],
    }


def _rich_table(*columns: str) -> "RichTable":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        table.add_column(column, no_wrap=True)
    return table


def _console() -> Any:
    from rich.console import Console

    return Console(highlight=False, markup=False)


def _print_json(value: object) -> None:
    import json

    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))
