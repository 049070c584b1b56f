import csv
import json
import re

import pytest

from specvi_benchmark.errors import UserError
from specvi_leaderboard.board import Board
from specvi_leaderboard.gather import gather
from specvi_leaderboard.site import write
from specvi_leaderboard.site.page import PAGES
from specvi_leaderboard.site.write import table_csv, write_site


@pytest.fixture(scope="module")
def found(make_run_once):
    runs = [
        make_run_once("reader", 9, 4, other=["refused"]),
        make_run_once("broken, or not", 12, 0, other=["error"]),
    ]
    return gather(runs)


@pytest.fixture(scope="module")
def board(found):
    return found.boards[0]


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_site_has_its_pages_and_every_page_its_files(found, tmp_path):
    page = write_site(found, tmp_path / "new" / "site")
    assert page == tmp_path / "new" / "site" / "index.html"
    files = files_of(page.parent)
    assert {f"{name}.html" for name in PAGES} < set(files)
    assert {"leaderboard.json", "results.json", "table.csv", "data/site.js"} < set(files)
    for name in PAGES:
        wanted = re.findall(r'(?:src|href)="([^"#]+)"', files[f"{name}.html"].decode())
        assert wanted
        assert set(wanted) <= set(files)


def test_results_json_holds_the_whole_board(found, board, tmp_path):
    write_site(found, tmp_path)
    assert Board.model_validate(json.loads((tmp_path / "results.json").read_text())) == board


def test_the_same_board_makes_the_same_bytes(found, tmp_path):
    for name in ("one", "two"):
        write_site(found, tmp_path / name)
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")


def test_what_an_earlier_site_had_goes_and_what_somebody_else_laid_there_stays(found, make_run, tmp_path):
    write_site(found, tmp_path)
    before = set(files_of(tmp_path))
    own = [tmp_path / "data" / "notes.js", tmp_path / "CNAME"]
    for path in own:
        path.write_text("mine")
    write_site(gather([make_run("reader", 9, 4)]), tmp_path)
    gone = before - set(files_of(tmp_path))
    lost = next(s.about.id for s in found.boards[0].systems if s.name == "broken, or not")
    assert [name for name in gone if lost in name]
    assert [path.read_text() for path in own] == ["mine", "mine"]


def test_without_candidates_nothing_tells_a_truth_or_an_answer(found, tmp_path):
    write_site(found, tmp_path, with_candidates=False)
    names = set(files_of(tmp_path))
    assert not [name for name in names if "/group/" in name or "/candidate/" in name]
    assert '"candidates":false' in (tmp_path / "data" / "site.js").read_text()
    some = found.splits[0][1].chosen(found.splits[0][0]).candidates[0].id
    assert not [name for name, content in files_of(tmp_path).items() if some.encode() in content]


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


def test_a_failure_leaves_the_old_pages(found, tmp_path, monkeypatch):
    write_site(found, tmp_path)
    before = files_of(tmp_path)

    def fail(*_, **__):
        raise RuntimeError("no page")

    monkeypatch.setattr(write, "render_pages", fail)
    with pytest.raises(RuntimeError):
        write_site(found, tmp_path)
    assert files_of(tmp_path) == before


def test_a_run_folder_is_not_written_over(found, make_run):
    folder = make_run("other", 9, 4)
    with pytest.raises(UserError, match="run folder can't hold a leaderboard"):
        write_site(found, folder)
    assert not (folder / "index.html").exists()
