"""Results of probes beside a leaderboard: which system each is of. They move no score and no rank."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import parse_json, read_text, refuse_newer, validate
from specvi_benchmark.probes.report import REPORT_FILE, SCHEMA_VERSION, ProbeReport
from specvi_benchmark.runs.record import MODEL_FOLDER
from specvi_leaderboard.board import Board
from specvi_leaderboard.entry import System, vetter_name

PROBES_FOLDER = "probes"
"""In a run folder that of the run; in a leaderboard's folder one folder a system, named by its id."""

Probes = Mapping[str, ProbeReport]
"""System's id → what a series of probes found."""


def read_probe(place: Path) -> ProbeReport:
    """Read ``probe.json``, or the one in a folder that `specvi probe` wrote."""
    path = place / REPORT_FILE if place.is_dir() else place
    value = parse_json(read_text(path), path)
    refuse_newer(value, SCHEMA_VERSION, path)
    return validate(ProbeReport, value, path)


def probes_of_runs(board: Board, runs: Mapping[str, Path], given: Iterable[Path]) -> Probes:
    """Return what lies in the run folders, and what was given.

    Parameters
    ----------
    runs
        Id → run folder, of those that have one.
    given
        Files or folders of probes; the vetter in each says which system it is of.

    Raises
    ------
    UserError
        A probe over another split, of no system or of several, or a second one of the same system.
    """
    places = [
        (run / PROBES_FOLDER, [system])
        for system in board.systems
        if (run := runs.get(system.about.id)) and (run / PROBES_FOLDER / REPORT_FILE).is_file()
    ]
    found: dict[str, ProbeReport] = {}
    for place, systems in [*places, *((place, board.systems) for place in given)]:
        report = read_probe(place)
        if not _is_over(report, board):
            raise UserError(
                "a probe over another split",
                where=place,
                expected=f"{board.split.name} {board.split.version}",
                got=f"{report.split.name} {report.split.version}",
            )
        one = _system_of(report, systems, runs, place).about.id
        if one in found:
            raise UserError("two probes of one system", where=place, got=one, fix="name one of them")
        found[one] = report
    return found


def probes_of_folder(folder: Path, boards: Sequence[Board], withdrawn: Collection[str]) -> tuple[Probes, ...]:
    """Return for each board what lies in a leaderboard's folder under ``probes/ID``.

    Raises
    ------
    UserError
        A probe of a system, or over a split, that no board has: a slip of the pen would hide it.
    """
    place = folder / PROBES_FOLDER
    names = sorted(path.name for path in place.iterdir() if path.is_dir()) if place.is_dir() else []
    found: tuple[dict[str, ProbeReport], ...] = tuple({} for _ in boards)
    for name in (name for name in names if name not in withdrawn):
        report = read_probe(place / name)
        fitting = [
            here
            for here, board in zip(found, boards, strict=True)
            if _is_over(report, board) and name in {system.about.id for system in board.systems}
        ]
        if not fitting:
            raise UserError(
                "a probe of a system that no board has",
                where=place / name,
                expected="the id of a system, and its split",
                got=f"{name} over {report.split.name} {report.split.version}",
            )
        for here in fitting:
            here[name] = report
    return found


def _is_over(report: ProbeReport, board: Board) -> bool:
    """Tell whether a probe asked about candidates of the board's split; which of them, the page says."""
    return (report.split.name, report.split.version) == (board.split.name, board.split.version)


def _system_of(
    report: ProbeReport, systems: Sequence[System], runs: Mapping[str, Path], where: Path
) -> System:
    of = [system for system in systems if _is_of(report, system, runs.get(system.about.id))]
    if len(of) != 1:
        raise UserError(
            "a probe of more than one system" if of else "a probe of another system",
            where=where,
            expected="one of them" if of else f"of {', '.join(system.vetter for system in systems)}",
            got=", ".join(system.name for system in of) if of else report.vetter,
            fix=f"a probe in RUN/{PROBES_FOLDER} is of that run" if of else "leave it out",
        )
    return of[0]


def _is_of(report: ProbeReport, system: System, run: Path | None) -> bool:
    """Tell whether the vetter that was probed is the system: by name, and by the model it was made with."""
    if vetter_name(report.vetter) != vetter_name(system.vetter):
        return False
    probed, shown = (spec.partition(":")[2] for spec in (report.vetter, system.vetter))
    models = {shown, str(run / MODEL_FOLDER)} if run else {shown}
    return probed in models or Path(probed).resolve() in {Path(model).resolve() for model in models if model}
