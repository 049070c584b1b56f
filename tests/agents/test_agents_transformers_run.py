"""Whole runs of local models in this process: complete, on record, and the same in both dialects."""

import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")

from specvi_agents.models.transformers import create
from specvi_benchmark.cli.main import main
from specvi_benchmark.runs.ask import ask
from specvi_benchmark.splits.io import write_split
from specvi_benchmark.vetting import Outcome


def specvi(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code or 0


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_an_untrained_model_makes_a_complete_run(tiny_folder: Path, tmp_path: Path, make_split) -> None:
    """Noise is no answer: every outcome says so, every word and picture is kept, and nothing is asked twice."""
    write_split(make_split(5), tmp_path / "split")
    run = tmp_path / "run"
    command = ("run", "--vetter", f"transformers:{tiny_folder}", "--split", tmp_path / "split", "--out", run)
    command = (*command, "--option", "max_tokens=8", "--option", "batch_size=3", "--option", "device=cpu")
    assert specvi(*command) == 0
    rows = lines(run / "predictions.jsonl")
    assert len(rows) == len({row["id"] for row in rows}) == 5
    assert {row["outcome"] for row in rows} <= {"truncated", "unparsed"}
    assert all(row["answer"] is None and row["cost_usd"] == 0 and row["tokens_out"] <= 8 for row in rows)
    traces = lines(run / "traces.jsonl")
    assert {trace["id"] for trace in traces} == {row["id"] for row in rows}
    for trace in traces:
        (picture,) = [view["png_sha256"] for turn in trace["turns"] for view in turn["views"]]
        assert hashlib.sha256((run / "views" / f"{picture}.png").read_bytes()).hexdigest() == picture
        assert trace["turns"][-1]["role"] == "assistant"
        assert trace["turns"][-1]["usage"]["tokens_out"] == 8
    before = (run / "predictions.jsonl").read_bytes()
    assert specvi(*command) == 0
    assert (run / "predictions.jsonl").read_bytes() == before
    assert json.loads((run / "run.json").read_text())["counts"]["error"] == 0
    assert specvi("score", run) == 0


def test_both_dialects_are_understood_and_show_the_model_the_same_tokens(
    acting_folder: Path, make_split
) -> None:
    """The draws hang on every letter and picture that the model sees: equal draws, equal conversations."""
    found = {}
    for dialect in ("api", "hermes"):
        options = {
            "temperature": "1",
            "max_tokens": "40",
            "batch_size": "6",
            "dialect": dialect,
            "device": "cpu",
        }
        entries: list = []
        vetter = create(str(acting_folder), options)
        assert (
            ask(vetter, [candidate.question for candidate in make_split(8).candidates], entries.append) == 0
        )
        found[dialect] = sorted((entry.verdict for entry in entries), key=lambda verdict: verdict.id)
    verdicts = found["api"]
    assert {verdict.outcome for verdict in verdicts} == {Outcome.ANSWERED}
    assert {verdict.answer for verdict in verdicts} == {"YES", "NO"}
    assert max(verdict.tool_calls for verdict in verdicts) >= 2
    for verdict in verdicts:
        turns = verdict.traces[0].turns
        assert (
            sum("<tool_call>" in turn.text for turn in turns if turn.role == "assistant")
            == verdict.tool_calls
        )
        assert Counter(turn.role for turn in turns)["tool"] == verdict.tool_calls
        assert all(len(turn.views) == 1 for turn in turns if turn.role == "tool")
        assert f"\\boxed{{{verdict.answer}}}" in turns[-1].text
        assert len(verdict.traces[0].pictures) == len({v.png_sha256 for turn in turns for v in turn.views})

    for api, hermes in zip(found["api"], found["hermes"], strict=True):
        assert [turn.text for turn in api.traces[0].turns if turn.role == "assistant"] == [
            turn.text for turn in hermes.traces[0].turns if turn.role == "assistant"
        ]
        assert (api.answer, api.tool_calls, api.tokens_in) == (
            hermes.answer,
            hermes.tool_calls,
            hermes.tokens_in,
        )


def test_votes_are_counted(acting_folder: Path, make_split) -> None:
    options = {"votes": "5", "max_tokens": "40", "batch_size": "10", "device": "cpu"}
    entries: list = []
    ask(create(str(acting_folder), options), [make_split(1).candidates[0].question], entries.append)
    (verdict,) = [entry.verdict for entry in entries]
    assert verdict.votes is not None
    assert len(verdict.votes) == len(verdict.traces) == 5
    assert len({trace.turns[-1].text for trace in verdict.traces}) > 1  # draws of their own
    assert verdict.answer == Counter(verdict.votes).most_common(1)[0][0]
    assert verdict.p_yes == verdict.votes.count("YES") / 5


def test_the_settings_of_the_released_checkpoints_on_official_files(
    acting_folder: Path, tmp_path: Path, make_split
) -> None:
    """The documented command, with the tiny model in place of the checkpoint and a file in the official schema."""
    write_split(make_split(3), tmp_path / "made")
    exported = tmp_path / "files"
    assert (
        specvi("split", "export", tmp_path / "made", "--out", exported, "--official-names", "--pictures") == 0
    )
    files = sorted(exported.rglob("*.parquet"))
    assert specvi("split", "import", *files, "--out", tmp_path / "official") == 0
    run = tmp_path / "run"
    settings = {
        "style": "spec-o3",
        "prompt": "official",
        "profile": "released-code",
        "dialect": "hermes",
        "temperature": "1",  # the acting model's likeliest turn is a call, for ever; chance lets it answer
        "max_tokens": "40",
        "device": "cpu",
    }
    given = [part for key, value in settings.items() for part in ("--option", f"{key}={value}")]
    model = f"transformers:{acting_folder}"
    assert specvi("run", "--vetter", model, "--split", tmp_path / "official", "--out", run, *given) == 0
    assert {row["outcome"] for row in lines(run / "predictions.jsonl")} == {"answered"}
    for trace in lines(run / "traces.jsonl"):
        assert trace["environment"]["max_turns"] == 8
        views = [view for turn in trace["turns"] for view in turn["views"]]
        assert {view["style"] for view in views} == {"spec-o3"}
        system, user = trace["turns"][:2]
        assert "<tools>" in system["text"]
        assert "**Cataclysmic Variables (CV)**" in user["text"]
    assert specvi("score", run) == 0
