"""Every byte that a model saw is on record: requests made again from a run folder alone are those the server got."""

import json
import random

import pytest
from chat_server import Recorder, serving

from specvi_agents.dialects import as_sent, calls_in_text
from specvi_agents.local_server import completion, json_response
from specvi_agents.messages import Message, Picture
from specvi_agents.models.openai import create
from specvi_agents.models.wire import Form, request_body
from specvi_benchmark.runs.record import SplitReference
from specvi_benchmark.runs.runner import run
from specvi_benchmark.traces import read_traces
from specvi_benchmark.views.tool import TOOL_NAME

TEXTS = ("<think>ok</think>", "x\u2028y \0 \ud800 é", "<image> <tool_response>", '"quote\\"', "<|im_end|>")
ARGUMENTS = (
    '{"wavelength_range":[4000,4300]}',
    '{"wavelength_range": ["5000", 4000]}',
    '{"wavelength_range": [40',
    "[1,2]",
    "null",
    "\ud83d",
    "",
)


def wild(seed):
    """A model that writes calls both ways, cut and whole, with ids that repeat, and answers at last."""
    rng = random.Random(seed)

    def reply(_):
        text, arguments = rng.choice(TEXTS), rng.choice(ARGUMENTS)
        thoughts = {"reasoning_content": 'thought \1 "x"'} if rng.random() < 0.5 else {}
        kind = rng.random()
        if kind < 0.4:
            called = [
                (rng.choice(("a", "", "b")), rng.choice((TOOL_NAME, "foo", "")), rng.choice(ARGUMENTS))
                for _ in range(rng.randint(1, 3))
            ]
            return json_response(completion(rng.choice((text, None)), calls=called, **thoughts))
        if kind < 0.7:
            return json_response(completion(f"{text}<tool_call>{arguments}</tool_call>", **thoughts))
        return json_response(completion(f"{text}<answer>\\boxed{{NO}}</answer>", **thoughts))

    return reply


def rebuilt(trace, folder, fields, *, tools):
    """Return the requests of an inspection, from what is on disk."""
    form, said, requests, is_in_text = Form(**trace.environment["sent_as"]), [], [], False
    for turn in trace.turns:
        pictures = tuple(
            Picture((folder / "views" / f"{view.png_sha256}.png").read_bytes(), view) for view in turn.views
        )
        if turn.role == "assistant":
            requests.append(request_body(as_sent(said), fields, form, tools=tools).encoded())
            is_in_text = turn.tool_calls == calls_in_text(turn.text)
            calls = () if is_in_text else turn.tool_calls
            said.append(Message("assistant", turn.text, calls=calls, reasoning=turn.reasoning))
        elif turn.role == "tool":
            call_id = None if is_in_text else turn.tool_call_id
            said.append(Message("tool", turn.text, pictures, call_id=call_id))
        else:
            said.append(Message(turn.role, turn.text, pictures))
    return requests


@pytest.mark.parametrize("dialect", ["api", "hermes"])
@pytest.mark.parametrize("tool_pictures", ["tool", "user"])
@pytest.mark.parametrize("prompt", ["guideline", "official"])
def test_requests_made_again_from_the_run_folder(
    tmp_path, make_split, monkeypatch, dialect, tool_pictures, prompt
):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    server, split, folder = Recorder(wild(dialect + tool_pictures + prompt)), make_split(6), tmp_path / "run"
    options = {
        "cache": "off",
        "check": "off",
        "dialect": dialect,
        "tool_pictures": tool_pictures,
        "prompt": prompt,
    }
    reference = SplitReference(
        name="small", version="1", path="here", part="test", task=None, fingerprint=split.fingerprint
    )
    with serving(server) as url:
        record = run(create("wild", {"base_url": url, **options}), "openai:wild", split, reference, folder)
    traces = read_traces(folder / "traces.jsonl").values()
    fields = json.loads((folder / "run.json").read_text())["config"]["model"]["request"]
    made = [one for trace in traces for one in rebuilt(trace, folder, fields, tools=dialect == "api")]
    assert record.counts["error"] == 0
    assert len(made) > 6
    assert sorted(made) == sorted(request.body for request in server.requests)
