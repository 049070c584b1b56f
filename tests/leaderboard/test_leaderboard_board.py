import json

import pytest

from specvi_benchmark.errors import UserError
from specvi_benchmark.splits import Split
from specvi_benchmark.splits.io import write_split
from specvi_leaderboard.board import Board, build_board
from specvi_leaderboard.systems import read_systems


@pytest.fixture
def board_of(make_run, make_split, tmp_path):
    """Return a function: the board of scripted runs over a split of the given make."""

    def make(*runs, date=None, **split):
        place = tmp_path / "split"
        write_split(make_split("Chosen", **split), place)
        folders = [make_run(name, found, alarms, at=place, **more) for name, found, alarms, more in runs]
        return build_board(read_systems(folders), date)

    return make


def test_systems_stand_by_macro_f1_with_the_best_first(board_of):
    board = board_of(("weak", 6, 6, {}), ("strong", 12, 0, {}))
    (table,) = board.tracks
    assert [row.system for row in table.ranked] == ["strong", "weak", "always-yes", "always-no", "rules"]
    assert (table.ranked[0].rank_best, table.ranked[0].rank_worst) == (1, 1)
    assert table.track == "main"
    assert table.tasks == ("cv", "cs", "ss", "mg", "wd")


def test_systems_that_a_paired_comparison_does_not_separate_are_tied(board_of):
    board = board_of(("one", 9, 4, {}), ("two", 9, 5, {}))
    first, second = board.tracks[0].ranked[:2]
    assert first.tied_with == ("two",)
    assert second.tied_with == ("one",)
    assert [(row.rank_best, row.rank_worst) for row in (first, second)] == [(1, 2), (1, 2)]


def test_a_paired_comparison_separates_systems_whose_intervals_overlap(board_of):
    # The worse one misses 2 of 12 positives more in each of five tasks, and finds none that the other misses.
    board = board_of(("better", 9, 2, {}), ("worse", 7, 2, {}))
    first, second = board.tracks[0].ranked[:2]
    assert (first.system, first.rank_best, first.rank_worst, first.tied_with) == ("better", 1, 1, ())
    assert (second.rank_best, second.rank_worst) == (2, 2)
    bounds = [board.macro("main", name).ranked.f1 for name in ("better", "worse")]
    assert bounds[0].low < bounds[1].high


def test_too_many_errors_take_the_rank_but_not_the_line(board_of):
    # 1 of 72 candidates of every task is 1.4 %, over the 0.5 % allowed.
    board = board_of(("broken", 12, 0, {"other": ["error"]}), ("whole", 6, 3, {}))
    (table,) = board.tracks
    assert table.ranked[0].system == "whole"
    assert [row.system for row in table.unranked] == ["broken"]
    assert "CV 1.4%" in table.unranked[0].reason
    assert table.order[-1] == "broken"


def test_an_unfinished_run_says_so(board_of, make_run, toy):
    folder = make_run("stopped", 12, 0)
    log = folder / "predictions.jsonl"
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:300]))
    (table,) = build_board(read_systems([folder])).tracks
    assert "60 candidates without a verdict" in table.unranked[0].reason


def test_a_run_without_any_answer_is_told_of_in_one_line(make_run, make_split, tmp_path):
    write_split(make_split("Six", tasks=("cv", "cs", "ss", "mg", "wd", "o")), tmp_path / "six")
    folder = make_run("stopped", 12, 0, at=tmp_path / "six")
    (folder / "predictions.jsonl").write_text("")
    table = build_board(read_systems([folder])).tracks[0]
    assert (
        table.unranked[0].reason
        == "incomplete: `error` in CV 100.0%, CS 100.0%, SS 100.0%, MG 100.0%, WD 100.0%; 432 candidates without a verdict, the run is not finished"
    )


def test_errors_in_one_track_are_told_there_and_cost_no_rank_elsewhere(make_run, make_split, tmp_path):
    split = make_split("Two tracks", tasks=("cv", "o"))
    write_split(split, tmp_path / "two")
    folder = make_run("learner", 12, 0, at=tmp_path / "two")
    unlearnt = {candidate.id for candidate in split.candidates if candidate.task.key == "o"}
    log = folder / "predictions.jsonl"
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    log.write_text(
        "".join(
            json.dumps(row | {"answer": None, "outcome": "error"} if row["id"] in unlearnt else row) + "\n"
            for row in rows
        )
    )
    main, cross_task = build_board(read_systems([folder])).tracks
    assert "learner" in {row.system for row in main.ranked}
    assert "learner" not in {row.system for row in main.unranked}
    (left,) = [row for row in cross_task.unranked if row.system == "learner"]
    assert left.reason == "incomplete: `error` in O 100.0%"


def test_an_undefined_macro_has_no_rank(board_of):
    board = board_of(("silent", 0, 0, {}), ("loud", 0, 5, {}), positives=0)
    (table,) = board.tracks
    assert {row.system for row in table.unranked} == {"silent", "always-no", "rules"}
    assert all("undefined" in row.reason for row in table.unranked)
    assert {row.system for row in table.ranked} == {"loud", "always-yes"}


def test_every_track_has_its_own_table(board_of):
    board = board_of(("reader", 9, 4, {}), tasks=("cv", "wd", "o", "qso"))
    assert [(table.track, table.tasks) for table in board.tracks] == [
        ("main", ("cv", "wd")),
        ("cross-task", ("o",)),
        ("extreme", ("qso",)),
    ]


def test_simulated_and_real_are_told_apart_by_their_object_ids(board_of):
    assert board_of(("reader", 9, 4, {})).simulated


def test_a_split_of_real_objects_is_not_called_simulated(board_of):
    assert not board_of(("reader", 9, 4, {}), source="gaia").simulated


def test_simulated_and_real_spectra_are_never_mixed(make_run, make_split, tmp_path):
    both = (*make_split("A").candidates, *make_split("B", source="gaia").candidates)
    write_split(Split("both", "1", both, {}), tmp_path / "both")
    with pytest.raises(UserError, match="simulated and real"):
        build_board(read_systems([make_run("reader", 9, 4, at=tmp_path / "both")]))


@pytest.mark.parametrize("what", ["fingerprint", "scoring version"])
def test_results_that_do_not_compare_are_refused(make_run, what):
    first, *others = read_systems([make_run("reader", 9, 4)])
    results = first.system.results
    changed = (
        {"scoring_version": results.scoring_version + 1}
        if what == "scoring version"
        else {"split": results.split.model_copy(update={"fingerprint": "0" * 64})}
    )
    stranger = first._replace(
        system=first.system.model_copy(update={"results": results.model_copy(update=changed)})
    )
    with pytest.raises(UserError, match=f"more than one.*{what}"):
        build_board([stranger, *others])


def test_a_board_reads_back_from_its_json(board_of):
    board = board_of(("reader", 9, 4, {"other": ["abstained"]}), date="2026-03-01")
    assert Board.model_validate_json(board.model_dump_json()) == board
