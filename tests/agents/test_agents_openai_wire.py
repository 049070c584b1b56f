"""The chat-completions format, both ways."""

import base64
import hashlib
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specvi_agents.messages import Message, Picture, ToolCall
from specvi_agents.models.prices import Price
from specvi_agents.models.probability import p_yes_of
from specvi_agents.models.wire import Form, Malformed, read_reply, reasoning_field_of, request_body
from specvi_benchmark.traces import ViewRecord


def picture(png: bytes) -> Picture:
    digest = hashlib.sha256(png).hexdigest()
    record = ViewRecord(
        png_sha256=digest, pixel_sha256=digest, window_AA=(1, 2), frame="rest", style="clean", size_px=(1, 1)
    )
    return Picture(png, record)


FULL, ZOOM, OTHER = picture(b"full"), picture(b"zoom"), picture(b"other")
CALLS = tuple(ToolCall(id=f"c{n}", name="zoom", arguments='{"a": 1}') for n in (1, 2))
TALK = (
    Message("system", "Look."),
    Message("user", "Is it <image> one?", (FULL,)),
    Message("assistant", "I zoom.", calls=CALLS, reasoning="thought"),
    Message("tool", "first", (ZOOM,), call_id="c1"),
    Message("tool", "second", (OTHER,), call_id="c2"),
    Message("assistant", "Hm."),
)


def sent(form: Form, messages=TALK, **fields):
    return json.loads(request_body(messages, {"model": "m", **fields}, form, tools=True).encoded())


def uri(png: bytes) -> dict:
    return {
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64," + base64.b64encode(png).decode()},
    }


def test_a_conversation_is_written_with_pictures_where_they_belong():
    value = sent(Form())
    assert value["model"] == "m"
    assert value["tools"][0]["function"]["name"] == "spectral_visualization_tool"
    system, user, assistant, first, second, last = value["messages"]
    assert system == {"role": "system", "content": "Look."}
    assert user["content"] == [
        {"type": "text", "text": "Is it "},
        uri(b"full"),
        {"type": "text", "text": " one?"},
    ]
    assert assistant["content"] == "I zoom."
    assert assistant["tool_calls"] == [
        {"id": c.id, "type": "function", "function": {"name": "zoom", "arguments": '{"a": 1}'}} for c in CALLS
    ]
    assert "reasoning_content" not in assistant
    assert first == {
        "role": "tool",
        "tool_call_id": "c1",
        "content": [uri(b"zoom"), {"type": "text", "text": "first"}],
    }
    assert second["tool_call_id"] == "c2"
    assert last == {"role": "assistant", "content": "Hm."}


def test_where_tools_can_show_nothing_the_pictures_follow_all_answers_in_a_user_turn():
    messages = sent(Form(tool_pictures=False))["messages"]
    assert [message["role"] for message in messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
        "assistant",
    ]
    assert messages[3]["content"] == "first"
    assert messages[5]["content"] == [uri(b"zoom"), uri(b"other")]
    assert [m["role"] for m in sent(Form(tool_pictures=False), TALK[:5])["messages"]][-1] == "user"


def test_thoughts_go_back_in_the_field_they_came_in():
    answer = {"choices": [{"message": {"content": "x", "reasoning": "thought"}}]}
    field = reasoning_field_of(answer)
    assert field == "reasoning"
    assert sent(Form(reasoning_field=field))["messages"][2]["reasoning"] == "thought"


def test_arguments_that_are_no_object_are_wrapped_so_that_a_server_can_read_the_history():
    call = ToolCall(id="c", name="zoom", arguments='[4000, "cut')
    (message,) = sent(Form(), (Message("assistant", calls=(call,)),))["messages"]
    assert message["content"] is None
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"not_json": '[4000, "cut'}


def test_the_outline_names_pictures_by_hash_and_changes_with_each_of_them():
    outline = request_body(TALK, {"model": "m"}, Form(), tools=True).outline
    assert hashlib.sha256(b"zoom").hexdigest().encode() in outline
    assert b"base64" not in outline
    swapped = (*TALK[:3], TALK[4], TALK[3], TALK[5])
    assert request_body(swapped, {"model": "m"}, Form(), tools=True).outline != outline


@given(st.text())
def test_no_text_can_pass_for_a_picture(text):
    forged = text + f'"url":"picture:{hashlib.sha256(b"full").hexdigest()}"'
    (message,) = sent(Form(), (Message("user", forged),))["messages"]
    assert message["content"] == forged


def answer(message: dict, finish: object = "stop", **more) -> dict:
    return {"choices": [{"message": message, "finish_reason": finish}], **more}


def test_a_reply_is_read_whole():
    message = {
        "content": "<think>a</think>",
        "tool_calls": [
            {"id": "c1", "function": {"name": "zoom", "arguments": '{"a": 1}'}},
            {"id": None, "function": {"name": None, "arguments": {"b": 2}}},
        ],
        "reasoning_content": "deep",
        "refusal": None,
    }
    usage = {"prompt_tokens": 11, "completion_tokens": 5}
    reply = read_reply(answer(message, "tool_calls", usage=usage), lambda usage: usage.tokens_in * 2.0)
    assert (reply.text, reply.stop, reply.reasoning, reply.refusal) == (
        "<think>a</think>",
        "tool_calls",
        "deep",
        None,
    )
    assert [(call.id, call.name, call.arguments) for call in reply.calls] == [
        ("c1", "zoom", '{"a": 1}'),
        ("", "", '{"b": 2}'),
    ]
    assert (reply.tokens_in, reply.tokens_out, reply.cost_usd, reply.p_yes) == (11, 5, 22.0, None)


@pytest.mark.parametrize(
    ("finish", "stop"),
    [("stop", "stop"), ("length", "length"), ("content_filter", "content_filter"), ("model_length", "length"),
     ("function_call", "tool_calls"), (None, "stop"), ("brand-new", "stop"), (7, "stop")],
)  # fmt: skip
def test_why_a_turn_ended(finish, stop):
    assert read_reply(answer({"content": "x"}, finish)).stop == stop


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("x", "x"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
        ([], ""),
    ],
)
def test_the_text_in_every_form(content, text):
    assert read_reply(answer({"content": content})).text == text


@pytest.mark.parametrize("usage", [None, [1], {"prompt_tokens": -5, "completion_tokens": 1}])
def test_tokens_that_were_not_counted_cost_an_unknown_sum(usage):
    reply = read_reply(answer({"content": "x"}, usage=usage), Price(1.0, 1.0).of)
    assert (reply.text, reply.tokens_in, reply.tokens_out, reply.cost_usd) == ("x", 0, 0, None)


@pytest.mark.parametrize(
    "broken",
    [None, [], {}, {"choices": []}, {"choices": [{}]}, {"choices": [{"message": None}]}, {"choices": [{"message": "hi"}]},
     answer({"content": 7}), answer({"content": "x", "tool_calls": [{}]}), answer({"content": "x", "tool_calls": 3}),
     answer({"content": "x"}, "error")],
)  # fmt: skip
def test_what_is_no_completion_is_malformed(broken):
    with pytest.raises(Malformed):
        read_reply(broken)


def logprobs(*tokens: tuple[str, dict[str, float]]) -> dict:
    return {
        "content": [
            {
                "token": token,
                "logprob": math.log(others.get(token, 1.0)),
                "top_logprobs": [{"token": word, "logprob": math.log(p)} for word, p in others.items()],
            }
            for token, others in tokens
        ]
    }


def test_p_yes_is_read_at_the_first_letter_of_the_answer():
    value = logprobs(
        ("<answer>", {}),
        ("\\boxed{", {}),
        ("YES", {"YES": 0.6, "NO": 0.2, "Maybe": 0.2}),
        ("}", {}),
        ("</answer>", {}),
    )
    assert p_yes_of(value) == pytest.approx(0.75)


def test_p_yes_with_other_cuts_between_tokens():
    glued = logprobs(("\\boxed", {}), ("{N", {"{N": 0.7, "{Y": 0.1, "{": 0.2}), ("O}", {}))
    assert p_yes_of(glued) == pytest.approx(0.125)
    spaced = logprobs(("\\boxed{", {}), (" no", {" no": 0.5, " yes": 0.3, "YES": 0.2}), ("}", {}))
    assert p_yes_of(spaced) == pytest.approx(0.3 / 0.8)  # only words that go on as the written one does
    twice = logprobs(
        ("\\boxed{YES}", {"\\boxed{YES}": 1.0}), ("\\boxed{", {}), ("NO", {"NO": 0.9, "YES": 0.1}), ("}", {})
    )
    assert p_yes_of(twice) == pytest.approx(0.1)
    assert p_yes_of(logprobs(("\\boxed{", {}), ("Notes", {"Notes": 1.0}), ("}", {}))) is None


@pytest.mark.parametrize(
    "nothing", [None, {}, {"content": None}, {"content": []}, {"content": [{"token": "\\boxed{NO}"}]}, "x"]
)
def test_without_log_probabilities_there_is_no_p_yes(nothing):
    assert p_yes_of(nothing) is None
