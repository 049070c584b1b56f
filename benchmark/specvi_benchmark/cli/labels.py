"""Look at labels through answers: suspects, agreement of inspectors, what wrong labels cost."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from specvi_benchmark.cli.printing import print_whole
from specvi_benchmark.splits import Part

if TYPE_CHECKING:
    from rich.table import Table

    from specvi_benchmark.scoring.panel import Panel
    from specvi_benchmark.splits import Split

Targets = Annotated[
    list[Path], typer.Argument(help="Two or more run folders, or files of answers.", metavar="RUN...")
]
SplitOption = Annotated[
    str | None, typer.Option("--split", help="Split the files are for, or where that of the runs lies now.")
]
PartOption = Annotated[
    Part | None,
    typer.Option("--part", help="Part of the split, where there are files only. Default: test."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]

app = typer.Typer()


@app.command()
def suspects(
    runs: Targets,
    split: SplitOption = None,
    part: PartOption = None,
    top: Annotated[int, typer.Option(min=0, help="How many to print for each task. 0: all.")] = 20,
    json_: JsonOption = False,
) -> None:
    """List candidates whose label every system contradicts, or the better systems more than the others."""
    chosen, panel = _read(runs, split, part)
    constant = _constant(panel)
    report = [_suspects_of(chosen, panel, number, constant) for number in range(len(panel.groups))]
    left_out = [
        {"system": name, "track": panel.groups[number].track, "task": panel.groups[number].task}
        for name, number in sorted(constant)
    ]
    if json_:
        _print_json({"systems": panel.names, "left_out": left_out, "tasks": report})
    else:
        for item in _suspects_report(report, left_out, top):
            print_whole(_console(), item)


@app.command()
def agreement(
    runs: Targets,
    split: SplitOption = None,
    part: PartOption = None,
    json_: JsonOption = False,
) -> None:
    """Print how far inspectors agree: systems, or people whose answers are files. Non-answers are missing."""
    from specvi_benchmark.scoring import agreement as scoring

    _, panel = _read(runs, split, part)
    calls = _ratings(panel)
    report: list[dict[str, Any]] = []
    for number, group in enumerate(panel.groups):
        here = panel.group == number
        ratings = scoring.Ratings(calls[here], 2, panel.object_code[here])
        coefficients = {
            "raw": scoring.raw_agreement(ratings),
            "on YES": scoring.specific_agreement(ratings, 1),
            "on NO": scoring.specific_agreement(ratings, 0),
            "Gwet AC1": scoring.gwet_ac1(ratings),
            "Krippendorff α": scoring.krippendorff_alpha(ratings),
            "Fleiss κ": scoring.fleiss_kappa(ratings),
        }
        if len(panel.names) == 2:
            coefficients["Cohen κ"] = scoring.cohen_kappa(ratings)
        report.append(
            {
                "track": group.track,
                "task": group.task,
                "rated_by_two": int(((calls[here] >= 0).sum(axis=1) >= 2).sum()),
                "coefficients": {
                    name: {key: _known(value) for key, value in found._asdict().items()}
                    for name, found in coefficients.items()
                },
            }
        )
    if json_:
        _print_json({"inspectors": panel.names, "tasks": report})
    else:
        console = _console()
        console.print(f"Inspectors: {', '.join(panel.names)}")
        print_whole(console, _agreement_table(report))
        console.print(
            "95 % intervals, objects resampled. –: undefined, or no disagreement to resample. "
            "With rare positives κ is low although raters hardly differ: read it beside the others."
        )


@app.command()
def ceiling(
    positives: Annotated[int, typer.Option(min=1, help="Candidates labelled YES.")],
    negatives: Annotated[int, typer.Option(min=0, help="Candidates labelled NO.")],
    contamination: Annotated[
        float, typer.Option(min=0, max=1, help="Assumed share of labelled positives that are no members.")
    ],
    missed: Annotated[
        float, typer.Option(min=0, max=1, help="Assumed share of labelled negatives that are members.")
    ],
    json_: JsonOption = False,
) -> None:
    """Print the score that a perfect system gets against labels of which some are wrong."""
    from specvi_benchmark.scoring.labels import f1_ceiling

    found = f1_ceiling(positives, negatives, contamination, missed)
    if json_:
        _print_json({key: _known(value) for key, value in found._asdict().items()})
        return
    precision, recall, f1, low, high = map(_number, found)
    _console().print(
        f"A perfect system: precision {precision}, recall {recall}, F1 {f1} "
        f"[{low}–{high}], if {contamination:.2%} of the {positives:,} positives and {missed:.2%} of the "
        f"{negatives:,} negatives are labelled wrongly."
    )


def _suspects_of(
    split: "Split", panel: "Panel", number: int, constant: set[tuple[str, int]]
) -> dict[str, Any]:
    """Return what is said of one task; ``suspects`` is None where too few systems tell candidates apart."""
    from specvi_benchmark.scoring import labels

    group, here = panel.groups[number], panel.group == number
    kept = [system for system, name in enumerate(panel.names) if (name, number) not in constant]
    report = {"track": group.track, "task": group.task, "systems": len(kept), "candidates": int(here.sum())}
    if len(kept) < 2:
        return report | {"unanimous": None, "expected_unanimous": None, "suspects": None}
    found = labels.suspects(
        _says_yes(panel)[kept][:, here], _answered(panel)[kept][:, here], panel.positive[here]
    )
    places = found.ranked()
    listed = [
        {
            "id": candidate.id,
            "object_id": candidate.object_id,
            "label": candidate.truth,
            "label_source": candidate.label_source,
            "against": int(found.against[place]),
            "answered": int(found.answered[place]),
            "discrimination": _known(found.discrimination[place]),
        }
        for place in places
        for candidate in [split.candidates[here.nonzero()[0][place]]]
    ]
    return report | {
        "unanimous": int(found.unanimous.sum()),
        "expected_unanimous": found.expected_unanimous,
        "suspects": listed,
    }


def _read(runs: list[Path], split: str | None, part: Part | None) -> "tuple[Split, Panel]":
    """Read answers over one split; a candidate that somebody did not look at is a missing rating."""
    from specvi_benchmark.runs.compared import read_entrants
    from specvi_benchmark.scoring.panel import panel

    chosen, entrants = read_entrants(runs, split, part, allow_partial=True)
    return chosen, panel({entrant.name: entrant.rows for entrant in entrants})


def _says_yes(panel: "Panel") -> Any:
    from specvi_benchmark.scoring.ledger import YES

    return panel.call == YES


def _answered(panel: "Panel") -> Any:
    from specvi_benchmark.scoring.ledger import NO

    return _says_yes(panel) | (panel.call == NO)


def _ratings(panel: "Panel") -> Any:
    """Return ``(n, systems)``: 1 YES, 0 NO, -1 no answer."""
    import numpy as np

    return np.where(_answered(panel), _says_yes(panel), -1).T.astype(np.int64)


def _constant(panel: "Panel") -> set[tuple[str, int]]:
    """Return (system, group) where a system gave one answer throughout, or none: it tells nothing apart."""
    yes, answered = _says_yes(panel), _answered(panel)
    return {
        (name, number)
        for system, name in enumerate(panel.names)
        for number in range(len(panel.groups))
        if len(set(yes[system][answered[system] & (panel.group == number)].tolist())) < 2
    }


def _suspects_report(
    report: list[dict[str, Any]], left_out: list[dict[str, str]], top: int
) -> Iterator["Table | str"]:
    for system in dict.fromkeys(item["system"] for item in left_out):
        tasks = ", ".join(f"{item['track']} {item['task']}" for item in left_out if item["system"] == system)
        yield f"Left out, one answer throughout: {system} ({tasks})"
    for task in report:
        name = f"{task['track']} {task['task']}"
        if task["suspects"] is None:
            yield f"\n{name}: fewer than two systems that tell candidates apart, nothing to say."
            continue
        yield (
            f"\n{name}: all of {task['systems']} systems that answered contradict the label of "
            f"{task['unanimous']} of {task['candidates']:,} candidates "
            f"({task['expected_unanimous']:.1f} if they erred independently)."
        )
        shown = task["suspects"][: top or None]
        if shown:
            table = _table("id", "label", "source", "against", "discrimination")
            for row in shown:
                against = f"{row['against']} of {row['answered']}"
                table.add_row(
                    row["id"], row["label"], row["label_source"], against, _number(row["discrimination"])
                )
            yield table
        if len(task["suspects"]) > len(shown):
            yield f"and {len(task['suspects']) - len(shown)} more (--top 0 prints all)"
    yield "\nA suspect is a reason to look at the spectrum again, no proof: hard candidates look the same."


def _agreement_table(report: list[dict[str, Any]]) -> "Table":
    table = _table("task", "rated by two", "coefficient", "value", "interval")
    for task in report:
        name, rated = f"{task['track']} {task['task']}", str(task["rated_by_two"])
        for coefficient, found in task["coefficients"].items():
            ends = f"{_number(found['low'])} to {_number(found['high'])}"
            table.add_row(
                name, rated, coefficient, _number(found["value"]), "–" if found["low"] is None else ends
            )
            name = rated = ""
    return table


def _table(*columns: str) -> "Table":
    from rich import box
    from rich.table import Table

    return Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False)


def _known(value: float) -> float | None:
    return None if value != value else float(value)  # noqa: PLR0124  # NaN is not equal to itself


def _number(value: float | None) -> str:
    return "–" if value is None or _known(value) is None else f"{value:.3f}"


def _console() -> Any:
    from rich.console import Console

    return Console(highlight=False, markup=False)


def _print_json(value: object) -> None:
    import json

    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))
