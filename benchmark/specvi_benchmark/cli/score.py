"""Score a run, or any file with id, task and answer."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specvi_benchmark.errors import UserError
from specvi_benchmark.splits import Part
from specvi_benchmark.tasks.task import AskedTrack

if TYPE_CHECKING:
    from rich.table import Table

    from specvi_benchmark.runs.beyond import Beyond
    from specvi_benchmark.runs.matching import MatchedPredictions
    from specvi_benchmark.scoring.measure import Measure
    from specvi_benchmark.scoring.results import MacroScore, Results, TaskScore, Values

RESULTS_FILE = "results.json"

app = typer.Typer(add_completion=False)


@app.command()
def score(
    target: Annotated[
        Path, typer.Argument(help="Run folder, or file of answers (JSON lines, CSV, parquet).")
    ],
    split: Annotated[
        str | None, typer.Option(help="Split the answers are for. A run folder knows its own.")
    ] = None,
    part: Annotated[Part | None, typer.Option(help="Part of the split, for a file. Default: test.")] = None,
    task: Annotated[str | None, typer.Option(help="Only this task, for a file.")] = None,
    track: Annotated[
        AskedTrack | None,
        typer.Option(help="Track of the split, or all, for a file. Default: main where there are several."),
    ] = None,
    allow_partial: Annotated[
        bool,
        typer.Option(
            "--allow-partial", help="Admit missing rows (error) and badly spelled answers (unparsed)."
        ),
    ] = False,
    prevalence: Annotated[
        float | None, typer.Option(help="Share of members in a survey: purity, cost and hours there.")
    ] = None,
    calibrate: Annotated[
        Path | None, typer.Option(help="Run of the same system over the part cal (or dev).")
    ] = None,
    false_share: Annotated[
        float, typer.Option(help="Expected share of false entries a conformal list may have.")
    ] = 0.1,
    trained_at: Annotated[
        float | None,
        typer.Option(help="Share of positives that P(YES) refers to (0.5: balanced training)."),
    ] = None,
    screen_completeness: Annotated[
        str | None, typer.Option(help="Share of members a screen before the system keeps: 0.97 or 776/803.")
    ] = None,
    screen_acceptance: Annotated[
        str | None, typer.Option(help="Share of the others that screen lets through.")
    ] = None,
    by: Annotated[
        list[str] | None, typer.Option(help="Break down by snr, subtype or survey. May be repeated.")
    ] = None,
    evidence: Annotated[
        bool, typer.Option("--evidence/--no-evidence", help="Test the claims in a run's traces in flux.")
    ] = True,
    csv: Annotated[Path | None, typer.Option(help="Folder to write every table to, as CSV.")] = None,
    figures: Annotated[Path | None, typer.Option(help="Folder to draw figures into, as SVG.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print results.json instead of tables.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where to write results.json. Default: into the run folder, unless --json prints it."
        ),
    ] = None,
) -> None:
    """Score TARGET: every count, four metrics with 95 % intervals, the macro average of each track."""
    from rich.console import Console

    from specvi_benchmark.cli.printing import print_whole
    from specvi_benchmark.cli.score_evidence import evidence_section
    from specvi_benchmark.cli.score_options import read_asked
    from specvi_benchmark.cli.score_sections import sections
    from specvi_benchmark.runs.beyond import beyond_accuracy
    from specvi_benchmark.runs.evaluate import match_run, score_matched
    from specvi_benchmark.runs.evidence import evidence_of
    from specvi_benchmark.scoring.results import write_results

    is_run = target.is_dir()
    if out:
        _refuse_to_overwrite(out, target)
    if is_run:
        if part or task or track:
            raise UserError(
                "a run folder names its own part, task and track",
                where=target,
                got="--part, --task or --track",
                fix="leave them out; `specvi run` chooses them",
            )
        matched = match_run(target, split, allow_partial=allow_partial)
    else:
        matched = _match_file(target, split, part or "test", task, track, allow_partial=allow_partial)
    asked = read_asked(
        matched,
        target if is_run else None,
        prevalence=prevalence,
        trained_at=trained_at,
        screen_completeness=screen_completeness,
        screen_acceptance=screen_acceptance,
        calibrate=calibrate,
        false_share=false_share,
        by=by or (),
    )
    beyond = beyond_accuracy(matched, asked)
    claims = evidence_of(matched, target) if is_run and evidence else None
    results = score_matched(matched).model_copy(update={"beyond": beyond.sections, "evidence": claims})
    written = out or (target / RESULTS_FILE if is_run and not json_ else None)
    if written:
        write_results(written, results)
    more = _write_more(results, beyond, csv, figures)
    if json_:
        typer.echo(results.model_dump_json(indent=2))
        return
    console = Console(highlight=False)
    marks = _marks(target) if is_run else ()
    for item in (*_report(results, matched), *marks, *sections(beyond.sections), *evidence_section(claims)):
        print_whole(console, item)
    for path in [written, *more] if written else more:
        typer.echo(f"Wrote {path}")
    if is_run:
        typer.echo(f"Next: specvi leaderboard build {target}")
    else:
        typer.echo(f"Next, a baseline to compare with: specvi run --vetter rules --split {split}")


def _refuse_to_overwrite(out: Path, target: Path) -> None:
    """Raise where the results would replace the answers they come from, or another part of the run."""
    place, answers = out.resolve(), target.resolve()
    if place == answers or (answers in place.parents and place != answers / RESULTS_FILE):
        raise UserError(
            "the results would stand in the place of what is scored",
            where="--out",
            expected=f"a file elsewhere, or {RESULTS_FILE} of the run folder",
            got=out,
            fix="name another file",
        )


def _write_more(results: "Results", beyond: "Beyond", csv: Path | None, figures: Path | None) -> list[Path]:
    """Write tables and figures where they are asked for; return the folders."""
    if csv:
        from specvi_benchmark.cli.score_csv import write_tables

        write_tables(csv, results, beyond)
    if figures:
        from specvi_benchmark.cli.score_figures import write_figures

        write_figures(figures, beyond)
    return [folder for folder in (csv, figures) if folder]


def _match_file(
    path: Path,
    split: str | None,
    part: Part,
    task: str | None,
    track: AskedTrack | None,
    *,
    allow_partial: bool,
) -> "MatchedPredictions":
    from specvi_benchmark.runs.evaluate import match_file
    from specvi_benchmark.runs.record import choose_split
    from specvi_benchmark.tasks import get_task

    if not path.exists():
        raise UserError("no such run folder or file", where=path, fix="check the path")
    if split is None:
        raise UserError(
            "a file of answers does not say which split it is for",
            where=path,
            fix="name the split: --split mini, a split folder, or an official parquet file",
        )
    key = get_task(task).key if task else None
    chosen, _ = choose_split(split, part, key, track)
    return match_file(path, chosen, key, allow_partial=allow_partial)


def _report(results: "Results", matched: "MatchedPredictions") -> Iterator["Table | str"]:
    """Yield what is printed, in order."""
    from rich.markup import escape

    split = results.split
    name = escape(f"{split.name} {split.version}")
    yield f"\n[bold]{name}[/] ({', '.join(split.parts)}), fingerprint {split.fingerprint[:12]}"
    yield _counts_table(results)
    yield _metrics_table(results)
    yield f"Rule: {results.rule}"
    if any(_non_answers(row) for row in results.tasks):
        yield _other_rules_table(results)
    if any(row.lenient and row.lenient != _strict(row) for row in results.tasks):
        yield _lenient_table(results)
    yield _intervals_line(results)
    yield from _flags(results, matched)


def _counts_table(results: "Results") -> "Table":
    table = _table("n", "positives", "TP", "FP", "FN", "TN", "no answer")
    for row in results.tasks:
        counts = (row.n, row.positives, row.tp, row.fp, row.fn, row.tn)
        table.add_row(_label(row), *map(str, counts), _non_answers(row) or "–")
    return table


def _metrics_table(results: "Results") -> "Table":
    table = _table("accuracy", "precision", "recall", "F1")
    for row in _lines(results):
        ranked = row.ranked
        measures = (ranked.accuracy, ranked.precision, ranked.recall, ranked.f1)
        table.add_row(_label(row), *map(_measure, measures), style=_style(row))
    return table


def _other_rules_table(results: "Results") -> "Table":
    """Say how much of the score hangs on the non-answers."""
    columns = ("accuracy if NO", "F1 if NO", "accuracy at best", "F1 at best")
    table = _table(*columns, title="If a non-answer counted as NO, or at best as right:")
    for row in _lines(results):
        as_no, best = row.non_answer_is_no, row.best
        values = (as_no.accuracy, as_no.f1, best.accuracy, best.f1)
        table.add_row(_label(row), *map(_number, values), style=_style(row))
    return table


def _lenient_table(results: "Results") -> "Table":
    """Say what a reading that forgives form would give; shown where it changes anything."""
    table = _table("accuracy", "precision", "recall", "F1", title="Answers read leniently (never ranked):")
    for row in _lines(results):
        if row.lenient:
            values = (row.lenient.accuracy, row.lenient.precision, row.lenient.recall, row.lenient.f1)
            table.add_row(_label(row), *map(_number, values), style=_style(row))
    return table


def _strict(row: "TaskScore") -> "Values":
    from specvi_benchmark.scoring.results import Values

    return Values(**{name: getattr(row.ranked, name).value for name in Values.model_fields})


def _intervals_line(results: "Results") -> str:
    made = results.intervals
    sources = ", ".join(f"{source} {count}" for source, count in results.split.object_id_sources.items())
    thin = [_label(row) for row in results.tasks if row.interval_method == "beta"]
    beta = f"; Beta draws for {', '.join(thin)}, where a cell has fewer than 10 objects" if thin else ""
    return (
        f"Brackets: {made.level:.0%} intervals, {made.resamples:,} resamples of {made.objects:,} objects "
        f"(candidates by source of the object id: {sources}){beta}."
    )


def _marks(run: Path) -> Iterator[str]:
    """Yield what a reader has to know of a run's system beside its numbers."""
    from specvi_benchmark.runs.record import read_run_record
    from specvi_benchmark.splits.families import SELECTOR_FAMILY

    config = read_run_record(run).config
    if config.get(SELECTOR_FAMILY) is True:
        yield (
            f"Selector-family: the negatives of the training split were chosen by a classifier of this system's "
            f"own kind ({config.get('family')}), on features it sees too."
        )


def _flags(results: "Results", matched: "MatchedPredictions") -> Iterator[str]:
    from rich.markup import escape

    if results.incomplete:
        yield f"[bold red]Incomplete, not ranked:[/] too many errors in {', '.join(results.incomplete)}."
    if results.partial:
        yield (
            f"[bold red]Partial:[/] {results.partial.missing} candidates without a row count as error, "
            f"{results.partial.badly_spelled} badly spelled answers as unparsed."
        )
    if results.outcomes_undeclared:
        yield "Outcomes undeclared: the file does not say how each inspection ended; an empty answer is unparsed."
    if "file-name" in results.split.object_id_sources:
        yield (
            "Object ids from file names: repeated visits of one object count as separate objects, "
            "and the intervals may be too narrow."
        )
    if len(results.split.parts) > 1:
        yield "[bold red]Several parts in one score:[/] one of them may have been trained on."
    if matched.repeated:
        yield f"{matched.repeated} rows repeat an earlier one and were left out."
    if matched.superseded:
        yield f"Errors tried again: {matched.superseded}; the later row counts, as in the run itself."
    if matched.other_tasks:
        yield f"Rows of other tasks left out: {matched.other_tasks}."
    if matched.ignored_columns:
        yield f"Columns ignored: {escape(', '.join(matched.ignored_columns))}."


def _lines(results: "Results") -> "Iterator[TaskScore | MacroScore]":
    """Yield the tasks of each track, then its macro average."""
    for macro in results.macro:
        yield from (row for row in results.tasks if row.track == macro.track)
        yield macro


def _label(row: "TaskScore | MacroScore") -> str:
    from specvi_benchmark.scoring.results import TaskScore

    return f"{row.track} {row.task if isinstance(row, TaskScore) else f'macro ({len(row.tasks)})'}"


def _style(row: "TaskScore | MacroScore") -> str:
    return "bold" if _label(row).endswith(")") else ""


def _table(*columns: str, title: str | None = None) -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left")
    table.add_column("task", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def _non_answers(row: "TaskScore") -> str:
    """Return the non-answers by kind, over both truths: ``3 abstained, 1 error``; empty without any."""
    from specvi_benchmark.scoring.ledger import NON_ANSWERS

    counts = {kind: sum(calls[kind] for calls in row.ledger.values()) for kind in NON_ANSWERS}
    return ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)


def _measure(measure: "Measure") -> str:
    if measure.value is None:
        return "–"
    return f"{_number(measure.value)} \\[{_number(measure.low)}–{_number(measure.high)}]"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
