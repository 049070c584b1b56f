"""The loop, driven by a model of fixed replies."""

import asyncio
import hashlib
import json
import threading
from dataclasses import replace

import pytest

from specvi_agents.agent import DRAWERS, AgentVetter
from specvi_agents.environment import EnvironmentOptions, InspectionEnvironment
from specvi_agents.messages import Message, ModelError, Reply, ToolCall
from specvi_agents.options import AgentOptions, Sampling, refuse_rest
from specvi_agents.rereading import reread, reread_reward
from specvi_benchmark.errors import UserError
from specvi_benchmark.runs.record import SplitReference, read_run_record
from specvi_benchmark.runs.runner import run
from specvi_benchmark.traces import read_traces
from specvi_benchmark.vetting import AsyncVetter, Outcome, VetterUnusable
from specvi_benchmark.views import render
from specvi_benchmark.views.tool import TOOL_NAME

WINDOW = '{"wavelength_range": [6400, 6700]}'
CALL = f'<think>Look.</think><tool_call>{{"name": "{TOOL_NAME}", "arguments": {WINDOW}}}</tool_call>'
YES = r"<think>Broad.</think><answer>\boxed{YES}</answer>"
NO = r"<think>Narrow.</think><answer>\boxed{NO}</answer>"


class Script:
    """A model that says what it was given to say: one list of replies for each sample."""

    config = {"name": "script"}  # noqa: RUF012

    def __init__(self, *samples):
        self.samples = [list(replies) for replies in samples]
        self.seen = []
        self.offered = []
        self.is_closed = False

    async def reply(self, messages, *, tools, sample):
        self.seen.append(messages)
        self.offered.append(tools)
        said = self.samples[sample].pop(0)
        if isinstance(said, Exception):
            raise said
        return said if isinstance(said, Reply) else Reply(said)

    async def close(self):
        self.is_closed = True


@pytest.fixture
def question(make_split):
    return make_split(1).candidates[0].question


def vetted(question, *samples, **options):
    model = Script(*samples)
    settings = AgentOptions(EnvironmentOptions(**options), votes=len(samples))
    return asyncio.run(AgentVetter(model, settings).vet_one(question)), model


def api(n=1, text="", **more):
    calls = tuple(ToolCall(id=f"call-{k}", name=TOOL_NAME, arguments=WINDOW) for k in range(n))
    return Reply(text, calls, stop="tool_calls", **more)


def test_an_inspection_with_calls_in_the_text(question):
    verdict, model = vetted(question, [CALL, CALL, YES])
    assert (verdict.answer, verdict.answer_lenient, verdict.outcome, verdict.tool_calls) == (
        "YES",
        "YES",
        "answered",
        2,
    )
    assert [message.role for message in model.seen[-1]] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert model.seen[-1][2] == Message("assistant", CALL)  # sent back as it was written
    assert model.seen[-1][3].text.startswith("<tool_response>\n<image>6400.0 to 6700.0 Å")


def test_an_inspection_with_calls_of_the_api(question):
    verdict, model = vetted(question, [api(2, text="Two.", reasoning="Hm."), NO])
    assert (verdict.answer, verdict.tool_calls) == ("NO", 2)
    *_, assistant, first, second = model.seen[-1]
    assert (assistant.text, assistant.reasoning, len(assistant.calls)) == ("Two.", "Hm.", 2)
    assert [(m.role, m.call_id, len(m.pictures)) for m in (first, second)] == [
        ("tool", "call-0", 1),
        ("tool", "call-1", 1),
    ]
    assert model.offered == [True, True]


def test_the_tool_is_offered_to_the_api_only_where_it_is_not_in_the_prompt(question):
    assert vetted(question, [YES], dialect="hermes")[1].offered == [False]
    assert vetted(question, [YES], has_tool=False)[1].offered == [False]


def test_the_loop_is_the_environment_and_nothing_more(question):
    """Whoever drives the environment by hand gets the same conversation."""
    replies = [Reply(CALL), api(), Reply('<tool_call>{"name": "zoom"'), Reply(CALL + NO), Reply(YES)]
    verdict, model = vetted(question, replies)
    environment = InspectionEnvironment()
    said = list(environment.reset(question))
    for reply in replies[:-1]:
        step = environment.hear(reply)
        said += [environment.call(call.name, call.arguments) for call in step.calls]
    pictures = [p.png for m in model.seen[-1] for p in m.pictures]
    assert pictures == [m.pictures[0].png if isinstance(m, Message) and m.pictures else m.view.png
                        for m in said if getattr(m, "pictures", None) or getattr(m, "view", None)]  # fmt: skip
    words = "\n".join(part for m in model.seen[-1] for part in m.parts if isinstance(part, str))
    assert [m.text for m in said[2:] if m.text not in words] == []
    assert environment.finish(YES).answer == verdict.answer
    assert environment.calls_used == verdict.tool_calls == 4


@pytest.mark.parametrize(
    ("replies", "outcome", "answer", "calls"),
    [
        ([CALL + YES, NO], "answered", "NO", 1),  # answer and call: the call is carried out, the answer ignored
        ([CALL] * 9, "truncated", None, 8),  # never answers
        ([CALL] * 8 + [YES], "answered", "YES", 8),
        ([CALL] * 8 + [CALL + YES], "answered", "YES", 8),
        ([api(12), YES], "answered", "YES", 12),
        ([Reply(CALL, stop="length")], "truncated", None, 0),
        ([Reply("no " * 3000, stop="length")], "truncated", None, 0),
        ([Reply("", stop="length")], "truncated", None, 0),
        ([Reply(YES, stop="length")], "answered", "YES", 0),
        ([Reply("", stop="content_filter")], "refused", None, 0),
        ([Reply("", refusal="I can't.")], "refused", None, 0),
        (["I'm sorry, I can't help with that."], "refused", None, 0),
        ([""], "unparsed", None, 0),
        ([Reply("", reasoning=YES)], "unparsed", None, 0),  # an answer in a field of its own
        ([Reply("", stop="tool_calls")], "unparsed", None, 0),
        ([r"<answer>\boxed{UNCERTAIN}</answer>"], "abstained", None, 0),
        (['<tool_call>{"name": "spectral_visual', YES], "answered", "YES", 1),  # cut JSON: told, and tried again
        (['<tool_call>{"name": "zoom", "arguments": {}}</tool_call>', YES], "answered", "YES", 1),
    ],
)  # fmt: skip
def test_outcomes(question, replies, outcome, answer, calls):
    verdict, model = vetted(question, replies)
    assert (verdict.outcome, verdict.answer, verdict.tool_calls) == (outcome, answer, calls)
    assert model.samples == [[]]  # and nothing more was asked


def test_a_model_that_fails_is_an_error_with_its_reason(question):
    replies = [Reply(CALL, tokens_in=5, cost_usd=0.5), ModelError("503 after 6 tries")]
    verdict, _ = vetted(question, replies)
    assert (verdict.outcome, verdict.answer, verdict.answer_lenient, verdict.tool_calls) == (
        "error",
        None,
        None,
        1,
    )
    assert (verdict.tokens_in, verdict.cost_usd) == (5, 0.5)  # what was paid is not forgotten
    (trace,) = verdict.traces
    assert [turn.role for turn in trace.turns] == ["system", "user", "assistant", "tool", "error"]
    assert trace.turns[-1].text == "503 after 6 tries"


def test_usage_is_summed_and_an_unknown_price_stays_unknown(question):
    replies = [
        Reply(CALL, tokens_in=100, tokens_out=10, cost_usd=0.25),
        Reply(YES, tokens_in=200, tokens_out=20, cost_usd=0.5),
    ]
    verdict, _ = vetted(question, replies)
    assert (verdict.tokens_in, verdict.tokens_out, verdict.cost_usd) == (300, 30, 0.75)
    assert verdict.seconds > 0
    assert vetted(question, [replies[0], Reply(YES)])[0].cost_usd is None


def test_the_trace_has_every_turn_and_picture(question):
    replies = [Reply(CALL, tokens_in=7, tokens_out=3), api(text="t", reasoning="r"), Reply(YES)]
    (trace,) = vetted(question, replies)[0].traces
    assert [turn.role for turn in trace.turns] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]
    assert [turn.stop for turn in trace.turns] == [None, None, "stop", None, "tool_calls", None, "stop"]
    first, second = trace.turns[2], trace.turns[4]
    assert (first.text, first.usage, first.tool_calls[0].id) == (
        CALL,
        {"tokens_in": 7, "tokens_out": 3},
        "text-1",
    )
    assert json.loads(first.tool_calls[0].arguments) == json.loads(WINDOW)
    assert (second.text, second.reasoning, second.tool_calls[0].arguments) == ("t", "r", WINDOW)
    assert [trace.turns[3].tool_call_id, trace.turns[5].tool_call_id] == ["text-1", "call-0"]
    named = {view.png_sha256 for turn in trace.turns for view in turn.views}
    assert (
        named == set(trace.pictures) == {hashlib.sha256(png).hexdigest() for png in trace.pictures.values()}
    )
    assert len(named) == 2  # the same window twice is one picture
    assert all(turn.seconds is not None for turn in trace.turns[2:])
    assert {"profile", "prompt_version", "renderer_version", "dialect"} <= set(trace.environment)
    assert trace.environment["view"]["style"] == "clean"


def told_again(verdict, **more):
    return reread([trace.record(verdict.task, verdict.id) for trace in verdict.traces], **more)


@pytest.mark.parametrize(
    "replies",
    [[CALL, YES], [CALL] * 9, [CALL] * 8 + [CALL + NO], [Reply(YES, stop="length")], [Reply("", stop="length")],
     [Reply("", stop="content_filter")], [Reply(YES, refusal="no")], [CALL, ModelError("x")], [ModelError("x")], [""],
     ["I can't help with that."], [Reply(CALL, tokens_in=5, tokens_out=2), "The answer is NO."]],
)  # fmt: skip
def test_a_trace_read_again_gives_the_same_verdict(question, replies):
    verdict, _ = vetted(question, list(replies))
    again = told_again(verdict)
    same = ("id", "task", "outcome", "answer", "answer_lenient", "tool_calls", "tokens_in", "tokens_out")
    assert [getattr(again, name) for name in same] == [getattr(verdict, name) for name in same]
    assert again.cost_usd is None


def test_votes_read_again_give_the_same_verdict(question):
    verdict, _ = vetted(question, [YES], [NO], [YES])
    again = told_again(verdict)
    assert (
        (again.answer, again.votes, again.p_yes)
        == (verdict.answer, verdict.votes, verdict.p_yes)
        == ("YES", ("YES", "NO", "YES"), 2 / 3)
    )
    assert told_again(verdict, must_agree=True).outcome is Outcome.ABSTAINED


@pytest.mark.parametrize(
    ("replies", "rewards"),
    [([CALL, YES], (1.0, 0.0)), ([r"\boxed{NO}"], (-0.2, 0.8)), ([CALL, ModelError("x")], (-0.2, -0.2))],
)
def test_the_reward_of_a_trace(question, replies, rewards):
    verdict, _ = vetted(question, replies)
    record = verdict.traces[0].record("cv", "x")
    assert (reread_reward(record, "YES"), reread_reward(record, "NO")) == rewards


def test_lone_surrogates_do_not_stop_a_log(question):
    call = ToolCall(id="\udfff", name="\ud800", arguments="\ud800")
    replies = [Reply("\ud800", (call,), reasoning="\ud800"), Reply(f"\ud800{YES}")]
    verdict, model = vetted(question, replies)
    assert verdict.answer == "YES"
    json.dumps(verdict.traces[0].record("cv", "x").model_dump(mode="json"), ensure_ascii=False).encode()
    assert model.seen[-1][2].text == verdict.traces[0].turns[2].text == "?"


@pytest.mark.parametrize(
    ("samples", "votes", "outcome", "answer", "p_yes"),
    [
        ([YES, YES, NO], ("YES", "YES", "NO"), "answered", "YES", 2 / 3),
        ([YES, NO], ("YES", "NO"), "abstained", None, 1 / 2),
        ([YES, "?", "?"], ("YES", "none", "none"), "abstained", None, 1.0),  # a majority of all samples
        ([NO, NO, "?"], ("NO", "NO", "none"), "answered", "NO", 0.0),
        (["?", "?"], ("none", "none"), "abstained", None, None),
        ([YES, YES, ModelError("x")], ("YES", "YES", "none"), "answered", "YES", 1.0),  # it could not change that
        ([YES, NO, ModelError("x")], ("YES", "NO", "none"), "error", None, 1 / 2),  # it could
        (["?", "?", ModelError("x")], ("none", "none", "none"), "abstained", None, None),
    ],
)  # fmt: skip
def test_votes(question, samples, votes, outcome, answer, p_yes):
    verdict, _ = vetted(question, *([said] for said in samples))
    assert (verdict.votes, verdict.outcome, verdict.answer) == (votes, outcome, answer)
    assert verdict.p_yes == pytest.approx(p_yes)
    assert [trace.sample for trace in verdict.traces] == list(range(len(samples)))


def test_split_votes_can_abstain(question):
    for samples, answer in (([YES, YES, NO], None), ([YES, YES, YES], "YES"), ([YES, YES, "?"], None)):
        options = AgentOptions(votes=3, abstain_on_split=True)
        verdict = asyncio.run(AgentVetter(Script(*([said] for said in samples)), options).vet_one(question))
        assert verdict.answer == answer
        assert verdict.outcome == ("answered" if answer else "abstained")
        assert verdict.answer_lenient == answer


def test_nothing_is_drawn_in_the_event_loop_nor_in_more_threads_than_help(question, monkeypatch):
    drawn_in = []

    def noted(*arguments, **more):
        drawn_in.append(threading.get_ident())
        return render(*arguments, **more)

    monkeypatch.setattr("specvi_agents.environment.render", noted)
    verdict, _ = vetted(question, *([YES] for _ in range(12)))
    assert verdict.votes == ("YES",) * 12
    assert len(drawn_in) == 12
    assert threading.get_ident() not in drawn_in
    assert len(set(drawn_in)) <= DRAWERS


def test_votes_are_asked_for_together(question):
    together = asyncio.Barrier(3)

    class Waiting(Script):
        async def reply(self, messages, *, tools, sample):
            async with asyncio.timeout(20):
                await together.wait()
            return await super().reply(messages, tools=tools, sample=sample)

    model = Waiting([YES], [NO], [NO])
    assert asyncio.run(AgentVetter(model, AgentOptions(votes=3)).vet_one(question)).answer == "NO"


def test_a_fault_of_one_vote_is_told_as_it_is_and_stops_the_others(question):
    """`VetterUnusable` must reach the runner; and nothing may be asked, and paid for, after it."""
    cancelled = []
    all_asked = asyncio.Barrier(3)

    class Faulty(Script):
        async def reply(self, *_, sample, **__):
            await all_asked.wait()
            if sample == 1:
                raise VetterUnusable("the key is refused")
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                cancelled.append(sample)
                raise

    with pytest.raises(VetterUnusable, match="key"):
        asyncio.run(AgentVetter(Faulty(), AgentOptions(votes=3)).vet_one(question))
    assert sorted(cancelled) == [0, 2]


def test_the_probability_of_a_single_sample_is_the_models(question):
    assert vetted(question, [Reply(YES, p_yes=0.9)])[0].p_yes == 0.9
    assert vetted(question, [Reply("?", p_yes=0.9)])[0].p_yes is None  # no answer to be sure of


def test_a_run_writes_traces_and_pictures_and_says_its_versions(tmp_path, make_split):
    split = make_split(3)
    reference = SplitReference(
        name="s", version="1", path="mini", part="test", task=None, fingerprint=split.fingerprint
    )

    class Same(Script):
        async def reply(self, messages, **_):
            return Reply(YES if len(messages) > 2 else CALL)

    model = Same()
    vetter = AgentVetter(model)
    assert isinstance(vetter, AsyncVetter)
    record = run(vetter, "same", split, reference, tmp_path)
    assert record.counts["answered"] == 3
    assert model.is_closed
    assert read_run_record(tmp_path).versions["prompt_version"] == 1
    traces = read_traces(tmp_path / "traces.jsonl")
    shown = {view.png_sha256 for trace in traces.values() for turn in trace.turns for view in turn.views}
    assert {path.stem for path in (tmp_path / "views").iterdir()} == shown
    assert len(shown) == 6


def test_the_config_is_json_and_holds_every_choice(question):
    vetter = AgentVetter(Script())
    config = json.loads(json.dumps(vetter.config))
    assert config["model"] == {"name": "script"}
    assert (config["votes"], config["temperature"], config["environment"]["max_calls"]) == (1, 0.0, 8)
    changed = AgentVetter(Script(), replace(AgentOptions(), sampling=Sampling(seed=1)))
    assert changed.config != vetter.config


def test_what_a_model_says_of_itself_is_handed_on():
    model = Script()
    assert not hasattr(AgentVetter(model), "expected_usd")  # nothing is paid for
    model.in_flight, model.expected_usd = 7, None
    vetter = AgentVetter(model)
    assert (vetter.in_flight, vetter.expected_usd) == (7, None)
    model.expected_usd = 0.25
    assert AgentVetter(model, AgentOptions(votes=3)).expected_usd == 0.75


def test_options_are_read_in_one_place():
    options, rest = AgentOptions.read(
        {"style": "spec-o3", "prompt": "official", "profile": "released-code", "dialect": "hermes", "tool": "off",
         "votes": "5", "abstain_on_split": "on", "temperature": "0.6", "seed": "3", "max_tokens": "100",
         "base_url": "http://x"}
    )  # fmt: skip
    assert rest == {"base_url": "http://x"}
    assert options.environment.view.style == "spec-o3"
    assert options.environment.budget.max_turns == 8
    assert (options.environment.prompt, options.environment.dialect, options.environment.has_tool) == (
        "official",
        "hermes",
        False,
    )
    assert (options.votes, options.abstain_on_split, options.sampling) == (5, True, Sampling(0.6, 3, 100))


def test_options_have_sound_defaults():
    options, rest = AgentOptions.read({})
    assert (options, rest) == (AgentOptions(), {})
    assert AgentOptions.read({"votes": "3"})[0].sampling.temperature == 1.0
    assert AgentOptions.read({"temperature": "none"})[0].sampling.temperature is None


@pytest.mark.parametrize(
    "options",
    [{"style": "x"}, {"title": "figure"}, {"prompt": ""}, {"votes": "0"}, {"votes": "-1"}, {"votes": "1.5"}, {"votes": "²"},
     {"temperature": "hot"}, {"temperature": "nan"}, {"temperature": "3"}, {"tool": "maybe"}, {"profile": "x"},
     {"dialect": "x"}, {"seed": "9" * 30}, {"max_tokens": "0"}, {"votes": "3", "temperature": "0"}],
    ids=str,
)  # fmt: skip
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(UserError):
        AgentOptions.read(options)


def test_options_that_nobody_reads_are_refused():
    refuse_rest({}, "openai")
    with pytest.raises(UserError, match="no such option") as caught:
        refuse_rest({"temprature": "1"}, "openai", ("base_url",))
    assert "temperature" in str(caught.value)
    assert "base_url" in str(caught.value)
