"""`openai:<model>` against local servers that speak the protocol and misbehave."""

import hashlib
import json
import logging
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from chat_server import BY_DIGIT, Misbehaving, Recorder, error, has_picture_in_tool, inspector, serving

from specvi_agents.local_server import completion, json_response
from specvi_agents.models.openai import create
from specvi_benchmark.errors import UserError
from specvi_benchmark.runs.budget import Limits
from specvi_benchmark.runs.predictions import read_run_predictions
from specvi_benchmark.runs.record import SplitReference
from specvi_benchmark.runs.runner import NO_LIMITS, run
from specvi_benchmark.traces import read_traces
from specvi_benchmark.vetting import VetterUnusable

SECRET = "sk-planted-0123456789abcdef"
QUICK = {"backoff_s": "0.005", "in_flight": "32", "tries": "10"}


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the caches of these tests to themselves, and no key of the machine near them."""
    monkeypatch.setenv("SPECVI_HOME", str(tmp_path / "home"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID"):
        monkeypatch.delenv(name, raising=False)


def start(url, split, folder, limits=NO_LIMITS, **options):
    vetter = create("echo", {"base_url": url, **QUICK, **options})
    reference = SplitReference(
        name="small", version="1", path="here", part="test", task=None, fingerprint=split.fingerprint
    )
    return run(vetter, "openai:echo", split, reference, folder, limits=limits)


def rows(folder):
    return {row_id: row for (_, row_id), row in read_run_predictions(folder / "predictions.jsonl").items()}


def check_run(folder, split):
    """Every candidate has the outcome that its first picture decides, and its trace with all pictures."""
    traces = read_traces(folder / "traces.jsonl")
    found = rows(folder)
    assert set(found) == {c.id for c in split.candidates}
    for row_id, row in found.items():
        trace = traces["cv", row_id, 0]
        views = [view for turn in trace.turns for view in turn.views]
        assert (row.outcome, row.answer) == BY_DIGIT[views[0].png_sha256[0]], row_id
        assert row.tool_calls == 2
        assert len(views) == 3
        for view in views:
            assert (folder / "views" / f"{view.png_sha256}.png").read_bytes().startswith(b"\x89PNG")


def test_every_kind_of_end_has_its_outcome(tmp_path, make_split):
    split = make_split(48)
    with serving(inspector) as url:
        start(url, split, tmp_path / "run")
    check_run(tmp_path / "run", split)
    assert len({row.outcome for row in rows(tmp_path / "run").values()}) == 5
    assert {row.cost_usd for row in rows(tmp_path / "run").values()} == {None}


def test_no_misbehaviour_costs_a_candidate(tmp_path, make_split):
    split, server = make_split(60), Misbehaving(seed=5, share=0.3, storm_every_s=0.7)
    with serving(server) as url:
        record = start(url, split, tmp_path / "run")
    check_run(tmp_path / "run", split)
    assert record.counts["error"] == 0
    assert server.counts["refused picture"] == 1  # asked once, and remembered
    faults = set(server.counts) - {"good", "refused picture"}
    assert len(faults) >= 10, server.counts
    traces = read_traces(tmp_path / "run" / "traces.jsonl").values()
    assert {turn.reasoning for trace in traces for turn in trace.turns if turn.tool_calls} == {"look"}
    found = {"tool_pictures": False, "reasoning_field": "reasoning_content"}
    assert [trace.environment["sent_as"] for trace in traces] == [found] * 60


def test_requests_are_what_a_server_expects(tmp_path, make_split):
    server = Recorder(inspector)
    with serving(server) as url:
        start(
            url,
            make_split(1),
            tmp_path / "run",
            temperature="0.5",
            seed="3",
            max_tokens="99",
            extra='{"top_p": 0.9}',
        )
    for request in server.requests:
        assert request.path == "/v1/chat/completions"
        assert request.headers["content-type"] == "application/json"
        assert request.headers["authorization"] == "Bearer none"
    last = server.requests[-1].json()
    assert {name: last[name] for name in ("model", "temperature", "seed", "max_tokens", "top_p")} == {
        "model": "echo", "temperature": 0.5, "seed": 3, "max_tokens": 99, "top_p": 0.9
    }  # fmt: skip
    assert [message["role"] for message in last["messages"]][-4:] == [
        "assistant",
        "tool",
        "assistant",
        "tool",
    ]
    assert all(has_picture_in_tool(message) for message in last["messages"] if message["role"] == "tool")


def test_votes_are_drawn_apart(tmp_path, make_split):
    server = Recorder(inspector)
    with serving(server) as url:
        start(url, make_split(2), tmp_path / "run", votes="3", seed="10")
    seeds = Counter(
        request.json()["seed"] for request in server.requests if len(request.json()["messages"]) > 5
    )
    assert set(seeds) == {10, 11, 12}
    assert all(len(row.votes) == 3 for row in rows(tmp_path / "run").values())
    assert set(read_traces(tmp_path / "run" / "traces.jsonl")) == {
        ("cv", f"cv-00{number}", sample) for number in range(2) for sample in range(3)
    }


def blind(request):
    """Answer like `inspector`, with as many prompt tokens whatever is shown."""
    body = json.loads(inspector(request).body)
    return json_response(body | {"usage": {"prompt_tokens": 50, "completion_tokens": 1}})


def blind_in_tools(request):
    """Count the tokens of pictures in user turns only."""
    shown = sum(
        has_picture_in_tool(message) is False and "image_url" in json.dumps(message)
        for message in request.json()["messages"]
    )
    body = json.loads(inspector(request).body)
    return json_response(body | {"usage": {"prompt_tokens": 50 + 300 * shown, "completion_tokens": 1}})


def refuses(status, message, **when):
    def handler(request):
        asked = request.json()
        if all(asked.get(name) == value for name, value in when.items()):
            return error(status, message)
        return inspector(request)

    return handler


@pytest.mark.parametrize(
    ("handler", "options", "told"),
    [
        (blind, {}, "drops pictures"),
        (blind_in_tools, {"tool_pictures": "tool"}, "takes no pictures in tool messages"),
        (refuses(401, "bad key"), {}, "bad key"),
        (refuses(404, "no such model"), {}, "no such model"),
        (refuses(429, "insufficient_quota"), {}, "paid first"),
        (refuses(400, "seed is not supported", seed=0), {}, "omit=FIELD"),
        (
            refuses(400, "temperature must be 1", temperature=0.0),
            {"check": "off"},
            "refuses the first question",
        ),
        (lambda _: json_response([]), {}, "does not answer"),
    ],
)
def test_a_fault_of_the_settings_stops_the_run_at_once(tmp_path, make_split, handler, options, told):
    server = Recorder(handler)
    with serving(server) as url, pytest.raises(VetterUnusable) as caught:
        start(url, make_split(40), tmp_path / "run", **options)
    assert told in str(caught.value)
    assert len(server.requests) < 40
    assert not (tmp_path / "run" / "predictions.jsonl").read_bytes()


def test_a_server_that_is_not_there_stops_the_run(tmp_path, make_split):
    with pytest.raises(VetterUnusable, match="does not answer") as caught:
        start("http://127.0.0.1:9/v1", make_split(3), tmp_path / "run")
    assert "Connect" in str(caught.value)


def test_a_server_that_drops_pictures_of_tools_gets_them_in_user_turns(tmp_path, make_split):
    split, server = make_split(6), Recorder(blind_in_tools)
    with serving(server) as url:
        start(url, split, tmp_path / "run")
    check_run(tmp_path / "run", split)
    assert not any(has_picture_in_tool(message) for message in server.requests[-1].json()["messages"])


def test_the_token_limit_is_named_as_the_server_wants(tmp_path, make_split):
    def handler(request):
        if "max_tokens" in request.json():
            return error(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        return inspector(request)

    server, split = Recorder(handler), make_split(4)
    with serving(server) as url:
        start(url, split, tmp_path / "run")
    check_run(tmp_path / "run", split)
    assert sum("max_tokens" in request.json() for request in server.requests) == 1
    assert server.requests[-1].json()["max_completion_tokens"] == 8192


def test_a_question_that_is_declined_is_its_own_matter(tmp_path, make_split):
    split = make_split(12)
    asked = Counter()

    def handler(request):
        answer = inspector(request)
        if len(request.json()["messages"]) < 4 and b"eply with OK" not in request.body:
            asked["first"] += 1
            if asked["first"] == 3:
                return error(400, "invalid image")
            if asked["first"] == 4:
                return error(400, "maximum context length is 10 tokens")
            if asked["first"] == 5:
                return error(400, "flagged by the content filter")
        return answer

    with serving(handler) as url:
        record = start(url, split, tmp_path / "run", in_flight="1")
    found = rows(tmp_path / "run")
    assert found["cv-002"].outcome == "error"
    assert "invalid image" in read_traces(tmp_path / "run" / "traces.jsonl")["cv", "cv-002", 0].turns[-1].text
    assert (found["cv-003"].outcome, found["cv-004"].outcome) == ("truncated", "refused")
    assert record.counts["error"] == 1


def test_cost_is_counted_from_the_servers_tokens_and_a_budget_is_kept(tmp_path, make_split):
    def handler(request):
        body = json.loads(inspector(request).body)
        shown = 1000 * request.body.count(b"base64")
        return json_response(body | {"usage": {"prompt_tokens": 1000 + shown, "completion_tokens": 100}})

    split = make_split(40)
    price = {"price_in": "2", "price_out": "10"}
    each = (3 * 1000 + (1 + 2 + 3) * 1000) * 2e-6 + 3 * 100 * 10e-6
    with serving(handler) as url:
        record = start(url, split, tmp_path / "run", Limits(max_usd=10.5 * each), **price)
        assert record.ended is None
        found = rows(tmp_path / "run")
        assert {round(row.cost_usd, 9) for row in found.values()} == {round(each, 9)}
        assert len(found) == 10
        record = start(url, split, tmp_path / "run", Limits(max_usd=10.9 * each), **price)
        assert (record.ended, len(rows(tmp_path / "run"))) == (None, 10)  # what was spent before counts
        record = start(url, split, tmp_path / "run", Limits(max_usd=41 * each), **price)
    assert record.ended is not None
    check_run(tmp_path / "run", split)


def test_a_budget_in_dollars_needs_a_price(tmp_path, make_split):
    server = Recorder(inspector)
    with serving(server) as url, pytest.raises(UserError, match="price is not known"):
        start(url, make_split(3), tmp_path / "run", Limits(max_usd=5))
    assert server.requests == []


def pictures(folder):
    """Return what each inspection saw, pixels and bytes; every picture on disk is the one its name says."""
    for path in (folder / "views").glob("*.png"):
        assert hashlib.sha256(path.read_bytes()).hexdigest() == path.stem
    traces = read_traces(folder / "traces.jsonl")
    return {
        key: [(view.pixel_sha256, view.png_sha256) for turn in trace.turns for view in turn.views]
        for key, trace in traces.items()
    }


def test_a_reply_is_paid_for_once(tmp_path, make_split):
    split, server = make_split(8), Recorder(inspector)
    with serving(server) as url:
        start(url, split, tmp_path / "one")
        first = len(server.requests)
        start(url, split, tmp_path / "two")
        assert pictures(tmp_path / "two") == pictures(tmp_path / "one")
        again = [
            request
            for request in server.requests[first:]
            if b"Reply with OK" not in request.body and b"then reply with OK" not in request.body
        ]
        assert again == []
        start(url, split, tmp_path / "three", seed="1")
        assert len(server.requests) > first + 16
        start(url, split, tmp_path / "four", cache="off")
    assert pictures(tmp_path / "four") == pictures(tmp_path / "one")
    assert (tmp_path / "one" / "predictions.jsonl").exists()
    same = [
        {row.id: (row.outcome, row.answer, row.tokens_in) for row in rows(tmp_path / name).values()}
        for name in ("one", "two", "four")
    ]
    assert same[0] == same[1] == same[2]


def test_spoilt_cache_files_are_asked_for_anew(tmp_path, make_split):
    split, server = make_split(4), Recorder(inspector)
    with serving(server) as url:
        start(url, split, tmp_path / "one")
        files = sorted((tmp_path / "home" / "replies").rglob("*.json"))
        assert len(files) == 12
        files[0].write_bytes(b"")
        files[1].write_bytes(files[1].read_bytes()[:20])
        files[2].write_text('{"choices": []}')
        before = len(server.requests)
        start(url, split, tmp_path / "two")
    check_run(tmp_path / "two", split)
    asked = [request for request in server.requests[before:] if b"eply with OK" not in request.body]
    assert len(asked) == 3


@pytest.mark.parametrize(
    "secret", [SECRET, 'sk/planted"and\\0123456789abcdef']
)  # the other is escaped in JSON
def test_the_key_reaches_the_server_and_nothing_else(
    secret, tmp_path, make_split, monkeypatch, caplog, capfd
):
    """A server that repeats the key in refusals, answers and thoughts; every byte that is written is searched."""
    monkeypatch.setenv("MY_KEY", secret)
    caplog.set_level(logging.DEBUG)
    calls = Counter()

    def handler(request):
        assert request.headers["authorization"] == f"Bearer {secret}"
        if b"eply with OK" in request.body:
            return inspector(request)
        calls["all"] += 1
        if calls["all"] % 7 == 3:
            return error(500, f"inner fault for {secret}")
        if calls["all"] in (5, 6):
            return error(400, f"bad request of {secret}")
        if calls["all"] % 5 == 4:
            return json_response(completion(f"You sent {secret}", reasoning_content=f"{secret}!"))
        return inspector(request)

    with serving(handler) as url:
        start(url, make_split(12), tmp_path / "run", key_env="MY_KEY")
    angry = refuses(401, f"Incorrect API key provided: {secret}")
    with serving(angry) as url, pytest.raises(VetterUnusable) as caught:
        start(url, make_split(3), tmp_path / "third", key_env="MY_KEY")
    assert "[key]" in str(caught.value)
    texts = [str(caught.value), caplog.text, *capfd.readouterr()]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any("replies" in path.parts for path in files)
    assert any(path.name == "traces.jsonl" for path in files)
    assert b"[key]" in (tmp_path / "run" / "traces.jsonl").read_bytes()
    for content in (*(path.read_bytes() for path in files), *(text.encode() for text in texts)):
        assert secret[-16:].encode() not in content


def test_a_server_that_counts_no_tokens_stops_a_run_with_a_limit_in_dollars(tmp_path, make_split):
    calls = Counter()

    def uncounted(request):
        calls["all"] += 1
        body = json.loads(inspector(request).body)
        del body["usage"]
        return json_response(body)

    prices = {"price_in": "1", "price_out": "1"}
    with serving(uncounted) as url:
        with pytest.raises(UserError, match="price is not known"):
            start(
                url,
                make_split(60),
                tmp_path / "run",
                Limits(max_usd=1000),
                in_flight="4",
                check="off",
                **prices,
            )
        assert (
            calls["all"] <= 3 * 8
        )  # three requests a question: four under way, and four that were free to begin
        start(url, make_split(2), tmp_path / "two", **prices)
    assert {row.cost_usd for row in rows(tmp_path / "two").values()} == {None}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"base_url": "localhost:8000"}, "base_url"),
        ({"base_url": "http://me:pass@host/v1"}, "can't hold a secret"),
        ({"base_url": "http://host/v1?key=abc"}, "can't hold a secret"),
        ({"key_env": SECRET}, "key_env"),
        ({"in_flight": "0"}, "in_flight"),
        ({"timeout_s": "never"}, "timeout_s"),
        ({"extra": '{"messages": []}'}, "extra"),
        ({"extra": "{"}, "extra"),
        ({"price_in": "1"}, "two parts"),
        ({"price_in": "-1", "price_out": "1"}, "price_in"),
        ({"tool_pictures": "both"}, "tool_pictures"),
        ({"flavour": "lime"}, "no such option"),
        ({"base_url": "https://api.openai.com/v1"}, "no key"),
    ],
)
def test_options_that_cannot_be_used_are_told(options, told):
    with pytest.raises(UserError) as caught:
        create("m", {"base_url": "http://localhost:1/v1"} | options)
    assert told in str(caught.value)
    assert "pass@" not in str(caught.value)


def test_a_model_must_be_named():
    with pytest.raises(UserError, match="no model"):
        create(None, {})


def test_what_only_makes_it_faster_is_not_in_the_config():
    base = {"base_url": "http://localhost:1/v1"}
    plain = create("m", base).config
    assert (
        create(
            "m", base | {"in_flight": "3", "tries": "2", "cache": "off", "price_in": "1", "price_out": "1"}
        ).config
        == plain
    )
    for name, value in {
        "extra": '{"top_p": 1}',
        "omit": "seed",
        "logprobs": "5",
        "seed": "4",
        "reasoning": "drop",
    }.items():
        assert create("m", base | {name: value}).config != plain


def test_log_probabilities_give_p_yes(tmp_path, make_split):
    server = Recorder(inspector)

    def handler(request):
        asked = request.json()
        body = json.loads(server(request).body)
        if asked.get("top_logprobs") == 5 and body["choices"][0]["finish_reason"] == "stop":
            words = [("\\boxed{", {"\\boxed{": -0.0}), ("NO", {"NO": -0.5, "YES": -1.5}), ("}", {"}": -0.0})]
            listed = [
                {
                    "token": token,
                    "logprob": 0.0,
                    "top_logprobs": [{"token": w, "logprob": p} for w, p in others.items()],
                }
                for token, others in words
            ]
            body["choices"][0]["logprobs"] = {"content": listed}
        return json_response(body)

    with serving(handler) as url:
        start(url, make_split(6), tmp_path / "run", logprobs="5")
    for row in rows(tmp_path / "run").values():
        assert row.p_yes == (pytest.approx(1 / (1 + 2.718281828), abs=1e-6) if row.answer else None)


def test_hermes_dialect_needs_no_tool_support(tmp_path, make_split):
    def handler(request):
        if b'"tools"' in request.body:
            return error(400, "tool calls are not enabled")
        looks = request.body.count(b"<tool_response>")
        if looks < 2 and b"eply with OK" not in request.body:
            call = '{"name": "spectral_visualization_tool", "arguments": {"wavelength_range": [4000, 4300]}}'
            body = completion(
                f"<think>look</think>\n<tool_call>\n{call}\n</tool_call>", tokens=(len(request.body) // 10, 9)
            )
            return json_response(body)
        return inspector(replace(request, body=request.body))

    split = make_split(6)
    with serving(handler) as url:
        start(url, split, tmp_path / "run", dialect="hermes")
    check_run(tmp_path / "run", split)


def test_a_key_in_place_of_its_variables_name_is_not_told():
    with pytest.raises(UserError, match="the name of an environment variable") as caught:
        create("echo", {"key_env": SECRET})
    assert SECRET not in str(caught.value)
