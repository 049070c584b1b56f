"""Fetch spectra and catalogues from survey archives, and match catalogues."""

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from specvi_benchmark.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

    from specvi_benchmark.archive.catalogue import Catalogue, Matches, Report
    from specvi_benchmark.archive.fetch import Asked, Estimate, Scheme, Summary

app = typer.Typer(no_args_is_help=True, add_completion=False)

_EXIT_INCOMPLETE = 1
_EXIT_INTERRUPTED = 130  # 128 and SIGINT, as shells have it
_ROWS_SHOWN = 10


@app.callback()
def _group() -> None:
    """Fetch spectra and catalogues from survey archives, and match catalogues."""


@app.command()
def fetch(
    survey: Annotated[str, typer.Argument(help="lamost, sdss, desi or sparcl.")],
    ids: Annotated[list[str] | None, typer.Argument(help="Ids as the survey writes them.")] = None,
    out: Annotated[Path, typer.Option(help="Folder to fetch into.")] = Path("fetched"),
    id_file: Annotated[Path | None, typer.Option("--ids", help="Text file of ids, one a line.")] = None,
    table: Annotated[Path | None, typer.Option(help="Catalogue whose rows name the spectra.")] = None,
    against: Annotated[
        Path | None, typer.Option(help="The survey's own catalogue, in which the table's rows are looked up.")
    ] = None,
    radius: Annotated[float, typer.Option(help="Arcseconds, for rows looked up by position.")] = 3.0,
    cone: Annotated[str | None, typer.Option(help="RA,DEC,RADIUS in degrees.")] = None,
    catalogue: Annotated[
        list[str] | None, typer.Option(help="The survey's own catalogue of that name; can be given again.")
    ] = None,
    release: Annotated[
        str | None,
        typer.Option(
            help="Default: lamost dr10/v2.0, sdss dr17 (or dr19), desi dr1 (or edr), all of sparcl."
        ),
    ] = None,
    server: Annotated[str | None, typer.Option(help="A mirror that keeps the survey's paths.")] = None,
    rate: Annotated[float | None, typer.Option(min=0.001, help="Requests a second, at most.")] = None,
    parallel: Annotated[int | None, typer.Option(min=1, max=32, help="Requests at one time.")] = None,
    checksums: Annotated[
        Path | None, typer.Option(help="The survey's list of MD5, SHA-1 or SHA-256 sums of the files.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Fetch so many files and stop.")] = None,
    retry_absent: Annotated[
        bool, typer.Option("--retry-absent", help="Ask again for files that the server did not have.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tell how many files, bytes and hours; fetch nothing.")
    ] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON instead of sentences.")] = False,
) -> None:
    """Fetch spectra by id, list, table or position: politely, resumably, and checked before they count.

    Run the same command again after an interruption: what is here is not fetched twice.
    """
    from specvi_benchmark.archive import fetch as fetching

    scheme = fetching.get_scheme(survey, release, server)
    politeness = fetching.Politeness.of(scheme, rate, parallel)
    catalogues = [scheme.catalogue(name) for name in catalogue or ()]
    asked, found = _asked(
        scheme, ids, id_file, table, against, radius, cone, only_catalogues=bool(catalogues)
    )
    if found is not None and not json_:
        _say(found.sentences())
    if dry_run:
        expected = fetching.estimate(scheme, asked, out, politeness, catalogues=catalogues, limit=limit)
        _print_estimate(expected, politeness.per_second, json_=json_)
        return
    try:
        with _progress() as show:
            summary = fetching.fetch(
                scheme,
                asked,
                out,
                politeness,
                catalogues=catalogues,
                sums=_sums(checksums),
                retry_absent=retry_absent,
                limit=limit,
                progress=show,
            )
    except KeyboardInterrupt:
        typer.echo("Interrupted. Give the same command again to go on.", err=True)
        raise typer.Exit(_EXIT_INTERRUPTED) from None
    _print_summary(summary, asked, scheme, out, json_=json_)
    if summary.failed or summary.stopped:
        raise typer.Exit(_EXIT_INCOMPLETE)


@app.command()
def match(
    table: Annotated[Path, typer.Argument(help="Catalogue whose rows are looked up.")],
    known: Annotated[Path, typer.Argument(help="Catalogue in which they are looked up.")],
    out: Annotated[Path | None, typer.Option(help="CSV file of the pairs.")] = None,
    radius: Annotated[float, typer.Option(min=0.01, help="Arcseconds, for rows matched by position.")] = 3.0,
    known_as: Annotated[
        str | None,
        typer.Option(
            help="Class, or classes parted by ;, that the rows stand for: the pairs become a table for archive label."
        ),
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON instead of sentences.")] = False,
) -> None:
    """Match two catalogues by obsid or file, then Gaia id, then position, and say what did not match."""
    from dataclasses import asdict

    wanted, there, matches, found = _matched(table, known, radius)
    if known_as is not None and (out is None or not there.has("id")):
        raise UserError(
            "labels need the ids of an archive's spectra",
            where="--known-as",
            expected="--out, and a table to match with that specvi archive list has written",
            got="no --out" if out is None else f"{known} without a column id",
        )
    if out is not None:
        _write_pairs(out, wanted, there, matches, known_as)
    if json_:
        missing = [{"row": one.row, "reason": one.reason} for one in matches.unmatched]
        typer.echo(json.dumps({**asdict(found), "unmatched_rows": missing}, indent=2))
        return
    _say(found.sentences())
    _say([f"  row {one.row}: {one.reason}" for one in matches.unmatched[:_ROWS_SHOWN]])
    if len(matches.unmatched) > _ROWS_SHOWN:
        typer.echo(f"  and {len(matches.unmatched) - _ROWS_SHOWN} more (--json lists them)")
    if out is not None:
        typer.echo(f"Wrote {out}")


def _asked(
    scheme: "Scheme",
    ids: list[str] | None,
    id_file: Path | None,
    table: Path | None,
    against: Path | None,
    radius: float,
    cone: str | None,
    *,
    only_catalogues: bool,
) -> "tuple[Asked, Report | None]":
    """Put together what is asked for; a table that is looked up in another comes with a report."""
    import numpy as np

    from specvi_benchmark.archive.catalogue import read_catalogue
    from specvi_benchmark.archive.catalogue.roles import MATCHED, NAMED
    from specvi_benchmark.archive.fetch.asked import Asked, Cone, ask

    if against is not None and table is None:
        raise UserError("--against needs a table", fix="name the rows to look up with --table")
    circle = None if cone is None else Cone.parse(cone)
    if only_catalogues and not (ids or id_file or table or circle):
        return Asked(()), None
    if against is not None and table is not None:
        wanted, known, matches, found = _matched(table, against, radius)
        if circle is not None:
            inside = circle.holds(*wanted.positions())
            partners = matches.partners[inside[matches.rows]]
        else:
            partners = matches.partners
        rows = known.take(np.unique(partners))
        return ask(scheme, ids or (), id_file=id_file, table=rows), found
    named = None if table is None else read_catalogue(table, (*MATCHED, *NAMED))
    return ask(scheme, ids or (), id_file=id_file, table=named, cone=circle), None


def _matched(table: Path, known: Path, radius: float) -> "tuple[Catalogue, Catalogue, Matches, Report]":
    from specvi_benchmark.archive.catalogue import match as find
    from specvi_benchmark.archive.catalogue import read_catalogue, report
    from specvi_benchmark.archive.catalogue.roles import MATCHED, NAMED

    wanted = read_catalogue(table)
    there = read_catalogue(known, (*MATCHED, *NAMED))
    matches = find(wanted, there, radius)
    return wanted, there, matches, report(matches, wanted, there)


def _sums(path: Path | None) -> dict[str, str] | None:
    """Read a list of checksums."""
    from specvi_benchmark.archive.fetch.verify import read_sums
    from specvi_benchmark.files import read_text

    if path is None:
        return None
    found = read_sums(read_text(path))
    if not found:
        raise UserError("no checksums in the file", where=path, expected="lines of a hex sum and a file name")
    return found


@contextmanager
def _progress() -> "Iterator[Callable[[Summary], None]]":
    """Show on standard error how far the fetch is."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        line = progress.add_task("Fetching")

        def show(summary: "Summary") -> None:
            told = f"{summary.done} fetched ({_bytes(summary.size)}), {summary.already} here before"
            told += f", {summary.absent} not there" if summary.absent else ""
            told += f", {summary.failed} failed" if summary.failed else ""
            progress.update(line, description=told)

        yield show


def _print_estimate(expected: "Estimate", per_second: float, *, json_: bool) -> None:
    from dataclasses import asdict

    from specvi_benchmark.archive.fetch.dry_run import ASSUMED_BYTES_PER_S

    if json_:
        typer.echo(json.dumps(asdict(expected), indent=2))
        return
    source = f"by {expected.sizes_told} files asked" if expected.sizes_told else "by the survey's usual size"
    size, line = _bytes(expected.size), _bytes(ASSUMED_BYTES_PER_S)
    typer.echo(f"{expected.files} files to fetch, about {size} ({source}); {expected.already} here before")
    typer.echo(f"at least {_time(expected.seconds)}, at {per_second:g} requests and {line} a second")
    if expected.example:
        typer.echo(f"for instance {expected.example}")


def _print_summary(summary: "Summary", asked: "Asked", scheme: "Scheme", out: Path, *, json_: bool) -> None:
    from dataclasses import asdict

    folder = out / scheme.folder
    if json_:
        told = {key: value for key, value in asdict(summary).items() if key != "in_a_row"}
        told |= {"folder": str(folder), "rows_without_id": list(asked.rows_without_id)}
        typer.echo(json.dumps(told, indent=2))
        return
    fetched = f"{summary.done} files fetched ({_bytes(summary.size)} in {_time(summary.seconds)})"
    rest = f"{summary.already} here before, {summary.absent} not on the server, {summary.failed} failed"
    lines = [f"{fetched}, {rest}"]
    lines += [f"  {key}: {reason}" for key, reason in summary.reasons.items()]
    lines += [f"  {key}: {note}" for key, note in summary.notes.items()]
    if summary.not_there:
        lines.append(f"  not on the server: {', '.join(summary.not_there)}" + _more(summary))
    if asked.rows_without_id:
        lines.append(f"{len(asked.rows_without_id)} rows of the table name no spectrum of this survey")
    if summary.stopped:
        lines.append(f"Stopped: {summary.stopped}. Run the same command again later")
    lines.append(f"Wrote {folder} (log: {folder / 'fetch.jsonl'}). Acknowledge the survey: {scheme.thanks}")
    lines.append(f"Next: specvi archive ingest {shlex.quote(str(folder / 'spectra'))} --into archive")
    _say(lines)


def _more(summary: "Summary") -> str:
    rest = summary.absent - len(summary.not_there)
    return f" and {rest} more" if rest else ""


def _write_pairs(
    path: Path, wanted: "Catalogue", known: "Catalogue", matches: "Matches", known_as: str | None
) -> None:
    """Write the pairs as CSV: row numbers, how they were matched, their distance, and the partner's id columns.

    With ``known_as``, also the columns of a table of labels: the evidence is catalogue, row, and kind of match.
    """
    import pyarrow as pa
    import pyarrow.csv

    from specvi_benchmark.files import atomic_path

    partner = known.take(matches.partners).table
    both = set(wanted.table.column_names) - {"id"}
    names = [f"known_{name}" if name in both else name for name in partner.column_names]
    columns: dict[str, Any] = {
        "row": pa.array(matches.rows),
        "known_row": pa.array(matches.partners),
        "matched_by": pa.array(matches.by.tolist()),
        "separation_arcsec": pa.array(matches.separation_arcsec, from_pandas=True),
        **{f"{name}": partner.column(place) for place, name in enumerate(names)},
    }
    if known_as is not None:
        columns["known_as"] = [known_as] * len(matches.rows)
        columns["evidence"] = _evidence(wanted, matches)
    with atomic_path(path) as temporary:
        pyarrow.csv.write_csv(pa.table(columns), temporary)


def _evidence(wanted: "Catalogue", matches: "Matches") -> list[str]:
    """Return why each pair is one, as JSON."""
    import math

    told = []
    for row, by, apart in zip(matches.rows, matches.by, matches.separation_arcsec, strict=True):
        found = {"catalogue": Path(wanted.where).name, "row": int(row), "matched_by": str(by)}
        if not math.isnan(apart):
            found["separation_arcsec"] = round(float(apart), 2)
        told.append(json.dumps(found, ensure_ascii=False))
    return told


def _say(lines: list[str]) -> None:
    for line in lines:
        typer.echo(line)


def _bytes(size: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def _time(seconds: float) -> str:
    for name, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {name}"
    return f"{seconds:.0f} s"
