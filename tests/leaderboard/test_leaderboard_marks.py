"""A system of the family that chose the negatives is marked wherever its score stands."""

import json

from rich.console import Console

from specvi_benchmark.cli.main import main
from specvi_leaderboard.board import build_board
from specvi_leaderboard.site.payload import board_data
from specvi_leaderboard.systems import read_systems
from specvi_leaderboard.terminal import print_board


def mark(folder):
    record = json.loads((folder / "run.json").read_text())
    record["config"] |= {"family": "lightgbm", "selector_family": True}
    (folder / "run.json").write_text(json.dumps(record))


def test_the_mark_stands_in_the_site_in_the_terminal_and_in_the_score(make_run, capsys):
    marked, plain = make_run("learner", 8, 2), make_run("other", 6, 1)
    mark(marked)
    board = build_board(read_systems([marked, plain]))
    shown = board_data(board, (), None)["systems"]
    assert {system["name"] for system in shown if system["selector"]} == {"learner"}

    console = Console(width=200, record=True)
    print_board(board, console)
    rows = [line for line in console.export_text().split("\n") if "(selector-family)" in line]
    assert rows
    assert all("learner" in row for row in rows)

    capsys.readouterr()
    for folder, expected in ((marked, True), (plain, False)):
        try:
            main(["score", str(folder)])
        except SystemExit as ended:
            assert not ended.code  # noqa: PT017  # a command ends by exit
        said = " ".join(capsys.readouterr().out.split())
        assert ("Selector-family: the negatives of the training split were chosen" in said) is expected
