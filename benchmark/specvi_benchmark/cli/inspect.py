"""Open survey spectra, vet them, and show verdict, evidence and picture."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from specvi_benchmark.cli.main import EXIT_USER_ERROR
from specvi_benchmark.cli.printing import kept_for_answers
from specvi_benchmark.errors import UserError
from specvi_benchmark.features import Shift, choose_shift
from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.surveys import Reading, read_spectra, read_spectrum
from specvi_benchmark.surveys.info import in_full, in_short
from specvi_benchmark.surveys.source import Medium
from specvi_benchmark.tasks import Task, get_task
from specvi_benchmark.vetting import AnyVetter, Question, Verdict, load_vetter

app = typer.Typer(add_completion=False)

EVIDENCE_WIDTH = 110
"""Characters of evidence in a row of the table; the whole stands in ``--json`` and for a single spectrum."""

EMPTY_FOLDER = "the folder holds no files"

FEW = 3
"""Up to so many files or spectra no progress bar is worth its flicker."""


@dataclass(frozen=True, slots=True)
class Opened:
    """One spectrum of a file, its row there, and what was taken for granted when it was read."""

    path: Path
    row: int
    n_rows: int
    spectrum: Spectrum
    notes: tuple[str, ...]

    @property
    def label(self) -> str:
        """Return the file's name, with the row where the file holds several spectra."""
        return self.path.name if self.n_rows == 1 else f"{self.path.name} row {self.row}"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file, or a row of one, that gave no spectrum, and the reason in one line."""

    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class SavedView:
    """A picture that was written, and what it shows: ``full``, or the label of one of the task's windows."""

    path: Path
    label: str
    window_AA: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Inspected:
    """One spectrum, the frame it was seen in, its verdict and its picture."""

    opened: Opened
    shift: Shift
    verdict: Verdict
    picture: Path
    views: tuple[SavedView, ...] = ()

    @property
    def answer(self) -> str:
        """Return YES or NO, or how else the inspection ended."""
        return self.verdict.answer or self.verdict.outcome.value

    @property
    def evidence(self) -> str:
        """Return the vetter's last words, without the answer at their start."""
        turns = self.verdict.traces[-1].turns if self.verdict.traces else ()
        text = next((turn.text for turn in reversed(turns) if turn.role in ("assistant", "error")), "")
        return text.removeprefix(f"{self.answer}. ")


@app.command()
def inspect(
    files: Annotated[list[Path], typer.Argument(help="Spectra, or folders of them.", show_default=False)],
    task: Annotated[
        str | None, typer.Option(help="What to ask: cv, cs, ss, mg, wd, o, b, a or qso.", show_default=False)
    ] = None,
    info: Annotated[
        bool, typer.Option("--info", help="Only print what was understood of the files.")
    ] = False,
    vetter: Annotated[str, typer.Option(help="Vetter as name or name:argument.")] = "rules",
    row: Annotated[int | None, typer.Option(help="Only this row of a file with several spectra.")] = None,
    medium: Annotated[
        Medium | None, typer.Option(help="What wavelengths are measured in, where a file does not say.")
    ] = None,
    pictures: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("specvi-inspect"),
    save_views: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Also write each inspection's pictures here: the whole spectrum and the task's windows.",
            show_default=False,
        ),
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print records instead of sentences.")] = False,
) -> None:
    """Vet FILES: is each one a member of the class? Several files or a folder give a table."""
    if task is None and not info:
        raise UserError(
            "nothing is asked",
            where="--task",
            expected="a task, or --info",
            fix="`specvi tasks` lists the tasks",
        )
    asked = None if info or task is None else get_task(task)
    with kept_for_answers():
        system = None if asked is None else load_vetter(vetter)
    opened, left_out = _open_all(files, row, medium)
    if asked is None or system is None:
        _print_info(opened, left_out, json_=json_)
    else:
        with kept_for_answers():
            inspected = _vet_all(opened, asked, system, pictures, save_views)
        if json_:
            _print_json(
                {"task": asked.key, "vetter": vetter}, [_verdict_record(one) for one in inspected], left_out
            )
        elif len(inspected) == 1 and not left_out:
            _print_one(inspected[0], asked)
        else:
            _print_table(inspected, left_out, asked, pictures)
    if not opened:
        raise typer.Exit(EXIT_USER_ERROR)


def _open_all(
    files: Sequence[Path], row: int | None, medium: Medium | None
) -> tuple[list[Opened], list[LeftOut]]:
    """Read every file; a single file or folder that can't be read raises, one of several is left out."""
    opened: list[Opened] = []
    left_out: list[LeftOut] = []
    paths: list[Path] = []
    for path in dict.fromkeys(files):
        found = _spread(path)
        if not found and len(files) == 1:
            raise UserError(EMPTY_FOLDER, where=path)
        paths += found
        left_out += [] if found else [LeftOut(str(path), EMPTY_FOLDER)]
    with _bar("reading", len(paths)) as advance:
        for path in dict.fromkeys(paths):
            try:
                reading = _read(path, row, medium, alone=[path] == list(files))
            except UserError as error:
                if [path] == list(files):
                    raise
                left_out.append(LeftOut(str(path), _in_one_line(error)))
            else:
                left_out += [
                    LeftOut(f"{path} row {skipped.row}", skipped.reason) for skipped in reading.skipped
                ]
                opened += [
                    Opened(path, number, len(reading.rows), spectrum, reading.notes)
                    for number, spectrum in zip(reading.rows, reading.spectra, strict=True)
                ]
            advance()
    return opened, left_out


def _in_one_line(error: UserError) -> str:
    """Return what is wrong, what was found, and what to do about it."""
    told = error.what + (f": {error.got}" if error.got else "")
    return " ".join((told + (f" ({error.fix})" if error.fix else "")).split())


def _spread(path: Path) -> list[Path]:
    """Return the file itself, or every file below a folder in order of name."""
    if not path.is_dir():
        return [path]
    return sorted(item for item in path.rglob("*") if item.is_file() and not item.name.startswith("."))


@contextmanager
def _bar(words: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a progress bar on standard error while there is more than a little to do; yield its step."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True, disable=total <= FEW) as progress:
        line = progress.add_task(words, total=total)
        yield lambda: progress.advance(line)


def _read(path: Path, row: int | None, medium: Medium | None, *, alone: bool) -> Reading:
    """Read a whole file, or one row of it; among several files a medium is for those that do not say."""
    if medium is not None and not alone:
        try:
            return _read(path, row, None, alone=True)
        except UserError:  # perhaps for want of the medium; if not, reading with it says what is wrong
            pass
    if row is None:
        return read_spectra(path, medium=medium)
    spectrum = read_spectrum(path, row, medium=medium)
    return Reading(spectrum.format, (spectrum,), (row,), ())


def _vet_all(
    opened: Sequence[Opened], task: Task, vetter: AnyVetter, pictures: Path, save_views: Path | None
) -> list[Inspected]:
    """Ask the question of every spectrum; a fault of the vetter costs the spectrum it happened at, no more."""
    from specvi_benchmark.runs.ask import verdicts

    asked = {f"{one.path}#{one.row}": one for one in opened}
    questions = [
        Question(key, task, one.spectrum, one.spectrum.claims.redshift) for key, one in asked.items()
    ]
    inspected: dict[str, Inspected] = {}
    with _bar("vetting", len(questions)) as advance:
        for verdict in verdicts(vetter, questions):
            inspected[verdict.id] = _pictured(asked[verdict.id], task, verdict, pictures, save_views)
            advance()
    return [inspected[key] for key in asked]  # a vetter may answer in any order


def _pictured(
    one: Opened, task: Task, verdict: Verdict, pictures: Path, save_views: Path | None
) -> Inspected:
    from specvi_benchmark.files import write_bytes
    from specvi_benchmark.views import render

    shift = choose_shift(one.spectrum.claims.redshift, task.frame)
    view = render(one.spectrum, redshift=shift.redshift)
    name = f"{one.path.name.split('.')[0]}-{one.row}-{task.key}"
    picture = pictures / f"{name}-{view.pixel_sha256[:8]}.png"
    write_bytes(picture, view.png)
    views = () if save_views is None else tuple(_saved(one, task, shift, save_views / name))
    return Inspected(one, shift, verdict, picture, views)


def _saved(one: Opened, task: Task, shift: Shift, stem: Path) -> Iterator[SavedView]:
    """Write the pictures of one inspection, numbered in the order in which they are looked at."""
    from specvi_benchmark.files import write_bytes
    from specvi_benchmark.views.inspection import inspection_views

    for number, named in enumerate(inspection_views(one.spectrum, task, shift)):
        words = re.sub(r"\W+", "-", named.label.split(",")[0]).strip("-")
        path = stem.with_name(f"{stem.name}-{number:02d}-{words}-{named.view.pixel_sha256[:8]}.png")
        write_bytes(path, named.view.png)
        yield SavedView(path, named.label, named.view.window_AA)


def _print_info(opened: Sequence[Opened], left_out: Sequence[LeftOut], *, json_: bool) -> None:
    from rich.console import Console

    if json_:
        _print_json({}, [_record(one) for one in opened], left_out)
        return
    console = Console(highlight=False)
    for one in opened:
        lines = in_full(one.spectrum) if len(opened) == 1 else [f"{one.label}: {in_short(one.spectrum)}"]
        console.print("\n".join(lines), markup=False, soft_wrap=True)
        for note in one.notes:
            console.print(f"  note: {note}", markup=False, soft_wrap=True)
    _print_left_out(left_out)


def _print_one(one: Inspected, task: Task) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    colour = {"YES": "bold green", "NO": "bold red"}.get(one.answer, "bold yellow")
    console.print(Text.assemble(f"{one.opened.label}: {task.question} ", (one.answer, colour)))
    console.print(f"Read:     {in_short(one.opened.spectrum)}", markup=False)
    for note in one.opened.notes:
        console.print(f"Note:     {note}", markup=False)
    console.print(f"Evidence: {one.evidence or 'the vetter gives none'}", markup=False)
    if one.verdict.p_yes is not None:
        console.print(f"P(YES):   {one.verdict.p_yes:.3f}", markup=False)
    console.print(f"Picture:  {one.picture} ({one.shift.words})", markup=False, soft_wrap=True)
    for view in one.views:
        low, high = view.window_AA
        console.print(
            f"View:     {view.path} ({view.label}, {low:.0f} to {high:.0f} Å)", markup=False, soft_wrap=True
        )


def _print_table(
    inspected: Sequence[Inspected], left_out: Sequence[LeftOut], task: Task, pictures: Path
) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    table = Table(title=task.question, title_justify="left")
    table.add_column("spectrum", overflow="fold")
    table.add_column("S/N", justify="right")
    table.add_column("verdict")
    table.add_column("evidence", overflow="fold", ratio=1)
    for one in inspected:
        snr = one.opened.spectrum.snr
        short = " ".join(one.evidence.split("\n", 1)[0].split())
        words = short if len(short) <= EVIDENCE_WIDTH else short[: EVIDENCE_WIDTH - 1] + "…"
        table.add_row(Text(one.opened.label), "–" if snr is None else f"{snr:.1f}", one.answer, Text(words))
    if inspected:
        counts = {answer: sum(one.answer == answer for one in inspected) for answer in ("YES", "NO")}
        saved = sum(len(one.views) for one in inspected)
        console.print(table)
        console.print(
            f"{len(inspected)} spectra: {counts['YES']} YES, {counts['NO']} NO, "
            f"{len(inspected) - sum(counts.values())} without an answer. Pictures in {pictures}"
            + (
                f"; {saved} views of the task's windows in {inspected[0].views[0].path.parent}"
                if saved
                else ""
            ),
            markup=False,
            soft_wrap=True,
        )
    _print_left_out(left_out)


def _print_left_out(left_out: Sequence[LeftOut]) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    if left_out:
        console.print(f"{len(left_out)} without a spectrum:", markup=False)
    for item in left_out:
        console.print(f"  {item.where}: {item.reason}", markup=False, soft_wrap=True)


def _print_json(asked: dict[str, str], records: Sequence[Any], left_out: Sequence[LeftOut]) -> None:
    import json

    reasons = [{"where": item.where, "reason": item.reason} for item in left_out]
    everything = {**asked, "spectra": list(records), "left_out": reasons}
    typer.echo(json.dumps(everything, indent=2, ensure_ascii=False, allow_nan=False))


def _record(one: Opened) -> dict[str, Any]:
    spectrum, claims = one.spectrum, one.spectrum.claims
    return {
        "file": str(one.path),
        "row": one.row,
        "format": spectrum.format,
        "survey": spectrum.survey,
        "release": spectrum.release,
        "survey_id": spectrum.survey_id,
        "ra_deg": spectrum.ra_deg,
        "dec_deg": spectrum.dec_deg,
        "gaia_id": spectrum.gaia_id,
        "mjd": spectrum.mjd,
        "pixels": spectrum.wavelength_AA.size,
        "range_AA": list(spectrum.range_AA),
        "bad_fraction": spectrum.bad_fraction,
        "snr": spectrum.snr,
        "claimed_class": claims.object_class,
        "claimed_subclass": claims.subclass,
        "claimed_redshift": claims.redshift,
        "notes": list(one.notes),
    }


def _verdict_record(one: Inspected) -> dict[str, Any]:
    return {
        **_record(one.opened),
        "used_redshift": one.shift.redshift,
        "answer": one.verdict.answer,
        "outcome": one.verdict.outcome.value,
        "p_yes": one.verdict.p_yes,
        "evidence": one.evidence,
        "picture": str(one.picture),
        "views": [
            {"file": str(view.path), "label": view.label, "window_AA": list(view.window_AA)}
            for view in one.views
        ],
    }
