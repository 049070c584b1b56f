"""The page that leads to the boards, where there is more than one."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from specvi_benchmark.files import write_text
from specvi_leaderboard.board import Board
from specvi_leaderboard.published import board_id
from specvi_leaderboard.site.write import PAGE_FILE, write_site


def write_boards(boards: Sequence[Board], title: str, folder: Path) -> Path:
    """Write one board as the site itself; several each into a folder of its own, and a page that leads to them."""
    if len(boards) == 1:
        return write_site(boards[0], folder)
    lines = []
    for board in boards:
        write_site(board, folder / board_id(board))
        kind = " (SIMULATED spectra)" if board.simulated else ""
        told = f"{board.split.name} {board.split.version}{kind}, {len(board.systems)} systems"
        lines.append(f'<li><a href="{board_id(board)}/{PAGE_FILE}">{escape(told)}</a></li>')
    page = (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f"<h1>{escape(title)}</h1>\n<p>One table a set of candidates; tables are not compared.</p>\n"
        f"<ul>\n{chr(10).join(lines)}\n</ul>\n</html>\n"
    )
    write_text(folder / PAGE_FILE, page)
    return folder / PAGE_FILE
