"""Review states: who may do what when, and that every act stands on record."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trajectory_kit import GOOD, folder_of, inspect, only, record, star

from specvi_agents.trajectories import Store, Trajectory, read
from specvi_agents.trajectories.records import SCHEMA_VERSION, Change, Record
from specvi_agents.trajectories.review import audit, reject, revise, vote
from specvi_agents.trajectories.screening import screen_all
from specvi_benchmark.cli.main import main
from specvi_benchmark.errors import UserError

TRACE = inspect(GOOD)
LAST_TURN = 7
"""Of the inspection: system, user, three of the inspector's with two of the tool's between."""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return a folder with one trajectory that passed the screening."""
    made = folder_of(tmp_path / "made", [TRACE])
    screen_all(made, {"star-0": star().question})
    return made


def revised(store: Store, by: str = "Ann", **texts: str) -> Trajectory:
    return revise(
        store,
        "star-0",
        by=by,
        why="read",
        texts={int(k[1:]): v for k, v in texts.items()},
        question=star().question,
    )


def test_the_way_to_accepted_with_everyone_on_record(store: Store) -> None:
    assert only(store).state == "screened"
    better = GOOD[-1].replace("as well", "too, as broad as Hα")
    assert revised(store, t7=better).state == "revised"
    assert audit(store, "star-0", by="Ben", why="sound").state == "revised"
    assert audit(store, "star-0", by="Cleo", why="sound").state == "audited"
    assert vote(store, "star-0", by="Ann", why="good", ballot="for").state == "audited"
    assert vote(store, "star-0", by="Ben", why="dull", ballot="against").state == "audited"
    assert vote(store, "star-0", by="Dan", why="good", ballot="for").state == "accepted"
    item = only(store)
    assert item.trace.turns[LAST_TURN - 1].text == better
    assert item.record.trace.turns[LAST_TURN - 1].text == GOOD[-1]  # as it came
    acts = [
        (change.action, change.by, change.why, change.before, change.after) for change in item.changes[1:]
    ]
    assert acts == [
        ("revise", "Ann", "read", "screened", "revised"),
        ("audit", "Ben", "sound", "revised", "revised"),
        ("audit", "Cleo", "sound", "revised", "audited"),
        ("vote", "Ann", "good", "audited", "audited"),
        ("vote", "Ben", "dull", "audited", "audited"),
        ("vote", "Dan", "good", "audited", "accepted"),
    ]
    (edit,) = item.changes[1].edits
    assert (edit.turn, edit.before, edit.after) == (LAST_TURN - 1, GOOD[-1], better)
    assert [item.id for item in read(store.folder, at_least="accepted")] == ["star-0"]


def test_a_majority_against_rejects(store: Store) -> None:
    revised(store)
    for name in ("Ben", "Cleo"):
        audit(store, "star-0", by=name, why="sound")
    ballots = {"Ann": "against", "Ben": "for", "Cleo": "against"}
    states = [
        vote(store, "star-0", by=name, why="so", ballot=ballot).state for name, ballot in ballots.items()
    ]
    assert states == ["audited", "audited", "rejected"]


REFUSED: dict[str, tuple[Callable[[Store], object], str]] = {
    "audit before a revision": (lambda s: audit(s, "star-0", by="Ben", why="x"), "screened can't be audited"),
    "vote before audits": (
        lambda s: vote(s, "star-0", by="Ben", why="x", ballot="for"),
        "screened can't be voted on",
    ),
    "no name": (lambda s: revised(s, by="  "), "name of a person"),
    "the machine's name": (lambda s: revised(s, by="screening 1"), "name of a person"),
    "no reason": (lambda s: reject(s, "star-0", by="Ann", why=" "), "needs a reason"),
    "no such trajectory": (lambda s: reject(s, "moon", by="Ann", why="x"), "no such trajectory"),
    "a turn of the tool": (lambda s: revised(s, t4="mine"), "only what the inspector says"),
    "a turn that is not there": (lambda s: revised(s, t40="mine"), "only what the inspector says"),
    "another call": (lambda s: revised(s, t3=GOOD[0].replace("6400", "6300")), "can't change what is called"),
    "a wrong answer": (lambda s: revised(s, t7=GOOD[-1].replace("YES", "NO")), "does not pass the screening"),
    "words the flux denies": (
        lambda s: revised(s, t7=GOOD[-1].replace("Hα and Hβ are in broad emission", "Hα is in absorption")),
        "contradicted",
    ),
}


@pytest.mark.parametrize(("act", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_leaves_nothing_on_record(
    store: Store, act: Callable[[Store], object], message: str
) -> None:
    before = (store.folder / "changes.jsonl").read_bytes()
    with pytest.raises(UserError, match=message):
        act(store)
    assert (store.folder / "changes.jsonl").read_bytes() == before


def test_auditors_and_voters_are_different_people(store: Store) -> None:
    revised(store, by="Ann Smith")
    with pytest.raises(UserError, match="revised this text"):
        audit(store, "star-0", by="ann  smith", why="x")
    audit(store, "star-0", by="Ben", why="x")
    with pytest.raises(UserError, match="has audited"):
        audit(store, "star-0", by="BEN ", why="x")
    audit(store, "star-0", by="Cleo", why="x")
    vote(store, "star-0", by="Ann Smith", why="x", ballot="for")
    with pytest.raises(UserError, match="has voted"):
        vote(store, "star-0", by="Ann SMITH", why="x", ballot="for")


@pytest.mark.parametrize("name", [" ann", "ANN", "\u0410nn", "Ann\u200b", "\uff21nn"])
def test_one_person_under_two_spellings_is_one(store: Store, name: str) -> None:
    revised(store)
    with pytest.raises(UserError, match="revised this text"):
        audit(store, "star-0", by=name, why="x")


def test_nobody_audits_their_own_words_whoever_read_them_since(store: Store) -> None:
    revised(store, by="Ann", t7=GOOD[-1].replace("as well", "too"))
    revised(store, by="Ben")
    for name in ("Ann", "Ben"):
        with pytest.raises(UserError, match="revised this text"):
            audit(store, "star-0", by=name, why="x")
    revised(store, by="Cleo", t7=GOOD[-1].replace("as well", "also"))
    assert audit(store, "star-0", by="Ann", why="x").state == "revised"  # none of it is Ann's any more


def test_a_revision_is_checked_as_the_first_text_was(store: Store) -> None:
    with pytest.raises(UserError, match="can't be checked as the first one"):
        revise(store, "star-0", by="Ann", why="x", texts={}, question=None)


def test_what_is_wrong_in_two_turns_is_mended_in_one_act(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = tuple(text.replace("<think>", "<think>As the label says. ") for text in GOOD)
    made = folder_of(tmp_path / "made", [inspect(told)])
    screen_all(made, {})
    assert only(made).state == "rejected"

    def command(*arguments: str) -> str:
        signed = ("--reviewer", "Ann", "--why", "it leaks")
        with pytest.raises(SystemExit):
            main(["trajectories", "review", str(made.folder), "star-0", *arguments, *signed])
        return "".join(capsys.readouterr())

    (tmp_path / "last.txt").write_text(GOOD[2] + "\n")
    edits = ("--turn", "3", "--text", GOOD[0], "--turn", "5", "--text", GOOD[1])
    assert "does not pass" in command(*edits)
    assert "which text for which turn" in command(*edits, "--turn", "7")
    assert "which text for which turn" in command("--text", GOOD[0])
    assert "what has been done" in command()
    assert "rejected → revised" in command(*edits, "--turn", "7", "--text", f"@{tmp_path / 'last.txt'}")
    spoken = [turn.text for turn in only(made).trace.turns if turn.role == "assistant"]
    assert spoken == list(GOOD)


def test_a_draft_that_comes_while_the_logs_are_read_is_no_contradiction(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = Store.records

    def meanwhile(self: Store) -> dict[str, Record]:
        found = records(self)
        monkeypatch.setattr(Store, "records", records)
        self.add(record(TRACE, id="star-9"), TRACE.pictures)
        screen_all(self, {"star-9": star().question})
        return found

    monkeypatch.setattr(Store, "records", meanwhile)
    assert list(store.trajectories()) == ["star-0"]


def test_a_revision_voids_audits_and_brings_a_rejected_one_back(store: Store) -> None:
    revised(store)
    audit(store, "star-0", by="Ben", why="x")
    revised(store, by="Cleo", t7=GOOD[-1].replace("as well", "too"))
    assert audit(store, "star-0", by="Ann", why="x").state == "revised"  # the reviser is another now
    assert audit(store, "star-0", by="Ben", why="x").state == "audited"
    assert reject(store, "star-0", by="Dan", why="doubt").state == "rejected"
    with pytest.raises(UserError, match="rejected can't be rejected"):
        reject(store, "star-0", by="Dan", why="doubt")
    assert revised(store, by="Dan").state == "revised"


def test_a_draft_can_only_be_screened_or_rejected(tmp_path: Path) -> None:
    store = folder_of(tmp_path / "made", [TRACE])
    with pytest.raises(UserError, match="has not been screened"):
        revised(store)
    assert reject(store, "star-0", by="Ann", why="dull").state == "rejected"


DO: dict[str, Callable[[Store, str], object]] = {
    "revise": lambda s, who: revise(s, "star-0", by=who, why="x", texts={}, question=None),
    "rewrite": lambda s, who: revise(s, "star-0", by=who, why="x", texts={LAST_TURN: GOOD[-1].replace("as well", f"as well, says {who}")}, question=None),
    "audit": lambda s, who: audit(s, "star-0", by=who, why="x"),
    "for": lambda s, who: vote(s, "star-0", by=who, why="x", ballot="for"),
    "against": lambda s, who: vote(s, "star-0", by=who, why="x", ballot="against"),
    "reject": lambda s, who: reject(s, "star-0", by=who, why="x"),
}  # fmt: skip
PEOPLE = ("Ann", "Ben", "Cleo", "Dan")


@settings(max_examples=25, deadline=None)
@given(acts=st.lists(st.tuples(st.sampled_from(sorted(DO)), st.sampled_from(PEOPLE)), max_size=14))  # fmt: skip
def test_any_order_of_acts_ends_where_a_second_account_of_the_rules_says(
    acts: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    store = folder_of(tmp_path_factory.mktemp("store") / "made", [TRACE])
    store.change(
        Change(schema_version=SCHEMA_VERSION, id="star-0", action="screen", by="screening 1", at="2026-01-01", why="x", before="draft", after="screened", unchecked={"evidence": "no spectrum"})
    )  # fmt: skip
    stage, reviser, writer, auditors, votes = "screened", "", "", set(), {}
    for act, who in acts:
        legal = True
        if act in {"revise", "rewrite"} and stage in {"screened", "revised", "audited", "rejected"}:
            stage, reviser, auditors, votes = "revised", who, set(), {}
            writer = who if act == "rewrite" else writer
        elif act == "audit" and stage == "revised" and who not in {reviser, writer, *auditors}:
            auditors.add(who)
            stage = "audited" if len(auditors) == 2 else "revised"
        elif act in {"for", "against"} and stage == "audited" and who not in votes:
            votes[who] = act
            if len(votes) == 3:
                stage = "accepted" if list(votes.values()).count("for") >= 2 else "rejected"
        elif act == "reject" and stage != "rejected":
            stage = "rejected"
        else:
            legal = False
        try:
            DO[act](store, who)
        except UserError:
            assert not legal
        else:
            assert legal
        assert only(store).state == stage


def test_the_log_is_only_appended_to_and_an_unfinished_line_is_cut(store: Store) -> None:
    path = store.folder / "changes.jsonl"
    before = path.read_bytes()
    path.write_bytes(before + b'{"id": "star-0", "act')  # a kill
    assert only(store).state == "screened"
    revised(store)
    after = path.read_bytes()
    assert after.startswith(before)
    assert json.loads(after[len(before) :])["after"] == "revised"


def test_logs_that_contradict_each_other_are_told(store: Store) -> None:
    path = store.folder / "changes.jsonl"
    line = path.read_text()
    path.write_text(line + line)
    with pytest.raises(UserError, match="does not follow"):
        only(store)
    path.write_text(line.replace("star-0", "star-9"))
    with pytest.raises(UserError, match="not there"):
        only(store)
    path.write_text(line)
    records = store.folder / "trajectories.jsonl"
    records.write_text(records.read_text() * 2)
    with pytest.raises(UserError, match="twice"):
        only(store)


def test_an_id_may_be_shortened_where_it_names_one(tmp_path: Path) -> None:
    store = folder_of(tmp_path / "made", [TRACE] * 12)
    assert store.find("star-11").id == "star-11"
    assert store.find("star-1").id == "star-1"  # whole
    with pytest.raises(UserError, match="several"):
        store.find("star")
    with pytest.raises(UserError, match="no such"):
        store.find("")
    with pytest.raises(UserError, match="not a trajectory folder"):
        Store(tmp_path)
