"""What a command is given, runs or a leaderboard's folder, as boards that can be shown."""

from collections.abc import Sequence
from pathlib import Path

from specvi_benchmark.errors import UserError
from specvi_benchmark.runs.record import read_run_record
from specvi_leaderboard.board import Board, build_board
from specvi_leaderboard.collection import Collection, is_collection, read_collection
from specvi_leaderboard.entry import Entry
from specvi_leaderboard.probed import probes_of_runs
from specvi_leaderboard.scored import SplitPlace
from specvi_leaderboard.systems import lacking, read_systems

TITLE = "SpecVI-Bench"


def gather(
    sources: Sequence[Path],
    split: str | None = None,
    date: str | None = None,
    probes: Sequence[Path] = (),
) -> Collection:
    """Score what is given: run folders over the same split, or one folder with ``board.yaml``.

    ``probes`` are files or folders of probes of the runs; those in RUN/probes are found without.

    Raises
    ------
    UserError
        Both at once, or what either refuses.
    """
    kept = [source for source in sources if is_collection(source)]
    if not kept:
        entries = read_systems(sources, split)
        board = build_board(entries, date, lacking=lacking(entries, sources[0], split))
        reference = read_run_record(sources[0]).split
        splits = ((reference, SplitPlace(split or reference.path)),)
        runs = {entry.system.about.id: run for entry, run in zip(entries, sources, strict=False)}
        probed = probes_of_runs(board, runs, probes)
        return Collection(TITLE, (board,), (entries,), (), splits, runs, (probed,))
    if len(sources) > 1 or split is not None or probes:
        raise UserError(
            "a leaderboard's folder stands alone",
            where=kept[0],
            fix="put its splits into board.yaml and its probes into probes/ID, and name nothing else",
        )
    return read_collection(kept[0], date)


def pool(entries: Sequence[Entry], board: Board, wanted: Sequence[str]) -> Board:
    """Return the board of some systems, ranked among themselves; the trivial ones stay.

    Parameters
    ----------
    wanted
        Ids or names; empty: all.

    Raises
    ------
    UserError
        No such system.
    """
    if not wanted:
        return board
    known = {name for entry in entries for name in (entry.system.about.id, entry.system.name)}
    if strange := [name for name in wanted if name not in known]:
        raise UserError(
            "no such system", where="--system", got=strange[0], expected=f"one of {', '.join(sorted(known))}"
        )
    kept = [
        entry
        for entry in entries
        if entry.system.trivial or {entry.system.about.id, entry.system.name} & set(wanted)
    ]
    return build_board(kept, board.date, lacking=board.lacking)
