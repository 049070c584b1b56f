"""Ratings of inspections by people and judges: the rubric, sheets to fill in, how far raters agree."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specvi_benchmark.errors import UserError

if TYPE_CHECKING:
    from rich.table import Table

    from specvi_benchmark.rubric.agreement import Line
    from specvi_benchmark.rubric.ratings import Entry
    from specvi_benchmark.scoring.agreement import Agreement

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.command()
def show() -> None:
    """Print the rubric: what is asked, and what each level means."""
    from specvi_benchmark.rubric import the_rubric

    rubric = the_rubric()
    typer.echo(f"Rubric, version {rubric.version}. {rubric.rule}")
    for criterion in rubric.criteria:
        typer.echo(f"\n{criterion.name} ({criterion.key}). {criterion.question}")
        for level, anchor in enumerate(criterion.anchors):
            typer.echo(f"  {level}  {anchor}")
    typer.echo(f"\nPreference. {rubric.preference}")


@app.command()
def sheet(
    runs: Annotated[list[Path], typer.Argument(help="One run to rate, or two to prefer between.")],
    name: Annotated[str, typer.Option(help="Who rates.")],
    out: Annotated[Path, typer.Option(help="File to write.")] = Path("ratings.jsonl"),
    number: Annotated[int, typer.Option(min=1, help="How many inspections, or pairs.")] = 20,
    seed: Annotated[int, typer.Option(help="Of the draw: the same for every rater.")] = 0,
) -> None:
    """Write lines to fill in. Levels are whole numbers from 0 to 5; what stays null is not counted."""
    from specvi_benchmark.files import json_line, write_bytes
    from specvi_benchmark.rubric.sheet import draw, empty_preferences, empty_ratings, pairs
    from specvi_benchmark.trace_page import RecordedRun

    if out.exists():
        raise UserError("the file is there already", where=out, fix="name another one with --out")
    if len(runs) not in {1, 2}:
        raise UserError("one run is rated, two are compared", got=f"{len(runs)} runs")
    recorded = [RecordedRun(run) for run in runs]
    lines: Sequence[Entry]
    if len(recorded) == 1:
        lines = empty_ratings(recorded[0], draw(recorded[0], number, seed), name)
    else:
        first, second = recorded
        lines = empty_preferences(first, second, pairs(first, second, number, seed), name)
    if not lines:
        raise UserError("these runs share no inspection", where=", ".join(map(str, runs)))
    write_bytes(out, b"".join(json_line(line.model_dump(mode="json")) for line in lines))
    typer.echo(
        f"Wrote {out}: {len(lines)} lines. `specvi trace RUN ID --html page.html` shows each inspection."
    )


@app.command()
def agree(
    files: Annotated[list[Path], typer.Argument(help="Files of ratings, by people and judges.")],
    json_: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Say how far raters agree, on each criterion and on preferences."""
    from rich.console import Console

    from specvi_benchmark.cli.printing import print_whole
    from specvi_benchmark.rubric import read_ratings, the_rubric
    from specvi_benchmark.rubric.agreement import agreement

    entries = [entry for path in files for entry in read_ratings(path)]
    versions = sorted({entry.rubric_version for entry in entries})
    if len(versions) > 1:
        raise UserError(
            "these ratings are by different versions of the rubric",
            got=", ".join(map(str, versions)),
            expected=f"one version; this one is {the_rubric().version}",
            fix="compare ratings of one version",
        )
    prompts = {(entry.rater.name, entry.rater.prompt_version) for entry in entries}
    for judge in sorted(name for name, count in Counter(name for name, _ in prompts).items() if count > 1):
        raise UserError(
            "these ratings of one judge are by different versions of its prompt, or a person bears its name",
            got=judge,
            fix="compare ratings of one version, and give raters names of their own",
        )
    lines = agreement(entries)
    if json_:
        typer.echo(json.dumps([_plain(line) for line in lines], indent=2))
        return
    if not lines:
        raise UserError("no inspection was rated by two raters", where=", ".join(map(str, files)))
    console = Console(highlight=False)
    print_whole(console, _table(lines))
    print_whole(
        console,
        "exact: two raters give the same level. α: Krippendorff's, ordinal (1 perfect, 0 as by chance), with its 95 % "
        "interval over questions. higher: levels by which the second rater lies above the first.",
    )
    faults = sum(entry.fault is not None for entry in entries)
    if faults:
        print_whole(console, f"{faults} replies of judges could not be read; they are not counted.")
    own = sum(entry.own_family is True for entry in entries)
    unknown = sum(entry.own_family is None for entry in entries)
    if own:
        print_whole(console, f"[bold]{own} ratings are by a judge of the rated model's own family.[/]")
    if unknown:
        print_whole(
            console, f"Of {unknown} ratings it is not known whether judge and model are of one family."
        )


def _table(lines: Sequence["Line"]) -> "Table":
    from rich.markup import escape
    from rich.table import Table

    table = Table()
    for column in ("criterion", "raters"):
        table.add_column(column)
    for column in ("inspections", "exact", "within 1", "α", "higher", "own family"):
        table.add_column(column, justify="right", no_wrap=True)
    for line in lines:
        table.add_row(
            line.criterion,
            escape(" · ".join(line.raters)),
            str(line.items),
            _interval(line.exact),
            "–" if line.within_one is None else f"{line.within_one:.2f}",
            _interval(line.alpha),
            "–" if line.higher is None else f"{line.higher:+.2f}",
            str(line.own_family or ""),
        )
    return table


def _interval(value: "Agreement") -> str:
    from math import isnan

    if isnan(value.value):
        return "–"
    return f"{value.value:.2f}" + ("" if isnan(value.low) else f" [{value.low:.2f}, {value.high:.2f}]")


def _plain(line: "Line") -> dict[str, object]:
    from math import isnan

    def known(value: "Agreement") -> dict[str, float | None]:
        return {name: None if isnan(number) else number for name, number in value._asdict().items()}

    return {**line._asdict(), "exact": known(line.exact), "alpha": known(line.alpha)}
