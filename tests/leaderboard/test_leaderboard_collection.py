"""A maintainer's folder: submissions, decisions, several splits, and scores that are kept."""

import json
import shutil

import pytest
import yaml

from specvi_benchmark.cli.main import main
from specvi_benchmark.errors import UserError
from specvi_benchmark.splits.io import write_split
from specvi_leaderboard import scored
from specvi_leaderboard.board import Board, resamples_for
from specvi_leaderboard.collection import read_collection, refuse_replacing
from specvi_leaderboard.gather import gather, pool
from specvi_leaderboard.published import Leaderboard, board_id, json_schema, publish
from specvi_leaderboard.submissions.schema import Description
from specvi_leaderboard.submissions.submit import make_submission


def description(name, **more):
    made = {"name": name, "authors": ["Ada"], "date": "2026-03-01", "kind": "rules", "licence": "MIT"}
    return Description.model_validate(made | more)


@pytest.fixture
def keep(make_run, toy, tmp_path):
    """Return a function that makes a leaderboard's folder of scripted systems: id → (found, false alarms)."""
    folder = tmp_path / "board"

    def make(decisions=None, splits=(), **systems):
        for number, (name, (found, alarms, *rest)) in enumerate(systems.items()):
            ident = name.replace("_", "-")
            at = {"at": rest[0]} if rest else {}
            run = make_run(ident, found, alarms, folder=f"{ident}-{number}", **at)
            make_submission(run, description(f"System {ident}"), folder / "submissions" / ident)
        content = {"schema_version": 1, "splits": [str(toy), *map(str, splits)]}
        (folder / "board.yaml").write_text(
            yaml.safe_dump(content | ({"decisions": decisions} if decisions else {}))
        )
        return folder

    return make


def test_submissions_stand_beside_the_systems_that_are_always_there(keep):
    (board,) = read_collection(keep(strong=(12, 0), weak=(6, 6))).boards
    (table,) = board.tracks
    assert [row.system for row in table.ranked] == [
        *("System strong", "System weak", "always-yes", "always-no", "rules"),
    ]
    about = board.system("System strong").about
    assert (about.id, about.status) == ("strong", "re-scored")
    assert "public" in about.how


def test_a_withdrawn_system_is_out_of_the_table_and_stays_on_record(keep):
    gone = {"strong": {"withdrawn": {"date": "2026-03-05", "reason": "trained on the test part"}}}
    found = read_collection(keep(gone, strong=(12, 0), weak=(6, 6)))
    assert "System strong" not in [system.name for system in found.boards[0].systems]
    assert [(w.id, w.reason) for w in found.withdrawn] == [("strong", "trained on the test part")]
    assert found.boards[0].tracks[0].ranked[0].system == "System weak"
    assert (
        found.boards[0].tracks[0].ranked[0].rank_best,
        found.boards[0].tracks[0].ranked[0].rank_worst,
    ) == (1, 1)


def test_a_superseded_system_has_no_rank_and_names_its_successor(keep):
    (board,) = read_collection(keep({"old": {"superseded_by": "new"}}, old=(12, 0), new=(9, 4))).boards
    (table,) = board.tracks
    assert table.ranked[0].system == "System new"
    assert table.ranked[0].rank_worst == 1
    assert [(row.system, row.reason) for row in table.unranked] == [("System old", "superseded by new")]


def test_a_verification_binds_these_answers_and_no_others(keep):
    folder = keep(strong=(12, 0))
    from specvi_leaderboard.submissions.validate import answers_digest, read_submission

    digest = answers_digest(read_submission(folder / "submissions" / "strong")[1])
    verified = {"date": "2026-03-02", "by": "run", "digest": digest, "note": "200 of 200"}
    content = yaml.safe_load((folder / "board.yaml").read_text())
    (folder / "board.yaml").write_text(
        yaml.safe_dump(content | {"decisions": {"strong": {"verified": verified}}})
    )
    about = read_collection(folder).boards[0].system("System strong").about
    assert about.status == "verified"
    assert "200 of 200" in about.how
    path = folder / "submissions" / "strong" / "predictions.jsonl"
    path.write_text(path.read_text().replace('"tool_calls": 0', '"tool_calls": 1'))
    with pytest.raises(UserError, match="not those that were verified"):
        read_collection(folder)


@pytest.mark.parametrize(
    "decision", [{"nobody": {"superseded_by": "strong"}}, {"strong": {"superseded_by": "nobody"}}]
)
def test_a_decision_about_nobody_is_refused(keep, decision):
    with pytest.raises(UserError, match="decision about a submission that is not there"):
        read_collection(keep(decision, strong=(12, 0)))


@pytest.mark.parametrize(
    "newer", [{"one": "one"}, {"one": "two", "two": "one"}, {"three": "one", "one": "two", "two": "one"}]
)
def test_submissions_do_not_supersede_each_other_in_a_circle(keep, newer):
    decisions = {name: {"superseded_by": other} for name, other in newer.items()}
    with pytest.raises(UserError, match="in a circle"):
        read_collection(keep(decisions, one=(12, 0), two=(9, 1), three=(6, 6)))


def test_a_board_of_a_newer_version_is_told_as_such(keep):
    folder = keep(strong=(12, 0))
    path = folder / "board.yaml"
    path.write_text(path.read_text().replace("schema_version: 1", "schema_version: 2"))
    with pytest.raises(UserError, match="newer version"):
        read_collection(folder)


def test_what_was_published_is_not_replaced_by_another_submission_of_that_id(keep, tmp_path, capsys):
    folder = keep(strong=(12, 0))
    there = folder / "submissions" / "strong"
    sent = tmp_path / "checkout" / "submissions" / "strong"
    shutil.copytree(there, sent)
    refuse_replacing(there, folder)
    refuse_replacing(sent, folder)
    path = sent / "submission.yaml"
    path.write_text(path.read_text().replace("Ada", "Eve"))
    with pytest.raises(SystemExit) as caught:
        main(["validate", str(sent), "--board", str(folder)])
    assert caught.value.code == 2
    assert "already there" in capsys.readouterr().err


def test_results_of_a_withdrawn_system_leave_the_site(keep, tmp_path):
    site = tmp_path / "site"
    folder = keep(strong=(12, 0), weak=(6, 6))

    def names():
        with pytest.raises(SystemExit):
            main(["leaderboard", "build", str(folder), "--out", str(site)])
        return {path.stem for path in (site / "results").rglob("*.json")}

    assert {"strong", "weak"} <= names()
    keep({"strong": {"withdrawn": {"date": "2026-03-05", "reason": "a mistake"}}})
    assert "strong" not in names()


def test_a_submission_can_not_say_of_itself_that_it_is_trivial(keep):
    """Else a run.vetter of `always-yes` would keep the real one out of the table."""
    folder = keep(strong=(12, 0))
    path = folder / "submissions" / "strong" / "submission.yaml"
    content = yaml.safe_load(path.read_text())
    content["run"]["vetter"] = "always-yes"
    path.write_text(yaml.safe_dump(content))
    (board,) = read_collection(folder).boards
    assert not board.system("System strong").trivial
    assert "always-yes" in [system.name for system in board.systems]


def test_every_split_has_a_board_of_its_own_and_simulated_never_meets_real(
    keep, make_split, tmp_path, capsys
):
    real = tmp_path / "real"
    write_split(make_split("Real", source="gaia", tasks=("cv", "wd")), real)
    folder = keep(splits=[real], strong=(12, 0), starry=(9, 4, real))
    found = read_collection(folder)
    assert sorted(board.simulated for board in found.boards) == [False, True]
    names = [{system.name for system in board.systems} for board in found.boards]
    assert not any({"System strong", "System starry"} <= group for group in names)
    with pytest.raises(SystemExit):
        main(["leaderboard", "build", str(folder), "--out", str(tmp_path / "site")])
    data = tmp_path / "site" / "data"
    assert all(board_id(board) in (data / "site.js").read_text() for board in found.boards)
    assert all((data / board_id(board) / "board.js").is_file() for board in found.boards)


def test_a_broken_submission_stops_the_board_with_its_name(keep):
    folder = keep(strong=(12, 0), weak=(6, 6))
    path = folder / "submissions" / "weak" / "predictions.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    with pytest.raises(UserError, match="do not fit the split") as caught:
        read_collection(folder)
    assert "weak" in str(caught.value)


# What is kept


def test_what_was_scored_once_is_not_scored_again(keep, monkeypatch):
    folder = keep(strong=(12, 0), weak=(6, 6))
    before = publish(read_collection(folder).boards, "T")

    def never(*_, **__):
        raise AssertionError("scored again")

    monkeypatch.setattr("specvi_leaderboard.collection.score_all", never)
    monkeypatch.setattr("specvi_leaderboard.always.score_all", never)
    monkeypatch.setattr("specvi_leaderboard.always.load_system", never)
    monkeypatch.setattr("specvi_leaderboard.scored.find_split", never)
    monkeypatch.setattr("specvi_leaderboard.board.rank", never)
    assert publish(read_collection(folder).boards, "T") == before


def test_scores_of_another_scoring_version_are_computed_again_not_mixed(keep, monkeypatch):
    folder = keep(strong=(12, 0), weak=(6, 6))
    read_collection(folder)
    made = []
    real = scored.score_all

    def counted(*arguments, **more):
        made.append(1)
        return real(*arguments, **more)

    monkeypatch.setattr("specvi_leaderboard.collection.score_all", counted)
    monkeypatch.setattr(scored, "SCORING_VERSION", scored.SCORING_VERSION + 1)
    read_collection(folder)
    assert len(made) == 2


def test_a_damaged_cache_is_made_anew(keep):
    folder = keep(strong=(12, 0))
    before = read_collection(folder).boards
    for path in (scored.home() / "leaderboard").rglob("*.npz"):
        path.write_bytes(b"damaged")
    assert read_collection(folder).boards == before


def test_changed_answers_get_another_score(keep):
    folder = keep(strong=(12, 0))
    path = folder / "submissions" / "strong" / "predictions.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line | {"answer": "NO"}) + "\n" for line in lines))
    score = read_collection(folder).boards[0].macro("main", "System strong").ranked.f1.value
    assert score == 0


# What is published


def test_ids_stay_whatever_else_is_shown(keep, make_run):
    runs = [make_run("reader", 9, 4, folder="one"), make_run("reader", 8, 4, folder="two")]
    alone = gather(runs[:1]).boards[0].systems[0].about.id
    both = [system.about.id for system in gather(runs).boards[0].systems]
    assert alone == both[0]
    assert len(set(both)) == len(both)


def test_the_published_file_reads_back_and_has_a_schema(keep):
    content = publish(read_collection(keep(strong=(12, 0), weak=(6, 6))).boards, "T")
    assert Leaderboard.model_validate_json(content.model_dump_json()) == content
    (board,) = content.boards
    line = board.tables[0].lines[0]
    assert (line.id, line.rank_best, line.rank_worst) == ("strong", 1, 1)
    assert line.tasks[0].f1.value == 1
    ranked = sum(row.rank_best is not None for row in board.tables[0].lines)
    assert len(board.tables[0].errors) == ranked * (ranked - 1) // 2
    by_accuracy, by_brier = board.tables[0].others
    assert (by_accuracy.metric, by_brier.metric) == ("accuracy", "brier")
    strong = by_accuracy.places[0]
    assert (strong.id, strong.rank_best, strong.rank_worst) == ("strong", 1, 1)
    assert len(by_accuracy.errors) == ranked * (ranked - 1) // 2
    (reason,) = {place.unranked for place in by_brier.places if place.id in {"strong", "weak"}}
    assert reason == "the system gives no probability"
    schema = json_schema()
    assert schema["$schema"].endswith("2020-12/schema")
    assert {"boards", "reported", "withdrawn", "schema_version"} <= set(schema["required"])


def test_reported_figures_are_marked_where_they_are_impossible():
    from specvi_leaderboard.reported import reported

    found = reported()
    impossible = {(s.name, cell.task) for s in found.systems for cell in s.cells if not cell.possible}
    assert len(impossible) == 11  # docs/check-table.md
    assert {("Spec-o3-3B", "cv"), ("Qwen3-VL-30B-A3B", "cv"), ("Spec-o3-7B", "mg")} <= impossible
    assert ("Spec-o3-7B", "cv") not in impossible
    assert found.source
    assert found.further


def test_a_pool_is_ranked_anew_and_keeps_the_trivial_ones(keep):
    found = read_collection(keep(best=(12, 0), middle=(9, 2), low=(6, 6)))
    whole = found.boards[0]
    assert [row.rank_best for row in whole.tracks[0].ranked[:3]] == [1, 2, 3]
    few = pool(found.entries[0], whole, ["low"])
    (table,) = few.tracks
    assert table.ranked[0].system == "System low"
    assert (table.ranked[0].rank_best, table.ranked[0].rank_worst) == (1, 1)
    assert {"always-yes", "always-no"} <= {row.system for row in table.ranked}
    with pytest.raises(UserError, match="no such system"):
        pool(found.entries[0], whole, ["nobody"])


@pytest.mark.parametrize(
    ("systems", "resamples"), [(2, 10_000), (50, 10_000), (100, 2_500), (200, 1_000), (900, 1_000)]
)
def test_large_pools_take_fewer_resamples(systems, resamples):
    assert resamples_for(systems) == resamples


def test_ranks_are_those_of_the_comparison(make_run):
    from specvi_benchmark.scoring.compare import compare, rank
    from specvi_leaderboard.systems import read_systems

    entries = read_systems([make_run("one", 9, 4), make_run("two", 9, 5), make_run("three", 6, 6)])
    rows = {entry.system.name: entry.rows for entry in entries}
    whole, lean = compare(rows), rank(rows)
    fields = ("system", "rank_best", "rank_worst", "tied_with")
    assert [tuple(getattr(row, f) for f in fields) for row in whole.systems] == [
        tuple(row) for row in lean.sets
    ]
    assert [pair.error for pair in whole.pairs] == list(lean.errors)


def test_a_board_reads_back(keep):
    (board,) = read_collection(keep(strong=(12, 0))).boards
    assert Board.model_validate_json(board.model_dump_json()) == board
