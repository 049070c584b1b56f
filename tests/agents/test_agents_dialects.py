"""Calls in fields and calls in the text, both ways; and how the tool's answers are sent."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specvi_agents.dialects import as_sent, call_text, calls_in_text, in_text, tools_block
from specvi_agents.messages import Message, Picture, ToolCall
from specvi_benchmark.traces import ViewRecord
from specvi_benchmark.views.tool import TOOL_NAME, TOOL_SCHEMA

CALL = (
    '{"name": "spectral_visualization_tool", "arguments": {"wavelength_range": [6400, 6700], "label": "Hα"}}'
)


def picture(name: str) -> Picture:
    record = ViewRecord(
        png_sha256=name, pixel_sha256=name, window_AA=(1, 2), frame="observed", style="clean", size_px=(1, 1)
    )
    return Picture(name.encode(), record)


def test_a_call_in_the_text():
    (call,) = calls_in_text(f"<think>Look.</think>\n<tool_call>\n{CALL}\n</tool_call>")
    assert (call.id, call.name) == ("text-1", TOOL_NAME)
    assert json.loads(call.arguments) == {"wavelength_range": [6400, 6700], "label": "Hα"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no call at all", []),
        ("<think><tool_call>{}</tool_call></think>", []),  # in a thought it is an idea
        ("<think>open <tool_call>{}</tool_call>", [(TOOL_NAME, "{}")]),  # the thought was left by calling
        ('<tool_call>{"name": "x", "arguments": {}}</tool_call>', [("x", "{}")]),
        ('<tool_call>{"name": "x", "arguments": "[1, 2]"}</tool_call>', [("x", "[1, 2]")]),
        ('<tool_call>{"name": "x"}</tool_call>', [(TOOL_NAME, '{"name": "x"}')]),
        (
            '<tool_call>{"name": 3, "arguments": {}}</tool_call>',
            [(TOOL_NAME, '{"name": 3, "arguments": {}}')],
        ),
        ('<tool_call>{"wavelength_range": [1,', [(TOOL_NAME, '{"wavelength_range": [1,')]),  # cut
        ("<tool_call></tool_call>", [(TOOL_NAME, "")]),
        ("<tool_call>[1, 2]</tool_call>", [(TOOL_NAME, "[1, 2]")]),
        ("<tool_call>a<tool_call>b</tool_call>", [(TOOL_NAME, "a"), (TOOL_NAME, "b")]),
        ("<tool_call>a</tool_call> and <tool_call>b</tool_call>", [(TOOL_NAME, "a"), (TOOL_NAME, "b")]),
        ("<tool_call>" + "[" * 100_000, [(TOOL_NAME, "[" * 100_000)]),
    ],
)
def test_calls_as_models_write_them(text, expected):
    calls = calls_in_text(text)
    assert [(call.name, call.arguments) for call in calls] == expected
    assert [call.id for call in calls] == [f"text-{n}" for n in range(1, len(expected) + 1)]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(alphabet="aé Å\"'\\{}[]\n"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    name=st.text(alphabet='abc_"\\é', min_size=1), arguments=st.dictionaries(st.text("ab"), JSON, max_size=3)
)
def test_a_call_written_out_is_read_back(name, arguments):
    call = ToolCall(id="7", name=name, arguments=json.dumps(arguments))
    (read,) = calls_in_text(f"<think>x</think>{call_text(call)}")
    assert read.name == name
    assert json.loads(read.arguments) == arguments


@given(
    text=st.text()
    | st.lists(st.sampled_from(["<tool_call>", "</tool_call>", "<think>", "</think>", "{", CALL])).map(
        "".join
    )
)
def test_any_text_is_searched_for_calls_without_raising(text):
    assert len(calls_in_text(text)) <= text.count("<tool_call>")


def test_api_calls_written_into_the_text():
    call = ToolCall(id="1", name=TOOL_NAME, arguments='{"wavelength_range": [1, 2]}')
    message = in_text(Message("assistant", "<think>a</think>", calls=(call, call)))
    assert message.calls == ()
    assert [found.arguments for found in calls_in_text(message.text)] == ['{"wavelength_range": [1, 2]}'] * 2
    assert message.text.startswith("<think>a</think>\n<tool_call>\n")
    assert in_text(Message("assistant", "nothing")).text == "nothing"


def test_answers_to_calls_in_the_text_share_one_user_turn():
    one, two = picture("a"), picture("b")
    messages = [
        Message("system", "s"),
        Message("user", "<image>\nq", (one,)),
        Message("assistant", "calls"),
        Message("tool", "first", (one,)),
        Message("tool", "no picture"),
        Message("tool", "third", (two,)),
        Message("assistant", "calls again"),
        Message("tool", "fourth", (two,)),
    ]
    sent = as_sent(messages)
    assert [message.role for message in sent] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert sent[3].parts == (
        "<tool_response>\n", one, ("first\n</tool_response>\n<tool_response>\nno picture\n</tool_response>\n"
        "<tool_response>\n"), two, "third\n</tool_response>",
    )  # fmt: skip
    assert sent[5].parts == ("<tool_response>\n", two, "fourth\n</tool_response>")


def test_answers_to_api_calls_stay_tool_messages():
    messages = (
        Message("assistant", "", calls=(ToolCall(id="1", name="x", arguments=""),)),
        Message("tool", "t", call_id="1"),
    )
    assert as_sent(messages) == messages


def test_the_tools_block_holds_the_schema():
    listed = tools_block().partition("<tools>\n")[2].partition("\n</tools>")[0]
    assert json.loads(listed) == TOOL_SCHEMA
