"""`specvi trace`: what it prints and writes; a run read again gives its own verdicts."""

import json
from collections import Counter

import pytest

from specvi_agents import rereading
from specvi_agents.agent import AgentVetter
from specvi_agents.messages import ModelError, Reply
from specvi_agents.options import AgentOptions
from specvi_agents.parsing import Reading
from specvi_agents.replay import replay_run
from specvi_agents.scripted import Scripted
from specvi_benchmark.cli.main import main
from specvi_benchmark.files import append_line
from specvi_benchmark.runs.record import choose_split
from specvi_benchmark.runs.runner import run
from specvi_benchmark.splits.io import write_split
from specvi_benchmark.trace_page import RecordedRun
from specvi_benchmark.traces import said
from specvi_benchmark.vetting import Outcome, answered

THOUGHT = "<think>Something.</think>"
REPLIES = (
    Reply(rf"{THOUGHT}<answer>\boxed{{YES}}</answer>"),
    Reply(rf"{THOUGHT}<answer>\boxed{{NO}}</answer>"),
    Reply(rf"{THOUGHT}<answer>\boxed{{UNCERTAIN}}</answer>"),
    Reply(rf"{THOUGHT}<answer>\boxed{{YES}}\boxed{{NO}}</answer>"),
    Reply("The answer is YES."),
    Reply(f"{THOUGHT} and then", stop="length"),
    Reply(rf"{THOUGHT}<answer>\boxed{{YES}}</answer>", stop="length"),
    Reply("", stop="content_filter"),
    Reply("", refusal="No."),
    Reply("I cannot help with that."),
    None,  # no reply at all
)


class Parrot:
    """Gives the replies in turn, whatever it is shown."""

    config = {"name": "parrot"}  # noqa: RUF012

    def __init__(self) -> None:
        self.said = 0

    async def reply(self, messages, *, tools, sample):  # noqa: ARG002  # the protocol names them
        reply = REPLIES[self.said % len(REPLIES)]
        self.said += 1
        if reply is None:
            raise ModelError("the server is gone")
        return reply

    async def close(self) -> None:
        pass


class Statements:
    config = {}  # noqa: RUF012

    def vet(self, questions):
        for question in questions:
            yield answered(question, "YES", traces=(said("YES, since I say so."),))


def call(*arguments):
    """Run the program in this process and return its exit code."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code or 0


@pytest.fixture
def make_run(tmp_path, make_split):
    def made(vetter, n=6):
        write_split(make_split(n), tmp_path / "split")
        split, reference = choose_split(str(tmp_path / "split"))
        run(vetter, "made", split, reference, tmp_path / "run")
        return tmp_path / "run"

    return made


@pytest.mark.parametrize(
    "options", [{}, {"votes": "3"}, {"votes": "2", "abstain_on_split": "on"}], ids=["one", "votes", "agree"]
)
def test_a_run_read_again_gives_its_own_verdicts(make_run, options):
    folder = make_run(AgentVetter(Parrot(), AgentOptions.read(options)[0]), n=2 * len(REPLIES))
    recorded = RecordedRun(folder)
    result = replay_run(recorded)
    assert (result.same, result.changed) == (2 * len(REPLIES), ())
    assert (result.unread, result.missing) == (0, 0)
    if not options:
        outcomes = Counter(row.outcome for row in recorded.predictions.values())
        assert set(outcomes) == set(Outcome)  # every outcome was there to be read


def test_a_parser_that_reads_otherwise_is_found(make_run, monkeypatch, capsys):
    folder = make_run(Scripted())

    def contrary(text, ended, refusal=None):
        return Reading(Outcome.ANSWERED, "YES", "YES", is_sound=True)

    assert call("trace", folder, "--replay") == 0
    assert "6 verdicts stay, 0 change" in capsys.readouterr().out
    monkeypatch.setattr(rereading, "read", contrary)
    assert call("trace", folder, "--replay") == 1
    printed = capsys.readouterr().out
    assert "0 verdicts stay, 6 change" in printed
    assert "cv cv-000: NO (answered) → YES (answered)" in printed
    assert call("trace", folder, "--replay", "--json") == 1
    value = json.loads(capsys.readouterr().out)
    assert [change["id"] for change in value["changed"]] == [f"cv-00{number}" for number in range(6)]


def test_statements_and_missing_traces_are_counted_apart(make_run, capsys):
    folder = make_run(Statements())
    append_line(
        folder / "predictions.jsonl", {"id": "x", "task": "cv", "answer": "NO", "outcome": "answered"}
    )
    assert call("trace", folder, "--replay") == 0
    printed = capsys.readouterr().out
    assert "0 verdicts stay, 0 change" in printed
    assert "6 were not read by the parser" in printed
    assert "1 have no trace" in printed


def test_the_views_of_scripted_are_drawn_again(make_run, capsys):
    folder = make_run(Scripted(), n=2)
    assert call("trace", folder, "--audit", "--json") == 0
    value = json.loads(capsys.readouterr().out)
    pictures = list((folder / "views").iterdir())
    assert value["same"] == len(pictures) >= 4
    pictures[0].unlink()
    assert call("trace", folder, "--audit") == 1
    assert f"{pictures[0].name} is missing" in capsys.readouterr().out


def test_list_text_and_page(make_run, tmp_path, capsys):
    folder = make_run(Scripted(), n=25)
    assert call("trace", folder) == 0
    printed = capsys.readouterr().out
    assert "cv   cv-000  NO" in printed
    assert "… and 5 more" in printed
    assert f"Next: specvi trace {folder} cv-000" in printed
    assert call("trace", folder, "cv-01", "--task", "cv") == 2
    assert "more than one question is meant" in capsys.readouterr().err
    assert call("trace", folder, "cv-024", "--truth") == 0
    printed = capsys.readouterr().out
    assert "Verdict: NO (answered), truth YES, " in printed
    assert r"\boxed{NO}" in printed
    page = tmp_path / "pages" / "one.html"
    assert call("trace", folder, "cv-024", "--html", page) == 0
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert f"Wrote {page}" in capsys.readouterr().out
    assert call("trace", folder, "cv-024", "--json") == 0
    value = json.loads(capsys.readouterr().out)
    assert value["prediction"]["answer"] == "NO"
    assert value["samples"][0]["turns"][0]["role"] == "system"


@pytest.mark.parametrize(
    "arguments", [["--html", "x.html"], ["--truth"], ["cv-000", "--replay"], ["--replay", "--audit"]]
)
def test_what_does_not_go_together_is_refused(make_run, arguments, capsys):
    folder = make_run(Statements(), n=2)
    assert call("trace", folder, *arguments) == 2
    assert "specvi trace" in capsys.readouterr().err
