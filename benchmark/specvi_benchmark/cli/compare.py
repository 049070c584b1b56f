"""Compare systems on the same candidates: ranks as sets, differences with intervals, what is still open."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specvi_benchmark.errors import UserError
from specvi_benchmark.splits import Part
from specvi_benchmark.tasks.task import Track

if TYPE_CHECKING:
    from rich.table import Table

    from specvi_benchmark.scoring.compare import Comparison, PairDifference

LEAVES = 3  # entries printed of a setting that holds many
MANY = 8  # systems; above, only neighbours are printed unless all pairs are asked for

app = typer.Typer(add_completion=False)


@app.command()
def compare(
    targets: Annotated[
        list[Path], typer.Argument(help="Two or more run folders, or files of answers.", metavar="RUN...")
    ],
    metric: Annotated[
        str, typer.Option(help="macro-f1, accuracy, mean-accuracy, f1:TASK or accuracy:TASK.")
    ] = "macro-f1",
    track: Annotated[Track | None, typer.Option(help="Which track. Default: the first there is.")] = None,
    margin: Annotated[
        float | None, typer.Option(help="What is too small to matter: tells which systems are equivalent.")
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="Split the files are for, or where that of the runs lies now.")
    ] = None,
    part: Annotated[
        Part | None, typer.Option(help="Part of the split, where there are files only. Default: test.")
    ] = None,
    allow_partial: Annotated[
        bool,
        typer.Option(
            "--allow-partial", help="Admit missing rows (error) and badly spelled answers (unparsed)."
        ),
    ] = False,
    all_pairs: Annotated[
        bool, typer.Option("--all-pairs", help=f"Print every pair, also with more than {MANY} systems.")
    ] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    csv_: Annotated[bool, typer.Option("--csv", help="Print every pair as CSV.")] = False,
) -> None:
    """Compare RUNs pair by pair on the same candidates, objects drawn anew together for all of them."""
    import json

    from rich.console import Console

    from specvi_benchmark.cli.printing import print_whole
    from specvi_benchmark.runs.compared import read_entrants, settings_that_differ
    from specvi_benchmark.scoring import compare as scoring

    if margin is not None and not 0 < margin < 1:
        raise UserError(
            "a margin is a difference of the metric", where="--margin", expected="0 to 1", got=margin
        )
    _, entrants = read_entrants(targets, split, part, track=track, allow_partial=allow_partial)
    found = scoring.compare(
        {entrant.name: entrant.rows for entrant in entrants}, _official(metric), track=track, margin=margin
    )
    differing = settings_that_differ(entrants)
    if json_:
        typer.echo(json.dumps(found.model_dump(mode="json") | {"settings_that_differ": differing}, indent=2))
    elif csv_:
        typer.echo(_csv(found), nl=False)
    else:
        console = Console(highlight=False)
        for item in _report(found, differing, all_pairs=all_pairs):
            print_whole(console, item)


def _official(metric: str) -> str:
    """Write the task of a metric by its key: ``f1:carbon`` → ``f1:cs``."""
    from specvi_benchmark.tasks import get_task

    kind, _, task = metric.partition(":")
    return f"{kind}:{get_task(task).key}" if task.strip() else metric


def _report(
    found: "Comparison", differing: Mapping[str, Mapping[str, str]], *, all_pairs: bool
) -> Iterator["Table | str"]:
    """Yield what is printed, in order."""
    from rich.markup import escape

    yield (
        f"\n[bold]{escape(found.metric)}[/], {found.track} track ({', '.join(found.tasks)}): "
        f"{found.candidates:,} candidates, {found.objects:,} objects"
    )
    yield _ranks_table(found)
    for row in found.left_out:
        yield f"[bold red]Not ranked:[/] {escape(row.system)}, {escape(row.reason)}."
    if found.pairs:
        shown = _shown(found, all_pairs=all_pairs)
        yield _pairs_table(found, shown)
        if len(shown) < len(found.pairs):
            yield f"Neighbours only; all {len(found.pairs):,} pairs: --all-pairs, --csv or --json."
        yield (
            "Ranks: 95 % confidence sets, all of them right at once. Intervals: 95 %, for each pair alone. "
            f"p: over all pairs at once. {found.resamples:,} resamples of objects, drawn together for all systems."
        )
        yield (
            "right only: candidates that only one of the two has right, with McNemar's exact p (by Holm over all "
            "pairs). needed: candidates of this kind that would show the difference in 80 % of cases."
        )
    if differing:
        yield _settings_table(differing)
        yield "Systems that differ in more than what is studied are compared as they are."


def _ranks_table(found: "Comparison") -> "Table":
    from rich.markup import escape

    table = _table(("rank", "right"), ("system", "left"), (found.metric, "right"), ("tied with", "left"))
    for row in found.systems:
        rank = str(row.rank_best) if row.rank_best == row.rank_worst else f"{row.rank_best}–{row.rank_worst}"
        named = ", ".join(row.tied_with[:3])
        more = f" and {len(row.tied_with) - 3} more" if len(row.tied_with) > 3 else ""
        value = f"{row.value:.3f} \\[{row.low:.3f}–{row.high:.3f}]"
        table.add_row(rank, escape(row.system), value, escape(named + more) or "–")
    return table


def _shown(found: "Comparison", *, all_pairs: bool) -> list["PairDifference"]:
    from itertools import pairwise

    if all_pairs or len(found.systems) <= MANY:
        return list(found.pairs)
    neighbours = set(pairwise(row.system for row in found.systems))
    return [pair for pair in found.pairs if (pair.higher, pair.lower) in neighbours]


def _pairs_table(found: "Comparison", pairs: list["PairDifference"]) -> "Table":
    from rich.markup import escape

    table = _table(
        ("higher", "left"), ("lower", "left"), ("difference", "right"), ("p", "right"), ("finding", "left"),
        ("right only", "right"), ("McNemar p", "right"), ("needed", "right"),
    )  # fmt: skip
    for pair in pairs:
        table.add_row(
            escape(pair.higher),
            escape(pair.lower),
            f"{pair.difference:.3f} \\[{pair.low:.3f}, {pair.high:.3f}]",
            _p(pair.p_adjusted),
            _finding(pair, found.margin),
            f"{pair.mcnemar.only_higher}:{pair.mcnemar.only_lower}",
            _p(pair.mcnemar.p_adjusted),
            _needed(pair.candidates_needed),
        )
    return table


def _needed(candidates: int | None) -> str:
    """Write the number needed; for a few candidates the normal approximation behind it says no more than that."""
    if candidates is None:
        return "–"
    return f"{candidates:,}" if candidates >= 100 else "<100"


def _finding(pair: "PairDifference", margin: float | None) -> str:
    if pair.equivalent:
        return f"apart, by less than {margin:g}" if pair.apart else f"equivalent within {margin:g}"
    return "apart" if pair.apart else "open"


def _settings_table(differing: Mapping[str, Mapping[str, str]]) -> "Table":
    from rich.markup import escape

    table = _table(("setting", "left"), ("value", "left"), ("systems", "left"), title="What differs")
    for setting, values in differing.items():
        systems: dict[str, list[str]] = {}
        for system, value in values.items():
            systems.setdefault(value, []).append(system)
        brief = _brief(tuple(systems))
        for number, (value, names) in enumerate(zip(brief, systems.values(), strict=True)):
            table.add_row(escape(setting) if number == 0 else "", escape(value), escape(", ".join(names)))
    return table


def _brief(values: Sequence[str]) -> list[str]:
    """Write different values of one setting for people: of one that holds many entries a few of those that differ."""
    each = [_leaves(value) for value in values]
    paths = dict.fromkeys(path for leaves in each for path in leaves)
    differing = [path for path in paths if len({leaves.get(path) for leaves in each}) > 1]

    def written(leaves: Mapping[str, str]) -> str:
        own = [path for path in differing if path in leaves]
        words = [f"{path} {_cut(leaves[path])}".strip() for path in own[:LEAVES]]
        return (
            ", ".join(words) + (f" and {len(own) - LEAVES} more" if len(own) > LEAVES else "")
            or "none of these"
        )

    return [written(leaves) for leaves in each]


def _leaves(value: str) -> dict[str, str]:
    """Return path → value of everything in a setting that is JSON; any other is one value without a path."""
    import json

    def walk(node: object, path: str) -> Iterator[tuple[str, str]]:
        if isinstance(node, dict | list) and node:
            for key, inner in node.items() if isinstance(node, dict) else enumerate(node):
                yield from walk(inner, f"{path}.{key}" if path else str(key))
        else:
            yield path, node if isinstance(node, str) else json.dumps(node, ensure_ascii=False)

    try:
        return dict(walk(json.loads(value), "")) if value.startswith(("{", "[")) else {"": value}
    except ValueError:  # words that begin so
        return {"": value}


def _cut(value: str) -> str:
    """Write a hash by its first digits and a number by four."""
    import re

    if re.fullmatch(r"[0-9a-f]{32,}", value):
        return f"{value[:12]}…"
    return f"{float(value):.4g}" if re.fullmatch(r"-?\d+\.\d{4,}(e-?\d+)?", value) else value


def _csv(found: "Comparison") -> str:
    import csv
    import io

    from specvi_benchmark.scoring.compare import McNemar, PairDifference

    plain = [name for name in PairDifference.model_fields if name != "mcnemar"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["metric", *plain, *(f"mcnemar_{name}" for name in McNemar.model_fields)])
    for pair in found.pairs:
        values = [getattr(pair, name) for name in plain]
        writer.writerow([found.metric, *values, *(getattr(pair.mcnemar, n) for n in McNemar.model_fields)])
    return text.getvalue()


def _table(*columns: tuple[str, str], title: str | None = None) -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left")
    for name, justify in columns:
        table.add_column(name, justify="right" if justify == "right" else "left")
    return table


def _p(value: float) -> str:
    return "<0.001" if value < 0.001 else f"{value:.3f}"
