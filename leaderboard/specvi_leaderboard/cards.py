"""Model cards of the systems of a board, and the folder of a Space: data for the writers in `specvi_benchmark.hub`."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import yaml

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import parse_json, read_text, validate, write_text
from specvi_benchmark.hub.results_card import EVAL_FOLDER, CardSubject, eval_entries, model_card
from specvi_benchmark.hub.space import SPACE_CARD, space_card
from specvi_benchmark.splits.io import check_free
from specvi_leaderboard.board import Board
from specvi_leaderboard.entry import System
from specvi_leaderboard.published import PUBLISHED_FILE, Leaderboard
from specvi_leaderboard.site.page import rank_text
from specvi_leaderboard.site.write import PAGE_FILE

SHOWN = {".html", ".json", ".csv", ".css", ".js", ".svg", ".png", ".woff2", ".txt"}
"""Kinds of files that a Space is made of."""


def write_cards(board: Board, folder: Path, dataset: str, source: str | None = None) -> Iterator[Path]:
    """Write ``ID/README.md`` and ``ID/.eval_results/…yaml`` for every system that is not trivial; yield each folder."""
    for system in board.systems:
        if system.trivial:
            continue
        place = folder / system.about.id
        card = model_card(_subject(board, system), system.results, dataset, source)
        write_text(place / "README.md", str(card))
        entries = eval_entries(system.results, dataset, date=system.about.date, source=source)
        name = f"{dataset.replace('/', '--')}.yaml"
        write_text(
            place / EVAL_FOLDER / name,
            yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=110),
        )
        yield place


def write_space(site: Path, folder: Path, datasets: list[str]) -> tuple[Path, ...]:
    """Copy a site that `specvi leaderboard build` wrote, add the Space's card; return the files, relative.

    Raises
    ------
    UserError
        Not such a site, or the folder holds something.
    """
    check_free(folder)
    if not (site / PUBLISHED_FILE).is_file() or not (site / PAGE_FILE).is_file():
        raise UserError(
            "not a leaderboard's site",
            where=site,
            expected=f"{PAGE_FILE} and {PUBLISHED_FILE}",
            fix="specvi leaderboard build",
        )
    content = parse_json(read_text(site / PUBLISHED_FILE), site / PUBLISHED_FILE)
    title = validate(Leaderboard, content, site / PUBLISHED_FILE).title
    files = [
        path.relative_to(site)
        for path in sorted(site.rglob("*"))
        if path.is_file() and not path.is_symlink() and path.suffix in SHOWN and not _hidden(path, site)
    ]
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(site / name, folder / name)
    write_text(folder / SPACE_CARD, str(space_card(title, PAGE_FILE, datasets)))
    return (*files, Path(SPACE_CARD))


def _hidden(path: Path, site: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(site).parts)


def _subject(board: Board, system: System) -> CardSubject:
    about = system.about
    main = board.tracks[0]
    standing = next((row for row in main.ranked if row.system == system.name), None)
    return CardSubject(
        name=system.name,
        kind=about.kind,
        licence=about.licence,
        status=f"{about.status}: {about.how}",
        date=about.date,
        notes=about.notes,
        rank=f"{rank_text(standing)} of {len(main.ranked)}" if standing else None,
        simulated=board.simulated,
    )
