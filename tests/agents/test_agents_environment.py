"""One inspection without a model: budget, calls, what follows a turn, verdict and reward."""

import hashlib
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specvi_agents.environment import PROFILES, EnvironmentOptions, InspectionEnvironment
from specvi_agents.messages import Reply, ToolCall
from specvi_agents.prompts import PROMPT_VERSION
from specvi_benchmark.spectrum import clean_spectrum
from specvi_benchmark.tasks import get_task
from specvi_benchmark.vetting import Outcome, Question
from specvi_benchmark.views import ViewOptions
from specvi_benchmark.views.tool import TOOL_NAME, call_tool

WINDOW = '{"wavelength_range": [6400, 6700], "label": "Hα"}'
CALL = f'<tool_call>{{"name": "{TOOL_NAME}", "arguments": {WINDOW}}}</tool_call>'
YES = r"<think>Broad.</think><answer>\boxed{YES}</answer>"

GRID = np.linspace(3800, 9000, 2000)
SPECTRUM = clean_spectrum(GRID, 5 + np.sin(GRID), np.full(GRID.size, 25.0), name="a star")
QUESTION = Question("q-1", get_task("cv"), SPECTRUM, redshift=0.0002)


def begun(**options) -> InspectionEnvironment:
    environment = InspectionEnvironment(EnvironmentOptions(**options))
    environment.reset(QUESTION)
    return environment


def api(*names: str, call_id: str = "c", **more) -> Reply:
    calls = tuple(ToolCall(id=f"{call_id}{n}", name=name, arguments=WINDOW) for n, name in enumerate(names))
    return Reply(more.pop("text", ""), calls, stop="tool_calls", **more)


def test_a_call_gives_what_the_tool_gives_in_the_frame_of_the_inspection():
    environment = begun()
    reply = environment.call(TOOL_NAME, WINDOW)
    expected = call_tool(SPECTRUM, WINDOW, ViewOptions(), redshift=0.0002)
    assert reply.text == expected.text
    assert reply.view.pixel_sha256 == expected.view.pixel_sha256
    assert reply.view.frame == "rest"


def test_the_ninth_call_gets_a_text_and_no_picture():
    environment = begun()
    replies = [environment.call(TOOL_NAME, WINDOW) for _ in range(10)]
    assert [reply.view is not None for reply in replies] == [True] * 8 + [False] * 2
    assert replies[7].text == f"{replies[0].text} That was the last call: give your final answer now."
    assert replies[8].text == "No picture: all 8 calls are used. Give your final answer now."
    assert environment.finish(YES).tool_calls == 10


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("zoom", WINDOW),
        ("", WINDOW),
        (TOOL_NAME, "{"),
        (TOOL_NAME, '{"wavelength_range": [1, 2]}'),
        (TOOL_NAME, None),
    ],
)
def test_mistaken_calls_count(name, raw):
    environment = begun()
    assert environment.call(name, raw).text.startswith("No picture: ")
    assert environment.calls_used == 1


def test_an_unknown_tool_is_told_the_known_one_and_not_its_own_name():
    assert begun().call("<b>zoom</b>", WINDOW).text == (
        "No picture: there is no tool of that name. The one tool is spectral_visualization_tool."
    )


def test_without_a_tool_every_call_is_told_so():
    assert begun(has_tool=False).call(TOOL_NAME, WINDOW).text == (
        "No picture: this inspection has no tool. Decide from the picture you have."
    )


@given(name=st.text(), raw=st.one_of(st.none(), st.text(), st.floats(), st.lists(st.integers()), st.binary()))
@settings(max_examples=100)
def test_nothing_a_model_asks_for_raises(name, raw):
    environment = begun()
    for called in (name, TOOL_NAME):
        assert environment.call(called, raw).text


def test_what_follows_a_turn():
    environment = begun()
    step = environment.hear(Reply(CALL))
    assert (len(step.calls), step.is_in_text, step.ended) == (1, True, None)
    step = environment.hear(api(TOOL_NAME, TOOL_NAME, text="Two at once."))
    assert (len(step.calls), step.is_in_text, step.ended) == (2, False, None)
    step = environment.hear(Reply(CALL + YES))  # call and answer: the call is carried out
    assert (len(step.calls), step.ended) == (1, None)
    step = environment.hear(api(TOOL_NAME, text=CALL + CALL))  # the server's own fields win
    assert (len(step.calls), step.is_in_text) == (1, False)
    assert environment.hear(Reply(YES)).ended == "stop"
    assert environment.hear(Reply("", stop="tool_calls")).ended == "tool_calls"  # announced, and none came


@pytest.mark.parametrize(
    ("reply", "ended"),
    [
        (Reply(CALL, stop="length"), "length"),
        (Reply(CALL, stop="content_filter"), "content_filter"),
        (Reply(CALL, refusal="I will not."), "stop"),
    ],
)
def test_a_turn_that_was_cut_or_refused_ends_the_inspection(reply, ended):
    assert begun().hear(reply).ended == ended


@pytest.mark.parametrize(("profile", "turns"), [("default", 9), ("released-code", 8)])
def test_the_budget_of_turns(profile, turns):
    environment = begun(profile=profile)
    steps = [environment.hear(Reply(CALL)) for _ in range(turns)]
    assert [step.ended for step in steps] == [None] * (turns - 1) + ["budget"]
    assert environment.finish(CALL, "budget").outcome is Outcome.TRUNCATED
    assert environment.finish(YES + CALL, "budget").answer == "YES"  # a whole block before the cut


def test_the_budget_of_tokens_of_the_released_code():
    environment = begun(profile="released-code")
    assert environment.hear(Reply(CALL, tokens_out=32_767)).ended is None
    assert environment.hear(Reply(CALL, tokens_out=1)).ended == "budget"
    assert PROFILES["default"].max_tokens_out is None


def test_the_released_code_is_not_told_of_its_last_call():
    environment = begun(profile="released-code")
    assert len({environment.call(TOOL_NAME, WINDOW).text for _ in range(8)}) == 1


@pytest.mark.parametrize("ids", [("", "b"), ("a", "a"), ("", "")])
def test_calls_with_the_same_id_are_told_apart(ids):
    calls = tuple(ToolCall(id=call_id, name=TOOL_NAME, arguments="") for call_id in ids)
    step = begun().hear(Reply("", calls))
    assert [call.id for call in step.calls] == ["call-1-1", "call-1-2"]


def test_reset_begins_anew():
    environment = begun()
    for _ in range(9):
        environment.hear(Reply(CALL))
        environment.call(TOOL_NAME, WINDOW)
    environment.finish(YES)
    first = environment.reset(QUESTION)
    assert environment.calls_used == 0
    assert environment.hear(Reply(CALL)).ended is None
    assert [m.text for m in first] == [m.text for m in InspectionEnvironment().reset(QUESTION)]
    with pytest.raises(RuntimeError, match="finished"):
        environment.reward("YES")


def test_it_begins_with_reset():
    with pytest.raises(RuntimeError, match="reset"):
        InspectionEnvironment().call(TOOL_NAME, WINDOW)


def test_the_verdict_and_the_reward():
    environment = begun()
    environment.hear(Reply(f"<think>a</think>{CALL}"))
    environment.call(TOOL_NAME, WINDOW)
    environment.hear(Reply(YES))
    verdict = environment.finish(YES)
    assert (verdict.id, verdict.task, verdict.answer, verdict.answer_lenient) == ("q-1", "cv", "YES", "YES")
    assert verdict.tool_calls == 1
    assert (environment.reward("YES"), environment.reward("NO")) == (1.0, 0.0)


def test_a_loop_that_does_not_ask_what_follows_has_its_verdict_and_reward_too():
    environment = begun()
    environment.call(TOOL_NAME, WINDOW)
    assert environment.finish(YES).answer == "YES"
    assert environment.reward("NO") == 0.0


def test_the_settings_say_everything_that_changes_what_is_shown():
    settings = begun(view=ViewOptions(style="spec-o3"), profile="released-code", dialect="hermes").settings
    assert json.loads(json.dumps(settings)) == settings
    assert settings["view"]["style"] == "spec-o3"
    assert {"prompt_version", "renderer_version", "parser_version", "profile", "dialect", "prompt"} <= set(
        settings
    )
    assert (settings["redshift"], settings["max_turns"]) == (0.0002, 8)


def test_two_environments_give_the_same_conversation_byte_for_byte():
    """And the words are those of PROMPT_VERSION: if this fails, raise it and enter what is printed."""

    def conversation() -> tuple[list[str], list[bytes]]:
        environment = InspectionEnvironment(EnvironmentOptions())
        opening = environment.reset(QUESTION)
        asked = (
            WINDOW,
            '{"wavelength_range": ["6700", "6400"]}',
            "{",
            '{"wavelength_range": [100, 200]}',
            "[3000, 3900]",
        )
        replies = [environment.call(TOOL_NAME, raw) for raw in asked] + [environment.call("zoom", WINDOW)]
        pictures = [picture.png for message in opening for picture in message.pictures]
        return (
            [opening[1].text, *(reply.text for reply in replies)],
            pictures + [reply.view.png for reply in replies if reply.view],
        )

    texts, pictures = conversation()
    assert conversation() == (texts, pictures)
    assert len(pictures) == 4
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
    assert (PROMPT_VERSION, digest) == (1, "51c54c271b5e84a6")
