import csv
import json

import pytest

from specvi_benchmark.errors import UserError
from specvi_leaderboard.board import Board, build_board
from specvi_leaderboard.site import write
from specvi_leaderboard.site.write import table_csv, write_site
from specvi_leaderboard.systems import read_systems


@pytest.fixture(scope="module")
def board(make_run_once):
    runs = [
        make_run_once("reader", 9, 4, other=["refused"]),
        make_run_once("broken, or not", 12, 0, other=["error"]),
    ]
    return build_board(read_systems(runs))


def test_three_files_are_written_and_nothing_else(board, tmp_path):
    page = write_site(board, tmp_path / "new" / "site")
    assert page == tmp_path / "new" / "site" / "index.html"
    assert sorted(path.name for path in page.parent.iterdir()) == ["index.html", "results.json", "table.csv"]


def test_results_json_holds_the_whole_board(board, tmp_path):
    write_site(board, tmp_path)
    assert Board.model_validate(json.loads((tmp_path / "results.json").read_text())) == board


def test_the_same_board_makes_the_same_bytes(board, tmp_path):
    for name in ("one", "two"):
        write_site(board, tmp_path / name)
    for name in ("index.html", "results.json", "table.csv"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_every_row_of_the_table_has_the_numbers_of_the_scoring(board):
    rows = list(csv.DictReader(table_csv(board).splitlines()))
    assert len(rows) == 5 * (1 + 5)  # five systems, a macro average and five tasks
    row = next(r for r in rows if (r["system"], r["task"]) == ("reader", "cv"))
    score = board.task("main", "cv", "reader")
    assert float(row["f1"]) == score.ranked.f1.value
    assert float(row["f1_low"]) == score.ranked.f1.low
    # 9 of 12 found; 4 false alarms and one refusal, which the ranked rule makes a false alarm.
    assert [int(row[name]) for name in ("tp", "fp", "fn", "tn")] == [9, 5, 3, 55]
    assert (row["no_refused"], row["no_yes"], row["yes_no"]) == ("1", "4", "3")
    assert row["simulated"] == "True"
    macro = next(r for r in rows if (r["system"], r["task"]) == ("reader", "macro"))
    assert float(macro["f1"]) == pytest.approx(18 / (18 + 5 + 3))
    assert (macro["rank_best"], macro["rank_worst"]) == ("1", "1")
    assert macro["tp"] == ""
    broken = next(r for r in rows if (r["system"], r["task"]) == ("broken, or not", "macro"))
    assert broken["rank_best"] == ""


def test_a_failure_leaves_the_old_files(board, tmp_path, monkeypatch):
    write_site(board, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}

    def fail(_):
        raise RuntimeError("no page")

    monkeypatch.setattr(write, "render_page", fail)
    with pytest.raises(RuntimeError):
        write_site(board.model_copy(update={"date": "2026-03-01"}), tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


def test_a_run_folder_is_not_written_over(board, make_run):
    folder = make_run("other", 9, 4)
    with pytest.raises(UserError, match="run folder can't hold a leaderboard"):
        write_site(board, folder)
    assert not (folder / "index.html").exists()
